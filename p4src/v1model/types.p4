// Metadata that parsers and controls hand to each other.
#ifndef P4MESH_TYPES
#define P4MESH_TYPES

#include "arch.p4"
#include "headers.p4"

// Operation of a register cell in this pass.
const bit<2> OP_NONE   = 0;
const bit<2> OP_UPDATE = 1;
const bit<2> OP_READ   = 2;
const bit<2> OP_CLEAR  = 3;

// Order of a measured frame in its flow.
const bit<2> ORDER_NEXT = 0;
const bit<2> ORDER_GAP  = 1;
const bit<2> ORDER_LATE = 2;

// End of a parser of tunnels: the header that follows.
typedef bit<3> found_t;
const found_t FOUND_NOTHING   = 0;
const found_t FOUND_IPV4      = 1;
const found_t FOUND_IPV6      = 2;
const found_t FOUND_ETHERNET  = 3;
const found_t FOUND_SIGNATURE = 4;

const bit<2> TRANSPORT_TCP  = 1;
const bit<2> TRANSPORT_ICMP = 2;
const bit<2> TRANSPORT_UDP_TO_SPOIL = 3;

// What a checksum covers beside the frame to be wrong in every frame: one less in ones' complement.
const bit<32> SPOILS_CHECKSUM = 0xFFFE;

struct headers_t {
    packet_out_t       packet_out;
    packet_in_t        packet_in;
    captured_t         captured;
    record_t           record;
    message_record_t   message_record;
    loop_t             loop;
    ethernet_t         ethernet;
    vlan_t             outer_vlan;
    vlan_t             inner_vlan;
    // First headers of a tunnel, and what follows them up to the innermost IP header or an Ethernet header.
    ipv4_t             first_ipv4;
    ipv6_t             first_ipv6;
    extension_unit_t   first_extension;
    segment_t[SEGMENTS] segments;
    udp_t              first_udp;
    four_bytes_t[TUNNEL_WORDS] outer;
    ethernet_t         inner_ethernet;
    four_bytes_t[TUNNEL_WORDS] inner;
    ipv4_t             ipv4;
    four_bytes_t[IPV4_OPTION_WORDS] ipv4_options;
    ipv6_t             ipv6;
    extension_unit_t[EXTENSION_UNITS] extension;
    udp_t              udp;
    tcp_t              tcp;
    icmp_t             icmp;
    four_bytes_t[OWN_WORDS]  own;
    signature_t        signature;
    // The signature of a captured frame, whose checksums stay as they came.
    signature_t        as_received;
}

// Content of the registers of a flow before this pass.
struct flow_cells_t {
    bit<64> duplicates;
    bit<32> next_sequence;
    bit<64> reordered;
    bit<64> beyond_window;
    bit<64> last_gap_time;
    bit<64> frames;
    bit<64> bytes;
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
    bit<32> latency_in_order;
    bit<64> ipdv_count;
    bit<32> ipdv_min_inverted;
    bit<32> ipdv_max;
    bit<64> ipdv_sum_high;
    bit<32> ipdv_sum_low;
    bit<64> first_arrival;
    bit<64> last_arrival;
}

struct local_t {
    // Kind of the loop, or PASS_...
    bit<8>  pass;
    // Cell of this pass: flow of the signature, or cell that is read.
    bit<32> cell;
    // Classification: signature damaged, another run, port owns the destination, the frame is meant for
    // another port, controller asks.
    bit<1>  damaged;
    bit<8>  run_difference;
    bit<1>  owned;
    bit<8>  receiver_difference;
    bit<1>  punted;
    // Operations on the cells of the flow and of the port.
    op_t    flow_op;
    op_t    port_op;
    bit<REASON_BITS> reason;
    bit<2>  order;
    // Bytes of the received frame, FCS included.
    bit<32> frame_bytes;
    flow_cells_t seen;
    // The frame is expected, and no duplicate.
    bit<1>  is_sample;
    // For histograms: latency and size of IPDV in ticks; whether the frame has IPDV, and whether it is negative.
    bit<32> latency;
    bit<32> ipdv_size;
    bit<1>  has_ipdv;
    bit<1>  decrease;
    // Stream of a seed: whether it has an entry, a departure is due, its slot and the fraction.
    bit<8>  known;
    bit<8>  due;
    bit<8>  slot;
    bit<32> fraction;
    bit<32> wraps;
    bit<16> group;
    bit<3>  queue;
}
typedef headers_t ingress_headers_t;
typedef headers_t egress_headers_t;
typedef local_t ingress_t;

struct metadata_t {
    local_t   local;
    arrival_t arrival;
    // Type of the next IPv6 header while extension headers are parsed.
    bit<8>    next_header;
    bit<1>    is_template;
    // Of a seed: whether its headers hold a tunnel, the checksum that is to be wrong, and words of one's own in front of its
    // signature.
    bit<1>    in_tunnel;
    bit<2>    spoiled;
    bit<5>    own_words;
    // Destination that a frame with an Ethernet header in a tunnel came with.
    mac_t     tunnel_end;
    // The signature of a received frame was found behind words that are not known.
    bit<1>    is_behind_own;
    // Ones' complement sums: of IPv4 options, of words of one's own, of what spoils the checksum of the first IPv4 header,
    // of what a checksum of TCP or ICMP covers beside addresses and ports, and of the last segment where some are left.
    bit<32>   options_sum;
    bit<32>   own_sum;
    bit<32>   first_sum;
    bit<32>   constant_sum;
    bit<32>   final_sum;
    // Protocol of a seed whose checksum is made of that.
    bit<2>    transport;
    // A test frame that leaves shorter than its seed, and the ones' complement sum of the payload behind its signature.
    bit<1>    is_cut;
    bit<16>   payload_sum;
}

#endif
