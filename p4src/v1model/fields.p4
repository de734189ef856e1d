// Applies field modifiers to a frame.
#ifndef P4MESH_FIELDS
#define P4MESH_FIELDS

#include "types.p4"

// Adds `value` to a field, modulo the width of the field.
control FieldAdder(inout egress_headers_t hdr, in bit<8> field, in addend_t value) {
    @hidden action ethernet_dst() { hdr.ethernet.dst = hdr.ethernet.dst + value; }
    @hidden action ethernet_src() { hdr.ethernet.src = hdr.ethernet.src + value; }
    @hidden action outer_vlan() { hdr.outer_vlan.id = hdr.outer_vlan.id + value[11:0]; }
    @hidden action inner_vlan() { hdr.inner_vlan.id = hdr.inner_vlan.id + value[11:0]; }
    @hidden action ipv4_dst() { hdr.ipv4.dst = hdr.ipv4.dst + value[31:0]; }
    @hidden action ipv4_src() { hdr.ipv4.src = hdr.ipv4.src + value[31:0]; }
    @hidden action ipv6_dst() { hdr.ipv6.dst_low = hdr.ipv6.dst_low + value[31:0]; }
    @hidden action ipv6_src() { hdr.ipv6.src_low = hdr.ipv6.src_low + value[31:0]; }
    @hidden action udp_dst() { hdr.udp.dst = hdr.udp.dst + value[15:0]; }
    @hidden action udp_src() { hdr.udp.src = hdr.udp.src + value[15:0]; }

    @hidden table adder {
        key = { field : exact; }
        actions = {
            ethernet_dst; ethernet_src; outer_vlan; inner_vlan; ipv4_dst; ipv4_src;
            ipv6_dst; ipv6_src; udp_dst; udp_src; NoAction;
        }
        const default_action = NoAction();
        const entries = {
            FIELD_ETHERNET_DST : ethernet_dst();
            FIELD_ETHERNET_SRC : ethernet_src();
            FIELD_OUTER_VLAN : outer_vlan();
            FIELD_INNER_VLAN : inner_vlan();
            FIELD_IPV4_DST : ipv4_dst();
            FIELD_IPV4_SRC : ipv4_src();
            FIELD_IPV6_DST : ipv6_dst();
            FIELD_IPV6_SRC : ipv6_src();
            FIELD_UDP_DST : udp_dst();
            FIELD_UDP_SRC : udp_src();
        }
    }

    apply { adder.apply(); }
}

// Adds the values of both modifiers to their fields.
control FieldAdders(inout egress_headers_t hdr, in bit<8> field_a, in addend_t value_a,
                    in bit<8> field_b, in addend_t value_b) {
    FieldAdder() adder_a;
    FieldAdder() adder_b;
    apply {
        adder_a.apply(hdr, field_a, value_a);
        adder_b.apply(hdr, field_b, value_b);
    }
}

#endif
