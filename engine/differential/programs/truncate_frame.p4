// truncate in ingress and egress.
// Probes: lengths from 0 to more than the frame has, truncation inside emitted headers, truncation
// twice (the smaller or the later?), headers added after truncation, packet_length in egress.
#include "include/base.p4"

header in_t { bit<8> where; bit<8> length; bit<8> second; }
header extra_t { bit<32> word; }
header result_t { bit<16> length; }
struct headers_t { result_t result; in_t ops; extra_t extra; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        if (hdr.ops.where == 0) { truncate((bit<32>) hdr.ops.length); }
        if (hdr.ops.where == 1) { truncate((bit<32>) hdr.ops.length); truncate((bit<32>) hdr.ops.second); }
        if (hdr.ops.where == 2) { truncate((bit<32>) hdr.ops.length); hdr.extra.setValid(); hdr.extra.word = 0x01020304; }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        hdr.result.length = (bit<16>) std.packet_length;
        if (hdr.ops.where == 3) { truncate((bit<32>) hdr.ops.length); }
        if (hdr.ops.where == 1) { truncate((bit<32>) hdr.ops.second + 4); }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); packet.emit(hdr.extra); }
}
MAIN
