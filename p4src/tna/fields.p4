// Applies field modifiers to a frame.
#ifndef P4MESH_FIELDS
#define P4MESH_FIELDS

#include "types.p4"

// Adds the values of both modifiers to their fields, modulo the width of the field; of a MAC address to
// the low 32 bits, as wide as an ALU is. ALUs do not mix words of 32 and of 16 bits: the hash unit makes
// 16-bit copies of the values. A VLAN identifier is part of a 16-bit word, so it is added to outside of it.
#define ADDER(NAME, FIELD, VALUE, NARROW) \
    @hidden action NAME##_ethernet_dst() { hdr.ethernet.dst[31:0] = hdr.ethernet.dst[31:0] + VALUE; } \
    @hidden action NAME##_ethernet_src() { hdr.ethernet.src[31:0] = hdr.ethernet.src[31:0] + VALUE; } \
    @hidden action NAME##_outer_vlan() { outer_id = outer_id + NARROW; } \
    @hidden action NAME##_inner_vlan() { inner_id = inner_id + NARROW; } \
    @hidden action NAME##_ipv4_dst() { hdr.ipv4.dst = hdr.ipv4.dst + VALUE; } \
    @hidden action NAME##_ipv4_src() { hdr.ipv4.src = hdr.ipv4.src + VALUE; } \
    @hidden action NAME##_ipv6_dst() { hdr.ipv6.dst_low = hdr.ipv6.dst_low + VALUE; } \
    @hidden action NAME##_ipv6_src() { hdr.ipv6.src_low = hdr.ipv6.src_low + VALUE; } \
    @hidden action NAME##_udp_dst() { hdr.udp.dst = hdr.udp.dst + NARROW; } \
    @hidden action NAME##_udp_src() { hdr.udp.src = hdr.udp.src + NARROW; } \
    @hidden table NAME { \
        key = { FIELD : exact; } \
        actions = { \
            NAME##_ethernet_dst; NAME##_ethernet_src; NAME##_outer_vlan; NAME##_inner_vlan; NAME##_ipv4_dst; \
            NAME##_ipv4_src; NAME##_ipv6_dst; NAME##_ipv6_src; NAME##_udp_dst; NAME##_udp_src; \
            @defaultonly NoAction; \
        } \
        const default_action = NoAction(); \
        const entries = { \
            FIELD_ETHERNET_DST : NAME##_ethernet_dst(); \
            FIELD_ETHERNET_SRC : NAME##_ethernet_src(); \
            FIELD_OUTER_VLAN : NAME##_outer_vlan(); \
            FIELD_INNER_VLAN : NAME##_inner_vlan(); \
            FIELD_IPV4_DST : NAME##_ipv4_dst(); \
            FIELD_IPV4_SRC : NAME##_ipv4_src(); \
            FIELD_IPV6_DST : NAME##_ipv6_dst(); \
            FIELD_IPV6_SRC : NAME##_ipv6_src(); \
            FIELD_UDP_DST : NAME##_udp_dst(); \
            FIELD_UDP_SRC : NAME##_udp_src(); \
        } \
        size = 16; \
    }

control FieldAdders(inout egress_headers_t hdr, in bit<8> field_a, in addend_t value_a,
                    in bit<8> field_b, in addend_t value_b) {
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_half_a;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_half_b;
    bit<16> narrow_a = 0;
    bit<16> narrow_b = 0;
    bit<16> outer_id = 0;
    bit<16> inner_id = 0;
    STEP(copy_ids,
         outer_id = (bit<16>)hdr.outer_vlan.id;
         inner_id = (bit<16>)hdr.inner_vlan.id;)
    STEP(narrow_down_a, narrow_a = low_half_a.get({ value_a });)
    STEP(narrow_down_b, narrow_b = low_half_b.get({ value_b });)
    ADDER(adder_a, field_a, value_a, narrow_a)
    ADDER(adder_b, field_b, value_b, narrow_b)
    STEP(set_ids,
         hdr.outer_vlan.id = outer_id[11:0];
         hdr.inner_vlan.id = inner_id[11:0];)

    apply {
        DO(copy_ids);
        DO(narrow_down_a);
        DO(narrow_down_b);
        adder_a.apply();
        adder_b.apply();
        DO(set_ids);
    }
}

#endif
