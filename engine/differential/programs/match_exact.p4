// Exact tables: one key, several keys of odd widths, a key that is the validity of a header, and a
// key of a header that may be invalid.
// Probes: misses, default action with parameters, modified and deleted entries, reading a key of an
// invalid header (it is 0, or what it was), keys that are expressions.
#include "include/base.p4"

header in_t { bit<8> kind; bit<16> a; bit<5> b; bit<3> c; bit<48> mac; }
header extra_t { bit<16> value; }
header result_t { bit<8> one; bit<8> several; bit<8> valid; bit<8> maybe; bit<8> computed; }
struct headers_t { result_t result; in_t ops; extra_t extra; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ops);
        transition select(hdr.ops.kind) { 0 .. 3: extra; default: accept; }
    }
    state extra { packet.extract(hdr.extra); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set_one(bit<8> value) { hdr.result.one = value; }
    action set_several(bit<8> value, bit<9> port) { hdr.result.several = value; std.egress_spec = port; }
    action set_valid(bit<8> value) { hdr.result.valid = value; }
    action set_maybe(bit<8> value) { hdr.result.maybe = value; }
    action set_computed(bit<8> value) { hdr.result.computed = value; }
    action drop() { mark_to_drop(std); }
    table one { key = { hdr.ops.mac: exact; } actions = { set_one; drop; } size = 128; default_action = set_one(0xee); }
    table several {
        key = { hdr.ops.a: exact; hdr.ops.b: exact; hdr.ops.c: exact @name("c"); std.ingress_port: exact @name("port"); }
        actions = { set_several; @defaultonly NoAction; }
        size = 128;
        const default_action = NoAction();
    }
    table valid { key = { hdr.extra.isValid(): exact @name("extra_valid"); } actions = { set_valid; NoAction; } size = 2; }
    table maybe { key = { hdr.extra.value: exact; } actions = { set_maybe; NoAction; } size = 32; }
    table computed {
        key = { hdr.ops.a + 1: exact @name("next"); hdr.ops.mac[3:0] ++ hdr.ops.c: exact @name("joined"); }
        actions = { set_computed; NoAction; }
        size = 32;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        several.apply();
        valid.apply();
        maybe.apply();
        computed.apply();
        one.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); packet.emit(hdr.extra); }
}
MAIN
