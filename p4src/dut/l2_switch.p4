// A learning Ethernet switch as a device under test. It learns in the data plane: a hash of the
// source address names the cell that keeps address and port, the newest address stays. Frames to
// addresses that are not in their cell, and to groups that the control plane does not know, go to all
// ports but their own; those to a group that it knows go to the multicast group that it names.
#include <core.p4>
#include <v1model.p4>

// Cells of the address table.
const bit<32> ADDRESSES = 4096;
// Groups that the control plane can know.
const bit<32> GROUPS = 4096;
// Multicast group with all ports; the control plane fills it.
const bit<16> GROUP_ALL_PORTS = 1;
const bit<32> INSTANCE_REPLICATED = 5;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t { ethernet_t ethernet; }
struct metadata_t { }

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<48>>(ADDRESSES) address;
    register<bit<16>>(ADDRESSES) address_port;

    action flood() {
        standard.mcast_grp = GROUP_ALL_PORTS;
    }

    action replicate(bit<16> multicast_group) {
        standard.mcast_grp = multicast_group;
    }
    @brief("Where frames to a group address go")
    table group {
        key = { hdr.ethernet.destination : exact @name("destination"); }
        actions = { replicate; flood; }
        const default_action = flood();
        size = GROUPS;
    }

    apply {
        bit<32> cell;
        if (hdr.ethernet.source[40:40] == 0) {
            hash(cell, HashAlgorithm.crc32, 32w0, { hdr.ethernet.source }, ADDRESSES);
            address.write(cell, hdr.ethernet.source);
            address_port.write(cell, (bit<16>) standard.ingress_port);
        }
        if (hdr.ethernet.destination[40:40] == 1) {
            group.apply();
        } else {
            bit<48> known;
            bit<16> port;
            hash(cell, HashAlgorithm.crc32, 32w0, { hdr.ethernet.destination }, ADDRESSES);
            address.read(known, cell);
            address_port.read(port, cell);
            if (known != hdr.ethernet.destination) {
                flood();
            } else if (port[8:0] == standard.ingress_port) {
                mark_to_drop(standard);
            } else {
                standard.egress_spec = port[8:0];
            }
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.instance_type == INSTANCE_REPLICATED && standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

control ComputeNothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); }
}

V1Switch(SwitchParser(), VerifyNothing(), SwitchIngress(), SwitchEgress(), ComputeNothing(), SwitchDeparser()) main;
