// Field modifiers beyond the two that both architectures have. Each is a table, a register and an adder of its own, since
// a pass applies a table once; streams that need none of them skip all by one test.
#ifndef P4MESH_MORE_MODIFIERS
#define P4MESH_MORE_MODIFIERS

#include "types.p4"
#include "fields.p4"
#include "../shared/modifiers.p4"

MODIFIER(ModifierC, ID_TABLE_MODIFIER_C, ID_TABLE_VALUE_C, ID_ACTION_PROGRESSION_C, ID_ACTION_LIST_C, ID_ACTION_RANDOM_C, ID_ACTION_VALUE_C)
MODIFIER(ModifierD, ID_TABLE_MODIFIER_D, ID_TABLE_VALUE_D, ID_ACTION_PROGRESSION_D, ID_ACTION_LIST_D, ID_ACTION_RANDOM_D, ID_ACTION_VALUE_D)
MODIFIER(ModifierE, ID_TABLE_MODIFIER_E, ID_TABLE_VALUE_E, ID_ACTION_PROGRESSION_E, ID_ACTION_LIST_E, ID_ACTION_RANDOM_E, ID_ACTION_VALUE_E)
MODIFIER(ModifierF, ID_TABLE_MODIFIER_F, ID_TABLE_VALUE_F, ID_ACTION_PROGRESSION_F, ID_ACTION_LIST_F, ID_ACTION_RANDOM_F, ID_ACTION_VALUE_F)

// Changes the fields of a test frame whose seed has the flag MORE_MODIFIERS, or clears the modifiers of transmitter `index`.
control MoreModifiers(inout headers_t hdr, in op_t op, in cell_t index) {
    ModifierC() modifier_c;
    ModifierD() modifier_d;
    ModifierE() modifier_e;
    ModifierF() modifier_f;
    FieldAdders() adders_cd;
    FieldAdders() adders_ef;

    apply {
        bit<8> field_c = 0;
        bit<8> field_d = 0;
        bit<8> field_e = 0;
        bit<8> field_f = 0;
        addend_t value_c = 0;
        addend_t value_d = 0;
        addend_t value_e = 0;
        addend_t value_f = 0;
        bit<1> modified = 0;
        if (op == OP_UPDATE) {
            modified = 1;
        }
        modifier_c.apply((bit<16>)index, modified, op, 1, index, field_c, value_c);
        modifier_d.apply((bit<16>)index, modified, op, 1, index, field_d, value_d);
        modifier_e.apply((bit<16>)index, modified, op, 1, index, field_e, value_e);
        modifier_f.apply((bit<16>)index, modified, op, 1, index, field_f, value_f);
        if (modified == 1) {
            adders_cd.apply(hdr, field_c, value_c, field_d, value_d);
            adders_ef.apply(hdr, field_e, value_e, field_f, value_f);
        }
    }
}

#endif
