// Control flow: exit, return, switch over numbers and over actions, hit and miss, nested controls
// with copy-in copy-out parameters, actions called directly.
// Probes: exit in an action and in a nested control, return, the default case, fall-through.
#include "include/base.p4"

header in_t { bit<8> kind; bit<8> key; bit<16> value; }
header result_t { bit<8> path; bit<16> total; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> total; bit<8> path; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control Nested(inout bit<16> total, in bit<16> step, out bit<8> path) {
    action add(bit<16> times) { total = total + step; total = total + times; }
    apply {
        path = 1;
        if (step == 0) { return; }
        add(3);
        if (step > 0xff00) { exit; }
        path = 2;
    }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Nested() nested;
    action stop() { hdr.result.path = 0x40; exit; }
    action plus(bit<16> amount) { meta.total = meta.total + amount; }
    action minus(bit<16> amount) { meta.total = meta.total - amount; }
    action leave(bit<16> amount) { meta.total = amount; return; }
    table choose {
        key = { hdr.ops.key: exact; }
        actions = { stop; plus; minus; leave; NoAction; }
        size = 64;
        default_action = NoAction();
    }
    table again {
        key = { meta.total: exact; }
        actions = { stop; plus; }
        size = 64;
        default_action = plus(7);
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        switch (hdr.ops.kind) {
            0: { meta.total = 100; }
            1:
            2: { meta.total = 200; hdr.result.path = 9; }
            3: { nested.apply(meta.total, hdr.ops.value, hdr.result.path); }
            4: { return; }
            5: { exit; }
            default: { meta.total = 1; }
        }
        switch (choose.apply().action_run) {
            plus: { meta.path = 1; }
            minus:
            leave: { meta.path = 2; }
            default: { meta.path = 3; }
        }
        if (again.apply().hit) { meta.path = meta.path + 0x10; } else { meta.path = meta.path + 0x20; }
        hdr.result.total = meta.total;
        hdr.result.path = hdr.result.path + meta.path;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        if (hdr.result.path == 0) { hdr.result.path = 0xee; }
        if (hdr.ops.key == 0xff) { exit; }
        hdr.ops.value = hdr.ops.value + 1;
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
