// Field modifiers: a transmitter changes a header field from frame to frame. Two modifiers can work
// on the same stream; they differ only in their names, which P4Info needs to be unique.
#ifndef P4MESH_MODIFIERS
#define P4MESH_MODIFIERS

// Where the value of a modifier goes. It is added to what the template or the station has.
const bit<8> FIELD_ETHERNET_DST = 1;
const bit<8> FIELD_ETHERNET_SRC = 2;
const bit<8> FIELD_OUTER_VLAN   = 3;
const bit<8> FIELD_INNER_VLAN   = 4;
const bit<8> FIELD_IPV4_DST     = 5;
const bit<8> FIELD_IPV4_SRC     = 6;
const bit<8> FIELD_IPV6_DST     = 7;
const bit<8> FIELD_IPV6_SRC     = 8;
const bit<8> FIELD_UDP_DST      = 9;
const bit<8> FIELD_UDP_SRC      = 10;

// Adds `value` to a field, modulo the width of the field.
control FieldAdder(inout headers_t hdr, in bit<8> field, in bit<48> value) {
    action ethernet_dst() { hdr.ethernet.dst = hdr.ethernet.dst + value; }
    action ethernet_src() { hdr.ethernet.src = hdr.ethernet.src + value; }
    action outer_vlan() { hdr.outer_vlan.id = hdr.outer_vlan.id + value[11:0]; }
    action inner_vlan() { hdr.inner_vlan.id = hdr.inner_vlan.id + value[11:0]; }
    action ipv4_dst() { hdr.ipv4.dst = hdr.ipv4.dst + value[31:0]; }
    action ipv4_src() { hdr.ipv4.src = hdr.ipv4.src + value[31:0]; }
    action ipv6_dst() { hdr.ipv6.dst_low = hdr.ipv6.dst_low + value[31:0]; }
    action ipv6_src() { hdr.ipv6.src_low = hdr.ipv6.src_low + value[31:0]; }
    action udp_dst() { hdr.udp.dst = hdr.udp.dst + value[15:0]; }
    action udp_src() { hdr.udp.src = hdr.udp.src + value[15:0]; }

    @brief("Field that the value is added to; fixed by the program")
    table adder {
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

#define MODIFIER(NAME, TABLE_MODIFIER, TABLE_VALUE, ACTION_PROGRESSION, ACTION_LIST, ACTION_RANDOM, ACTION_VALUE) \
control NAME(inout headers_t hdr, in bit<16> transmitter_id, in bit<2> op, in bit<32> cell) { \
    Progression(TRANSMITTERS) progression; \
    FieldAdder() field_adder; \
    bit<8>  field = 0; \
    bit<32> last = 0; \
    bit<32> step = 0; \
    bit<32> list_base = 0; \
    bit<32> random_seed = 0; \
    bit<32> random_mask = 0; \
    bit<1>  from_list = 0; \
    bit<48> value = 0; \
    bit<32> entry = 0; \
    @id(ACTION_PROGRESSION) \
    @brief("Adds 0, step, 2 x step, ... and starts again after `last_step` steps") \
    action progression_of(bit<8> field_code, bit<32> last_step, bit<32> step_size) { \
        field = field_code; last = last_step; step = step_size; \
    } \
    @id(ACTION_LIST) \
    @brief("Adds the values of a list in turn") \
    action list_of(bit<8> field_code, bit<32> last_step, bit<32> first_entry) { \
        field = field_code; last = last_step; list_base = first_entry; from_list = 1; \
    } \
    @id(ACTION_RANDOM) \
    @brief("Adds pseudo-random values, the CRC-32 of seed and step, under a mask") \
    action random_of(bit<8> field_code, bit<32> last_step, bit<32> seed, bit<32> mask) { \
        field = field_code; last = last_step; random_seed = seed; random_mask = mask; \
    } \
    @id(TABLE_MODIFIER) \
    @brief("Field modifier of a transmitter") \
    table modifier { \
        key = { transmitter_id : exact @name("transmitter"); } \
        actions = { progression_of; list_of; random_of; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = TRANSMITTERS; \
    } \
    @id(ACTION_VALUE) \
    @brief("One value of a list") \
    action set_value(bit<48> addend) { value = addend; } \
    @id(TABLE_VALUE) \
    @brief("Values of all modifier lists; key = first entry of the list + step") \
    table list_value { \
        key = { entry : exact @name("entry"); } \
        actions = { set_value; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = MODIFIER_VALUES; \
    } \
    apply { \
        bit<32> position = 0; \
        bit<32> sum = 0; \
        if (op == OP_UPDATE) { \
            modifier.apply(); \
        } \
        if (op != OP_NONE && cell < TRANSMITTERS) { \
            progression.apply(op, cell, last, step, position, sum); \
        } \
        if (op == OP_UPDATE) { \
            value = (bit<48>)sum; \
            if (random_mask != 0) { \
                bit<32> random_value = 0; \
                CRC32(random_value, random_seed, position); \
                value = (bit<48>)(random_value & random_mask); \
            } \
            if (from_list == 1) { \
                entry = list_base + position; \
                list_value.apply(); \
            } \
            field_adder.apply(hdr, field, value); \
        } \
    } \
}

MODIFIER(ModifierA, ID_TABLE_MODIFIER_A, ID_TABLE_VALUE_A, ID_ACTION_PROGRESSION_A, ID_ACTION_LIST_A, ID_ACTION_RANDOM_A, ID_ACTION_VALUE_A)
MODIFIER(ModifierB, ID_TABLE_MODIFIER_B, ID_TABLE_VALUE_B, ID_ACTION_PROGRESSION_B, ID_ACTION_LIST_B, ID_ACTION_RANDOM_B, ID_ACTION_VALUE_B)

#endif
