// Slices, concatenation, casts, shifts and the ternary operator.
// Probes: slices read and written across bytes and words, shifts by amounts up to 255 (beyond the
// width), shifts of 128 bits, bool to bit and back, conditional expressions, nested concatenation.
#include "include/base.p4"

header in_t { bit<32> a; bit<32> b; bit<128> wide; bit<8> shift; }
header out_t {
    bit<16> middle; bit<1> top; bit<32> patched; bit<128> patched_wide; bit<7> across;
    bit<32> left; bit<32> right; bit<128> left_wide; bit<128> right_wide; bit<8> left8;
    bit<64> joined; bit<48> joined3; bit<32> chosen; bit<16> cast16; bit<40> cast40; bit<8> flags; bit<32> constant_shifts;
}
struct headers_t { in_t ops; out_t result; }
struct meta_t { bool flag; bit<9> nine; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.middle = hdr.ops.a[23:8];
        hdr.result.top = hdr.ops.a[31:31];
        hdr.result.patched = hdr.ops.a;
        hdr.result.patched[12:3] = hdr.ops.b[9:0];
        hdr.result.patched[31:31] = hdr.ops.b[0:0];
        hdr.result.patched_wide = hdr.ops.wide;
        hdr.result.patched_wide[69:60] = hdr.ops.b[19:10];
        hdr.result.across = hdr.ops.wide[67:61];
        hdr.result.left = hdr.ops.a << hdr.ops.shift;
        hdr.result.right = hdr.ops.a >> hdr.ops.shift;
        hdr.result.left_wide = hdr.ops.wide << hdr.ops.shift;
        hdr.result.right_wide = hdr.ops.wide >> hdr.ops.shift;
        hdr.result.left8 = hdr.ops.shift << hdr.ops.a[2:0];
        hdr.result.joined = hdr.ops.a ++ hdr.ops.b;
        hdr.result.joined3 = hdr.ops.a[7:0] ++ hdr.ops.shift ++ hdr.ops.wide[100:69];
        hdr.result.chosen = hdr.ops.a < hdr.ops.b ? hdr.ops.b - hdr.ops.a : (hdr.ops.shift == 0 ? 32w7 : hdr.ops.a);
        meta.flag = hdr.ops.a[0:0] == 1 && !(hdr.ops.b == 0) || hdr.ops.shift > 0xf0;
        meta.nine = (bit<9>) hdr.ops.b;
        hdr.result.cast16 = (bit<16>) meta.nine + (bit<16>) hdr.ops.a;
        hdr.result.cast40 = (bit<40>) hdr.ops.a + (bit<40>) hdr.ops.b;
        hdr.result.flags = (bit<8>) (bit<1>) meta.flag;
        if ((bool) hdr.ops.b[4:4]) { hdr.result.flags = hdr.result.flags | 0x10; }
        hdr.result.constant_shifts = (hdr.ops.a << 5) ^ (hdr.ops.b >> 31) ^ (32w1 << hdr.ops.shift);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); }
}
MAIN
