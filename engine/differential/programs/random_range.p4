// random: only its range can be compared, so the program says whether the number was inside.
// Probes: both ends, a range of one number, the full range.
#include "include/base.p4"

header in_t { bit<16> low; bit<16> span; }
header result_t { bit<8> inside; bit<16> single; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> number; bit<32> wide; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        bit<16> high = hdr.ops.low |+| hdr.ops.span;
        random(meta.number, hdr.ops.low, high);
        if (meta.number >= hdr.ops.low && meta.number <= high) { hdr.result.inside = 1; }
        random(meta.wide, 32w0xfffffff0, 32w0xffffffff);
        if (meta.wide >= 0xfffffff0) { hdr.result.inside = hdr.result.inside + 2; }
        random(hdr.result.single, hdr.ops.low, hdr.ops.low);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
