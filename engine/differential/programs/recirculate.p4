// recirculate: the frame as the deparser left it goes through parser, ingress and egress again.
// Probes: preserved metadata, everything else zero (ingress_global_timestamp too), packet_length and
// ingress_port of the next round, truncation before recirculation, drop beats recirculate.
#include "include/base.p4"

header in_t { bit<8> times; bit<8> extra; bit<16> value; }
header round_t { bit<8> type; bit<8> round; bit<16> lost; bit<8> ingress_port; bit<8> stamped; bit<16> length; }
struct headers_t { round_t[4] rounds; in_t ops; }
struct meta_t { @field_list(1) bit<8> round; @field_list(2) bit<8> other; bit<16> lost; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT + (bit<9>) meta.round;
        hdr.rounds.push_front(1);
        hdr.rounds[0].setValid();
        hdr.rounds[0].type = (bit<8>) std.instance_type;
        hdr.rounds[0].round = meta.round;
        hdr.rounds[0].lost = meta.lost;
        hdr.rounds[0].ingress_port = (bit<8>) std.ingress_port;
        if (std.ingress_global_timestamp != 0) { hdr.rounds[0].stamped = 1; }
        hdr.rounds[0].length = (bit<16>) std.packet_length;
        meta.lost = 0x7777;
        hdr.ops.value = hdr.ops.value + 1;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.rounds[0].lost = hdr.rounds[0].lost ^ (bit<16>) std.instance_type;
        if (hdr.ops.times != 0 && meta.round < 3) {
            hdr.ops.times = hdr.ops.times - 1;
            meta.round = meta.round + 1;
            recirculate_preserving_field_list(1);
            if (hdr.ops.extra == 1) { truncate(14); }
            if (hdr.ops.extra == 2 && meta.round == 2) { mark_to_drop(std); }
            if (hdr.ops.extra == 3) { recirculate_preserving_field_list(2); meta.round = 7; }
            if (hdr.ops.extra == 4) { truncate(3); }
        }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ops); packet.emit(hdr.rounds); }
}
MAIN
