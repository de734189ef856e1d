// Clones made in egress, with and without preserved fields.
// Probes: the clone holds the headers as egress left them, preserved fields hold their values at
// the end of egress, the original may be dropped, a clone passes egress again and may see other
// ports, sessions that do not exist, sessions with several replicas, truncation.
#include "include/base.p4"

header in_t { bit<8> request; bit<8> session; bit<16> value; }
header result_t { bit<8> type; bit<8> rid; bit<16> one; bit<16> two; bit<16> three; bit<16> length; bit<8> port; bit<8> ingress_port; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { @field_list(1, 2) bit<16> one; @field_list(2) bit<16> two; bit<16> three; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        meta.one = hdr.ops.value;
        meta.two = 0x2222;
        meta.three = 0x3333;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        if (std.instance_type != INSTANCE_EGRESS_CLONE) {
            hdr.ops.value = hdr.ops.value + 1;
            if (hdr.ops.request == 1) { clone(CloneType.E2E, (bit<32>) hdr.ops.session); }
            if (hdr.ops.request == 2) { clone_preserving_field_list(CloneType.E2E, (bit<32>) hdr.ops.session, 1); }
            if (hdr.ops.request == 3) { clone_preserving_field_list(CloneType.E2E, (bit<32>) hdr.ops.session, 2); mark_to_drop(std); }
            if (hdr.ops.request == 4) { clone_preserving_field_list(CloneType.E2E, (bit<32>) hdr.ops.session, 1); truncate(20); }
            meta.one = meta.one + 0x100;
        } else if (hdr.ops.request == 3) { hdr.ops.session = hdr.ops.session + 0x80; }
        hdr.result.setValid();
        hdr.result.type = (bit<8>) std.instance_type;
        hdr.result.rid = (bit<8>) std.egress_rid;
        hdr.result.one = meta.one;
        hdr.result.two = meta.two;
        hdr.result.three = meta.three;
        hdr.result.length = (bit<16>) std.packet_length;
        hdr.result.port = (bit<8>) std.egress_port;
        hdr.result.ingress_port = (bit<8>) std.ingress_port;
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
