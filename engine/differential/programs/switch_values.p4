// switch over values, functions, and a control that is called with parameters and may end early.
// Probes: cases that fall together, enums with an underlying type, functions with several returns and
// inout arguments, return in an action and in a control, exit in an action of a called control.
#include "include/base.p4"

enum bit<8> kind_t { ONE = 1, TWO = 2, LAST = 0xff }
header ops_t { bit<8> a; bit<8> b; bit<16> c; }
struct headers_t { ops_t ops; }
struct meta_t { }

bit<16> pick(in bit<8> a, inout bit<8> b) {
    if (a > 200) { return 1; }
    b = b + 1;
    if (a > 100) {
        b = b ^ 0xf;
        return (bit<16>) b;
    }
    return 0xffff;
}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control Inner(inout ops_t ops, in bit<8> limit)(bit<8> step) {
    action leave() { exit; }
    action bump(bit<8> value) { ops.b = ops.b + value; ops.c = ops.c + 1; }
    table inner { key = { ops.a: ternary @name("a"); } actions = { leave; bump; NoAction; } size = 16; default_action = bump(3); }
    apply {
        if (ops.a == 0) { return; }
        ops.c = ops.c + (bit<16>) step;
        inner.apply();
        if (ops.b > limit) { exit; }
        ops.c[15:12] = 7;
        if (ops.a[0:0] == 1) { return; }
        ops.c = ops.c ^ 0x10;
    }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner(5) called;
    action set(bit<8> value) { hdr.ops.b = value; }
    action grow() { hdr.ops.a = hdr.ops.a + 1; }
    action nested(bit<8> value) {
        if (value == 0) {
            hdr.ops.c = 3;
        } else {
            if (value > 9) { hdr.ops.c = (bit<16>) value; return; }
            hdr.ops.c = 4;
        }
        hdr.ops.b = value;
    }
    table first { key = { hdr.ops.a: exact @name("a"); } actions = { set; grow; nested; @defaultonly NoAction; } size = 32; default_action = NoAction(); }
    table second { key = { hdr.ops.b: lpm @name("b"); } actions = { set; grow; nested; } size = 32; default_action = grow; }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        switch (first.apply().action_run) {
            set: grow: { hdr.ops.c = hdr.ops.c + 0x100; called.apply(hdr.ops, 200); }
            nested: { if (!second.apply().hit) { hdr.ops.c = hdr.ops.c + 0x200; } }
            default: { bit<8> copy = hdr.ops.b; hdr.ops.c = hdr.ops.c + pick(hdr.ops.a, copy); hdr.ops.b = copy; }
        }
        switch (hdr.ops.a) {
            0: 1: { hdr.ops.b = 0xaa; }
            2: { hdr.ops.c = hdr.ops.c |-| 7; }
            (bit<8>) kind_t.LAST: { hdr.ops.c = 1; }
            default: { hdr.ops.c = hdr.ops.c + 1; }
        }
        switch ((kind_t) hdr.ops.b) {
            kind_t.ONE: { hdr.ops.c = 0x1000; }
            kind_t.TWO: kind_t.LAST: { hdr.ops.c = 0x2000; }
            default: { }
        }
        if (pick(hdr.ops.b, hdr.ops.b) == 1 || (hdr.ops.a == 3 && pick(hdr.ops.a, hdr.ops.b) != 0)) { std.egress_spec = 2; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ops); } }
MAIN
