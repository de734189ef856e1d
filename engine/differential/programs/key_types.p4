// Keys of every type: bool, enum, signed, masked and sliced fields, elements of a stack, a
// member of a union, standard metadata.
// Probes: how keys are encoded, keys of headers that are not valid (they read as 0, also after
// setInvalid), lpm and ternary over expressions.
#include "include/base.p4"

enum bit<4> Colour { red = 1, green = 2, blue = 9 }
header in_t { bit<1> flag; bit<3> spare; Colour colour; int<16> number; bit<32> word; bit<8> change; }
header label_t { bit<15> value; bit<1> bottom; }
header result_t { bit<8> by_flag; bit<8> by_number; bit<8> by_slice; bit<8> by_label; bit<8> by_invalid; }
struct headers_t { result_t result; in_t ops; label_t[2] labels; }
struct meta_t { bool flag; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ops);
        meta.flag = hdr.ops.flag == 1;
        transition select(hdr.ops.spare) { 0: accept; default: label; }
    }
    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) { 1: accept; default: label; }
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action by_flag(bit<8> value) { hdr.result.by_flag = value; }
    action by_number(bit<8> value) { hdr.result.by_number = value; }
    action by_slice(bit<8> value) { hdr.result.by_slice = value; }
    action by_label(bit<8> value) { hdr.result.by_label = value; }
    action by_invalid(bit<8> value) { hdr.result.by_invalid = value; }
    table flags {
        key = { meta.flag: exact @name("flag"); hdr.ops.colour: exact @name("colour"); }
        actions = { by_flag; NoAction; }
        size = 16;
    }
    table numbers { key = { hdr.ops.number: exact @name("number"); } actions = { by_number; NoAction; } size = 32; }
    table slices {
        key = { hdr.ops.word[27:12]: ternary @name("middle"); hdr.ops.word & 0xf00: ternary @name("masked"); }
        actions = { by_slice; NoAction; }
        size = 32;
    }
    table labels {
        key = { hdr.labels[0].value: exact @name("first"); hdr.labels[1].isValid(): exact @name("second_valid"); }
        actions = { by_label; NoAction; }
        size = 32;
    }
    table invalids {
        key = { hdr.ops.word: ternary @name("word"); hdr.ops.change: range @name("change"); hdr.labels[1].value: ternary @name("second"); }
        actions = { by_invalid; NoAction; }
        size = 32;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        // setValid sets all fields to 0 in simple_switch, so that both labels are defined from here on.
        if (!hdr.labels[0].isValid()) { hdr.labels[0].setValid(); hdr.labels[0].setInvalid(); }
        if (!hdr.labels[1].isValid()) { hdr.labels[1].setValid(); hdr.labels[1].setInvalid(); }
        flags.apply();
        numbers.apply();
        slices.apply();
        labels.apply();
        if (hdr.ops.change == 1) { hdr.ops.setInvalid(); }
        if (hdr.ops.change == 2) { hdr.labels[1].setInvalid(); }
        if (hdr.ops.change == 3) { hdr.labels.push_front(1); }
        invalids.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); packet.emit(hdr.labels); }
}
MAIN
