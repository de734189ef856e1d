// A table with entries of its own that controllers may change.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
}

parser Parse(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control VerifyChecksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control IngressPass(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    action forward_to(bit<9> port) {
        standard.egress_spec = port;
    }
    @name("by_type")
    table by_type {
        key = {
            headers.ethernet.ether_type: ternary @name("ether_type");
        }
        actions = {
            forward_to;
        }
        entries = {
            0x1111: forward_to(1);
            0x1100 &&& 0xff00: forward_to(2);
            _: forward_to(3);
        }
        size = 4;
    }
    apply {
        by_type.apply();
    }
}

control EgressPass(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control ComputeChecksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(Parse(), VerifyChecksums(), IngressPass(), EgressPass(), ComputeChecksums(), Deparse()) main;
