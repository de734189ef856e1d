// Parsers called by parsers: the same one twice, with results in inout parameters.
// Probes: errors of the program's own raised inside a called parser, errors as values in metadata and
// in comparisons, rejected transitions (which simple_switch does not know), frames that end inside a
// called parser, select over several keys with ranges and truth values.
#include "include/base.p4"

error { OutOfBounds, BadStart, Inner }
header pair_t { bit<8> a; bit<8> b; }
header result_t { bit<8> code; bit<8> value; }
struct headers_t { result_t result; pair_t first; pair_t second; pair_t third; }
struct meta_t { bit<1> odd; error expected; bit<8> value; }

parser Pair(packet_in packet, out pair_t pair, inout bit<8> value) {
    state start {
        packet.extract(pair);
        verify(pair.a != 3, error.Inner);
        transition select(pair.b) {
            7: reject;
            8: other;
            default: accept;
        }
    }
    state other { value = value + 8; transition accept; }
}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Pair() inner;
    state start {
        meta.expected = error.NoError;
        packet.extract(hdr.first);
        meta.odd = hdr.first.a[0:0];
        verify(hdr.first.a != 1 || hdr.first.b < 10, error.OutOfBounds);
        verify(hdr.first.a != 2, error.BadStart);
        meta.expected = (hdr.first.b > 100) ? error.Inner : error.PacketTooShort;
        transition select(hdr.first.a, meta.odd) {
            (4, _): called;
            (5 .. 20, 1): called;
            (_, 0): done;
        }
    }
    state called {
        inner.apply(packet, hdr.second, meta.value);
        transition select(hdr.second.a) {
            9: again;
            default: done;
        }
    }
    state again { inner.apply(packet, hdr.third, meta.value); transition done; }
    state done { meta.value = meta.value + 1; transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.first)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.OutOfBounds) { hdr.result.code = 1; }
        if (std.parser_error == error.BadStart) { hdr.result.code = 2; }
        if (std.parser_error == error.Inner) { hdr.result.code = 3; }
        if (std.parser_error == error.NoMatch) { hdr.result.code = 4; }
        if (std.parser_error == error.PacketTooShort) { hdr.result.code = 5; }
        if (std.parser_error == meta.expected) { hdr.result.code = hdr.result.code | 0x40; }
        if (std.parser_error != error.NoError) { hdr.result.code = hdr.result.code | 0x80; }
        hdr.result.value = meta.value;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
MAIN
