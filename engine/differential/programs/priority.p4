// Priorities and the metadata of queues (the switch runs with eight queues per port).
// Probes: every priority leaves, queue depths of an idle switch, enqueueing times that make sense.
#include "include/base.p4"

header in_t { bit<8> kind; bit<5> rest; bit<3> priority; }
header result_t { bit<8> priority; bit<16> enqueue_depth; bit<16> dequeue_depth; bit<8> ordered; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        std.priority = hdr.ops.priority;
        if (hdr.ops.kind == 1) { std.mcast_grp = 1; }
        if (hdr.ops.kind == 2) { clone(CloneType.I2E, 1); }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        hdr.result.priority = (bit<8>) std.priority;
        if (hdr.ops.kind == 0) {
            hdr.result.enqueue_depth = (bit<16>) std.enq_qdepth;
            hdr.result.dequeue_depth = (bit<16>) std.deq_qdepth;
        }
        bit<48> enqueued = (bit<48>) std.enq_timestamp;
        if (std.egress_global_timestamp >= enqueued) { hdr.result.ordered = 1; }
        if (std.ingress_global_timestamp <= enqueued) { hdr.result.ordered = hdr.result.ordered + 2; }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
