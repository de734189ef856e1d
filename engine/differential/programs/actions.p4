// Actions: parameters with directions, parameters of any width, actions that call actions, tables in
// egress, one action in several tables, a table without keys whose default action is changed.
// Probes: action data wider than 64 bits, order of assignments, swaps, default actions by the controller.
#include "include/base.p4"

header in_t { bit<16> key; bit<48> source; bit<48> destination; bit<128> address; }
header result_t { bit<16> tag; bit<16> other; bit<1> flag; bit<7> seven; bit<65> wide; bit<7> rest; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<16> scratch; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action add(inout bit<16> target, in bit<16> amount) { target = target + amount; }
    action rewrite(bit<48> mac, bit<128> address, bit<9> port) {
        hdr.ops.source = hdr.ops.destination;
        hdr.ops.destination = mac;
        hdr.ops.address = hdr.ops.address ^ address;
        std.egress_spec = port;
        add(hdr.result.tag, hdr.ops.key);
    }
    action odd(bit<1> flag, bit<7> seven, bit<65> wide) { hdr.result.flag = flag; hdr.result.seven = seven; hdr.result.wide = wide; }
    action swap() {
        bit<48> spare = hdr.ops.source;
        hdr.ops.source = hdr.ops.destination;
        hdr.ops.destination = spare;
    }
    action tag(bit<16> value) { hdr.result.tag = value; add(hdr.result.other, value); }
    table rewrites { key = { hdr.ops.key: exact; } actions = { rewrite; odd; swap; NoAction; } size = 64; default_action = swap(); }
    table keyless { actions = { tag; odd; NoAction; } default_action = tag(0x0101); }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        rewrites.apply();
        keyless.apply();
        tag(hdr.result.tag ^ 0xff);
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action deny() { mark_to_drop(std); }
    action mark(bit<7> value) { hdr.result.rest = value; }
    table by_port { key = { std.egress_port: exact @name("port"); hdr.ops.key[0:0]: exact @name("odd"); } actions = { deny; mark; NoAction; } size = 16; }
    apply { REQUIRE_OUT(hdr.ops) by_port.apply(); }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
