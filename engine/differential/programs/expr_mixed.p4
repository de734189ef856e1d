// Operators that programs use rarely, mixed.
// Probes: / and % by powers of two (p4c refuses others), rotation by a variable amount, nested shifts
// and masks, equality of conditions, boolean operators, products of different widths.
#include "include/base.p4"

header in_t { bit<16> a; bit<16> b; bit<32> c; bit<8> shift; }
header result_t {
    bit<16> by_power; bit<16> rest_power;
    bit<32> folded; bit<16> swapped; bit<8> logic; bit<48> widened; bit<16> reversed;
}
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.by_power = hdr.ops.b / 16;
        hdr.result.rest_power = hdr.ops.b % 64;
        hdr.result.folded = ((hdr.ops.c >> (hdr.ops.shift & 31)) | (hdr.ops.c << (32 - (hdr.ops.shift & 31)))) ^ (bit<32>) hdr.ops.a;
        hdr.result.swapped = (hdr.ops.a << 8) | (hdr.ops.a >> 8);
        bool both = hdr.ops.a > hdr.ops.b && hdr.ops.b > 5;
        bool either = hdr.ops.a == 0 || hdr.ops.c == 0;
        if (both) { hdr.result.logic = 1; }
        if (either != both) { hdr.result.logic = hdr.result.logic + 2; }
        if (!(both || either) == (hdr.ops.shift[0:0] == 1)) { hdr.result.logic = hdr.result.logic + 4; }
        hdr.result.widened = (bit<48>) (hdr.ops.a + hdr.ops.b) + (bit<48>) hdr.ops.a * (bit<48>) hdr.ops.c;
        hdr.result.reversed = hdr.ops.a[3:0] ++ hdr.ops.a[7:4] ++ hdr.ops.a[11:8] ++ hdr.ops.a[15:12];
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
