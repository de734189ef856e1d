// A label switching router (RFC 3031) as a device under test: it pushes labels on packets, swaps the label on top, and
// pops it. Labels belong to the port on which they come. The time to live is one of the packet and of its labels
// (uniform model of RFC 3443).
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_MPLS = 0x8847;
const bit<32> LABELS = 4096;
const bit<32> ROUTES = 1024;
const bit<32> NEXT_HOPS = 512;
#define STACK 8

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header mpls_t {
    bit<20> label;
    bit<3>  traffic_class;
    bit<1>  bottom;
    bit<8>  ttl;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4>   version;
    bit<6>   dscp;
    bit<2>   ecn;
    bit<20>  flow_label;
    bit<16>  payload_bytes;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

struct headers_t {
    ethernet_t    ethernet;
    mpls_t[STACK] mpls;
    ipv4_t        ipv4;
    ipv6_t        ipv6;
}

struct metadata_t {
    bit<8>  ttl;
    bit<3>  traffic_class;
    bit<16> next_hop;
    // The last label was popped here, and the packet is routed on.
    bit<1>  popped;
    bit<1>  routed;
}

parser LabelParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_MPLS: mpls;
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state mpls {
        packet.extract(hdr.mpls.next);
        transition select(hdr.mpls.last.bottom) {
            0: mpls;
            1: behind_labels;
        }
    }
    // What is behind the last label shows by its first four bits.
    state behind_labels {
        transition select(packet.lookahead<bit<4>>()) {
            4: ipv4;
            6: ipv6;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control LabelVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabelIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action swap(bit<20> label, bit<16> next_hop) {
        hdr.mpls[0].label = label;
        meta.next_hop = next_hop;
    }

    action pop(bit<16> next_hop) {
        hdr.mpls.pop_front(1);
        meta.next_hop = next_hop;
    }

    action pop_and_route() {
        hdr.mpls.pop_front(1);
        meta.popped = 1;
        meta.routed = 1;
    }

    @brief("Incoming labels; packets with others are dropped")
    table incoming_label {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.mpls[0].label: exact @name("label");
        }
        actions = { swap; pop; pop_and_route; @defaultonly drop; }
        const default_action = drop();
        size = LABELS;
    }

    action forward(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action push_label(bit<20> label, bit<1> bottom) {
        hdr.mpls.push_front(1);
        hdr.mpls[0].setValid();
        hdr.mpls[0].label = label;
        hdr.mpls[0].traffic_class = meta.traffic_class;
        hdr.mpls[0].bottom = bottom;
    }

    action push(bit<20> label, bit<16> next_hop) {
        push_label(label, 1);
        meta.next_hop = next_hop;
    }

    action push_two(bit<20> inner_label, bit<20> outer_label, bit<16> next_hop) {
        push_label(inner_label, 1);
        push_label(outer_label, 0);
        meta.next_hop = next_hop;
    }

    @brief("Where IPv4 packets go that have no label (left)")
    table route_ipv4 {
        key = {
            meta.popped: exact @name("popped");
            hdr.ipv4.destination: lpm @name("destination");
        }
        actions = { forward; push; push_two; @defaultonly drop; }
        const default_action = drop();
        size = ROUTES;
    }

    @brief("Where IPv6 packets go that have no label (left)")
    table route_ipv6 {
        key = {
            meta.popped: exact @name("popped");
            hdr.ipv6.destination: lpm @name("destination");
        }
        actions = { forward; push; push_two; @defaultonly drop; }
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
        bool found = false;
        if (hdr.mpls[0].isValid()) {
            meta.ttl = hdr.mpls[0].ttl |-| 1;
            found = incoming_label.apply().hit;
        } else if (hdr.ipv4.isValid()) {
            meta.ttl = hdr.ipv4.ttl |-| 1;
            meta.traffic_class = hdr.ipv4.dscp[5:3];
            meta.routed = 1;
        } else if (hdr.ipv6.isValid()) {
            meta.ttl = hdr.ipv6.hop_limit |-| 1;
            meta.traffic_class = hdr.ipv6.dscp[5:3];
            meta.routed = 1;
        }
        if (meta.routed == 1 && !hdr.mpls[0].isValid()) {
            if (hdr.ipv4.isValid()) {
                found = route_ipv4.apply().hit;
            } else {
                found = route_ipv6.apply().hit;
            }
        }
        if (!found || meta.ttl == 0 || !next_hop.apply().hit) {
            drop();
        }
        if (hdr.mpls[0].isValid()) {
            hdr.ethernet.ether_type = TYPE_MPLS;
            hdr.mpls[0].ttl = meta.ttl;
            // Of two labels that were pushed, the lower one has the same.
            if (meta.routed == 1 && hdr.mpls[1].isValid()) {
                hdr.mpls[1].ttl = meta.ttl;
            }
        } else if (hdr.ipv4.isValid()) {
            hdr.ethernet.ether_type = TYPE_IPV4;
        } else {
            hdr.ethernet.ether_type = TYPE_IPV6;
        }
        if (meta.routed == 1 || !hdr.mpls[0].isValid()) {
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = meta.ttl;
            } else {
                hdr.ipv6.hop_limit = meta.ttl;
            }
        }
    }
}

control LabelEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control LabelUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control LabelDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.mpls);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(LabelParser(), LabelVerify(), LabelIngress(), LabelEgress(), LabelUpdate(), LabelDeparser()) main;
