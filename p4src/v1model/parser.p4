// Parser, checksums and deparser for v1model.
#ifndef P4MESH_PARSER
#define P4MESH_PARSER

#include "arch.p4"

struct metadata_t {
    local_t   local;
    arrival_t arrival;
    // Type of the next IPv6 header while extension headers are parsed.
    bit<8>    next_header;
    bit<1>    is_template;
}

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
            ETHERTYPE_IPV4 : parse_ipv4;
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

#define SIGNATURE_FIELDS { hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, \
                           hdr.signature.flow, hdr.signature.sequence, hdr.signature.transmit_time }

control VerifySignature(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.signature.isValid(), SIGNATURE_FIELDS, hdr.signature.check,
                        HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.signature.isValid(), SIGNATURE_FIELDS, hdr.signature.check,
                        HashAlgorithm.csum16);
        update_checksum(hdr.signature.isValid() && hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_length,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // IPv4 test frames carry no UDP checksum; IPv6 requires one (RFC 8200 8.1).
        update_checksum_with_payload(hdr.signature.isValid() && hdr.ipv6.isValid() && hdr.udp.isValid(),
            { hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low,
              16w0, hdr.udp.length_bytes, 8w0, PROTOCOL_UDP, 8w0, 8w0,
              hdr.udp.src, hdr.udp.dst, hdr.udp.length_bytes,
              hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, hdr.signature.flow,
              hdr.signature.sequence, hdr.signature.transmit_time, hdr.signature.check },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control TesterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.record);
        packet.emit(hdr.loop);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
        packet.emit(hdr.signature);
    }
}

#endif
