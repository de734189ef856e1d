// Fields that do not begin or end on a byte, up to 129 bits.
// Probes: extraction and emission of odd widths, arithmetic and saturation at 3, 13, 57, 65 and 129
// bits, comparison of wide numbers.
#include "include/base.p4"

header in_t { bit<3> a3; bit<3> b3; bit<13> a13; bit<13> b13; bit<57> a57; bit<57> b57; bit<65> a65; bit<65> b65; bit<129> a129; bit<129> b129; bit<2> rest; }
header out_t {
    bit<3> add3; bit<3> mul3; bit<3> sadd3; bit<3> ssub3;
    bit<13> add13; bit<13> mul13; bit<13> sadd13; bit<13> ssub13;
    bit<57> add57; bit<57> mul57; bit<57> sadd57; bit<57> ssub57;
    bit<65> add65; bit<65> mul65; bit<65> sadd65; bit<65> ssub65;
    bit<129> add129; bit<129> mul129; bit<129> sadd129; bit<129> ssub129;
    bit<5> less; bit<5> equal; bit<2> rest;
}
struct headers_t { in_t ops; out_t result; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
#define ALL(N, BIT) \
    hdr.result.add##N = hdr.ops.a##N + hdr.ops.b##N; \
    hdr.result.mul##N = hdr.ops.a##N * hdr.ops.b##N; \
    hdr.result.sadd##N = hdr.ops.a##N |+| hdr.ops.b##N; \
    hdr.result.ssub##N = hdr.ops.a##N |-| hdr.ops.b##N; \
    if (hdr.ops.a##N < hdr.ops.b##N) { hdr.result.less = hdr.result.less | (5w1 << BIT); } \
    if (hdr.ops.a##N == hdr.ops.b##N) { hdr.result.equal = hdr.result.equal | (5w1 << BIT); }
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        ALL(3, 0)
        ALL(13, 1)
        ALL(57, 2)
        ALL(65, 3)
        ALL(129, 4)
        hdr.result.rest = hdr.ops.rest;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); }
}
MAIN
