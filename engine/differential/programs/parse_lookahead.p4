// lookahead and advance, of constant and of computed length, on frames of any length.
// Probes: lookahead of a bit type that is not a whole number of bytes and of a header type, advance
// past the end of the frame (an error), bytes skipped by advance (they do not come back), a header
// extracted after an advance.
#include "include/base.p4"

header choice_t { bit<8> kind; }
header pair_t { bit<8> high; bit<8> low; }
header result_t { bit<8> error_seen; bit<8> peeked; bit<16> pair; bit<3> nibble; bit<5> zero; }
struct headers_t { result_t result; choice_t choice; pair_t pair; }
struct meta_t { bit<8> peeked; bit<16> pair; bit<3> nibble; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        meta.peeked = packet.lookahead<bit<8>>();
        transition select(packet.lookahead<bit<4>>()) {
            0: plain;
            1: advance_constant;
            2: advance_computed;
            3: peek_header;
            4 .. 7: peek_middle;
            default: accept;
        }
    }
    state plain {
        packet.extract(hdr.choice);
        packet.extract(hdr.pair);
        transition accept;
    }
    state advance_constant {
        packet.advance(24);
        packet.extract(hdr.pair);
        transition accept;
    }
    state advance_computed {
        packet.advance((bit<32>) meta.peeked[3:0] << 3);
        meta.nibble = packet.lookahead<bit<3>>();
        packet.extract(hdr.choice);
        transition accept;
    }
    state peek_header {
        packet.extract(hdr.choice);
        pair_t ahead = packet.lookahead<pair_t>();
        meta.pair = ahead.low ++ ahead.high;
        transition select(ahead.high) {
            0 &&& 1: plain_pair;
            default: accept;
        }
    }
    state plain_pair {
        packet.extract(hdr.pair);
        transition accept;
    }
    state peek_middle {
        bit<24> ahead = packet.lookahead<bit<24>>();
        meta.pair = ahead[15:0];
        meta.nibble = ahead[18:16];
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.PacketTooShort) { hdr.result.error_seen = 1; }
        else if (std.parser_error != error.NoError) { hdr.result.error_seen = 2; }
        hdr.result.peeked = meta.peeked;
        hdr.result.pair = meta.pair;
        hdr.result.nibble = meta.nibble;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.pair); }
}
MAIN
