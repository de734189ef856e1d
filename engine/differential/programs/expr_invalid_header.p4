// Headers that are invalid: read, written, copied, compared, made valid again.
// Probes: writes to an invalid header (do they appear once it is valid?), fields after setValid of a
// header that was removed, copies of invalid headers, comparison of headers and of structs.
#include "include/base.p4"

header choice_t { bit<8> operation; }
header pair_t { bit<16> x; bit<16> y; }
header result_t { bit<16> x; bit<8> equal; }
struct headers_t { result_t result; choice_t choice; pair_t one; pair_t two; }
struct meta_t { pair_t spare; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        transition select(hdr.choice.operation[7:7]) {
            0: both;
            default: accept;
        }
    }
    state both { packet.extract(hdr.one); packet.extract(hdr.two); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        hdr.result.setValid();
        // setValid sets all fields to 0 in simple_switch, so that both headers are defined from here on.
        if (!hdr.one.isValid()) { hdr.one.setValid(); hdr.one.setInvalid(); }
        if (!hdr.two.isValid()) { hdr.two.setValid(); hdr.two.setInvalid(); }
        bit<4> operation = hdr.choice.operation[3:0];
        if (operation == 0) { hdr.one.setInvalid(); hdr.one.x = 7; hdr.one.setValid(); }
        if (operation == 1) { hdr.one.setInvalid(); hdr.one.setValid(); }
        if (operation == 2) { hdr.one.x = 0x1234; }
        if (operation == 3) { hdr.one.setInvalid(); hdr.two = hdr.one; }
        if (operation == 4) { hdr.two = hdr.one; hdr.two.y = 1; }
        if (operation == 5) { meta.spare = hdr.one; hdr.one = hdr.two; hdr.two = meta.spare; }
        if (operation == 6) { hdr.one.setValid(); hdr.one.setValid(); hdr.one.y = hdr.two.y; }
        if (operation == 7) { hdr.one.setInvalid(); hdr.two.x = hdr.one.x; }
        if (operation == 8) { hdr.one = {5, 6}; }
        if (operation == 9) { hdr.one.setInvalid(); hdr.two.setInvalid(); }
        hdr.result.x = hdr.one.x;
        if (hdr.one == hdr.two) { hdr.result.equal = 1; }
        if (hdr.one.isValid() && hdr.one.x == hdr.two.x) { hdr.result.equal = hdr.result.equal + 2; }
        if (hdr.one != meta.spare) { hdr.result.equal = hdr.result.equal + 4; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.one); packet.emit(hdr.two); }
}
MAIN
