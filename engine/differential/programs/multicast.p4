// Multicast groups with replication ids.
// Probes: one egress pass per replica with its own port and rid, several replicas on one port, a group
// that does not exist or is empty, multicast beats unicast, mark_to_drop clears the group, a group set
// after mark_to_drop, changes of headers and metadata in ingress reach every replica, one replica
// dropped in egress, group changed and deleted.
#include "include/base.p4"

header in_t { bit<8> request; bit<8> group; bit<16> value; }
header result_t { bit<8> type; bit<16> rid; bit<8> port; bit<8> spec; bit<16> carried; bit<16> length; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> carried; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = 3;
        meta.carried = hdr.ops.value + 5;
        if (hdr.ops.request == 0) { std.mcast_grp = (bit<16>) hdr.ops.group; }
        if (hdr.ops.request == 1) { std.mcast_grp = (bit<16>) hdr.ops.group; mark_to_drop(std); }
        if (hdr.ops.request == 2) { mark_to_drop(std); std.mcast_grp = (bit<16>) hdr.ops.group; }
        if (hdr.ops.request == 3) { std.mcast_grp = (bit<16>) hdr.ops.group; std.egress_spec = DROP; }
        if (hdr.ops.request >= 4) { std.mcast_grp = (bit<16>) hdr.ops.group; hdr.ops.value = 0xabcd; }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        hdr.result.type = (bit<8>) std.instance_type;
        hdr.result.rid = std.egress_rid;
        hdr.result.port = (bit<8>) std.egress_port;
        hdr.result.spec = (bit<8>) std.egress_spec;
        hdr.result.carried = meta.carried;
        hdr.result.length = (bit<16>) std.packet_length;
        if (hdr.ops.request == 5 && std.egress_port == 2) { mark_to_drop(std); }
        if (hdr.ops.request == 6 && std.egress_rid == 1) { truncate(6); }
        if (hdr.ops.request == 7 && std.egress_rid[0:0] == 1) { hdr.ops.setInvalid(); }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
