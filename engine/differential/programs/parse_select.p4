// select over tuples with masks, ranges and constants; verify; errors of our own.
// Probes: order of the cases, no case that fits (NoMatch), verify with standard and own errors,
// what has been extracted and assigned before a failure stays, a parser that decides on ingress_port,
// a sub-parser.
#include "include/base.p4"

error { Odd, TooBig }
header key_t { bit<8> kind; bit<16> value; bit<4> low; bit<4> high; }
header word_t { bit<32> word; }
header result_t { bit<8> path; bit<8> error_code; }
struct headers_t { result_t result; key_t key; word_t word; }
struct meta_t { bit<8> path; }

parser Word(packet_in packet, out word_t word, inout meta_t meta) {
    state start {
        packet.extract(word);
        meta.path = meta.path + 0x80;
        verify(word.word[0:0] == 0, error.Odd);
        transition accept;
    }
}
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Word() inner;
    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind, hdr.key.value, hdr.key.low) {
            (0, 0 .. 100, _): small;
            (0, 0x1000 &&& 0xf000, 1 .. 3): masked;
            (1 &&& 0x0f, _, 7): small;
            (1 &&& 0x0f, 0xffff, _): word;
            (2, _, _): checked;
            (3, _, _): port;
            (0x40 .. 0x7f, _, _): word;
            (_, 5, _): masked;
        }
    }
    state small { meta.path = 1; transition accept; }
    state masked { meta.path = 2; transition word; }
    state word { inner.apply(packet, hdr.word, meta); transition after; }
    state after { meta.path = meta.path + 1; transition accept; }
    state checked {
        meta.path = 4;
        verify(hdr.key.value < 0x8000, error.TooBig);
        verify(hdr.key.high != 0, error.NoMatch);
        meta.path = 5;
        transition accept;
    }
    state port {
        meta.path = 6;
        transition select(std.ingress_port) {
            2: word;
            9w3 .. 9w4: reject;
            default: accept;
        }
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.path = meta.path;
        if (std.parser_error == error.NoError) { hdr.result.error_code = 0; }
        else if (std.parser_error == error.PacketTooShort) { hdr.result.error_code = 1; }
        else if (std.parser_error == error.NoMatch) { hdr.result.error_code = 2; }
        else if (std.parser_error == error.Odd) { hdr.result.error_code = 10; }
        else if (std.parser_error == error.TooBig) { hdr.result.error_code = 11; }
        else { hdr.result.error_code = 255; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.key); packet.emit(hdr.word); }
}
MAIN
