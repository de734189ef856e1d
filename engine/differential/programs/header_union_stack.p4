// A stack of header unions, as TCP options use it.
// Probes: extracting members of the next union, StackOutOfBounds, emitting the stack in order.
#include "include/base.p4"

header count_t { bit<8> options; }
header end_t { bit<8> kind; }
header byte_t { bit<8> kind; bit<8> value; }
header word_t { bit<8> kind; bit<32> value; }
header_union option_t { end_t end; byte_t byte; word_t word; }
header result_t { bit<8> error_code; bit<8> kinds; }
struct headers_t { result_t result; count_t count; option_t[3] options; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.count); transition option; }
    state option {
        transition select(packet.lookahead<bit<8>>()) {
            0: end;
            1: byte;
            2: word;
            default: accept;
        }
    }
    state end { packet.extract(hdr.options.next.end); transition accept; }
    state byte { packet.extract(hdr.options.next.byte); transition option; }
    state word { packet.extract(hdr.options.next.word); transition option; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.StackOutOfBounds) { hdr.result.error_code = 3; }
        else if (std.parser_error == error.PacketTooShort) { hdr.result.error_code = 1; }
        if (hdr.options[0].byte.isValid()) { hdr.result.kinds = hdr.result.kinds | 1; hdr.options[0].byte.value = 0xaa; }
        if (hdr.options[1].word.isValid()) { hdr.result.kinds = hdr.result.kinds | 2; }
        if (hdr.options[2].end.isValid()) { hdr.result.kinds = hdr.result.kinds | 4; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.count); packet.emit(hdr.options); }
}
MAIN
