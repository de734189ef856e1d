// Indirect counters of the three types and direct counters, in ingress and egress.
// Probes: what counts as bytes after headers were added or removed, counting twice in one pass,
// direct counters of exact, lpm and ternary tables and of the default action.
#include "include/base.p4"

header in_t { bit<8> kind; bit<16> index; bit<32> key; }
header extra_t { bit<64> filler; }
struct headers_t { extra_t extra; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets) packets;
    counter(16, CounterType.bytes) octets;
    counter(16, CounterType.packets_and_bytes) both;
    direct_counter(CounterType.packets_and_bytes) of_exact;
    direct_counter(CounterType.packets) of_lpm;
    direct_counter(CounterType.bytes) of_ternary;
    action hit() { of_exact.count(); }
    action quiet() { }
    action route(bit<9> port) { of_lpm.count(); std.egress_spec = port; }
    action deny() { of_ternary.count(); mark_to_drop(std); }
    action permit() { of_ternary.count(); }
    table exacts { key = { hdr.ops.key: exact; } actions = { hit; } counters = of_exact; size = 64; default_action = hit(); }
    table routes { key = { hdr.ops.key: lpm; } actions = { route; } counters = of_lpm; size = 64; default_action = route(OUT); }
    table rules { key = { hdr.ops.key: ternary; } actions = { deny; permit; } counters = of_ternary; size = 64; default_action = permit(); }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        packets.count((bit<32>) hdr.ops.index);
        octets.count((bit<32>) hdr.ops.index);
        if (hdr.ops.kind == 1) { hdr.extra.setValid(); }
        if (hdr.ops.kind == 2) { hdr.ops.setInvalid(); }
        both.count(3);
        if (hdr.ops.kind == 3) { both.count(3); both.count(4); }
        exacts.apply();
        routes.apply();
        rules.apply();
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) leaving;
    apply { REQUIRE_OUT(hdr.ops) leaving.count((bit<32>) std.egress_port); }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.extra); packet.emit(hdr.ops); }
}
MAIN
