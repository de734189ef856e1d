// Values that P4Runtime names: enums without an underlying type, errors, enums with one, and signed
// numbers, in digests and registers. A table without key whose const default action counts.
#include <core.p4>
#include <v1model.p4>

enum colour_t { GREEN, YELLOW, RED }
enum bit<8> level_t { LOW = 1, HIGH = 200 }
error { BadKind }

header ops_t {
    bit<8> kind;
    int<12> change;
    bit<4> _pad;
}

struct seen_t {
    colour_t colour;
    level_t level;
    error parser_error;
    bool large;
    int<12> change;
}

struct headers_t {
    ops_t ops;
}

struct metadata_t {
    colour_t colour;
}

parser EnumsParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ops);
        verify(hdr.ops.kind != 9, error.BadKind);
        transition accept;
    }
}

control EnumsVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control EnumsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<colour_t>(4) colours;
    register<level_t>(4) levels;
    direct_counter(CounterType.packets_and_bytes) all_frames;
    action count_all() { all_frames.count(); }
    table always {
        actions = { count_all; }
        const default_action = count_all;
        counters = all_frames;
    }
    apply {
        always.apply();
        colour_t old;
        colours.read(old, 1);
        if (old == colour_t.RED) {
            standard.egress_spec = 2;
        } else {
            standard.egress_spec = 1;
        }
        if (hdr.ops.kind == 1) {
            meta.colour = colour_t.YELLOW;
        } else if (hdr.ops.kind > 1) {
            meta.colour = colour_t.RED;
        } else {
            meta.colour = colour_t.GREEN;
        }
        colours.write(0, meta.colour);
        levels.write(0, (level_t)hdr.ops.kind);
        digest<seen_t>(1, {
            meta.colour, (level_t)hdr.ops.kind, standard.parser_error, hdr.ops.kind > 100, hdr.ops.change });
    }
}

control EnumsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control EnumsCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control EnumsDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ops); } }

V1Switch(EnumsParser(), EnumsVerify(), EnumsIngress(), EnumsEgress(), EnumsCompute(), EnumsDeparser()) main;
