// The ways to drop a frame, and the ways to take it back.
// Probes: mark_to_drop and a later egress_spec, egress_spec 511 written by hand, no egress_spec at all
// (port 0), drop in egress by mark_to_drop and by egress_spec, egress_spec changed in egress (has no
// effect), what egress reads in egress_spec, drop after clone.
#include "include/base.p4"

header in_t { bit<8> arrive; bit<8> leave; bit<16> value; }
header result_t { bit<16> spec; bit<16> port; bit<16> group; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() { mark_to_drop(std); }
    apply {
        REQUIRE_IN(hdr.ops)
        if (hdr.ops.arrive != 1) { std.egress_spec = 2; }
        if (hdr.ops.arrive == 2) { drop(); }
        if (hdr.ops.arrive == 3) { drop(); std.egress_spec = 3; }
        if (hdr.ops.arrive == 4) { std.egress_spec = DROP; }
        if (hdr.ops.arrive == 5) { std.mcast_grp = 9; drop(); std.egress_spec = 4; }
        if (hdr.ops.arrive == 6) { clone(CloneType.I2E, 1); drop(); }
        if (hdr.ops.arrive == 7) { drop(); clone(CloneType.I2E, 1); std.egress_spec = 1; }
        if (hdr.ops.arrive == 8) { drop(); exit; }
        if (hdr.ops.arrive == 9) { std.egress_spec = (bit<9>) hdr.ops.value; }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        hdr.result.spec = (bit<16>) std.egress_spec;
        hdr.result.port = (bit<16>) std.egress_port;
        hdr.result.group = std.mcast_grp;
        if (hdr.ops.leave == 1) { mark_to_drop(std); }
        if (hdr.ops.leave == 2) { std.egress_spec = DROP; }
        if (hdr.ops.leave == 3) { mark_to_drop(std); std.egress_spec = 1; }
        if (hdr.ops.leave == 4) { std.egress_spec = 3; }
        if (hdr.ops.leave == 5 && std.instance_type == INSTANCE_NORMAL) { clone(CloneType.E2E, 1); mark_to_drop(std); }
        if (hdr.ops.leave == 6) { std.egress_port = 3; hdr.result.port = (bit<16>) std.egress_port; }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
