// Standard metadata as parser, ingress and egress see it, and metadata of our own.
// Probes: initial zeros, packet_length when headers were added and removed, structs inside structs,
// bool, enum with and without a type, metadata written in the parser, locals that are not initialised.
#include "include/base.p4"

enum bit<8> Colour { red = 1, green = 2, blue = 7 }
enum Kind { plain, tagged, other }
header in_t { bit<8> request; Colour colour; bit<16> value; }
header tag_t { bit<32> value; }
header result_t {
    bit<16> ingress_length; bit<16> egress_length; bit<8> ingress_port; bit<8> egress_port; bit<8> ingress_view_of_egress;
    bit<8> type; bit<16> rid; bit<16> group; bit<8> colour; bit<8> kind; bit<8> flags; bit<16> nested; bit<16> spec;
}
struct headers_t { result_t result; in_t ops; tag_t tag; }
struct inner_t { bit<16> value; bool seen; }
struct meta_t { inner_t first; inner_t second; Kind kind; bit<16> spec; bit<8> parser_port; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        meta.spec = (bit<16>) std.egress_spec + (bit<16>) std.instance_type;
        meta.parser_port = (bit<8>) std.ingress_port;
        meta.kind = Kind.other;
        packet.extract(hdr.ops);
        transition select(hdr.ops.colour) {
            Colour.red: tag;
            Colour.green: tag;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.tag);
        meta.kind = Kind.tagged;
        meta.first.seen = true;
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        hdr.result.ingress_length = (bit<16>) std.packet_length;
        hdr.result.ingress_port = meta.parser_port;
        hdr.result.ingress_view_of_egress = (bit<8>) std.egress_port;
        hdr.result.spec = meta.spec;
        meta.first.value = hdr.ops.value;
        meta.second = meta.first;
        meta.second.value = meta.second.value + 1;
        if (hdr.ops.request == 1) { hdr.tag.setInvalid(); }
        if (hdr.ops.request == 2) { hdr.tag.setValid(); }
        if (hdr.ops.request == 3) { hdr.ops.colour = Colour.blue; }
        if (hdr.ops.request == 4) { hdr.result.setInvalid(); }
        if (hdr.ops.colour == Colour.blue) { meta.second.seen = true; }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        hdr.result.egress_length = (bit<16>) std.packet_length;
        hdr.result.egress_port = (bit<8>) std.egress_port;
        hdr.result.type = (bit<8>) std.instance_type;
        hdr.result.rid = std.egress_rid;
        hdr.result.group = std.mcast_grp;
        hdr.result.colour = hdr.ops.colour;
        if (meta.kind == Kind.plain) { hdr.result.kind = 1; }
        if (meta.kind == Kind.tagged) { hdr.result.kind = 2; }
        if (meta.kind == Kind.other) { hdr.result.kind = 3; }
        if (meta.first.seen) { hdr.result.flags = 1; }
        if (meta.second.seen) { hdr.result.flags = hdr.result.flags + 2; }
        hdr.result.nested = meta.first.value ^ meta.second.value;
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); packet.emit(hdr.tag); }
}
MAIN
