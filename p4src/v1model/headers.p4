// Headers that only v1model has.
#ifndef P4MESH_TARGET_HEADERS
#define P4MESH_TARGET_HEADERS

#include "../include/headers.p4"

// All measurements at one cell number: the flow, the transmitter and the port of that number,
// read in one pass. Minima are kept as the maximum of the complement, so that a cleared cell is
// the neutral element: minimum = ~inverted. A sum is sum_high * 2^32 + sum_low; IPDV is kept with
// its top bit flipped, and ipdv_sum_high is signed.
header record_t {
    bit<32> cell;
    bit<64> frames;
    bit<64> bytes;
    bit<64> duplicates;
    bit<64> reordered;
    bit<64> beyond_window;
    bit<32> next_sequence;
    bit<64> last_gap_time;
    bit<32> latency_min_inverted;
    bit<32> latency_max;
    bit<64> latency_sum_high;
    bit<32> latency_sum_low;
    bit<32> latency_last;
    bit<64> latency_overflows;
    bit<32> jitter_min_inverted;
    bit<32> jitter_max;
    bit<64> jitter_sum_high;
    bit<32> jitter_sum_low;
    bit<32> jitter_smoothed_x16;
    bit<64> ipdv_count;
    bit<32> ipdv_min_inverted;
    bit<32> ipdv_max;
    bit<64> ipdv_sum_high;
    bit<32> ipdv_sum_low;
    bit<64> first_arrival;
    bit<64> last_arrival;
    bit<64> flow_sequence;
    bit<64> departures;
    bit<64> first_departure;
    bit<64> last_departure;
    bit<32> spacing_min_inverted;
    bit<64> controller_departure;
}

// Messages of one source, which a reading pass with READ_MESSAGES puts behind the record of the cell. Of the newest message:
// its number, and how many of its frames have arrived. Minima are complements, as in record_t.
header message_record_t {
    bit<32> newest;
    bit<32> arrived;
    bit<64> complete;
    bit<64> damaged;
    bit<64> fifo_min_inverted;
    bit<64> fifo_max;
    bit<64> fifo_sum;
    bit<64> lilo_min_inverted;
    bit<64> lilo_max;
    bit<64> lilo_sum;
    bit<64> filo_min_inverted;
    bit<64> filo_max;
    bit<64> filo_sum;
}

// Flag of KIND_READ: the pass reads the messages of the source with the number of the cell, too. Tofino has no such flag.
const bit<8> READ_MESSAGES = 0x10;

// In front of a captured frame: the cell and the sequence number of its signature, and the number that was expected in
// that cell. Frames without a signature have zeros.
header captured_t {
    bit<32> cell;
    bit<32> sequence;
    bit<32> expected_sequence;
}

// Kind of a packet-in with a captured frame; its flags are the kind that the entry of table `capture` has given.
const bit<8> CAPTURED_FRAME = 5;

const bit<8> PROTOCOL_ICMP   = 1;
const bit<8> PROTOCOL_TCP    = 6;
const bit<8> PROTOCOL_ICMPV6 = 58;

// Four bytes that all frames of a stream have: of labels and tunnels, of IPv4 options, of one's own.
header four_bytes_t {
    bit<32> value;
}

// An address of a segment list, or 16 bytes of options.
header segment_t {
    bit<128> value;
}

header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> sequence;
    bit<32> acknowledgment;
    bit<16> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header icmp_t {
    bit<16> type_code;
    bit<16> checksum;
    bit<32> rest;
}

// Flag of KIND_SEND: the time at which the frame leaves is kept for its port.
const bit<8> STAMP_SENT = 0x08;

// Flag of KIND_SEED: copies leave cut to the next size of their transmitter. Tofino has no such flag.
const bit<8> SIZES_IN_TURN = 0x20;

// Flags of KIND_SEED: a port of UDP that is a tunnel's leads into one; the one checksum that is wrong in every frame.
// Its count is that of words of one's own in front of the signature. Tofino has no such flags.
const bit<8> IN_TUNNEL = 0x40;
const bit<8> WRONG_UDP        = 0x08;
const bit<8> WRONG_IPV4       = 0x10;
const bit<8> WRONG_FIRST_IPV4 = 0x18;
const bit<8> MOST_OWN_WORDS = 31;

// Bit of the count of KIND_SEED: the last two words of one's own balance an invariant CRC. Then the sum of the payload,
// where `check` covers it, is so many bits higher. Tofino has no such frames.
const bit<32> BALANCED = 0x20;
const bit<8> PAYLOAD_SUM_SHIFT = 16;
// Words of one's own in front of these two, with the three of the base transport header.
const bit<8> MOST_OWN_WORDS_OF_CRC = 10;

// Flag of KIND_SEED: its transmitters have more than two field modifiers, or its frames end with an invariant CRC, which
// covers all fields that change: frames without either skip both by one test.
const bit<8> MORE_MODIFIERS = 0x80;

#endif
