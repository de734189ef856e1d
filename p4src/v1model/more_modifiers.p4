// Field modifiers beyond the two that both architectures have. Each is a table, a register and an adder of its own, since
// a pass applies a table once; streams that need none of them skip all by one test.
#ifndef P4MESH_MORE_MODIFIERS
#define P4MESH_MORE_MODIFIERS

#include "types.p4"
#include "fields.p4"
#include "../shared/modifiers.p4"

MODIFIER(ModifierC, ID_TABLE_MODIFIER_C, ID_TABLE_VALUE_C, ID_ACTION_PROGRESSION_C, ID_ACTION_LIST_C, ID_ACTION_RANDOM_C, ID_ACTION_VALUE_C)
MODIFIER(ModifierD, ID_TABLE_MODIFIER_D, ID_TABLE_VALUE_D, ID_ACTION_PROGRESSION_D, ID_ACTION_LIST_D, ID_ACTION_RANDOM_D, ID_ACTION_VALUE_D)

// Changes the fields of a test frame whose seed has the flag MORE_MODIFIERS, or clears the modifiers of transmitter `index`.
control MoreModifiers(inout headers_t hdr, in op_t op, in cell_t index) {
    ModifierC() modifier_c;
    ModifierD() modifier_d;
    FieldAdders() adders_cd;

    apply {
        bit<8> field_c = 0;
        bit<8> field_d = 0;
        addend_t value_c = 0;
        addend_t value_d = 0;
        bit<1> modified = 0;
        if (op == OP_UPDATE) {
            modified = 1;
        }
        modifier_c.apply((bit<16>)index, modified, op, 1, index, field_c, value_c);
        modifier_d.apply((bit<16>)index, modified, op, 1, index, field_d, value_d);
        if (modified == 1) {
            adders_cd.apply(hdr, field_c, value_c, field_d, value_d);
        }
    }
}

#endif
