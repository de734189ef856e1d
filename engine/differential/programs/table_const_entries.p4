// Entries that the program itself holds: const entries of every match kind, entries with priorities of
// their own, const default actions. (simple_switch_grpc lets nobody add entries to any of these tables.)
// Probes: the order of const entries is their priority, lpm among const entries, an explicit priority.
#include "include/base.p4"

header in_t { bit<8> a; bit<16> b; bit<32> c; }
header result_t { bit<8> exact_result; bit<8> ternary_result; bit<8> lpm_result; bit<8> range_result; bit<8> optional_result; bit<8> mutable_result; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action e(bit<8> value) { hdr.result.exact_result = value; }
    action t(bit<8> value) { hdr.result.ternary_result = value; }
    action l(bit<8> value) { hdr.result.lpm_result = value; }
    action r(bit<8> value) { hdr.result.range_result = value; }
    action o(bit<8> value) { hdr.result.optional_result = value; }
    action m(bit<8> value) { hdr.result.mutable_result = value; }
    table exacts {
        key = { hdr.ops.a: exact; hdr.ops.b: exact; }
        actions = { e; }
        const entries = { (1, 1): e(1); (1, 2): e(2); (2, 1): e(3); (0xff, 0xffff): e(4); }
        const default_action = e(0xee);
    }
    table ternaries {
        key = { hdr.ops.a: ternary; hdr.ops.b: ternary; }
        actions = { t; NoAction; }
        const entries = {
            (1 &&& 0x0f, 2): t(1);
            (1, _): t(2);
            (_, 0x0100 &&& 0xff00): t(3);
            (0x80 &&& 0x80, 0 &&& 1): t(4);
            (_, 7): t(5);
        }
    }
    table prefixes {
        key = { hdr.ops.c: lpm; }
        actions = { l; NoAction; }
        const entries = {
            0x0a000000 &&& 0xff000000: l(1);
            0x0a010000 &&& 0xffff0000: l(2);
            0x0a010101: l(3);
            _: l(4);
        }
    }
    table ranges {
        key = { hdr.ops.b: range; hdr.ops.a: exact; }
        actions = { r; NoAction; }
        const entries = { (0 .. 10, 1): r(1); (5 .. 0x200, 1): r(2); (_, 2): r(3); (7, 3): r(4); }
    }
    table optionals {
        key = { hdr.ops.a: optional; hdr.ops.b: optional; }
        actions = { o; NoAction; }
        const entries = { (1, 1): o(1); (_, 1): o(2); (1, _): o(3); }
    }
    table mutable {
        key = { hdr.ops.a: ternary; hdr.ops.b: ternary; }
        actions = { m; NoAction; }
        largest_priority_wins = true;
        entries = {
            const priority = 40: (1, _): m(1);
            priority = 10: (_, 1): m(2);
            priority = 90: (0x0f &&& 0x0f, _): m(3);
        }
        size = 64;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        exacts.apply();
        ternaries.apply();
        prefixes.apply();
        ranges.apply();
        optionals.apply();
        mutable.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
