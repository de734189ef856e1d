// Several requests in one pass: each bit of the frame's first byte asks for one of them.
// Probes: clone and resubmit and multicast and drop together in ingress; clone and recirculate and
// drop and truncate together in egress; which of them beats which, and what each result contains.
#include "include/base.p4"

header in_t {
    bit<1> clone_in; bit<1> resubmit_in; bit<1> multicast_in; bit<1> drop_in;
    bit<1> clone_out; bit<1> recirculate_out; bit<1> drop_out; bit<1> truncate_out;
    bit<16> value;
}
header result_t { bit<8> type; bit<8> port; bit<8> rounds; bit<8> rid; bit<16> kept; bit<16> length; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { @field_list(1) bit<8> rounds; @field_list(1) bit<16> kept; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = 2;
        meta.kept = meta.kept + hdr.ops.value;
        if (meta.rounds == 0) {
            if (hdr.ops.clone_in == 1) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
            if (hdr.ops.resubmit_in == 1) { resubmit_preserving_field_list(1); }
        }
        if (hdr.ops.drop_in == 1) { mark_to_drop(std); }
        if (hdr.ops.multicast_in == 1) { std.mcast_grp = 1; }
        if (hdr.ops.truncate_out == 1 && hdr.ops.value == 0) { truncate(5); }
        meta.rounds = meta.rounds + 1;
        hdr.ops.value = hdr.ops.value + 1;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        hdr.result.type = (bit<8>) std.instance_type;
        hdr.result.port = (bit<8>) std.egress_port;
        hdr.result.rounds = meta.rounds;
        hdr.result.rid = (bit<8>) std.egress_rid;
        hdr.result.kept = meta.kept;
        hdr.result.length = (bit<16>) std.packet_length;
        if (meta.rounds < 3 && std.instance_type != INSTANCE_EGRESS_CLONE) {
            if (hdr.ops.clone_out == 1) { clone_preserving_field_list(CloneType.E2E, 2, 1); }
            if (hdr.ops.recirculate_out == 1 && std.egress_port == 2) { recirculate_preserving_field_list(1); }
        }
        if (hdr.ops.drop_out == 1 && std.instance_type != INSTANCE_EGRESS_CLONE) { mark_to_drop(std); }
        if (hdr.ops.truncate_out == 1) { truncate(12); }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ops); packet.emit(hdr.result); }
}
MAIN
