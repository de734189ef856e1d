// varbit: options whose length is computed in the parser.
// Probes: length 0, length above the maximum (HeaderTooShort), frames that end inside the options,
// copying a header with a varbit field, a varbit header removed and added again, packet_length in
// egress after a varbit header was removed.
#include "include/base.p4"

header base_t { bit<8> kind; bit<8> length; }
header options_t { bit<8> tag; varbit<80> data; }
header result_t { bit<8> error_code; bit<8> tag; bit<16> ingress_length; bit<16> egress_length; }
struct headers_t { result_t result; base_t base; options_t options; options_t copy; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.base);
        transition select(hdr.base.kind) {
            0 .. 3: options;
            4: options_words;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>) hdr.base.length << 3);
        transition accept;
    }
    state options_words {
        packet.extract(hdr.options, ((bit<32>) hdr.base.length[3:0] - 5) * 8);
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.base)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.NoError) { hdr.result.error_code = 0; }
        else if (std.parser_error == error.PacketTooShort) { hdr.result.error_code = 1; }
        else if (std.parser_error == error.HeaderTooShort) { hdr.result.error_code = 4; }
        else { hdr.result.error_code = 255; }
        if (hdr.options.isValid()) { hdr.result.tag = hdr.options.tag; }
        hdr.result.ingress_length = (bit<16>) std.packet_length;
        if (hdr.base.kind == 1) { hdr.copy = hdr.options; }
        if (hdr.base.kind == 2) { hdr.options.setInvalid(); }
        if (hdr.base.kind == 3) {
            hdr.copy = hdr.options;
            hdr.options.setInvalid();
            hdr.copy.tag = hdr.copy.tag + 1;
        }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { REQUIRE_OUT(hdr.base) hdr.result.egress_length = (bit<16>) std.packet_length; }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.base); packet.emit(hdr.options); packet.emit(hdr.copy); }
}
MAIN
