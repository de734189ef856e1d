// Parser; signatures are checked in deparser.p4.
#ifndef P4MESH_PARSER
#define P4MESH_PARSER

#include "types.p4"
#include "tunnels.p4"

// The destination port of UDP behind an extension header, and no signature behind it: what names a tunnel belongs to the
// packet outside. So many bits are from the header to where a signature begins.
#define LOOKS_BEHIND(NAME, BITS) state NAME { \
        transition select(packet.lookahead<bit<BITS>>()[63:48], packet.lookahead<bit<BITS>>()[15:0]) { \
            (_, SIGNATURE_MAGIC) : parse_extension; \
            (PORT_GTPU, _) : parse_segments; \
            (PORT_VXLAN, _) : parse_segments; \
            (PORT_VXLAN_GPE, _) : parse_segments; \
            (PORT_GENEVE, _) : parse_segments; \
            (PORT_MPLS, _) : parse_segments; \
            default : parse_extension; \
        } \
    }

parser TesterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    Tunnels() tunnels;
    Tunnels() inner_tunnels;
    names_t names = NAMES_ETHER_TYPE;
    bit<16> number = 0;
    bit<4>  left = 0;
    bit<8>  segments_left = 0;
    bit<8>  units_left = 0;
    found_t found = FOUND_NOTHING;

    state start {
        transition select(standard.instance_type, standard.ingress_port) {
            (INSTANCE_RECIRCULATED, _) : parse_loop;
            (_, PORT_CPU) : parse_packet_out;
            default : parse_ethernet;
        }
    }
    // The payload of a packet-out is a template or a foreign frame: nothing to look at.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }
    state parse_loop {
        packet.extract(hdr.loop);
        meta.is_template = 1;
        transition select(hdr.loop.kind) {
            KIND_SEED : parse_seed;
            default : accept;
        }
    }
    state parse_seed {
        meta.in_tunnel = hdr.loop.flags[6:6];
        meta.spoiled = hdr.loop.flags[4:3];
        meta.own_words = hdr.loop.count[4:0];
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        number = hdr.ethernet.ether_type;
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_VLAN : parse_outer_vlan;
            ETHERTYPE_QINQ : parse_outer_vlan;
            ETHERTYPE_TEST : parse_test;
            default : parse_tunnels;
        }
    }
    state parse_outer_vlan {
        packet.extract(hdr.outer_vlan);
        number = hdr.outer_vlan.ether_type;
        transition select(hdr.outer_vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_VLAN : parse_inner_vlan;
            ETHERTYPE_TEST : parse_test;
            default : parse_tunnels;
        }
    }
    state parse_inner_vlan {
        packet.extract(hdr.inner_vlan);
        number = hdr.inner_vlan.ether_type;
        transition select(hdr.inner_vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_TEST : parse_test;
            default : parse_tunnels;
        }
    }
    // Most frames have no other IP header; one that carries another packet becomes the first header of a tunnel.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.next_header = hdr.ipv4.protocol;
        transition select(hdr.ipv4.header_words, hdr.ipv4.flags_offset[12:0], hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP) : parse_udp;
            (5, 0, PROTOCOL_IPV4) : begin_tunnel_in_ipv4;
            (5, 0, PROTOCOL_IPV6) : begin_tunnel_in_ipv4;
            (5, 0, PROTOCOL_GRE) : begin_tunnel_in_ipv4;
            (5, 0, PROTOCOL_MPLS) : begin_tunnel_in_ipv4;
            (5, 0, PROTOCOL_ETHERNET) : begin_tunnel_in_ipv4;
            (5, 0, _) : select_transport;
            (_, 0, _) : begin_ipv4_options;
            default : accept;
        }
    }
    state begin_tunnel_in_ipv4 {
        hdr.first_ipv4 = hdr.ipv4;
        hdr.ipv4.setInvalid();
        names = NAMES_PROTOCOL;
        number = 8w0 ++ meta.next_header;
        transition parse_tunnels;
    }
    // The port of a tunnel, and no signature: of UDP that no other UDP is in front of.
    state look_for_tunnel {
        transition select(meta.is_template, meta.in_tunnel, packet.lookahead<bit<16>>()) {
            (1, 0, _) : parse_test;
            (0, _, SIGNATURE_MAGIC) : parse_signature;
            default : begin_tunnel_in_udp;
        }
    }
    state begin_tunnel_in_udp {
        hdr.first_ipv4 = hdr.ipv4;
        hdr.ipv4.setInvalid();
        hdr.first_ipv6 = hdr.ipv6;
        hdr.ipv6.setInvalid();
        names = NAMES_PORT;
        number = hdr.udp.dst;
        hdr.first_udp = hdr.udp;
        hdr.udp.setInvalid();
        transition parse_tunnels;
    }
    state begin_tunnel_in_ipv6 {
        hdr.first_ipv6 = hdr.ipv6;
        hdr.ipv6.setInvalid();
        number = 8w0 ++ meta.next_header;
        transition parse_tunnels;
    }
    state parse_tunnels {
        tunnels.apply(packet, hdr.outer, names, number, meta.is_template, meta.in_tunnel, found);
        transition select(found) {
            FOUND_IPV4 : parse_innermost_ipv4;
            FOUND_IPV6 : parse_innermost_ipv6;
            FOUND_ETHERNET : parse_inner_ethernet;
            FOUND_SIGNATURE : parse_test;
            default : accept;
        }
    }
    state parse_inner_ethernet {
        packet.extract(hdr.inner_ethernet);
        meta.tunnel_end = hdr.ethernet.dst;
        inner_tunnels.apply(packet, hdr.inner, NAMES_ETHER_TYPE, hdr.inner_ethernet.ether_type, meta.is_template,
                            meta.in_tunnel, found);
        transition select(found) {
            FOUND_IPV4 : parse_innermost_ipv4;
            FOUND_IPV6 : parse_innermost_ipv6;
            FOUND_SIGNATURE : parse_test;
            default : accept;
        }
    }
    state parse_innermost_ipv4 {
        packet.extract(hdr.ipv4);
        meta.next_header = hdr.ipv4.protocol;
        transition select(hdr.ipv4.flags_offset[12:0]) {
            0 : begin_ipv4_options;
            default : accept;
        }
    }
    state begin_ipv4_options {
        left = hdr.ipv4.header_words;
        transition parse_ipv4_options;
    }
    state parse_ipv4_options {
        transition select(left) {
            0 &&& 0xC : accept;
            4 : accept;
            5 : select_transport;
            default : parse_ipv4_option;
        }
    }
    state parse_ipv4_option {
        packet.extract(hdr.ipv4_options.next);
        meta.options_sum = meta.options_sum + (bit<32>)hdr.ipv4_options.last.value[31:16] + (bit<32>)hdr.ipv4_options.last.value[15:0];
        left = left - 1;
        transition parse_ipv4_options;
    }
    // UDP that no tunnel is in front of may lead into one, behind options and extension headers as well.
    state select_transport {
        transition select(meta.next_header, found) {
            (PROTOCOL_UDP, FOUND_NOTHING) : parse_udp;
            (PROTOCOL_UDP, _) : parse_innermost_udp;
            (PROTOCOL_TCP, _) : parse_tcp;
            (PROTOCOL_ICMP, _) : parse_icmp;
            (PROTOCOL_ICMPV6, _) : parse_icmp;
            default : parse_test;
        }
    }
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.next_header = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP : parse_udp;
            PROTOCOL_IPV4 : name_protocol;
            PROTOCOL_IPV6 : name_protocol;
            PROTOCOL_GRE : name_protocol;
            PROTOCOL_MPLS : name_protocol;
            PROTOCOL_ETHERNET : name_protocol;
            NEXT_HOP_BY_HOP : look_at_extension;
            NEXT_ROUTING : look_at_extension;
            NEXT_DESTINATION : look_at_extension;
            default : select_ipv6_next;
        }
    }
    state name_protocol {
        names = NAMES_PROTOCOL;
        transition begin_tunnel_in_ipv6;
    }
    state look_at_extension {
        transition select(meta.is_template, meta.in_tunnel, packet.lookahead<bit<8>>()) {
            (_, _, PROTOCOL_IPV4) : parse_segments;
            (_, _, PROTOCOL_IPV6) : parse_segments;
            (_, _, PROTOCOL_GRE) : parse_segments;
            (_, _, PROTOCOL_MPLS) : parse_segments;
            (_, _, PROTOCOL_ETHERNET) : parse_segments;
            (1, 1, PROTOCOL_UDP) : parse_segments;
            (0, _, PROTOCOL_UDP) : look_behind_extension;
            default : parse_extension;
        }
    }
    state look_behind_extension {
        transition select(packet.lookahead<bit<16>>()[7:0]) {
            0 : look_behind_no_segment;
            2 : look_behind_1_segment;
            4 : look_behind_2_segments;
            6 : look_behind_3_segments;
            8 : look_behind_4_segments;
            10 : look_behind_5_segments;
            default : parse_extension;
        }
    }
    LOOKS_BEHIND(look_behind_no_segment, 144)
    LOOKS_BEHIND(look_behind_1_segment, 272)
    LOOKS_BEHIND(look_behind_2_segments, 400)
    LOOKS_BEHIND(look_behind_3_segments, 528)
    LOOKS_BEHIND(look_behind_4_segments, 656)
    LOOKS_BEHIND(look_behind_5_segments, 784)
    // Options, or the segments of a path: 8 bytes, and 16 for each segment.
    state parse_segments {
        packet.extract(hdr.first_extension);
        meta.next_header = hdr.first_extension.next_header;
        segments_left = hdr.first_extension.length_units;
        names = NAMES_PROTOCOL;
        transition select_segment;
    }
    state select_segment {
        transition select(segments_left) {
            0 : begin_tunnel_in_ipv6;
            1 : accept;
            default : parse_segment;
        }
    }
    state parse_segment {
        packet.extract(hdr.segments.next);
        segments_left = segments_left - 2;
        transition select_segment;
    }
    state parse_innermost_ipv6 {
        packet.extract(hdr.ipv6);
        meta.next_header = hdr.ipv6.next_header;
        transition select_ipv6_next;
    }
    state select_ipv6_next {
        transition select(meta.next_header) {
            NEXT_HOP_BY_HOP : parse_extension;
            NEXT_ROUTING : parse_extension;
            NEXT_FRAGMENT : parse_extension;
            NEXT_DESTINATION : parse_extension;
            NEXT_MOBILITY : parse_extension;
            NEXT_AUTHENTICATION : parse_authentication;
            NEXT_ENCAPSULATION : parse_encapsulation;
            default : select_transport;
        }
    }
    state parse_extension {
        packet.extract(hdr.extension.next);
        meta.next_header = hdr.extension.last.next_header;
        units_left = hdr.extension.last.length_units;
        transition select(meta.is_template) {
            1 : sum_final_destination;
            default : parse_extension_units;
        }
    }
    // A seed has an address here where segments are left: the last one, which checksums cover (RFC 8200 8.1).
    state sum_final_destination {
        meta.final_sum = (bit<32>)hdr.ipv6.dst_prefix[95:80] + (bit<32>)hdr.ipv6.dst_prefix[79:64]
                         + (bit<32>)hdr.ipv6.dst_prefix[63:48] + (bit<32>)hdr.ipv6.dst_prefix[47:32]
                         + (bit<32>)hdr.ipv6.dst_prefix[31:16] + (bit<32>)hdr.ipv6.dst_prefix[15:0]
                         + (bit<32>)hdr.ipv6.dst_low[31:16] + (bit<32>)hdr.ipv6.dst_low[15:0];
        transition parse_extension_units;
    }
    // Counts units of 4 bytes without the first two; IPv6 needs an even number.
    state parse_authentication {
        packet.extract(hdr.extension.next);
        meta.next_header = hdr.extension.last.next_header;
        units_left = hdr.extension.last.length_units >> 1;
        transition select(hdr.extension.last.length_units[0:0]) {
            0 : parse_extension_units;
            default : accept;
        }
    }
    state parse_extension_units {
        transition select(units_left) {
            0 : select_ipv6_next;
            default : parse_extension_unit;
        }
    }
    state parse_extension_unit {
        packet.extract(hdr.extension.next);
        units_left = units_left - 1;
        transition parse_extension_units;
    }
    state parse_encapsulation {
        packet.extract(hdr.extension.next);
        transition parse_innermost_udp;
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst) {
            PORT_GTPU : look_for_tunnel;
            PORT_VXLAN : look_for_tunnel;
            PORT_VXLAN_GPE : look_for_tunnel;
            PORT_GENEVE : look_for_tunnel;
            PORT_MPLS : look_for_tunnel;
            default : parse_test;
        }
    }
    state parse_innermost_udp {
        packet.extract(hdr.udp);
        transition parse_test;
    }
    // The sum of what a checksum covers and no frame of a stream changes: the seed has no addresses yet.
    state parse_tcp {
        packet.extract(hdr.tcp);
        transition select(meta.is_template) {
            1 : sum_tcp;
            default : parse_test;
        }
    }
    state sum_tcp {
        meta.transport = TRANSPORT_TCP;
        meta.constant_sum = (bit<32>)~hdr.tcp.checksum + (bit<32>)~hdr.tcp.src + (bit<32>)~hdr.tcp.dst
                            + (bit<32>)~hdr.tcp.sequence[31:16] + (bit<32>)~hdr.tcp.sequence[15:0]
                            + (bit<32>)~hdr.tcp.acknowledgment[31:16] + (bit<32>)~hdr.tcp.acknowledgment[15:0]
                            + (bit<32>)~hdr.tcp.flags + (bit<32>)~hdr.tcp.window + (bit<32>)~hdr.tcp.urgent;
        transition parse_test;
    }
    state parse_icmp {
        packet.extract(hdr.icmp);
        transition select(meta.is_template) {
            1 : sum_icmp;
            default : parse_test;
        }
    }
    state sum_icmp {
        meta.transport = TRANSPORT_ICMP;
        meta.constant_sum = (bit<32>)~hdr.icmp.checksum + (bit<32>)~hdr.icmp.type_code
                            + (bit<32>)~hdr.icmp.rest[31:16] + (bit<32>)~hdr.icmp.rest[15:0];
        transition parse_test;
    }
    state parse_test {
        transition select(meta.is_template, meta.spoiled, meta.own_words) {
            (0, _, _) : look_for_signature;
            (_, 0, 0) : accept;
            (_, WRONG_FIRST_IPV4[4:3], _) : spoil_first_ipv4;
            (_, WRONG_IPV4[4:3], _) : spoil_ipv4;
            (_, WRONG_UDP[4:3], _) : spoil_udp;
            default : parse_own_word;
        }
    }
    state spoil_first_ipv4 {
        meta.first_sum = SPOILS_CHECKSUM;
        transition parse_own_words;
    }
    state spoil_ipv4 {
        meta.options_sum = meta.options_sum + SPOILS_CHECKSUM;
        transition parse_own_words;
    }
    state spoil_udp {
        meta.own_sum = SPOILS_CHECKSUM;
        meta.transport = TRANSPORT_UDP_TO_SPOIL;
        transition parse_own_words;
    }
    state parse_own_words {
        meta.spoiled = 0;
        transition parse_test;
    }
    state parse_own_word {
        packet.extract(hdr.own.next);
        meta.own_sum = meta.own_sum + (bit<32>)hdr.own.last.value[31:16] + (bit<32>)hdr.own.last.value[15:0];
        meta.own_words = meta.own_words - 1;
        transition parse_test;
    }
    state look_for_signature {
        transition select(packet.lookahead<bit<16>>()) {
            SIGNATURE_MAGIC : parse_signature;
            default : look_further;
        }
    }
    // Bytes of one's own, or headers that are not known here: the signature may stand behind so many words of them.
    state look_further {
        packet.extract(hdr.own.next);
        meta.is_behind_own = 1;
        transition look_for_signature;
    }
    state parse_signature {
        packet.extract(hdr.signature);
        transition accept;
    }
}

#endif
