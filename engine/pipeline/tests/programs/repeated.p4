// What programs, or their compiler, write more than once: expressions, copies of an index, conditions, tests of entries.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> which; bit<8> cell; bit<32> a; bit<32> b; }
header place_t { bit<32> cell; }
header result_t { bit<32> first; bit<32> second; bit<32> third; bit<32> kept; bit<8> verdict; }
struct headers_t { request_t request; place_t place; result_t result; }
struct metadata_t { bit<1> measured; bit<1> late; bit<8> verdict; bit<32> last; bit<32> count; }

parser RepeatedParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.request);
        transition select(hdr.request.which[7:7]) {
            1: place;
            default: accept;
        }
    }
    state place { packet.extract(hdr.place); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(16) latest;
    register<bit<32>>(16) counts;
    register<bit<32>>(16) sums;
    register<bit<32>>(16) visits;

    action verdict(bit<8> value) { meta.verdict = value; }
    table classify {
        key = {
            hdr.request.which: ternary;
            meta.late: ternary;
            hdr.request.cell: ternary;
            hdr.place.cell: ternary;
        }
        actions = { verdict; }
        const default_action = verdict(0);
        const entries = {
            (0x01 &&& 0x0f, 1, 0x10 &&& 0xf0, _): verdict(1);
            (0x01 &&& 0x0f, 1, 0x00 &&& 0x30, _): verdict(2);
            (0x01 &&& 0x0f, 1, _, 0 &&& 0xff): verdict(3);
            (0x01 &&& 0x0f, 0, 0x10 &&& 0xf0, _): verdict(4);
            (0x01, 0, 0x03, _): verdict(5);
            (0x02 &&& 0x0f, _, 0x03 &&& 0x0f, 5): verdict(6);
            (0x02 &&& 0x0f, _, 0x03 &&& 0x0f, _): verdict(7);
            (_, 1, _, 5 &&& 0x0f): verdict(8);
        }
    }

    apply {
        standard.egress_spec = 1;
        bit<32> cell = (bit<32>)hdr.request.cell;
        meta.measured = 0;
        if (hdr.request.which[6:6] == 0) {
            meta.measured = 1;
        }
        if (hdr.request.a < hdr.request.b) {
            meta.late = 1;
        }
        classify.apply();
        latest.read(meta.last, cell);
        if (meta.measured == 1) {
            latest.write(cell, hdr.request.a);
        }
        counts.read(meta.count, cell);
        if (meta.measured == 1) {
            counts.write(cell, meta.count + 1);
        }
        bit<32> sum;
        sums.read(sum, cell);
        bit<32> jitter = (hdr.request.a |-| meta.last) | (meta.last |-| hdr.request.a);
        if (meta.measured == 1 && jitter > 7) {
            sums.write(cell, sum + jitter);
        }
        bit<32> kept = hdr.request.b;
        if (meta.measured == 0) {
            kept = jitter;
        }
        // The fields of a header that ends stay until it becomes valid again: then they are 0, the index of a row too.
        if (hdr.request.which[5:5] == 1) {
            hdr.place.setInvalid();
        }
        bit<32> before;
        bit<32> after;
        visits.read(before, hdr.place.cell);
        visits.write(hdr.place.cell, before + 1);
        hdr.place.setValid();
        visits.read(after, hdr.place.cell);
        visits.write(hdr.place.cell, after + 3);
        hdr.result.setValid();
        hdr.result.first = jitter + (hdr.request.a |-| meta.last);
        hdr.result.second = sum |+| jitter;
        hdr.result.third = after;
        hdr.result.kept = kept;
        hdr.result.verdict = meta.verdict;
    }
}
control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control RepeatedDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.request); packet.emit(hdr.place); packet.emit(hdr.result); }
}

V1Switch(RepeatedParser(), Verify(), In(), Out(), Update(), RepeatedDeparser()) main;
