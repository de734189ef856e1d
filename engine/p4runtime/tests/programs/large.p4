// Large tables and counters, for measuring the control plane.
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header packet_in_t {
    bit<16> kind;
    bit<32> flow;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> kind;
    bit<32> flow;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
}

struct metadata_t { }

parser LargeParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            510: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control LargeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LargeIngress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard) {
    counter(1048576, CounterType.packets_and_bytes) flow_counter;
    register<bit<32>>(1048576) flow_register;

    action drop() {
        mark_to_drop(standard);
    }
    action set(bit<9> port, bit<32> flow) {
        standard.egress_spec = port;
        flow_counter.count(flow);
        flow_register.write(flow, 1);
    }
    table exact_table {
        key = {
            hdr.ethernet.destination: exact @name("destination");
        }
        actions = {
            set;
            drop;
        }
        default_action = drop;
        size = 262144;
    }
    table ternary_table {
        key = {
            hdr.ethernet.destination: ternary @name("destination");
        }
        actions = {
            set;
            drop;
        }
        default_action = drop;
        size = 65536;
    }
    apply {
        if (hdr.packet_out.isValid()) {
            // One packet-out becomes one packet-in.
            hdr.packet_in.setValid();
            hdr.packet_in.kind = hdr.packet_out.kind;
            hdr.packet_in.flow = hdr.packet_out.flow;
            hdr.packet_out.setInvalid();
            standard.egress_spec = 510;
        } else if (!exact_table.apply().hit) {
            ternary_table.apply();
        }
    }
}

control LargeEgress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    apply { }
}

control LargeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(LargeParser(), LargeChecksum(), LargeIngress(), LargeEgress(), LargeChecksum(),
         LargeDeparser()) main;
