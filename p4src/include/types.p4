// Metadata and enumerations that all controls share.
#ifndef P4MESH_TYPES
#define P4MESH_TYPES

#include "headers.p4"

// Why a frame ended, or how a received frame was classified. One numbering for the counters
// receive_reason and transmit_reason, the controller and the report.
const bit<REASON_BITS> REASON_NONE               = 0;
// Received test frames.
const bit<REASON_BITS> REASON_EXPECTED           = 1;
const bit<REASON_BITS> REASON_FLOODED            = 2;
const bit<REASON_BITS> REASON_STALE              = 3;
const bit<REASON_BITS> REASON_DAMAGED            = 4;
const bit<REASON_BITS> REASON_FOREIGN            = 5;
const bit<REASON_BITS> REASON_PAUSE              = 6;
const bit<REASON_BITS> REASON_UNKNOWN_FLOW       = 7;
const bit<REASON_BITS> REASON_PUNTED             = 8;
// Frames of the loop and of the controller.
const bit<REASON_BITS> REASON_UNKNOWN_STREAM     = 9;
const bit<REASON_BITS> REASON_BAD_REQUEST        = 10;
const bit<REASON_BITS> REASON_REQUEST_DONE       = 11;
// Copies in egress.
const bit<REASON_BITS> REASON_TRANSMITTED        = 12;
const bit<REASON_BITS> REASON_UNKNOWN_TRANSMITTER = 13;
const bit<REASON_BITS> REASON_OUTSIDE_START_STOP = 14;
const bit<REASON_BITS> REASON_NO_DESTINATION     = 15;

// What a register cell does in this pass.
const bit<2> OP_NONE   = 0;
const bit<2> OP_UPDATE = 1;
const bit<2> OP_READ   = 2;
const bit<2> OP_CLEAR  = 3;

struct headers_t {
    packet_out_t       packet_out;
    packet_in_t        packet_in;
    record_t           record;
    loop_t             loop;
    ethernet_t         ethernet;
    vlan_t             outer_vlan;
    vlan_t             inner_vlan;
    ipv4_t             ipv4;
    ipv6_t             ipv6;
    extension_unit_t[8] extension;
    udp_t              udp;
    signature_t        signature;
}

// What the registers of a flow held before this pass.
struct flow_cells_t {
    bit<32> duplicates;
    bit<32> next_sequence;
    bit<32> reordered;
    bit<64> last_gap_time;
    bit<64> frames;
    bit<64> bytes;
    bit<32> latency_min_inverted;
    bit<32> latency_max;
    bit<64> latency_sum;
    bit<32> latency_last;
    bit<32> latency_overflows;
    bit<32> jitter_min_inverted;
    bit<32> jitter_max;
    bit<64> jitter_sum;
    bit<64> first_arrival;
    bit<64> last_arrival;
}

struct local_t {
    // Port that the frame came from, and when its first bit arrived.
    bit<9>  port;
    bit<48> arrival_time;
    // Whether the signature was found damaged.
    bit<1>  damaged;
    // Cell of this pass, what is done there, and the classification of the frame.
    bit<32> cell;
    bit<2>  flow_op;
    bit<2>  port_op;
    bit<3>  window;
    bit<REASON_BITS> reason;
    // Bytes of the received frame, FCS included.
    bit<32> frame_bytes;
    flow_cells_t seen;
}

#endif
