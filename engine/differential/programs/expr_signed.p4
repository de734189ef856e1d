// Signed arithmetic: int<N> fields and casts between signed and unsigned.
// Probes: comparisons of negative numbers, arithmetic shift to the right, saturating addition and
// subtraction at both ends, multiplication, negation of the smallest number, sign extension and
// truncation by casts, odd widths.
#include "include/base.p4"

header in_t { int<8> a8; int<8> b8; int<32> a32; int<32> b32; int<13> a13; int<13> b13; bit<6> shift; }
header out_t {
    int<8> add8; int<8> sub8; int<8> mul8; int<8> sadd8; int<8> ssub8; int<8> neg8;
    int<32> add32; int<32> sub32; int<32> mul32; int<32> sadd32; int<32> ssub32; int<32> neg32;
    int<13> add13; int<13> ssub13; int<13> sadd13; int<13> mul13; bit<4> zero;
    int<32> wide8; int<32> wide13; int<8> low13; bit<32> unsigned13; bit<32> right32; int<8> right8; int<32> left32;
    bit<8> compared;
}
struct headers_t { in_t ops; out_t result; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.add8 = hdr.ops.a8 + hdr.ops.b8;
        hdr.result.sub8 = hdr.ops.a8 - hdr.ops.b8;
        hdr.result.mul8 = hdr.ops.a8 * hdr.ops.b8;
        hdr.result.sadd8 = hdr.ops.a8 |+| hdr.ops.b8;
        hdr.result.ssub8 = hdr.ops.a8 |-| hdr.ops.b8;
        hdr.result.neg8 = -hdr.ops.a8;
        hdr.result.add32 = hdr.ops.a32 + hdr.ops.b32;
        hdr.result.sub32 = hdr.ops.a32 - hdr.ops.b32;
        hdr.result.mul32 = hdr.ops.a32 * hdr.ops.b32;
        hdr.result.sadd32 = hdr.ops.a32 |+| hdr.ops.b32;
        hdr.result.ssub32 = hdr.ops.a32 |-| hdr.ops.b32;
        hdr.result.neg32 = -hdr.ops.a32;
        hdr.result.add13 = hdr.ops.a13 + hdr.ops.b13;
        hdr.result.ssub13 = hdr.ops.a13 |-| hdr.ops.b13;
        hdr.result.sadd13 = hdr.ops.a13 |+| hdr.ops.b13;
        hdr.result.mul13 = hdr.ops.a13 * hdr.ops.b13;
        hdr.result.wide8 = (int<32>) hdr.ops.a8;
        hdr.result.wide13 = (int<32>) hdr.ops.a13;
        hdr.result.low13 = (int<8>) hdr.ops.b13;
        hdr.result.unsigned13 = (bit<32>) (bit<13>) hdr.ops.a13;
        hdr.result.right32 = (bit<32>) (hdr.ops.a32 >> hdr.ops.shift);
        hdr.result.right8 = hdr.ops.a8 >> hdr.ops.shift[2:0];
        hdr.result.left32 = hdr.ops.a32 << hdr.ops.shift;
        if (hdr.ops.a8 < hdr.ops.b8) { hdr.result.compared = hdr.result.compared | 1; }
        if (hdr.ops.a8 >= 0) { hdr.result.compared = hdr.result.compared | 2; }
        if (hdr.ops.a32 > hdr.ops.b32) { hdr.result.compared = hdr.result.compared | 4; }
        if (hdr.ops.a32 <= -1) { hdr.result.compared = hdr.result.compared | 8; }
        if (hdr.ops.a13 < hdr.ops.b13) { hdr.result.compared = hdr.result.compared | 16; }
        if (hdr.ops.a13 == hdr.ops.b13) { hdr.result.compared = hdr.result.compared | 32; }
        if (hdr.ops.a13 != -4096) { hdr.result.compared = hdr.result.compared | 64; }
        if ((bit<32>) hdr.ops.a32 < (bit<32>) hdr.ops.b32) { hdr.result.compared = hdr.result.compared | 128; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); }
}
MAIN
