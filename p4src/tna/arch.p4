// Spelling of the Tofino Native Architecture, so that shared controls are written once.
#ifndef P4MESH_ARCH
#define P4MESH_ARCH

#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif
#include "sizes.p4"

// A packet-out below 60 bytes is padded on its way over PCIe. With a header as long as that of the loop, the
// packet-out of a seed is as long as its frames without their FCS, and none of 64 bytes is padded.
#define PACKET_OUT_PADDING bit<32> padding;
#include "../include/ids.p4"
#include "../include/headers.p4"
#include "../include/reasons.p4"
#include "../include/codes.p4"

#define ID_TABLE_CAPTURE 0x0200_0021
#define ID_ACTION_CAPTURE_FIRST 0x0100_0020
#define ID_TABLE_MESSAGE          0x0200_0020
#define ID_ACTION_PART_OF_MESSAGE 0x0100_0040

// Ports of the chip that are not test ports: the PCIe port to the CPU, and the recirculation port
// of pipe 0. In every pipe the recirculation port has the same number within the pipe. Chips of Tofino 1 with
// more than two pipes (-DPIPES=4) have the CPU port in pipe 2; there, ports 192 to 199 recirculate.
#if __TARGET_TOFINO__ == 2
const bit<9> PORT_CPU  = 0;
const bit<9> PORT_LOOP = 6;
#else
#if PIPES == 4
const bit<9> PORT_CPU  = 320;
#else
const bit<9> PORT_CPU  = 192;
#endif
const bit<9> PORT_LOOP = 68;
#endif
// The bits of a port number that are the number within the pipe.
const bit<9> PORT_IN_PIPE_MASK = 0x07F;

// Counters of 32 bits: the driver adds them up in 64 bits before they wrap.
#define FRAME_COUNTER(SIZE, NAME) Counter<bit<32>, bit<32>>(SIZE, CounterType_t.PACKETS_AND_BYTES) NAME
#define BIN_COUNTER(SIZE, NAME) Counter<bit<32>, bit<32>>(SIZE, CounterType_t.PACKETS) NAME
#define COUNT(NAME, INDEX) NAME.count(INDEX)

// Where and when a frame arrived, whether it ends here, and what ingress asks of the traffic manager.
typedef ingress_intrinsic_metadata_t arrival_t;
typedef ingress_intrinsic_metadata_for_deparser_t verdict_t;
typedef ingress_intrinsic_metadata_for_tm_t manager_t;

// Operation of a register in a pass.
typedef bit<8> op_t;
// A transmitter, a flow, or a place in the destination lists.
typedef bit<16> cell_t;
// Value that a register returns to a reading pass.
typedef bit<32> word_t;
// Number that a modifier adds; wider fields are counted in their low 32 bits.
typedef bit<32> addend_t;
// Position of a departure: `early` before the port's start; `laps_left` of 2^32 departures and `behind` of the last lap
// until its stop. Registers whose tables have these as keys need not wait for a verdict.
struct window_t {
    bit<1>  early;
    bit<32> laps_left;
    bit<32> behind;
}

// The seed of a departure returns by the unicast port, beside the copies of the group: the engine that makes those
// deletes what it has no room for.
#define SEED_BESIDE_COPIES again();

// The frame leaves egress as it is; KIND is one of a bridge_t.
#define UNTOUCHED_BY_EGRESS(KIND) hdr.bridge.setValid(); hdr.bridge.kind = KIND;
// Beside IPDV containers have no room for the flag that the MAC keeps when a frame leaves.
#if IPDV == 0
#define KIND_OF_SENT hdr.packet_out.flags & STAMP_SENT
#else
#define KIND_OF_SENT KIND_FOREIGN
#endif

#endif
