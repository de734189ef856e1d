// Frames that are too short: a chain of three headers, so that the parser fails in each of them.
// Probes: PacketTooShort, parser_error in ingress and egress, which headers are valid after a
// failure, what the deparser emits (a header that was only half there is payload), reading a field
// of a header that was not extracted.
#include "include/base.p4"

header first_t { bit<8> next; bit<16> value; }
header second_t { bit<4> next; bit<12> value; bit<32> word; }
header third_t { bit<64> value; }
header result_t { bit<8> error_code; bit<8> valid_bits; bit<16> copied; bit<32> length; }
struct headers_t { result_t result; first_t first; second_t second; third_t third; }
struct meta_t { bit<16> copied; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.next) {
            1: second;
            2: third;
            3: reject;
            default: accept;
        }
    }
    state second {
        packet.extract(hdr.second);
        meta.copied = hdr.second.value ++ 4w5;
        transition select(hdr.second.next) {
            1: third;
            default: accept;
        }
    }
    state third {
        packet.extract(hdr.third);
        transition accept;
    }
}
NO_VERIFY
bit<8> number_of(in error code) {
    if (code == error.NoError) { return 0; }
    if (code == error.PacketTooShort) { return 1; }
    if (code == error.NoMatch) { return 2; }
    if (code == error.StackOutOfBounds) { return 3; }
    if (code == error.HeaderTooShort) { return 4; }
    if (code == error.ParserTimeout) { return 5; }
    if (code == error.ParserInvalidArgument) { return 6; }
    return 255;
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.error_code = number_of(std.parser_error);
        hdr.result.valid_bits = (bit<8>) (bit<1>) hdr.first.isValid()
            | (bit<8>) (bit<1>) hdr.second.isValid() << 1 | (bit<8>) (bit<1>) hdr.third.isValid() << 2;
        hdr.result.copied = meta.copied;
        hdr.result.length = std.packet_length;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error != error.NoError) { hdr.result.valid_bits = hdr.result.valid_bits | 0x80; }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.result);
        packet.emit(hdr.first);
        packet.emit(hdr.second);
        packet.emit(hdr.third);
    }
}
MAIN
