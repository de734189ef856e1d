// A plain router for the benchmark, with the work of a small forwarding program. Parses Ethernet and IPv4, checks the
// header checksum, routes by longest prefix, rewrites the addresses, counts the hop, updates the checksum, counts the
// frame per port.
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<8>  dscp_ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<16> next_hop;
}

#define IPV4_FIELDS { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, \
    hdr.ipv4.total_length, hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, \
    hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            default : accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VerifyHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @brief("Drops the frame")
    action discard() { mark_to_drop(standard); }

    @brief("Chooses the next hop of a destination")
    action route(bit<16> next_hop) { meta.next_hop = next_hop; }

    @brief("Destination prefixes")
    table ipv4_route {
        key = { hdr.ipv4.dst : lpm @name("destination"); }
        actions = { route; discard; }
        const default_action = discard();
        size = 131072;
    }

    @brief("Sends to a neighbour")
    action forward(bit<9> port, bit<48> mac) {
        standard.egress_spec = port;
        hdr.ethernet.dst = mac;
    }

    @brief("Neighbours")
    table neighbour {
        key = { meta.next_hop : exact @name("next_hop"); }
        actions = { forward; discard; }
        const default_action = discard();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid() && standard.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            if (ipv4_route.apply().hit) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                neighbour.apply();
            }
        } else {
            discard();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @brief("Frames sent, per port")
    counter(512, CounterType.packets_and_bytes) sent;

    @brief("Sets the address of the router on a port")
    action own_address(bit<48> mac) { hdr.ethernet.src = mac; }

    @brief("Addresses of the router")
    table interface_address {
        key = { standard.egress_port : exact @name("port"); }
        actions = { own_address; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        interface_address.apply();
        sent.count((bit<32>)standard.egress_port);
    }
}

control UpdateHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouterParser(), VerifyHeader(), RouterIngress(), RouterEgress(), UpdateHeader(),
         RouterDeparser()) main;
