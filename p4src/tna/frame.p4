// The part of the parsers that both gresses share: Ethernet to UDP.
#ifndef P4MESH_FRAME
#define P4MESH_FRAME

#include "arch.p4"

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

// Headers from Ethernet to UDP.
#define PARSE_FRAME(AFTER_IPV6, AFTER_UDP) \
    state parse_ethernet { \
        packet.extract(hdr.ethernet); \
        transition select(hdr.ethernet.ether_type) { \
            ETHERTYPE_IPV4 : parse_ipv4; \
            ETHERTYPE_IPV6 : parse_ipv6; \
            ETHERTYPE_VLAN : parse_outer_vlan; \
            ETHERTYPE_QINQ : parse_outer_vlan; \
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
            ETHERTYPE_TEST : parse_test; \
            default : accept; \
        } \
    } \
    state parse_inner_vlan { \
        packet.extract(hdr.inner_vlan); \
        transition select(hdr.inner_vlan.ether_type) { \
            ETHERTYPE_IPV4 : parse_ipv4; \
            ETHERTYPE_IPV6 : parse_ipv6; \
            ETHERTYPE_TEST : parse_test; \
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

#define SIGNATURE_FIELDS { hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, \
                           hdr.signature.flow, hdr.signature.sequence, hdr.signature.transmit_time }

#endif
