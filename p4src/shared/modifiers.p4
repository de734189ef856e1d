// Field modifiers: a transmitter changes a header field from frame to frame. Two modifiers can work
// on the same stream; they differ only in their names, which P4Info needs to be unique.
#ifndef P4MESH_MODIFIERS
#define P4MESH_MODIFIERS

// Source of the values.
const bit<2> SOURCE_PROGRESSION = 0;
const bit<2> SOURCE_LIST        = 1;
const bit<2> SOURCE_RANDOM      = 2;

// The field and the value of a modifier. A list and a random sequence are entered by the number of the
// step, which is a progression of step size 1.
#define MODIFIER(NAME, TABLE_MODIFIER, TABLE_VALUE, ACTION_PROGRESSION, ACTION_LIST, ACTION_RANDOM, ACTION_VALUE) \
control NAME(in bit<16> transmitter_id, in bit<1> modified, in op_t op, in window_t window, in cell_t index, \
             inout bit<8> field, inout addend_t value) { \
    Progression(TRANSMITTERS) progression; \
    CRC32_UNIT(random) \
    COPY_UNIT(copy) \
    bit<2>  source = SOURCE_PROGRESSION; \
    bit<32> last = 0; \
    bit<32> step = 0; \
    bit<32> start = 0; \
    bit<32> random_mask = 0; \
    bit<32> sum = 0; \
    bit<32> entry = 0; \
    bit<32> random_value = 0; \
    @id(ACTION_PROGRESSION) \
    @brief("Adds 0, step, 2 x step, ... and starts again after `last_step` steps") \
    action progression_of(bit<8> field_code, bit<32> last_step, bit<32> step_size) { \
        field = field_code; last = last_step; step = step_size; \
    } \
    @id(ACTION_LIST) \
    @brief("Adds the values of a list in turn") \
    action list_of(bit<8> field_code, bit<32> last_step, bit<32> first_entry) { \
        field = field_code; last = last_step; step = 1; start = first_entry; source = SOURCE_LIST; \
    } \
    @id(ACTION_RANDOM) \
    @brief("Adds pseudo-random values, the CRC-32 of seed and step, under a mask") \
    action random_of(bit<8> field_code, bit<32> last_step, bit<32> seed, bit<32> mask) { \
        field = field_code; last = last_step; step = 1; start = seed; random_mask = mask; source = SOURCE_RANDOM; \
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
    action set_value(bit<48> addend) { value = (addend_t)addend; } \
    @id(TABLE_VALUE) \
    @brief("Values of all modifier lists; key = first entry of the list + step") \
    table list_value { \
        key = { entry : exact @name("entry"); } \
        actions = { set_value; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = MODIFIER_VALUES; \
    } \
    STEP(find_entry, entry = start + sum;) \
    STEP(draw, CRC32(random, random_value, start, sum);) \
    STEP(mask_random, value = (addend_t)(random_value & random_mask);) \
    STEP(take_sum, COPY(copy, value, sum);) \
    apply { \
        if (modified == 1) { \
            modifier.apply(); \
        } \
        progression.apply(op, window, index, last, step, sum); \
        DO(find_entry); \
        DO(draw); \
        if (source == SOURCE_LIST) { \
            list_value.apply(); \
        } else if (source == SOURCE_RANDOM) { \
            DO(mask_random); \
        } else { \
            DO(take_sum); \
        } \
    } \
}

MODIFIER(ModifierA, ID_TABLE_MODIFIER_A, ID_TABLE_VALUE_A, ID_ACTION_PROGRESSION_A, ID_ACTION_LIST_A, ID_ACTION_RANDOM_A, ID_ACTION_VALUE_A)
MODIFIER(ModifierB, ID_TABLE_MODIFIER_B, ID_TABLE_VALUE_B, ID_ACTION_PROGRESSION_B, ID_ACTION_LIST_B, ID_ACTION_RANDOM_B, ID_ACTION_VALUE_B)

#endif
