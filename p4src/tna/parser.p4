// Parsers of both gresses.
#ifndef P4MESH_PARSER
#define P4MESH_PARSER

#include "types.p4"

// IPv6 extension headers: up to EXTENSION_UNITS = 4 headers of 8 bytes, or some of them and a longer
// one in front of UDP. N is the number of units before; the first two bytes of a header are its
// successor's type and its length. The 8 bytes of an encapsulation have neither: it is a unit more in
// front of UDP.
#define EXTENSION_CHAIN(N) \
            (NEXT_HOP_BY_HOP, 0) : extension_##N##_goes_on; \
            (NEXT_ROUTING, 0) : extension_##N##_goes_on; \
            (NEXT_FRAGMENT, 0) : extension_##N##_goes_on; \
            (NEXT_DESTINATION, 0) : extension_##N##_goes_on; \
            (NEXT_MOBILITY, 0) : extension_##N##_goes_on; \
            (NEXT_ENCAPSULATION, 0) : extension_##N##_last_2;
#define BEFORE_AUTHENTICATION(N) (NEXT_AUTHENTICATION, 0) : extension_##N##_before_authentication;
#define EXTENSION_STATE(NAME, N, NEXT) \
    state extension_##N##_##NAME { packet.extract(hdr.extension[N]); transition NEXT; }
#define EXTENSION_START(N, CHAIN, LONGER) \
    state parse_extension_##N { \
        transition select(packet.lookahead<extension_start_t>().next_header, \
                          packet.lookahead<extension_start_t>().length_units) { \
            (PROTOCOL_UDP, 0) : extension_##N##_last_1; \
            LONGER \
            CHAIN \
            default : accept; \
        } \
    }
#define AUTHENTICATION_START(N, LENGTHS) \
    state parse_authentication_##N { \
        transition select(packet.lookahead<extension_start_t>().next_header, \
                          packet.lookahead<extension_start_t>().length_units) { \
            LENGTHS \
            default : accept; \
        } \
    }
#define PARSE_EXTENSION_0 \
    EXTENSION_START(0, EXTENSION_CHAIN(0) BEFORE_AUTHENTICATION(0), \
                    (PROTOCOL_UDP, 1) : extension_0_last_2; \
                    (PROTOCOL_UDP, 2) : extension_0_last_3; \
                    (PROTOCOL_UDP, 3) : extension_0_last_4; \
                    (NEXT_ENCAPSULATION, 1) : extension_0_last_3; \
                    (NEXT_ENCAPSULATION, 2) : extension_0_last_4;) \
    AUTHENTICATION_START(0, (PROTOCOL_UDP, AUTHENTICATION_16_BYTES) : extension_0_last_2; \
                            (PROTOCOL_UDP, AUTHENTICATION_24_BYTES) : extension_0_last_3; \
                            (PROTOCOL_UDP, AUTHENTICATION_32_BYTES) : extension_0_last_4; \
                            (NEXT_ENCAPSULATION, AUTHENTICATION_16_BYTES) : extension_0_last_3; \
                            (NEXT_ENCAPSULATION, AUTHENTICATION_24_BYTES) : extension_0_last_4;) \
    EXTENSION_STATE(goes_on, 0, parse_extension_1) \
    EXTENSION_STATE(before_authentication, 0, parse_authentication_1) \
    EXTENSION_STATE(last_1, 0, parse_udp) \
    EXTENSION_STATE(last_2, 0, extension_1_last_1) \
    EXTENSION_STATE(last_3, 0, extension_1_last_2) \
    EXTENSION_STATE(last_4, 0, extension_1_last_3)
#define PARSE_EXTENSION_1 \
    EXTENSION_START(1, EXTENSION_CHAIN(1) BEFORE_AUTHENTICATION(1), \
                    (PROTOCOL_UDP, 1) : extension_1_last_2; \
                    (PROTOCOL_UDP, 2) : extension_1_last_3; \
                    (NEXT_ENCAPSULATION, 1) : extension_1_last_3;) \
    AUTHENTICATION_START(1, (PROTOCOL_UDP, AUTHENTICATION_16_BYTES) : extension_1_last_2; \
                            (PROTOCOL_UDP, AUTHENTICATION_24_BYTES) : extension_1_last_3; \
                            (NEXT_ENCAPSULATION, AUTHENTICATION_16_BYTES) : extension_1_last_3;) \
    EXTENSION_STATE(goes_on, 1, parse_extension_2) \
    EXTENSION_STATE(before_authentication, 1, parse_authentication_2) \
    EXTENSION_STATE(last_1, 1, parse_udp) \
    EXTENSION_STATE(last_2, 1, extension_2_last_1) \
    EXTENSION_STATE(last_3, 1, extension_2_last_2)
