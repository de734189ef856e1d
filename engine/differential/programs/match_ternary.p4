// Ternary tables: one wide key, and ternary mixed with exact, lpm and optional keys.
// Probes: the entry with the highest priority wins, a key that is left out matches everything,
// lpm inside a ternary table decides nothing about priority.
#include "include/base.p4"

header in_t { bit<32> a; bit<16> b; bit<8> c; bit<80> wide; }
header result_t { bit<16> wide; bit<16> mixed; bit<16> optionals; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set_wide(bit<16> value) { hdr.result.wide = value; }
    action set_mixed(bit<16> value) { hdr.result.mixed = value; }
    action set_optionals(bit<16> value) { hdr.result.optionals = value; }
    table wide { key = { hdr.ops.wide: ternary; } actions = { set_wide; } size = 128; default_action = set_wide(0xdead); }
    table mixed {
        key = { hdr.ops.c: exact; hdr.ops.a: lpm; hdr.ops.b: ternary; }
        actions = { set_mixed; NoAction; }
        size = 128;
    }
    table optionals {
        key = { hdr.ops.c: optional; hdr.ops.b: optional; std.ingress_port: optional @name("port"); }
        actions = { set_optionals; NoAction; }
        size = 128;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        wide.apply();
        mixed.apply();
        optionals.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
