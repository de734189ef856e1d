// Structs in structs, tuples, arrays of metadata by hand, typedefs, new types, constants, functions,
// controls with constructor parameters, generic structs.
// Probes: copies of structs, comparison of structs, functions with several returns, name mangling of
// instances (two instances of a control with a table each).
#include "include/base.p4"

typedef bit<12> Vlan;
type bit<16> Handle;
const bit<16> OFFSET = 0x0100;
struct point_t { bit<16> x; bit<16> y; }
struct box_t { point_t low; point_t high; Vlan vlan; bool inside; }
header in_t { bit<16> x; bit<16> y; bit<4> kind; bit<12> vlan; }
header result_t { bit<16> x; bit<16> y; bit<16> larger; bit<8> equal; bit<8> first; bit<8> second; bit<16> handle; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { box_t box; box_t copy; Handle handle; }

bit<16> largest(in bit<16> a, in bit<16> b) {
    if (a > b) { return a; }
    return b;
}
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control Lookup(inout bit<8> answer, in bit<16> subject)(bit<8> step) {
    action set(bit<8> value) { answer = value + step; }
    table entries_of { key = { subject: exact @name("key"); } actions = { set; NoAction; } size = 16; }
    apply { if (!entries_of.apply().hit) { answer = step; } }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Lookup(1) first;
    Lookup(2) second;
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        meta.box.low = { hdr.ops.x, hdr.ops.y };
        meta.box.high = { x = hdr.ops.x + OFFSET, y = largest(hdr.ops.y, 0x1000) };
        meta.box.vlan = hdr.ops.vlan;
        meta.copy = meta.box;
        meta.copy.low.x = meta.copy.low.x & 0xfffe;
        meta.box.inside = meta.box.low.x >= meta.copy.low.x && meta.box.high.y < 0x8000;
        if (meta.box.low == meta.copy.low) { hdr.result.equal = 1; }
        if (meta.box.high == meta.copy.high) { hdr.result.equal = hdr.result.equal + 2; }
        if (meta.box.inside) { hdr.result.equal = hdr.result.equal + 4; }
        meta.handle = (Handle) (hdr.ops.x ^ hdr.ops.y);
        hdr.result.handle = (bit<16>) meta.handle;
        hdr.result.x = meta.copy.low.x;
        hdr.result.y = meta.box.high.y;
        hdr.result.larger = largest(largest(hdr.ops.x, hdr.ops.y), (bit<16>) meta.copy.vlan);
        first.apply(hdr.result.first, hdr.ops.x);
        second.apply(hdr.result.second, hdr.ops.x);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