#define PARSE_EXTENSION_2 \
    EXTENSION_START(2, EXTENSION_CHAIN(2), (PROTOCOL_UDP, 1) : extension_2_last_2;) \
    AUTHENTICATION_START(2, (PROTOCOL_UDP, AUTHENTICATION_16_BYTES) : extension_2_last_2;) \
    EXTENSION_STATE(goes_on, 2, parse_extension_3) \
    EXTENSION_STATE(last_1, 2, parse_udp) \
    EXTENSION_STATE(last_2, 2, extension_3_last_1)
#define PARSE_EXTENSION_3 \
    EXTENSION_START(3, , ) \
    EXTENSION_STATE(last_1, 3, parse_udp)

struct extension_start_t {
    bit<8> next_header;
    bit<8> length_units;
}

struct loop_start_t {
    bit<8> kind;
    bit<8> flags;
}

// Headers from Ethernet to UDP.
#define PARSE_FRAME(AFTER_IPV6, AFTER_UDP) \
    state parse_ethernet { \
        packet.extract(hdr.ethernet); \
        transition select(hdr.ethernet.ether_type) { \
            ETHERTYPE_IPV4 : parse_ipv4; \
            ETHERTYPE_IPV6 : parse_ipv6; \
            ETHERTYPE_VLAN : parse_outer_vlan; \
            ETHERTYPE_QINQ : parse_outer_vlan; \
            ETHERTYPE_MPLS : parse_first_label; \
            ETHERTYPE_TEST : parse_test; \
            default : accept; \
        } \
    } \
    state parse_outer_vlan { \
        packet.extract(hdr.outer_vlan); \
        transition select(hdr.outer_vlan.ether_type) { \
            ETHERTYPE_IPV4 : parse_ipv4; \
            ETHERTYPE_IPV6 : parse_ipv6; \
            ETHERTYPE_VLAN : parse_inner_vlan; \
            ETHERTYPE_MPLS : parse_first_label; \
            ETHERTYPE_TEST : parse_test; \
            default : accept; \
        } \
    } \
    state parse_inner_vlan { \
        packet.extract(hdr.inner_vlan); \
        transition select(hdr.inner_vlan.ether_type) { \
            ETHERTYPE_IPV4 : parse_ipv4; \
            ETHERTYPE_IPV6 : parse_ipv6; \
            ETHERTYPE_MPLS : parse_first_label; \
            ETHERTYPE_TEST : parse_test; \
            default : accept; \
        } \
    } \
    state parse_first_label { \
        packet.extract(hdr.label[0]); \
        transition select(hdr.label[0].bottom, packet.lookahead<bit<4>>()) { \
            (0, _) : parse_second_label; \
            (1, 4) : parse_ipv4; \
            (1, 6) : parse_ipv6; \
            default : accept; \
        } \
    } \
    state parse_second_label { \
        packet.extract(hdr.label[1]); \
        transition select(hdr.label[1].bottom, packet.lookahead<bit<4>>()) { \
            (1, 4) : parse_ipv4; \
            (1, 6) : parse_ipv6; \
            default : accept; \
        } \
    } \
    state parse_ipv4 { \
        packet.extract(hdr.ipv4); \
        transition select(hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.flags_offset, hdr.ipv4.protocol) { \
            (4, 5, 0x0000 &&& 0x1FFF, PROTOCOL_UDP) : parse_udp; \
            default : accept; \
        } \
    } \
    state parse_ipv6 { \
        packet.extract(hdr.ipv6); \
        AFTER_IPV6 \
        transition select(hdr.ipv6.next_header) { \
            PROTOCOL_UDP : parse_udp; \
            NEXT_HOP_BY_HOP : parse_extension_0; \
            NEXT_ROUTING : parse_extension_0; \
            NEXT_FRAGMENT : parse_extension_0; \
            NEXT_DESTINATION : parse_extension_0; \
            NEXT_MOBILITY : parse_extension_0; \
            NEXT_AUTHENTICATION : parse_authentication_0; \
            NEXT_ENCAPSULATION : extension_0_last_1; \
            default : accept; \
        } \
    } \
    PARSE_EXTENSION_0 PARSE_EXTENSION_1 PARSE_EXTENSION_2 PARSE_EXTENSION_3 \
    state parse_udp { \
        packet.extract(hdr.udp); \
        AFTER_UDP \
        transition parse_test; \
    }

