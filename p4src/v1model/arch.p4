// What v1model spells in its own way, so that shared controls are written once.
#ifndef P4MESH_ARCH
#define P4MESH_ARCH

#include <core.p4>
#include <v1model.p4>
#include "../include/sizes.p4"
#include "../include/ids.p4"
#include "../include/types.p4"

// Ports of the target that are not test ports. simple_switch_grpc is started with --cpu-port 510;
// a frame that egress recirculates never leaves through the loop port.
const bit<9> PORT_CPU  = 510;
const bit<9> PORT_LOOP = 509;

// instance_type of a frame that comes round the loop (simple_switch).
const bit<32> INSTANCE_RECIRCULATED = 4;

// Multicast group that hands a record to the controller and sends the reading frame round again.
const bit<16> GROUP_READ = 1;

#define FRAME_COUNTER(SIZE, NAME) counter(SIZE, CounterType.packets_and_bytes) NAME
#define BIN_COUNTER(SIZE, NAME) counter(SIZE, CounterType.packets) NAME
#define COUNT(NAME, INDEX) NAME.count(INDEX)

#define CRC32(RESULT, SEED, STEP) hash(RESULT, HashAlgorithm.crc32, 32w0, { SEED, STEP }, 33w0x1_0000_0000)

// Saturating subtraction tells which of two variables is larger: zero when a <= b.
#define EXCESS(A, B) ((A) |-| (B))

#endif
