// Headers that exist only inside a Tofino, between ingress and egress and round the loop, and labels (RFC 3032).
#ifndef P4MESH_TARGET_HEADERS
#define P4MESH_TARGET_HEADERS

#include "../include/headers.p4"

const bit<16> ETHERTYPE_MPLS = 0x8847;

// What follows the label at the bottom of the stack shows by its first four bits.
header label_t {
    bit<20> id;
    bit<3>  traffic_class;
    bit<1>  bottom;
    bit<8>  ttl;
}

// Every frame between the gresses begins with a kind. A frame of the loop begins with loop_t, whose
// first byte it is; all others have a bridge_t, which egress takes off again.
header bridge_t {
    bit<8> kind;
}
const bit<8> KIND_FOREIGN = 0;

#if IPDV == 0
// Flag of KIND_SEND and KIND_SEED: the MAC of the port keeps when the frame leaves, or each copy of the seed. It is the
// kind of the bridge_t of such a frame of the controller, too.
const bit<8> STAMP_SENT = 0x08;
#endif

// A stateful ALU holds a pair of words and returns one of them: a reading frame reads the low words of
// a cell in one pass, the high ones in the next, and then goes to the controller. A pass begins in ingress. So egress,
// which sees the packet-out first, lets KIND_READ become the first pass.
const bit<8> KIND_READ_HIGH = 5;
const bit<8> KIND_REPORT    = 6;
const bit<8> KIND_READ_LOW  = 7;

// Flag of KIND_READ_LOW: the halves of the cell before follow the loop header.
const bit<8> FLAG_HALVES = 0x80;

// Values that ingress reads in one pass of a reading frame.
header receive_half_t {
    bit<32> duplicates;
    bit<32> next_sequence;
    bit<32> reordered;
    bit<32> last_gap_time;
    bit<32> frames;
    bit<32> latency_extremes;
    bit<32> latency_sum;
    bit<32> latency_last;
    bit<32> latency_overflows;
    bit<32> jitter_extremes;
    bit<32> jitter_sum;
    bit<32> first_arrival;
    bit<32> last_arrival;
    bit<32> spacing_min_inverted;
}

// Values that egress reads in one pass of a reading frame.
header transmit_half_t {
    bit<32> flow_sequence;
    bit<32> departures;
    bit<32> first_departure;
    bit<32> last_departure;
}

// Cell of the halves behind it.
header report_t {
    bit<32> cell;
}

// In front of a captured frame, which egress sends on as it is: a bridge_t and a packet_in_t. With the numbers of the
// signature, too, which the frame has anyway, the compiler finds no format for actions of Tofino 2.
header captured_t {
    bit<8>  bridge;
    bit<8>  kind;
    bit<8>  flags;
    bit<16> port;
    bit<48> time;
}

// Kind of a packet-in with a captured frame; its flags are the kind that the entry of table `capture` has given.
const bit<8> CAPTURED_FRAME = 5;

#define RECEIVE_HALF_BITS 448
#define TRANSMIT_HALF_BITS 128

#endif
