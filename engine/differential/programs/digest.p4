// Digests to the controller.
// Probes: values at the end of ingress and not at the call, two digests requested in one pass (the
// last one is sent), digest of a frame that is dropped, odd widths, bool, struct order.
#include "include/base.p4"

header in_t { bit<8> request; bit<16> value; bit<5> odd; bit<3> rest; }
struct headers_t { in_t ops; }
struct learned_t { bit<32> number; bit<16> value; bit<5> odd; bit<9> port; bit<48> wide; }
struct other_t { bit<32> number; bit<1> flag; }
struct meta_t { learned_t learned; other_t other; bit<32> number; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(1) numbers;
    counter(2, CounterType.packets) requested;
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        numbers.read(meta.number, 0);
        numbers.write(0, meta.number + 1);
        meta.learned.number = meta.number;
        meta.learned.value = hdr.ops.value;
        meta.learned.odd = hdr.ops.odd;
        meta.learned.port = std.ingress_port;
        meta.learned.wide = (bit<48>) hdr.ops.value << 30;
        meta.other.number = meta.number;
        meta.other.flag = hdr.ops.rest[0:0];
        if (hdr.ops.request == 0) { digest<learned_t>(1, meta.learned); requested.count(0); }
        if (hdr.ops.request == 1) { digest<other_t>(1, meta.other); requested.count(1); }
        if (hdr.ops.request == 2) {
            digest<learned_t>(1, meta.learned);
            digest<other_t>(1, meta.other);
            requested.count(1);
            meta.other.flag = 1;
        }
        if (hdr.ops.request == 3) { digest<learned_t>(1, meta.learned); requested.count(0); mark_to_drop(std); }
        if (hdr.ops.request == 4) {
            digest<learned_t>(1, { meta.number, 16w9, hdr.ops.odd, 9w7, 48w1 });
            requested.count(0);
            hdr.ops.odd = 0;
        }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ops); }
}
MAIN
