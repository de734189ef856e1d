// Applies field modifiers to a frame.
#ifndef P4MESH_FIELDS
#define P4MESH_FIELDS

#include "types.p4"

// Fields that only this program changes, beside those of include/codes.p4. A field that is a part of one of these, or of
// a word, gets its value shifted to its place; it must not run over.
const bit<8> FIELD_TCP_DST = 11;
const bit<8> FIELD_TCP_SRC = 12;
const bit<8> FIELD_IPV4_DSCP_ECN = 13;
const bit<8> FIELD_IPV4_TTL = 14;
const bit<8> FIELD_IPV4_IDENTIFICATION = 15;
const bit<8> FIELD_IPV6_TRAFFIC_CLASS = 16;
const bit<8> FIELD_IPV6_FLOW_LABEL = 17;
const bit<8> FIELD_IPV6_HOP_LIMIT = 18;
const bit<8> FIELD_FIRST_IPV4_DST = 19;
const bit<8> FIELD_FIRST_IPV4_SRC = 20;
const bit<8> FIELD_FIRST_IPV4_DSCP_ECN = 21;
const bit<8> FIELD_FIRST_IPV4_TTL = 22;
const bit<8> FIELD_FIRST_IPV4_IDENTIFICATION = 23;
const bit<8> FIELD_FIRST_IPV6_DST = 24;
const bit<8> FIELD_FIRST_IPV6_SRC = 25;
const bit<8> FIELD_FIRST_IPV6_TRAFFIC_CLASS = 26;
const bit<8> FIELD_FIRST_IPV6_FLOW_LABEL = 27;
const bit<8> FIELD_FIRST_IPV6_HOP_LIMIT = 28;
const bit<8> FIELD_FIRST_UDP_SRC = 29;
const bit<8> FIELD_INNER_ETHERNET_DST = 30;
const bit<8> FIELD_INNER_ETHERNET_SRC = 31;
const bit<8> FIELD_OUTER_VLAN_PRIORITY = 32;
const bit<8> FIELD_INNER_VLAN_PRIORITY = 33;
const bit<8> FIELD_TCP_SEQUENCE = 34;
const bit<8> FIELD_TCP_FLAGS = 35;
const bit<8> FIELD_ICMP_REST = 36;
const bit<8> FIELD_TCP_ACKNOWLEDGMENT = 37;
const bit<8> FIELD_TCP_WINDOW = 38;
const bit<8> FIELD_TCP_URGENT = 39;
const bit<8> FIELD_ICMP_TYPE_CODE = 40;
const bit<8> FIELD_IPV4_FLAGS_OFFSET = 41;
const bit<8> FIELD_FIRST_IPV4_FLAGS_OFFSET = 42;
const bit<8> FIELD_OUTER_VLAN_DROP_ELIGIBLE = 43;
const bit<8> FIELD_INNER_VLAN_DROP_ELIGIBLE = 44;
const bit<8> FIELD_EXTENSION = 45;
const bit<8> FIELD_FIRST_EXTENSION = 46;

// The first word of each stack, and how many of its words can change.
const bit<8> FIELD_OUTER_WORD = 64;
const bit<8> FIELD_INNER_WORD = 96;
const bit<8> FIELD_OWN_WORD   = 112;
#define CHANGING_OUTER_WORDS 10
#define CHANGING_INNER_WORDS 4
#define CHANGING_OWN_WORDS 3

