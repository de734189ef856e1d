// Tables, counters, meters and registers in egress, where several copies of a frame pass.
// Probes: state shared by the replicas of one frame on one port (they pass in order), direct counters
// in egress, byte counts after headers were added, an action that drops in egress.
#include "include/base.p4"

header in_t { bit<8> kind; bit<16> key; }
header result_t { bit<16> order; bit<16> rid; bit<8> tag; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> order; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = 2;
        if (hdr.ops.kind < 4) { std.mcast_grp = (bit<16>) hdr.ops.kind + 1; }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<16>>(4) orders;
    counter(8, CounterType.bytes) octets;
    direct_counter(CounterType.packets_and_bytes) per_entry;
    action tag(bit<8> value) { per_entry.count(); hdr.result.tag = value; }
    action deny() { per_entry.count(); mark_to_drop(std); }
    table rules {
        key = { hdr.ops.key: ternary; std.egress_rid: ternary @name("rid"); }
        actions = { tag; deny; }
        counters = per_entry;
        size = 64;
        default_action = tag(0xff);
    }
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.setValid();
        orders.read(meta.order, 1);
        meta.order = meta.order + 1;
        orders.write(1, meta.order);
        hdr.result.order = meta.order;
        hdr.result.rid = std.egress_rid;
        octets.count((bit<32>) std.egress_rid);
        rules.apply();
        if (hdr.result.tag == 0xff) { octets.count(7); }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
