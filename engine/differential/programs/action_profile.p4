// Three tables of different kinds, each with an action profile.
// simple_switch crashes when tables share a profile: p4c makes a copy of each action for each table.
// Probes: members modified while entries point at them, default actions of such tables, action data
// of different shapes in one profile.
#include "include/base.p4"

header in_t { bit<16> a; bit<16> b; }
header result_t { bit<16> first; bit<16> second; bit<8> own; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> value; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<16> value) { meta.value = value; }
    action add(bit<16> value, bit<9> port) { meta.value = meta.value + value; std.egress_spec = port; }
    action swap() { meta.value = meta.value[7:0] ++ meta.value[15:8]; }
    action own_value(bit<8> value) { hdr.result.own = value; }
    @name("exacts") action_profile(32) exacts;
    @name("ternaries") action_profile(32) ternaries;
    @name("own") action_profile(8) own;
    table first {
        key = { hdr.ops.a: exact; }
        actions = { set; add; swap; NoAction; }
        implementation = exacts;
        size = 64;
        default_action = NoAction();
    }
    table second {
        key = { hdr.ops.b: ternary; }
        actions = { set; add; swap; NoAction; }
        implementation = ternaries;
        size = 64;
        default_action = NoAction();
    }
    table third {
        key = { hdr.ops.b: lpm; }
        actions = { own_value; NoAction; }
        implementation = own;
        size = 64;
        default_action = NoAction();
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        first.apply();
        hdr.result.first = meta.value;
        second.apply();
        hdr.result.second = meta.value;
        third.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