#define ADDS_TO_WORD(NAME, WORD) @hidden action NAME() { WORD.value = WORD.value + value[31:0]; }

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
    @hidden action tcp_dst() { hdr.tcp.dst = hdr.tcp.dst + value[15:0]; }
    @hidden action tcp_src() { hdr.tcp.src = hdr.tcp.src + value[15:0]; }
    @hidden action ipv4_dscp_ecn() { hdr.ipv4.dscp_ecn = hdr.ipv4.dscp_ecn + value[7:0]; }
    @hidden action ipv4_ttl() { hdr.ipv4.ttl = hdr.ipv4.ttl + value[7:0]; }
    @hidden action ipv4_identification() { hdr.ipv4.identification = hdr.ipv4.identification + value[15:0]; }
    @hidden action ipv6_traffic_class() { hdr.ipv6.traffic_class = hdr.ipv6.traffic_class + value[7:0]; }
    @hidden action ipv6_flow_label() { hdr.ipv6.flow_label = hdr.ipv6.flow_label + value[19:0]; }
    @hidden action ipv6_hop_limit() { hdr.ipv6.hop_limit = hdr.ipv6.hop_limit + value[7:0]; }
    @hidden action first_ipv4_dst() { hdr.first_ipv4.dst = hdr.first_ipv4.dst + value[31:0]; }
    @hidden action first_ipv4_src() { hdr.first_ipv4.src = hdr.first_ipv4.src + value[31:0]; }
    @hidden action first_ipv4_dscp_ecn() { hdr.first_ipv4.dscp_ecn = hdr.first_ipv4.dscp_ecn + value[7:0]; }
    @hidden action first_ipv4_ttl() { hdr.first_ipv4.ttl = hdr.first_ipv4.ttl + value[7:0]; }
    @hidden action first_ipv4_identification() { hdr.first_ipv4.identification = hdr.first_ipv4.identification + value[15:0]; }
    @hidden action first_ipv6_dst() { hdr.first_ipv6.dst_low = hdr.first_ipv6.dst_low + value[31:0]; }
    @hidden action first_ipv6_src() { hdr.first_ipv6.src_low = hdr.first_ipv6.src_low + value[31:0]; }
    @hidden action first_ipv6_traffic_class() { hdr.first_ipv6.traffic_class = hdr.first_ipv6.traffic_class + value[7:0]; }
    @hidden action first_ipv6_flow_label() { hdr.first_ipv6.flow_label = hdr.first_ipv6.flow_label + value[19:0]; }
    @hidden action first_ipv6_hop_limit() { hdr.first_ipv6.hop_limit = hdr.first_ipv6.hop_limit + value[7:0]; }
    @hidden action first_udp_src() { hdr.first_udp.src = hdr.first_udp.src + value[15:0]; }
    @hidden action inner_ethernet_dst() { hdr.inner_ethernet.dst = hdr.inner_ethernet.dst + value[47:0]; }
    @hidden action inner_ethernet_src() { hdr.inner_ethernet.src = hdr.inner_ethernet.src + value[47:0]; }
    @hidden action outer_vlan_priority() { hdr.outer_vlan.priority = hdr.outer_vlan.priority + value[2:0]; }
    @hidden action inner_vlan_priority() { hdr.inner_vlan.priority = hdr.inner_vlan.priority + value[2:0]; }
    @hidden action tcp_sequence() { hdr.tcp.sequence = hdr.tcp.sequence + value[31:0]; }
    @hidden action tcp_flags() { hdr.tcp.flags = hdr.tcp.flags + value[15:0]; }
    @hidden action icmp_rest() { hdr.icmp.rest = hdr.icmp.rest + value[31:0]; }
    @hidden action tcp_acknowledgment() { hdr.tcp.acknowledgment = hdr.tcp.acknowledgment + value[31:0]; }
    @hidden action tcp_window() { hdr.tcp.window = hdr.tcp.window + value[15:0]; }
    @hidden action tcp_urgent() { hdr.tcp.urgent = hdr.tcp.urgent + value[15:0]; }
    @hidden action icmp_type_code() { hdr.icmp.type_code = hdr.icmp.type_code + value[15:0]; }
    @hidden action ipv4_flags_offset() { hdr.ipv4.flags_offset = hdr.ipv4.flags_offset + value[15:0]; }
    @hidden action first_ipv4_flags_offset() { hdr.first_ipv4.flags_offset = hdr.first_ipv4.flags_offset + value[15:0]; }
    @hidden action outer_vlan_drop_eligible() { hdr.outer_vlan.drop_eligible = hdr.outer_vlan.drop_eligible + value[0:0]; }
    @hidden action inner_vlan_drop_eligible() { hdr.inner_vlan.drop_eligible = hdr.inner_vlan.drop_eligible + value[0:0]; }
    @hidden action extension() { hdr.extension[0].rest = hdr.extension[0].rest + value[47:0]; }
    @hidden action first_extension() { hdr.first_extension.rest = hdr.first_extension.rest + value[47:0]; }
    ADDS_TO_WORD(outer_word_0, hdr.outer[0])
    ADDS_TO_WORD(outer_word_1, hdr.outer[1])
    ADDS_TO_WORD(outer_word_2, hdr.outer[2])
    ADDS_TO_WORD(outer_word_3, hdr.outer[3])
    ADDS_TO_WORD(outer_word_4, hdr.outer[4])
    ADDS_TO_WORD(outer_word_5, hdr.outer[5])
    ADDS_TO_WORD(outer_word_6, hdr.outer[6])
    ADDS_TO_WORD(outer_word_7, hdr.outer[7])
    ADDS_TO_WORD(outer_word_8, hdr.outer[8])
    ADDS_TO_WORD(outer_word_9, hdr.outer[9])
    ADDS_TO_WORD(inner_word_0, hdr.inner[0])
    ADDS_TO_WORD(inner_word_1, hdr.inner[1])
    ADDS_TO_WORD(inner_word_2, hdr.inner[2])
    ADDS_TO_WORD(inner_word_3, hdr.inner[3])
    ADDS_TO_WORD(own_word_0, hdr.own[0])
    ADDS_TO_WORD(own_word_1, hdr.own[1])
    ADDS_TO_WORD(own_word_2, hdr.own[2])

    @hidden table adder {
        key = { field : exact; }
        actions = {
            ethernet_dst; ethernet_src; outer_vlan; inner_vlan; ipv4_dst; ipv4_src;
            ipv6_dst; ipv6_src; udp_dst; udp_src; NoAction;
            tcp_dst; tcp_src; ipv4_dscp_ecn; ipv4_ttl; ipv4_identification; ipv6_traffic_class; ipv6_flow_label;
            ipv6_hop_limit; first_ipv4_dst; first_ipv4_src; first_ipv4_dscp_ecn; first_ipv4_ttl;
            first_ipv4_identification; first_ipv6_dst; first_ipv6_src; first_ipv6_traffic_class;
            first_ipv6_flow_label; first_ipv6_hop_limit; first_udp_src; inner_ethernet_dst; inner_ethernet_src;
            outer_vlan_priority; inner_vlan_priority; tcp_sequence; tcp_flags; icmp_rest;
            tcp_acknowledgment; tcp_window; tcp_urgent; icmp_type_code; ipv4_flags_offset; first_ipv4_flags_offset;
            outer_vlan_drop_eligible; inner_vlan_drop_eligible; extension; first_extension; outer_word_0; outer_word_1;
            outer_word_2; outer_word_3; outer_word_4; outer_word_5; outer_word_6; outer_word_7; outer_word_8;
            outer_word_9;
            inner_word_0; inner_word_1; inner_word_2; inner_word_3;
            own_word_0; own_word_1; own_word_2;
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
            FIELD_TCP_DST : tcp_dst();
            FIELD_TCP_SRC : tcp_src();
            FIELD_IPV4_DSCP_ECN : ipv4_dscp_ecn();
            FIELD_IPV4_TTL : ipv4_ttl();
            FIELD_IPV4_IDENTIFICATION : ipv4_identification();
            FIELD_IPV6_TRAFFIC_CLASS : ipv6_traffic_class();
            FIELD_IPV6_FLOW_LABEL : ipv6_flow_label();
            FIELD_IPV6_HOP_LIMIT : ipv6_hop_limit();
            FIELD_FIRST_IPV4_DST : first_ipv4_dst();
            FIELD_FIRST_IPV4_SRC : first_ipv4_src();
            FIELD_FIRST_IPV4_DSCP_ECN : first_ipv4_dscp_ecn();
            FIELD_FIRST_IPV4_TTL : first_ipv4_ttl();
            FIELD_FIRST_IPV4_IDENTIFICATION : first_ipv4_identification();
            FIELD_FIRST_IPV6_DST : first_ipv6_dst();
            FIELD_FIRST_IPV6_SRC : first_ipv6_src();
            FIELD_FIRST_IPV6_TRAFFIC_CLASS : first_ipv6_traffic_class();
            FIELD_FIRST_IPV6_FLOW_LABEL : first_ipv6_flow_label();
            FIELD_FIRST_IPV6_HOP_LIMIT : first_ipv6_hop_limit();
            FIELD_FIRST_UDP_SRC : first_udp_src();
            FIELD_INNER_ETHERNET_DST : inner_ethernet_dst();
            FIELD_INNER_ETHERNET_SRC : inner_ethernet_src();
            FIELD_OUTER_VLAN_PRIORITY : outer_vlan_priority();
            FIELD_INNER_VLAN_PRIORITY : inner_vlan_priority();
            FIELD_TCP_SEQUENCE : tcp_sequence();
            FIELD_TCP_FLAGS : tcp_flags();
            FIELD_ICMP_REST : icmp_rest();
            FIELD_TCP_ACKNOWLEDGMENT : tcp_acknowledgment();
            FIELD_TCP_WINDOW : tcp_window();
            FIELD_TCP_URGENT : tcp_urgent();
            FIELD_ICMP_TYPE_CODE : icmp_type_code();
            FIELD_IPV4_FLAGS_OFFSET : ipv4_flags_offset();
            FIELD_FIRST_IPV4_FLAGS_OFFSET : first_ipv4_flags_offset();
            FIELD_OUTER_VLAN_DROP_ELIGIBLE : outer_vlan_drop_eligible();
            FIELD_INNER_VLAN_DROP_ELIGIBLE : inner_vlan_drop_eligible();
            FIELD_EXTENSION : extension();
            FIELD_FIRST_EXTENSION : first_extension();
            FIELD_OUTER_WORD + 0 : outer_word_0();
            FIELD_OUTER_WORD + 1 : outer_word_1();
            FIELD_OUTER_WORD + 2 : outer_word_2();
            FIELD_OUTER_WORD + 3 : outer_word_3();
            FIELD_OUTER_WORD + 4 : outer_word_4();
            FIELD_OUTER_WORD + 5 : outer_word_5();
            FIELD_OUTER_WORD + 6 : outer_word_6();
            FIELD_OUTER_WORD + 7 : outer_word_7();
            FIELD_OUTER_WORD + 8 : outer_word_8();
            FIELD_OUTER_WORD + 9 : outer_word_9();
            FIELD_INNER_WORD + 0 : inner_word_0();
            FIELD_INNER_WORD + 1 : inner_word_1();
            FIELD_INNER_WORD + 2 : inner_word_2();
            FIELD_INNER_WORD + 3 : inner_word_3();
            FIELD_OWN_WORD + 0 : own_word_0();
            FIELD_OWN_WORD + 1 : own_word_1();
            FIELD_OWN_WORD + 2 : own_word_2();
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
