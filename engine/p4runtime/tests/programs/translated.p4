// Types that P4Runtime translates: to strings in keys, parameters, controller headers, digests and
// registers, and to wider numbers.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example/port", string)
type bit<9> port_name_t;

@p4runtime_translation("example/vrf", string)
@p4runtime_translation_mappings({ {"", 0}, {"management", 7} })
type bit<4> vrf_t;

@p4runtime_translation("example/wide", 32)
type bit<12> wide_t;

@controller_header("packet_in")
header packet_in_t {
    port_name_t ingress_port;
    bit<7> _pad;
    vrf_t vrf;
    bit<4> _pad2;
}

@controller_header("packet_out")
header packet_out_t {
    port_name_t egress_port;
    bit<7> _pad;
}

header tag_t {
    bit<4> _pad;
    bit<4> vrf;
    bit<4> _pad2;
    bit<12> wide;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    tag_t tag;
}

struct seen_t {
    port_name_t port;
    vrf_t vrf;
}

struct metadata_t {
    vrf_t vrf;
    wide_t wide;
}

parser Parse(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            510: from_controller;
            default: from_port;
        }
    }
    state from_controller {
        packet.extract(headers.packet_out);
        transition accept;
    }
    state from_port {
        packet.extract(headers.tag);
        meta.vrf = (vrf_t)headers.tag.vrf;
        meta.wide = (wide_t)headers.tag.wide;
        transition accept;
    }
}

control VerifyChecksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control IngressPass(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    @name("last_vrf") register<vrf_t>(4) last_vrf;

    action forward_to(port_name_t port) {
        standard.egress_spec = (bit<9>)port;
    }
    action to_controller() {
        standard.egress_spec = 510;
    }
    action drop() {
        mark_to_drop(standard);
    }
    // Exact and optional strings, a number of 32 bits for one of 12, and a string as a parameter.
    @name("by_vrf")
    table by_vrf {
        key = {
            meta.vrf: exact @name("vrf");
            meta.wide: optional @name("wide");
        }
        actions = {
            forward_to;
            to_controller;
            @defaultonly drop;
        }
        const default_action = drop();
        size = 64;
    }
    @name("optional_vrf")
    table optional_vrf {
        key = {
            meta.vrf: optional @name("vrf");
        }
        actions = {
            NoAction;
            drop;
        }
        const default_action = NoAction();
        size = 64;
    }
    @name("ternary_vrf")
    table ternary_vrf {
        key = {
            meta.vrf: ternary @name("vrf");
        }
        actions = {
            NoAction;
            drop;
        }
        const default_action = NoAction();
        size = 64;
    }
    apply {
        if (headers.packet_out.isValid()) {
            standard.egress_spec = (bit<9>)headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            by_vrf.apply();
            optional_vrf.apply();
            ternary_vrf.apply();
            last_vrf.write(0, meta.vrf);
            digest<seen_t>(1, {(port_name_t)standard.ingress_port, meta.vrf});
        }
    }
}

control EgressPass(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == 510) {
            headers.packet_in.setValid();
            headers.packet_in.ingress_port = (port_name_t)standard.ingress_port;
            headers.packet_in.vrf = meta.vrf;
        }
    }
}

control ComputeChecksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.tag);
    }
}

V1Switch(Parse(), VerifyChecksums(), IngressPass(), EgressPass(), ComputeChecksums(), Deparse()) main;