parser TesterIngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_t meta,
                           out ingress_intrinsic_metadata_t standard) {
    Checksum() signature_check;

    // Front ports in loopback, in the loop beside the recirculation port of each pipe.
    value_set<bit<9>>(LOOP_PORTS) loop_ports;

    state start {
        packet.extract(standard);
        meta.run_difference = 0;
        meta.owned = 0;
        meta.receiver_difference = 0;
        meta.punted = 0;
        meta.flow_op = OP_NONE;
        meta.port_op = OP_NONE;
        meta.reason = REASON_NONE;
        meta.overflow = 0;
        meta.duplicate = 0;
        meta.order = 0;
        meta.first = 0;
        meta.known = 0;
        meta.due = 0;
        meta.slot = 0;
        packet.advance(PORT_METADATA_SIZE);
        transition select(standard.ingress_port) {
            PORT_LOOP &&& PORT_IN_PIPE_MASK : parse_loop;
            PORT_CPU : parse_packet_out;
            loop_ports : parse_loop;
            default : parse_ethernet;
        }
    }
    // The payload of a packet-out is a template or a foreign frame: nothing to look at.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        meta.pass = PASS_REQUEST;
        transition accept;
    }
    // The template of a seed is payload in ingress.
    state parse_loop {
        packet.extract(hdr.loop);
        meta.pass = hdr.loop.kind;
        meta.cell = hdr.loop.value;
        meta.port_cell = hdr.loop.value[15:0];
        meta.window = hdr.loop.carry;
        transition select(hdr.loop.kind, hdr.loop.flags) {
            (KIND_READ_LOW, FLAG_HALVES &&& FLAG_HALVES) : drop_halves;
            default : accept;
        }
    }
    state drop_halves {
        packet.advance(2 * (RECEIVE_HALF_BITS + TRANSMIT_HALF_BITS));
        transition accept;
    }
    PARSE_FRAME(,)
    state parse_test {
        transition select(packet.lookahead<bit<16>>()) {
            SIGNATURE_MAGIC : parse_signature;
            default : accept;
        }
    }
    state parse_signature {
        packet.extract(hdr.signature);
        signature_check.add(hdr.signature);
        meta.damaged = (bit<1>)signature_check.verify();
        meta.cell = (bit<32>)hdr.signature.flow;
        meta.window = hdr.signature.sequence[7:0];
        meta.pass = PASS_TEST;
        transition accept;
    }
}

const bit<32> LOOP_BITS = 144;
const bit<32> BRIDGE_BITS = 8;

parser TesterEgressParser(packet_in packet, out egress_headers_t hdr, out egress_t meta,
                          out egress_intrinsic_metadata_t standard) {
    Checksum() udp_checksum;

    state start {
        packet.extract(standard);
        transition select(packet.lookahead<bit<8>>(), standard.egress_rid) {
            (KIND_FOREIGN, _) : skip_bridge;
#if IPDV == 0
            (STAMP_SENT, _) : skip_bridge;
#endif
            (KIND_SEED, 0) : parse_loop;
            (KIND_SEED, _) : parse_template;
            default : parse_loop;
        }
    }
    state skip_bridge {
#if IPDV == 0
        meta.flags = packet.lookahead<bit<8>>();
#endif
        packet.advance(BRIDGE_BITS);
        transition accept;
    }
    state parse_loop {
        packet.extract(hdr.loop);
        meta.cell = hdr.loop.value[15:0];
        transition accept;
    }
    // The loop header ends here: a copy gets a signature, which is as long.
    state parse_template {
#if IPDV == 0
        meta.flags = packet.lookahead<loop_start_t>().flags;
#endif
        packet.advance(LOOP_BITS);
        meta.cell = standard.egress_rid;
        meta.reason = REASON_UNKNOWN_TRANSMITTER;
        transition parse_ethernet;
    }
    PARSE_FRAME(udp_checksum.subtract({ IPV6_ADDRESSES });,
                udp_checksum.subtract({ hdr.udp.src, hdr.udp.dst, hdr.udp.checksum });
                udp_checksum.subtract_all_and_deposit(meta.udp_rest);)
    state parse_test {
        transition accept;
    }
}

#endif
