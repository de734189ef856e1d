// Arithmetic and bit operators at the usual widths and one above 64 bits.
// Probes: wrap-around of + - *, saturating |+| and |-|, unary minus, complement, & | ^, and that no
// result keeps bits beyond its width.
#include "include/base.p4"

header in_t { bit<8> a8; bit<8> b8; bit<32> a32; bit<32> b32; bit<64> a64; bit<64> b64; bit<128> a128; bit<128> b128; }
header out8_t { bit<8> add; bit<8> sub; bit<8> mul; bit<8> sadd; bit<8> ssub; bit<8> neg; bit<8> inv; bit<8> mix; }
header out32_t { bit<32> add; bit<32> sub; bit<32> mul; bit<32> sadd; bit<32> ssub; bit<32> neg; bit<32> inv; bit<32> mix; }
header out64_t { bit<64> add; bit<64> sub; bit<64> mul; bit<64> sadd; bit<64> ssub; bit<64> neg; bit<64> inv; bit<64> mix; }
header out128_t { bit<128> add; bit<128> sub; bit<128> mul; bit<128> sadd; bit<128> ssub; bit<128> neg; bit<128> inv; bit<128> mix; }
struct headers_t { in_t ops; out8_t out8; out32_t out32; out64_t out64; out128_t out128; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
#define ALL(R, A, B) \
    R.setValid(); \
    R.add = A + B; \
    R.sub = A - B; \
    R.mul = A * B; \
    R.sadd = A |+| B; \
    R.ssub = A |-| B; \
    R.neg = -A; \
    R.inv = ~B; \
    R.mix = (A & B) | (A ^ ~B)
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        ALL(hdr.out8, hdr.ops.a8, hdr.ops.b8);
        ALL(hdr.out32, hdr.ops.a32, hdr.ops.b32);
        ALL(hdr.out64, hdr.ops.a64, hdr.ops.b64);
        ALL(hdr.out128, hdr.ops.a128, hdr.ops.b128);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.out8); packet.emit(hdr.out32); packet.emit(hdr.out64); packet.emit(hdr.out128); }
}
MAIN
