// Work done inside the parser: assignments, arithmetic, conditions in expressions, a loop that counts.
// Probes: parser assignments to headers and metadata, locals of the parser, a loop bounded by a field
// of the frame, setInvalid and setValid in the parser, several extractions into the same header.
#include "include/base.p4"

header count_t { bit<8> items; bit<8> step; }
header item_t { bit<8> value; }
header sum_t { bit<16> sum; bit<8> largest; bit<8> rounds; }
struct headers_t { sum_t sum; count_t count; item_t item; }
struct meta_t { bit<8> left; bit<16> sum; bit<8> largest; bit<8> rounds; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<8> step;
    state start {
        packet.extract(hdr.count);
        meta.left = hdr.count.items;
        step = (hdr.count.step & 0x3) + 1;
        transition select(hdr.count.items) { 0: done; default: item; }
    }
    state item {
        packet.extract(hdr.item);
        meta.sum = meta.sum + (bit<16>) hdr.item.value;
        meta.largest = hdr.item.value > meta.largest ? hdr.item.value : meta.largest;
        meta.rounds = meta.rounds + 1;
        meta.left = meta.left |-| step;
        transition select(meta.left) { 0: done; default: item; }
    }
    state done {
        hdr.sum.setValid();
        hdr.sum.sum = meta.sum;
        hdr.item.setInvalid();
        hdr.count.step = ~hdr.count.step;
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        if (!hdr.sum.isValid()) { hdr.sum.setValid(); hdr.sum.sum = 0xffff; }
        hdr.sum.largest = meta.largest;
        hdr.sum.rounds = meta.rounds;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.sum); packet.emit(hdr.count); packet.emit(hdr.item); }
}
MAIN
