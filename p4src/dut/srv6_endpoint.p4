// A node of an SRv6 network (RFC 8986) as a device under test. As a source it encapsulates packets (H.Encaps) with up to
// three segments; as a segment end point it goes on to the next segment (End), or takes out the packet and sends it to a
// neighbour (End.DX4, End.DX6) or to where its routes lead (End.DT4, End.DT6).
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_IPV4 = 4;
const bit<8> PROTOCOL_IPV6 = 41;
const bit<8> PROTOCOL_ROUTING = 43;
const bit<8> TYPE_SEGMENT_ROUTING = 4;
const bit<16> IPV6_BYTES = 40;
const bit<8> TUNNEL_HOP_LIMIT = 64;
const bit<32> SEGMENTS = 1024;
const bit<32> ROUTES = 1024;
const bit<32> NEXT_HOPS = 512;
#define LIST 5

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_bytes;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

header segment_routing_t {
    bit<8>  next_header;
    bit<8>  units; // of 8 bytes, without the first
    bit<8>  routing_type;
    bit<8>  segments_left;
    bit<8>  last_entry;
    bit<8>  flags;
    bit<16> tag;
}

header segment_t { bit<128> address; }

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<8>  dscp_ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t        ethernet;
    ipv6_t            ipv6;
    segment_routing_t routing;
    segment_t[LIST]   segments;
    // The packet in an encapsulation, and an IPv4 packet that came as it is.
    ipv4_t            inner_ipv4;
    ipv6_t            inner_ipv6;
}

struct metadata_t {
    bit<128> next_segment;
    bit<16>  next_hop;
    // No segment is left.
    bit<1>   last;
    bit<1>   decapsulated;
}

parser NodeParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: inner_ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_ROUTING: routing;
            PROTOCOL_IPV4: inner_ipv4;
            PROTOCOL_IPV6: inner_ipv6;
            default: accept;
        }
    }
    state routing {
        packet.extract(hdr.routing);
        transition select(hdr.routing.routing_type) {
            TYPE_SEGMENT_ROUTING: segment;
            default: accept;
        }
    }
    // The list is in reverse: the segment after the active one stands in front of it.
    state segment {
        packet.extract(hdr.segments.next);
        bool is_next = hdr.segments.lastIndex + 1 == (bit<32>) hdr.routing.segments_left;
        transition select(is_next) {
            true: next_segment;
            false: more_segments;
        }
    }
    state next_segment {
        meta.next_segment = hdr.segments.last.address;
        transition more_segments;
    }
    state more_segments {
        bool is_last = hdr.segments.lastIndex == (bit<32>) hdr.routing.last_entry;
        transition select(is_last) {
            true: behind_segments;
            false: segment;
        }
    }
    state behind_segments {
        transition select(hdr.routing.next_header) {
            PROTOCOL_IPV4: inner_ipv4;
            PROTOCOL_IPV6: inner_ipv6;
            default: accept;
        }
    }
    state inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        transition accept;
    }
    state inner_ipv6 {
        packet.extract(hdr.inner_ipv6);
        transition accept;
    }
}

control NodeVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control NodeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action next_segment() {
        hdr.routing.segments_left = hdr.routing.segments_left - 1;
        hdr.ipv6.destination = meta.next_segment;
    }

    action decapsulate() {
        hdr.ipv6.setInvalid();
        hdr.routing.setInvalid();
        hdr.segments[0].setInvalid();
        hdr.segments[1].setInvalid();
        hdr.segments[2].setInvalid();
        hdr.segments[3].setInvalid();
        hdr.segments[4].setInvalid();
    }

    action decapsulate_to(bit<16> next_hop) {
        decapsulate();
        meta.next_hop = next_hop;
    }

    @brief("Segments of this node (My SID): End, End.DT4 and End.DT6, End.DX4 and End.DX6")
    table own_segment {
        key = {
            hdr.ipv6.destination: exact @name("segment");
            meta.last: exact @name("last");
        }
        actions = { next_segment; decapsulate; decapsulate_to; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SEGMENTS;
    }

    action forward(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action encapsulate(bit<128> source, bit<128> first, bit<8> next_header, bit<16> inner_bytes) {
        hdr.ethernet.ether_type = TYPE_IPV6;
        hdr.ipv6.setValid();
        hdr.ipv6.version = 6;
        hdr.ipv6.traffic_class = 0;
        hdr.ipv6.flow_label = 0;
        hdr.ipv6.payload_bytes = inner_bytes;
        hdr.ipv6.next_header = next_header;
        hdr.ipv6.hop_limit = TUNNEL_HOP_LIMIT;
        hdr.ipv6.source = source;
        hdr.ipv6.destination = first;
    }

    action add_segments(bit<8> count, bit<16> list_bytes) {
        hdr.routing.setValid();
        hdr.routing.next_header = hdr.ipv6.next_header;
        hdr.routing.units = count << 1;
        hdr.routing.routing_type = TYPE_SEGMENT_ROUTING;
        hdr.routing.segments_left = count - 1;
        hdr.routing.last_entry = count - 1;
        hdr.routing.flags = 0;
        hdr.routing.tag = 0;
        hdr.ipv6.next_header = PROTOCOL_ROUTING;
        hdr.ipv6.payload_bytes = hdr.ipv6.payload_bytes + list_bytes;
    }

    action insert_one(bit<128> source, bit<128> first) {
        encapsulate(source, first, PROTOCOL_IPV4, hdr.inner_ipv4.total_bytes);
    }

    action insert_three(bit<128> source, bit<128> first, bit<128> second, bit<128> third) {
        encapsulate(source, first, PROTOCOL_IPV4, hdr.inner_ipv4.total_bytes);
        add_segments(3, 56);
        hdr.segments[0].setValid();
        hdr.segments[0].address = third;
        hdr.segments[1].setValid();
        hdr.segments[1].address = second;
        hdr.segments[2].setValid();
        hdr.segments[2].address = first;
    }

    @brief("Where IPv4 packets go: as they are, or encapsulated, and then by the routes of IPv6")
    table route_ipv4 {
        key = {
            meta.decapsulated: exact @name("decapsulated");
            hdr.inner_ipv4.destination: lpm @name("destination");
        }
        actions = { forward; insert_one; insert_three; @defaultonly drop; }
        const default_action = drop();
        size = ROUTES;
    }

    @brief("Where IPv6 packets go")
    table route_ipv6 {
        key = { hdr.ipv6.destination: lpm @name("destination"); }
        actions = { forward; @defaultonly drop; }
        const default_action = drop();
        size = ROUTES;
    }

    action send(bit<9> port, bit<48> own_mac, bit<48> next_hop_mac) {
        standard.egress_spec = port;
        hdr.ethernet.source = own_mac;
        hdr.ethernet.destination = next_hop_mac;
    }

    @brief("Neighbours")
    table next_hop {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { send; @defaultonly drop; }
        const default_action = drop();
        size = NEXT_HOPS;
    }

    apply {
        meta.last = (bit<1>) (!hdr.routing.isValid() || hdr.routing.segments_left == 0);
        if (hdr.ipv6.isValid() && own_segment.apply().hit && !hdr.ipv6.isValid()) {
            meta.decapsulated = 1;
            if (hdr.inner_ipv6.isValid()) {
                hdr.ipv6 = hdr.inner_ipv6;
                hdr.inner_ipv6.setInvalid();
            } else {
                hdr.ethernet.ether_type = TYPE_IPV4;
            }
        }
        bool goes_on = false;
        if (hdr.ipv6.isValid()) {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit |-| 1;
            goes_on = hdr.ipv6.hop_limit != 0;
        } else if (hdr.inner_ipv4.isValid()) {
            hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl |-| 1;
            goes_on = hdr.inner_ipv4.ttl != 0;
            if (meta.next_hop == 0) {
                route_ipv4.apply();
            }
        }
        if (hdr.ipv6.isValid() && meta.next_hop == 0) {
            route_ipv6.apply();
        }
        if (!goes_on || !next_hop.apply().hit) {
            drop();
        }
    }
}

control NodeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control NodeUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.inner_ipv4.isValid() && hdr.inner_ipv4.header_words == 5,
            { hdr.inner_ipv4.version, hdr.inner_ipv4.header_words, hdr.inner_ipv4.dscp_ecn,
              hdr.inner_ipv4.total_bytes, hdr.inner_ipv4.identification, hdr.inner_ipv4.flags_offset,
              hdr.inner_ipv4.ttl, hdr.inner_ipv4.protocol, hdr.inner_ipv4.source, hdr.inner_ipv4.destination },
            hdr.inner_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control NodeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.routing);
        packet.emit(hdr.segments);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_ipv6);
    }
}

V1Switch(NodeParser(), NodeVerify(), NodeIngress(), NodeEgress(), NodeUpdate(), NodeDeparser()) main;
