// Keys of more than 64 bits in the parser: a look-ahead, selects with and without masks, of several parts. Tables whose
// default actions change, so that an empty table leads elsewhere.
#include <core.p4>
#include <v1model.p4>

header first_t { bit<8> op; bit<72> wide; bit<4> narrow; bit<20> middle; }
header result_t { bit<8> value; bit<8> passed; }
struct headers_t { first_t first; result_t result; }
struct metadata_t { bit<8> parsed; bit<80> seen; bit<8> applied; }

parser WideParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard) {
    state start {
        bit<80> ahead = packet.lookahead<bit<80>>();
        meta.seen = ahead;
        transition select(ahead) {
            80w0x01000000000000000001: whole;
            80w0x02000000000000000000 &&& 80w0xff000000000000000000: masked;
            80w0x00ff0000000000000000 &&& 80w0x00ff000000000000ff00: masked;
            default: parts;
        }
    }
    state whole { meta.parsed = 1; packet.extract(hdr.first); transition accept; }
    state masked { meta.parsed = 2; packet.extract(hdr.first); transition accept; }
    state parts {
        packet.extract(hdr.first);
        transition select(hdr.first.narrow, hdr.first.wide, hdr.first.middle) {
            (4w7, 72w0xff0000000000000000, _): one;
            (_, 72w0 &&& 72w0xff00000000000000ff, 20w0 &&& 20w0xfff): two;
            (_, _, 20w0x7f): three;
            default: accept;
        }
    }
    state one { meta.parsed = 3; transition accept; }
    state two { meta.parsed = 4; transition accept; }
    state three { meta.parsed = 5; transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action note() { meta.applied = meta.applied + 1; }
    action set(bit<8> value) { meta.applied = value; }
    action leave() { meta.applied = 0xee; exit; }
    table first {
        key = { hdr.first.op: ternary; }
        actions = { note; set; leave; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    table second {
        key = { meta.parsed: exact; }
        actions = { note; set; NoAction; }
        default_action = note();
        size = 16;
    }
    table without_default {
        key = { meta.parsed: exact; }
        actions = { note; set; }
        size = 16;
    }
    apply {
        standard.egress_spec = 1;
        if (first.apply().hit) { meta.applied = meta.applied + 0x10; }
        switch (second.apply().action_run) {
            note: { meta.applied = meta.applied + 0x20; }
            default: {}
        }
        without_default.apply();
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.result.setValid();
        hdr.result.value = meta.parsed ^ (bit<8>)meta.seen;
        hdr.result.passed = meta.applied;
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control WideDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.first); }
}

V1Switch(WideParser(), Verify(), In(), Out(), Update(), WideDeparser()) main;
