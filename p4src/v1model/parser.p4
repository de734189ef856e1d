// Parser; signatures are checked in deparser.p4.
#ifndef P4MESH_PARSER
#define P4MESH_PARSER

#include "types.p4"

// First ten bytes of IPv4 that GRE follows: five words of header, no fragment, protocol 47.
const bit<80> START_OF_TUNNEL      = 0x45_00_0000_0000_0000_00_2F;
const bit<80> START_OF_TUNNEL_MASK = 0xFF_00_0000_0000_3FFF_00_FF;

parser TesterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
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
            KIND_SEED : parse_ethernet;
            default : accept;
        }
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4 : look_for_tunnel;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_VLAN : parse_outer_vlan;
            ETHERTYPE_QINQ : parse_outer_vlan;
            ETHERTYPE_TEST : parse_test;
            default : accept;
        }
    }
    state parse_outer_vlan {
        packet.extract(hdr.outer_vlan);
        transition select(hdr.outer_vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_VLAN : parse_inner_vlan;
            ETHERTYPE_TEST : parse_test;
            default : accept;
        }
    }
    state parse_inner_vlan {
        packet.extract(hdr.inner_vlan);
        transition select(hdr.inner_vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            ETHERTYPE_TEST : parse_test;
            default : accept;
        }
    }
    state look_for_tunnel {
        transition select(packet.lookahead<bit<80>>()) {
            START_OF_TUNNEL &&& START_OF_TUNNEL_MASK : parse_tunnel;
            default : parse_ipv4;
        }
    }
    state parse_tunnel {
        packet.extract(hdr.tunnel);
        transition select(hdr.tunnel.gre_flags_version, hdr.tunnel.ether_type) {
            (0, ETHERTYPE_IPV4) : parse_ipv4;
            (0, ETHERTYPE_IPV6) : parse_ipv6;
            default : accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.flags_offset[12:0], hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP) : parse_udp;
            default : accept;
        }
    }
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.next_header = hdr.ipv6.next_header;
        transition select_ipv6_next;
    }
    state select_ipv6_next {
        transition select(meta.next_header) {
            PROTOCOL_UDP : parse_udp;
            NEXT_HOP_BY_HOP : parse_extension;
            NEXT_ROUTING : parse_extension;
            NEXT_FRAGMENT : parse_extension;
            NEXT_DESTINATION : parse_extension;
            NEXT_MOBILITY : parse_extension;
            NEXT_AUTHENTICATION : parse_authentication;
            NEXT_ENCAPSULATION : parse_encapsulation;
            default : accept;
        }
    }
    // RFC 5180 uses headers of 8 to 32 bytes.
    state parse_extension {
        packet.extract(hdr.extension.next);
        meta.next_header = hdr.extension.last.next_header;
        transition select(hdr.extension.last.length_units) {
            0 : select_ipv6_next;
            1 : parse_extension_1;
            2 : parse_extension_2;
            3 : parse_extension_3;
            default : accept;
        }
    }
    state parse_authentication {
        packet.extract(hdr.extension.next);
        meta.next_header = hdr.extension.last.next_header;
        transition select(hdr.extension.last.length_units) {
            AUTHENTICATION_16_BYTES : parse_extension_1;
            AUTHENTICATION_24_BYTES : parse_extension_2;
            AUTHENTICATION_32_BYTES : parse_extension_3;
            default : accept;
        }
    }
    state parse_encapsulation {
        packet.extract(hdr.extension.next);
        transition parse_udp;
    }
    state parse_extension_3 {
        packet.extract(hdr.extension.next);
        transition parse_extension_2;
    }
    state parse_extension_2 {
        packet.extract(hdr.extension.next);
        transition parse_extension_1;
    }
    state parse_extension_1 {
        packet.extract(hdr.extension.next);
        transition select_ipv6_next;
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition parse_test;
    }
    state parse_test {
        transition select(meta.is_template) {
            1 : accept;
            default : look_for_signature;
        }
    }
    state look_for_signature {
        transition select(packet.lookahead<bit<16>>()) {
            SIGNATURE_MAGIC : parse_signature;
            default : accept;
        }
    }
    state parse_signature {
        packet.extract(hdr.signature);
        transition accept;
    }
}

#endif
