// Fields of 256 and 512 bits, as keys of cryptography and vectors use them.
// Probes: arithmetic, shifts, slices, comparisons, concatenation and table keys beyond 128 bits, wide
// metadata, wide action parameters.
#include "include/base.p4"

header in_t { bit<256> a; bit<256> b; bit<512> c; bit<8> shift; }
header result_t {
    bit<256> sum; bit<256> difference; bit<256> saturated; bit<256> left; bit<512> right; bit<512> joined;
    bit<100> slice; bit<4> compared; bit<512> mixed; bit<256> looked_up; bit<256> product;
}
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<512> wide; bit<256> key; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action replace(bit<256> value) { hdr.result.looked_up = value ^ meta.key; }
    table wide_exact { key = { hdr.ops.a: exact; } actions = { replace; NoAction; } size = 16; }
    table wide_ternary { key = { hdr.ops.b: ternary; } actions = { replace; NoAction; } size = 16; }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.sum = hdr.ops.a + hdr.ops.b;
        hdr.result.difference = hdr.ops.a - hdr.ops.b;
        hdr.result.saturated = hdr.ops.a |-| hdr.ops.b;
        hdr.result.product = hdr.ops.a * hdr.ops.b;
        hdr.result.left = hdr.ops.a << hdr.ops.shift;
        hdr.result.right = hdr.ops.c >> hdr.ops.shift;
        hdr.result.joined = hdr.ops.a ++ hdr.ops.b;
        hdr.result.slice = hdr.ops.c[299:200];
        meta.wide = ~hdr.ops.c & (bit<512>) hdr.ops.a;
        meta.wide[255:128] = hdr.ops.b[130:3];
        hdr.result.mixed = meta.wide | 512w1 << 400;
        meta.key = hdr.ops.a < hdr.ops.b ? hdr.ops.a : hdr.ops.b;
        if (hdr.ops.a < hdr.ops.b) { hdr.result.compared = hdr.result.compared | 1; }
        if (hdr.ops.a == hdr.ops.b) { hdr.result.compared = hdr.result.compared | 2; }
        if (hdr.ops.c >= (hdr.ops.a ++ hdr.ops.b)) { hdr.result.compared = hdr.result.compared | 4; }
        if (meta.wide != 0) { hdr.result.compared = hdr.result.compared | 8; }
        if (!wide_exact.apply().hit) { wide_ternary.apply(); }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
