// Match kinds, priorities, constant entries, action profiles and selectors, meters, hashes.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> which; bit<8> a; bit<16> b; bit<32> c; }
header result_t { bit<16> value; bit<8> colour; bit<32> hash; }
struct headers_t { request_t request; result_t result; }
struct metadata_t { bit<2> colour; }

parser MatchingParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard) {
    state start { packet.extract(hdr.request); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action_profile(8) profile;
    action_selector(HashAlgorithm.crc16, 16, 16) selector;
    direct_meter<bit<2>>(MeterType.packets) rate;
    meter(4, MeterType.bytes) volume;

    action set(bit<16> value) { hdr.result.value = value; }
    action metered(bit<16> value) { rate.read(meta.colour); hdr.result.value = value; }
    action stop() { hdr.result.value = 0xdead; exit; }

    table ternary_table {
        key = { hdr.request.a: ternary; hdr.request.b: exact @name("b"); }
        actions = { set; stop; }
        default_action = set(1);
        size = 64;
    }
    table range_table {
        key = { hdr.request.a: range; hdr.request.c: optional; }
        actions = { set; }
        default_action = set(2);
        size = 64;
    }
    table const_table {
        key = { hdr.request.a: ternary; }
        actions = { set; }
        const default_action = set(3);
        const entries = {
            0x10 &&& 0xf0: set(30);
            0x11: set(31);
            _: set(32);
        }
    }
    table profile_table {
        key = { hdr.request.a: exact; }
        actions = { set; NoAction; }
        implementation = profile;
        size = 16;
    }
    table selector_table {
        key = { hdr.request.a: exact; hdr.request.c: selector; }
        actions = { set; NoAction; }
        implementation = selector;
        size = 16;
    }
    table metered_table {
        key = { hdr.request.a: exact; }
        actions = { metered; NoAction; }
        meters = rate;
        support_timeout = true;
        size = 16;
    }
    apply {
        standard.egress_spec = 1;
        hdr.result.setValid();
        if (hdr.request.which == 0) {
            ternary_table.apply();
            hdr.result.colour = 9;
        } else if (hdr.request.which == 1) {
            range_table.apply();
        } else if (hdr.request.which == 2) {
            const_table.apply();
        } else if (hdr.request.which == 3) {
            profile_table.apply();
        } else if (hdr.request.which == 4) {
            selector_table.apply();
        } else if (hdr.request.which == 5) {
            metered_table.apply();
            hdr.result.colour = (bit<8>)meta.colour;
        } else if (hdr.request.which == 6) {
            volume.execute_meter((bit<32>)hdr.request.a, hdr.result.colour);
        } else if (hdr.request.which == 7) {
            hash(hdr.result.hash, HashAlgorithm.crc32, 32w0, { hdr.request.a, hdr.request.b, hdr.request.c },
                 64w0x100000000);
        } else if (hdr.request.which == 8) {
            hash(hdr.result.hash, HashAlgorithm.crc16, 32w100, { hdr.request.c }, 32w10);
        } else {
            random(hdr.result.hash, 32w5, 32w9);
        }
    }
}
control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control MatchingDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.result); } }

V1Switch(MatchingParser(), Verify(), In(), Out(), Update(), MatchingDeparser()) main;
