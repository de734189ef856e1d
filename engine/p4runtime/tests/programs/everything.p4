// Every kind of P4Runtime entity that v1model has, once. It forwards by the `forward` table so that tests can drive
// packets through it; it has no other purpose.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

enum bit<8> Colour_t {
    GREEN = 0,
    RED = 2
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> _pad;
    bit<16> tag;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<1> submit;
    bit<6> _pad;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct learn_t {
    bit<48> source;
    bit<9> port;
}

struct metadata_t {
    bit<2> colour;
    bit<16> tag;
    bit<16> selector;
    bit<1> special;
}

parser EverythingParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard) {
    value_set<bit<16>>(4) special_types;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: parse_ipv4;
            special_types: parse_special;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
    state parse_special {
        meta.special = 1;
        transition accept;
    }
}

control EverythingChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control EverythingIngress(inout headers_t hdr, inout metadata_t meta,
                          inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) port_counter;
    @name("rate") meter(64, MeterType.bytes) rate_meter;
    register<bit<48>>(128) last_seen;
    register<bit<1>>(8) flags;
    register<int<16>>(8) balance;
    direct_counter(CounterType.packets_and_bytes) acl_counter;
    direct_meter<bit<2>>(MeterType.packets) acl_meter;
    action_profile(16) ports;
    @max_group_size(8)
    action_selector(HashAlgorithm.crc16, 64, 16) next_hops;

    action drop() {
        mark_to_drop(standard);
    }
    action forward_to(bit<9> port) {
        standard.egress_spec = port;
    }
    action multicast(bit<16> group) {
        standard.mcast_grp = group;
    }
    action to_controller(bit<16> tag) {
        meta.tag = tag;
        standard.egress_spec = CPU_PORT;
    }
    action rewrite(bit<48> destination, bit<9> port) {
        hdr.ethernet.destination = destination;
        standard.egress_spec = port;
    }
    action miss(bit<8> reason) {
        meta.tag = (bit<16>)reason;
    }
    action count_only() {
        acl_meter.read(meta.colour);
        acl_counter.count();
    }
    action deny() {
        acl_counter.count();
        mark_to_drop(standard);
    }
    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }
    action learn() {
        digest<learn_t>(1, { hdr.ethernet.source, standard.ingress_port });
    }

    // Exact key, changeable default, idle timeout.
    table forward {
        key = {
            hdr.ethernet.destination: exact @name("destination");
        }
        actions = {
            drop;
            forward_to;
            multicast;
            to_controller;
            @defaultonly miss;
        }
        default_action = miss(7);
        support_timeout = true;
        size = 1024;
    }

    // Longest prefix, const default.
    table route {
        key = {
            hdr.ipv4.destination: lpm @name("destination");
        }
        actions = {
            rewrite;
            @defaultonly NoAction;
        }
        const default_action = NoAction;
        size = 16;
    }

    // Ternary, range and optional with direct counter and meter.
    table acl {
        key = {
            standard.ingress_port: ternary @name("port");
            hdr.ethernet.ether_type: ternary @name("ether_type");
            hdr.ipv4.ttl: range @name("ttl");
            hdr.ipv4.protocol: optional @name("protocol");
            hdr.ipv4.isValid(): exact @name("ipv4_valid");
        }
        actions = {
            count_only;
            deny;
        }
        default_action = count_only;
        counters = acl_counter;
        meters = acl_meter;
        size = 32;
    }

    // Entries of the program.
    table classify {
        key = {
            hdr.ethernet.ether_type: exact @name("ether_type");
        }
        actions = {
            mirror;
            learn;
            NoAction;
        }
        const entries = {
            0x88cc: mirror(1);
            0x9000: learn();
        }
        const default_action = NoAction;
    }

    // Action profile without a selector.
    table by_port {
        key = {
            standard.ingress_port: exact @name("port");
        }
        actions = {
            forward_to;
            drop;
        }
        implementation = ports;
        size = 64;
    }

    // Action selector.
    table ecmp {
        key = {
            hdr.ipv4.destination: lpm @name("destination");
            meta.selector: selector;
        }
        actions = {
            forward_to;
            rewrite;
        }
        implementation = next_hops;
        size = 64;
    }

    // No key.
    table always {
        actions = {
            forward_to;
            NoAction;
        }
        default_action = NoAction;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.submit == 0) {
                standard.egress_spec = hdr.packet_out.egress_port;
                hdr.packet_out.setInvalid();
                exit;
            }
            hdr.packet_out.setInvalid();
        }
        port_counter.count((bit<32>)standard.ingress_port);
        bit<2> colour;
        rate_meter.execute_meter<bit<2>>((bit<32>)standard.ingress_port & 63, colour);
        last_seen.write((bit<32>)standard.ingress_port & 127, hdr.ethernet.source);
        flags.write(0, meta.special);
        int<16> value;
        balance.read(value, 0);
        balance.write(0, value - 1);
        if (meta.special == 1) {
            meta.tag = 0x55aa;
            standard.egress_spec = CPU_PORT;
            exit;
        }
        classify.apply();
        forward.apply();
        if (hdr.ipv4.isValid()) {
            meta.selector = hdr.ipv4.identification;
            route.apply();
            ecmp.apply();
        }
        by_port.apply();
        always.apply();
        acl.apply();
    }
}

control EverythingEgress(inout headers_t hdr, inout metadata_t meta,
                         inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in._pad = 0;
            hdr.packet_in.tag = meta.tag;
        }
    }
}

control EverythingDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(EverythingParser(), EverythingChecksum(), EverythingIngress(), EverythingEgress(),
         EverythingChecksum(), EverythingDeparser()) main;
