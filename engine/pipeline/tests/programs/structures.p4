// Header stacks, unions, variable-length fields, lookahead, advance and value sets.
#include <core.p4>
#include <v1model.p4>

header kind_t { bit<8> kind; bit<8> argument; }
header label_t { bit<7> value; bit<1> bottom; }
header small_t { bit<8> a; }
header large_t { bit<16> a; }
header options_t { bit<8> words; varbit<64> data; }
header_union shape_t { small_t small; large_t large; }
struct headers_t { kind_t kind; label_t[4] labels; shape_t shape; options_t options; kind_t trailer; }
struct metadata_t { bit<8> next; bit<1> listed; }

parser StructuresParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard) {
    value_set<bit<8>>(4) listed;
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: labels;
            2: options;
            3: shape;
            4: skip;
            0x10 &&& 0xf0: trailer;
            listed: in_list;
            default: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) {
            0: labels;
            default: accept;
        }
    }
    state options {
        bit<8> words = packet.lookahead<bit<8>>();
        verify(words < 9, error.HeaderTooShort);
        packet.extract(hdr.options, (bit<32>)words * 8);
        transition accept;
    }
    state shape {
        transition select(packet.lookahead<bit<8>>()) {
            0: small;
            default: large;
        }
    }
    state small { packet.extract(hdr.shape.small); transition accept; }
    state large { packet.extract(hdr.shape.large); transition accept; }
    state skip { packet.advance((bit<32>)hdr.kind.argument * 8); transition trailer; }
    state trailer { packet.extract(hdr.trailer); transition accept; }
    state in_list { meta.listed = 1; transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        if (standard.parser_error != error.NoError) {
            standard.egress_spec = 2;
        } else if (meta.listed == 1) {
            standard.egress_spec = 3;
        } else if (hdr.kind.kind == 1) {
            if (hdr.kind.argument == 1) {
                hdr.labels.push_front(1);
                hdr.labels[0].setValid();
                hdr.labels[0].value = 0x55;
                hdr.labels[0].bottom = 0;
            } else if (hdr.kind.argument == 2) {
                hdr.labels.pop_front(1);
            } else if (hdr.kind.argument >= 4) {
                bit<32> at = (bit<32>)(hdr.kind.argument & 3);
                hdr.labels[at].value = hdr.labels[0].value + 1;
            }
        } else if (hdr.shape.small.isValid()) {
            hdr.shape.large.setValid();
            hdr.shape.large.a = 0xabcd;
        } else if (hdr.shape.large.isValid()) {
            hdr.shape.large.a = hdr.shape.large.a ^ 0xffff;
        } else if (hdr.options.isValid() && hdr.kind.argument == 1) {
            hdr.options.setInvalid();
        }
    }
}
control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control StructuresDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(StructuresParser(), Verify(), In(), Out(), Update(), StructuresDeparser()) main;
