// Spelling of v1model, so that shared controls are written once.
#ifndef P4MESH_ARCH
#define P4MESH_ARCH

#include <core.p4>
#include <v1model.p4>
#include "sizes.p4"

// A packet-out comes as it was sent.
#define PACKET_OUT_PADDING
#include "../include/ids.p4"
#include "../include/headers.p4"
#include "../include/reasons.p4"
#include "../include/codes.p4"

// Ids that only v1model has; all others are in include/ids.p4.
#define ID_COUNTER_GROUP_FRAMES 0x1200_0006
#define ID_COUNTER_FLOODED_FLOW     0x1200_0020
#define ID_COUNTER_MISDIRECTED_FLOW 0x1200_0021
#define ID_TABLE_MESSAGE          0x0200_0020
#define ID_ACTION_PART_OF_MESSAGE 0x0100_0040
#define ID_TABLE_CAPTURE 0x0200_0021
#define ID_ACTION_CAPTURE_FIRST 0x0100_0020
#define ID_COUNTER_CAPTURED 0x1200_0022
#define ID_TABLE_SIZES       0x0200_0022
#define ID_ACTION_SIZES_OF   0x0100_0041
#define ID_TABLE_FRAME_SIZE  0x0200_0023
#define ID_ACTION_CUT_TO     0x0100_0042
#define ID_TABLE_SCHEDULE     0x0200_0024
#define ID_ACTION_SCHEDULE_OF 0x0100_0043
#define ID_TABLE_GAP          0x0200_0025
#define ID_ACTION_ADD_GAP     0x0100_0044
#define ID_ACTION_USE_INTERARRIVAL 0x0100_0045
#define ID_TABLE_RECEIVED_FIELDS 0x0200_0026
#define ID_ACTION_BY_ETHERNET    0x0100_0046
#define ID_ACTION_BY_VLAN        0x0100_0047
#define ID_ACTION_BY_MPLS        0x0100_0048
#define ID_ACTION_BY_IPV4        0x0100_0049
#define ID_ACTION_BY_FIRST_IPV4  0x0100_004A
#define ID_ACTION_BY_IPV6        0x0100_004B
#define ID_ACTION_BY_FIRST_IPV6  0x0100_004C
#define ID_ACTION_AS_ONE         0x0100_004D
// Of the field modifiers beyond the second: a letter's table, its values, and four actions.
#define ID_TABLE_MODIFIER_C    0x0200_0030
#define ID_TABLE_VALUE_C       0x0200_0031
#define ID_ACTION_PROGRESSION_C 0x0100_0060
#define ID_ACTION_LIST_C       0x0100_0061
#define ID_ACTION_RANDOM_C     0x0100_0062
#define ID_ACTION_VALUE_C      0x0100_0063
#define ID_TABLE_MODIFIER_D    0x0200_0032
#define ID_TABLE_VALUE_D       0x0200_0033
#define ID_ACTION_PROGRESSION_D 0x0100_0064
#define ID_ACTION_LIST_D       0x0100_0065
#define ID_ACTION_RANDOM_D     0x0100_0066
#define ID_ACTION_VALUE_D      0x0100_0067

// Ports of the target that are not test ports. simple_switch_grpc is started with --cpu-port 510;
// a frame that egress recirculates never leaves through the loop port.
const bit<9> PORT_CPU  = 510;
const bit<9> PORT_LOOP = 509;

// instance_type of a frame that comes round the loop (simple_switch).
const bit<32> INSTANCE_RECIRCULATED = 4;

#define FRAME_COUNTER(SIZE, NAME) counter(SIZE, CounterType.packets_and_bytes) NAME
#define BIN_COUNTER(SIZE, NAME) counter(SIZE, CounterType.packets) NAME
#define COUNT(NAME, INDEX) NAME.count(INDEX)

// Saturating subtraction tells which of two variables is larger: zero when a <= b.
#define EXCESS(A, B) ((A) |-| (B))

// Where and when a frame arrived, whether it ends here, and what ingress asks of the traffic manager.
// Fields have the names of TNA.
typedef bit<3> QueueId_t;
struct arrival_t {
    bit<9>    ingress_port;
    // First bit.
    bit<48>   ingress_mac_tstamp;
}
struct verdict_t {
    bit<1>    drop_ctl;
}
struct manager_t {
    // Unicast port, which does not count where the multicast group is not 0.
    bit<9>    ucast_egress_port;
    bit<16>   mcast_grp_a;
    // Queue of the transmit ports, larger is more urgent.
    QueueId_t qid;
}

// Operation of a register in a pass.
typedef bit<2> op_t;
// A transmitter, a flow, or a place in the destination lists.
typedef bit<16> cell_t;
// Value that a register returns to a reading pass.
typedef bit<64> word_t;
// Number that a modifier adds.
typedef bit<48> addend_t;
// Whether a departure lies between start and stop of its port.
typedef bit<1> window_t;

// A group has a replica for the seed of a departure.
#define SEED_BESIDE_COPIES

// Egress itself recognizes the frames that it leaves as they are.
#define UNTOUCHED_BY_EGRESS(KIND)

#endif
