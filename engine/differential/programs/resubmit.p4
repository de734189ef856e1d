// resubmit: the frame as it arrived goes through parser and ingress again.
// Probes: changes to headers are lost, preserved metadata is kept, the last of two requests wins,
// a frame that is resubmitted several times, resubmit beats drop, unicast and multicast.
#include "include/base.p4"

header in_t { bit<8> times; bit<8> extra; bit<16> value; }
header result_t { bit<8> type; bit<8> round; bit<16> sum; bit<16> lost; bit<8> ingress_port; bit<16> length; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { @field_list(1, 2) bit<8> round; @field_list(1) bit<16> sum; bit<16> lost; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(4) passes;
    apply {
        REQUIRE_IN(hdr.ops)
        bit<32> count;
        passes.read(count, 0);
        passes.write(0, count + 1);
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.type = (bit<8>) std.instance_type;
        hdr.result.round = meta.round;
        hdr.result.sum = meta.sum;
        hdr.result.lost = meta.lost;
        hdr.result.ingress_port = (bit<8>) std.ingress_port;
        hdr.result.length = (bit<16>) std.packet_length;
        if (meta.round < hdr.ops.times && meta.round < 5) {
            meta.round = meta.round + 1;
            if (hdr.ops.extra == 3) { resubmit_preserving_field_list(2); }
            if (hdr.ops.extra == 2) { resubmit_preserving_field_list(2); } else { resubmit_preserving_field_list(1); }
            if (hdr.ops.extra == 1) { mark_to_drop(std); }
            if (hdr.ops.extra == 4) { std.mcast_grp = 1; }
        } else if (hdr.ops.extra == 5) { std.mcast_grp = 1; }
        meta.sum = meta.sum + hdr.ops.value;
        meta.lost = 0x7777;
        hdr.ops.value = hdr.ops.value + 1;
        if (hdr.ops.extra == 0x80) { hdr.ops.value = (bit<16>) count; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
