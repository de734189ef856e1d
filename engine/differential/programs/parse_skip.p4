// Parts of frames that the program does not keep: headers extracted into nothing, sub-parsers in a loop,
// select over concatenations, slices and booleans.
// Probes: extract(_), what happens to bytes that were skipped, a loop that counts by subtraction.
#include "include/base.p4"

header fixed_t { bit<8> kind; bit<8> length; }
header skipped_t { bit<16> unused; }
header last_t { bit<16> value; }
header result_t { bit<8> path; bit<8> rounds; }
struct headers_t { result_t result; fixed_t fixed; last_t last; }
struct meta_t { bit<8> path; bit<8> rounds; }

parser Option(packet_in packet, inout meta_t meta) {
    state start {
        packet.extract<skipped_t>(_);
        meta.rounds = meta.rounds + 1;
        transition accept;
    }
}
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Option() option;
    bit<8> left;
    state start {
        packet.extract(hdr.fixed);
        left = hdr.fixed.length & 7;
        transition select(hdr.fixed.kind[1:0] ++ hdr.fixed.length[7:7], hdr.fixed.kind == 9) {
            (0, true): last;
            (0, false): accept;
            (1 .. 3, _): options;
            (4 &&& 6, false): lookahead;
            default: last;
        }
    }
    state options {
        transition select(left) { 0: last; default: one_option; }
    }
    state one_option {
        option.apply(packet, meta);
        left = left - 1;
        transition options;
    }
    state lookahead {
        meta.path = packet.lookahead<fixed_t>().length;
        transition select(packet.lookahead<bit<16>>()[7:0]) { 0 .. 0x7f: last; default: accept; }
    }
    state last {
        packet.extract(hdr.last);
        meta.path = meta.path + 0x10;
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.path = meta.path;
        hdr.result.rounds = meta.rounds;
        if (std.parser_error != error.NoError) { hdr.result.path = hdr.result.path | 0x80; }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.fixed); packet.emit(hdr.last); }
}
MAIN
