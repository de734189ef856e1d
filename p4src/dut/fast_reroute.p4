// A switch with fast reroute as a device under test. Every destination has paths in the order of
// preference. A packet whose path ends at a failed link is recirculated, once for each failed link,
// until its path works or there is none left. The control plane says which links have failed.
#include <core.p4>
#include <v1model.p4>

const bit<32> PATHS = 4096;
const bit<32> PORTS = 512;
// Metadata that a packet keeps when it is recirculated.
const bit<8> KEPT = 1;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t { ethernet_t ethernet; }

struct metadata_t {
    // Failed links that the packet has met.
    @field_list(KEPT)
    bit<8> failures;
    bit<1> again;
}

parser RerouteParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control RerouteIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }

    action use_port(bit<9> port) {
        standard.egress_spec = port;
    }

    // The paths of a destination: the first has 0 failures, the next 1, and so on.
    table path {
        key = {
            hdr.ethernet.destination: exact @name("destination");
            meta.failures:            exact @name("failures");
        }
        actions = { use_port; drop; }
        default_action = drop();
        size = PATHS;
    }

    action try_next() {
        meta.failures = meta.failures + 1;
        meta.again = 1;
    }

    table failed_link {
        key = { standard.egress_spec: exact @name("port"); }
        actions = { try_next; NoAction; }
        default_action = NoAction();
        size = PORTS;
    }

    apply {
        if (path.apply().hit) {
            failed_link.apply();
        }
    }
}

control RerouteEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.again == 1) {
            recirculate_preserving_field_list(KEPT);
        }
    }
}

control ComputeNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control RerouteDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); }
}

V1Switch(RerouteParser(), VerifyNothing(), RerouteIngress(), RerouteEgress(), ComputeNothing(),
         RerouteDeparser()) main;
