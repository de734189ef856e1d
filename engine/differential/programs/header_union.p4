// A header union and a stack of unions.
// Probes: setting one member invalidates the others, reading the validity of each, extracting into a
// member of the next union of a stack, emitting unions and stacks of them.
#include "include/base.p4"

header choice_t { bit<8> kind; bit<8> change; }
header narrow_t { bit<8> value; }
header wide_t { bit<32> value; }
header tag_t { bit<8> kind; }
header_union either_t { narrow_t narrow; wide_t wide; }
header result_t { bit<8> before; bit<8> after; }
struct headers_t { result_t result; choice_t choice; either_t one; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        transition select(hdr.choice.kind) {
            1: narrow;
            2: wide;
            default: accept;
        }
    }
    state narrow { packet.extract(hdr.one.narrow); transition accept; }
    state wide { packet.extract(hdr.one.wide); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (hdr.one.narrow.isValid()) { hdr.result.before = 1; }
        if (hdr.one.wide.isValid()) { hdr.result.before = hdr.result.before + 2; }
        if (hdr.choice.change == 1) { hdr.one.wide.setValid(); hdr.one.wide.value = 0x01020304; }
        if (hdr.choice.change == 2) { hdr.one.narrow.setValid(); hdr.one.narrow.value = 0x77; }
        if (hdr.choice.change == 3) { hdr.one.narrow.setInvalid(); }
        if (hdr.choice.change == 4) { hdr.one.wide.setInvalid(); }
        if (hdr.one.narrow.isValid()) { hdr.result.after = hdr.one.narrow.value; }
        if (hdr.one.wide.isValid()) { hdr.result.after = hdr.one.wide.value[7:0] + 2; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.one); }
}
MAIN
