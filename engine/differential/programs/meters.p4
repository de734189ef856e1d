// Meters whose buckets are never refilled (rate 0), so that colours depend on the frames only.
// Probes: green, yellow and red as the buckets empty, packets and bytes, direct meters, meters that
// nobody configured.
#include "include/base.p4"

header in_t { bit<8> kind; bit<8> index; bit<16> key; }
header result_t { bit<8> by_packets; bit<8> by_bytes; bit<8> direct; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<2> colour; bit<8> other; bit<32> direct; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    meter(8, MeterType.packets) by_packets;
    meter(8, MeterType.bytes) by_bytes;
    direct_meter<bit<32>>(MeterType.packets) direct;
    action metered() { direct.read(meta.direct); }
    action metered_to(bit<9> port) { direct.read(meta.direct); std.egress_spec = port; }
    table flows {
        key = { hdr.ops.key: exact; }
        actions = { metered; metered_to; NoAction; }
        meters = direct;
        size = 64;
        default_action = NoAction();
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        meta.colour = 3;
        meta.other = 0x77;
        meta.direct = 0x55;
        by_packets.execute_meter((bit<32>) hdr.ops.index, meta.colour);
        by_bytes.execute_meter((bit<32>) hdr.ops.index, meta.other);
        flows.apply();
        hdr.result.by_packets = (bit<8>) meta.colour;
        hdr.result.by_bytes = meta.other;
        hdr.result.direct = (bit<8>) meta.direct;
        if (hdr.ops.kind == 1 && meta.colour == 2) { mark_to_drop(std); }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
