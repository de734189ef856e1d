// A stack of four labels, filled by a parser loop with next and last.
// Probes: StackOutOfBounds at the fifth label, last and lastIndex, push_front and pop_front (valid
// bits, what falls off), validity of each element.
#include "include/base.p4"

header choice_t { bit<8> operation; }
header label_t { bit<7> value; bit<1> bottom; }
header result_t { bit<8> error_code; bit<8> valid_bits; bit<8> last; bit<8> chosen; }
struct headers_t { result_t result; choice_t choice; label_t[4] labels; }
struct meta_t { bit<8> last; bit<8> count; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        transition select(hdr.choice.operation) {
            0xff: accept;
            default: label;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        meta.last = hdr.labels.last.value ++ 1w0;
        meta.count = meta.count + 1;
        transition select(hdr.labels.last.bottom) {
            0: label;
            default: accept;
        }
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.StackOutOfBounds) { hdr.result.error_code = 3; }
        else if (std.parser_error == error.PacketTooShort) { hdr.result.error_code = 1; }
        hdr.result.last = meta.last + meta.count;
        if (hdr.choice.operation[7:4] == 1) { hdr.labels.push_front(1); }
        if (hdr.choice.operation[7:4] == 2) { hdr.labels.pop_front(1); }
        if (hdr.choice.operation[7:4] == 3) { hdr.labels.push_front(2); hdr.labels[0].setValid(); hdr.labels[0].value = 9; }
        if (hdr.choice.operation[7:4] == 4) { hdr.labels.pop_front(3); }
        if (hdr.choice.operation[7:4] == 5) { hdr.labels.push_front(4); }
        if (hdr.choice.operation[7:4] == 6) { hdr.labels[1] = hdr.labels[0]; hdr.labels[2].setInvalid(); }
        if (hdr.choice.operation[7:4] == 7) { hdr.labels[3] = hdr.labels[1]; hdr.labels[1].setInvalid(); hdr.labels.pop_front(1); }
        if (hdr.labels[0].isValid()) { hdr.result.valid_bits = hdr.result.valid_bits | 1; }
        if (hdr.labels[1].isValid()) { hdr.result.valid_bits = hdr.result.valid_bits | 2; }
        if (hdr.labels[2].isValid()) { hdr.result.valid_bits = hdr.result.valid_bits | 4; }
        if (hdr.labels[3].isValid()) { hdr.result.valid_bits = hdr.result.valid_bits | 8; }
        if (hdr.labels[2].isValid()) { hdr.result.chosen = 1w0 ++ hdr.labels[2].value; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.labels); }
}
MAIN
