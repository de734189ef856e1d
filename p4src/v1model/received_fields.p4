// Tells the frames of a flow apart by header fields that they come with: each value has a cell of its own. Only v1model has
// this. Frames on ports without such flows are looked up in no table more.
#ifndef P4MESH_RECEIVED_FIELDS
#define P4MESH_RECEIVED_FIELDS

#include "types.p4"

// Bit of the flow offset in the table `receiver` that says that the port has such flows.
const bit<32> TOLD_APART = 0x80000000;

// Places the lowest bit of a header so that any range of its bits can be shifted to the right to its place in a number.
#define RECEIVED_BITS 16
#define RANGE_OF(BITS, SHIFT, MASK) ((bit<32>)((BITS ++ (bit<RECEIVED_BITS>)0) >> SHIFT) & MASK)
// Cell of a frame: that of the number which two ranges of bits of a header make.
#define BY_RANGES_OF(BITS) (bit<32> first_cell, bit<8> shift_a, bit<32> mask_a, bit<8> shift_b, bit<32> mask_b) { \
        local.cell = first_cell + (RANGE_OF(BITS, shift_a, mask_a) | RANGE_OF(BITS, shift_b, mask_b)); \
    }
#define IPV4_BITS(HEADER) (HEADER.dscp_ecn ++ HEADER.src ++ HEADER.dst)
// Without the source: a shift has 8 bits.
#define IPV6_BITS(HEADER) (HEADER.traffic_class ++ HEADER.flow_label ++ HEADER.dst_prefix ++ HEADER.dst_low)

control ReceivedFields(in ingress_headers_t hdr, inout ingress_t local, in bit<9> port) {
    @id(ID_ACTION_BY_ETHERNET)
    @brief("Tells frames apart by their MAC addresses: destination, source")
    action by_ethernet BY_RANGES_OF((hdr.ethernet.dst ++ hdr.ethernet.src))
    @id(ID_ACTION_BY_VLAN)
    @brief("Tells frames apart by the outermost tag: priority, drop eligible, identifier")
    action by_vlan BY_RANGES_OF((hdr.outer_vlan.priority ++ hdr.outer_vlan.drop_eligible ++ hdr.outer_vlan.id))
    @id(ID_ACTION_BY_MPLS)
    @brief("Tells frames apart by the outermost label: label, traffic class, bottom of stack, TTL")
    action by_mpls BY_RANGES_OF(hdr.outer[0].value)
    @id(ID_ACTION_BY_IPV4)
    @brief("Tells frames apart by their only IPv4 header: DSCP and ECN, source, destination")
    action by_ipv4 BY_RANGES_OF(IPV4_BITS(hdr.ipv4))
    @id(ID_ACTION_BY_FIRST_IPV4)
    @brief("Tells frames apart by the first IPv4 header of a tunnel: DSCP and ECN, source, destination")
    action by_first_ipv4 BY_RANGES_OF(IPV4_BITS(hdr.first_ipv4))
    @id(ID_ACTION_BY_IPV6)
    @brief("Tells frames apart by their only IPv6 header: traffic class, flow label, destination")
    action by_ipv6 BY_RANGES_OF(IPV6_BITS(hdr.ipv6))
    @id(ID_ACTION_BY_FIRST_IPV6)
    @brief("Tells frames apart by the first IPv6 header of a tunnel: traffic class, flow label, destination")
    action by_first_ipv6 BY_RANGES_OF(IPV6_BITS(hdr.first_ipv6))
    @id(ID_ACTION_AS_ONE)
    @brief("Leaves the frame in the cell of its flow and port")
    action as_one() { local.cell = local.cell & ~TOLD_APART; }

    @id(ID_TABLE_RECEIVED_FIELDS)
    @brief("Header whose bits tell the frames of a flow apart on a port, where a frame has it")
    table received_fields {
        key = {
            port : exact @name("port");
            hdr.signature.flow : exact @name("flow");
            hdr.ethernet.ether_type : ternary @name("ether_type");
            hdr.outer_vlan.isValid() : ternary @name("has_vlan");
            hdr.ipv4.isValid() : ternary @name("has_ipv4");
            hdr.ipv6.isValid() : ternary @name("has_ipv6");
            hdr.first_ipv4.isValid() : ternary @name("has_first_ipv4");
            hdr.first_ipv6.isValid() : ternary @name("has_first_ipv6");
        }
        actions = {
            by_ethernet; by_vlan; by_mpls; by_ipv4; by_first_ipv4; by_ipv6; by_first_ipv6; @defaultonly as_one;
        }
        const default_action = as_one();
        size = RECEIVED_FIELD_RULES;
    }

    apply { received_fields.apply(); }
}

#endif
