// An IPv4 and IPv6 router as a device under test: longest prefix match, equal-cost paths by a hash
// of the flow, time to live, header checksum, answers to ARP requests for its own addresses.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;
const bit<32> ROUTES = 4096;
const bit<32> NEXT_HOPS = 1024;
const bit<32> INTERFACES = 512;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8>  hardware_bytes;
    bit<8>  protocol_bytes;
    bit<16> operation;
    bit<48> sender_mac;
    bit<32> sender;
    bit<48> target_mac;
    bit<32> target;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<8>  dscp_ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_bytes;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
    ports_t    ports;
}

struct metadata_t {
    bit<16> next_hop;
    bit<16> choice;
    bit<16> choice_mask;
    bit<1>  routed;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_ARP: arp;
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.protocol) {
            (5, PROTOCOL_UDP): ports;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }

    action accept_frame() { }

    @brief("Frames to the address of the port are routed, all others end here.")
    table interface {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.ethernet.destination: exact @name("mac");
        }
        actions = { accept_frame; drop; }
        const default_action = drop();
        size = INTERFACES;
    }

    action answer(bit<48> mac) {
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        bit<32> asked = hdr.arp.target;
        hdr.arp.target = hdr.arp.sender;
        hdr.arp.sender = asked;
        standard.egress_spec = standard.ingress_port;
    }

    @brief("ARP requests for the router's own addresses.")
    table own_address {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.arp.target: exact @name("address");
        }
        actions = { answer; drop; }
        const default_action = drop();
        size = INTERFACES;
    }

    action to_next_hop(bit<16> next_hop) {
        meta.next_hop = next_hop;
        meta.choice_mask = 0;
        meta.routed = 1;
    }

    // One of mask + 1 next hops from `first` on; mask + 1 is a power of two.
    action to_one_of(bit<16> first, bit<16> mask) {
        meta.next_hop = first;
        meta.choice_mask = mask;
        meta.routed = 1;
    }

    @brief("Routes of IPv4.")
    table route_ipv4 {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { to_next_hop; to_one_of; drop; }
        const default_action = drop();
        size = ROUTES;
    }

    @brief("Routes of IPv6.")
    table route_ipv6 {
        key = { hdr.ipv6.destination: lpm @name("destination"); }
        actions = { to_next_hop; to_one_of; drop; }
        const default_action = drop();
        size = ROUTES;
    }

    action send(bit<9> port, bit<48> source, bit<48> destination) {
        standard.egress_spec = port;
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
    }

    @brief("Port and addresses of a next hop.")
    table next_hop {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { send; drop; }
        const default_action = drop();
        size = NEXT_HOPS;
    }

    apply {
        if (hdr.arp.isValid()) {
            if (hdr.arp.operation == ARP_REQUEST) {
                own_address.apply();
            } else {
                drop();
            }
        } else if (interface.apply().hit && standard.checksum_error == 0) {
            if (hdr.ipv4.isValid() && hdr.ipv4.header_words == 5 && hdr.ipv4.ttl > 1) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                hash(meta.choice, HashAlgorithm.crc16, 16w0,
                     { hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4.protocol, hdr.ports.source,
                       hdr.ports.destination }, 32w65536);
                route_ipv4.apply();
            } else if (hdr.ipv6.isValid() && hdr.ipv6.hop_limit > 1) {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                hash(meta.choice, HashAlgorithm.crc16, 16w0,
                     { hdr.ipv6.source, hdr.ipv6.destination, hdr.ipv6.next_header, hdr.ports.source,
                       hdr.ports.destination }, 32w65536);
                route_ipv6.apply();
            } else {
                drop();
            }
            if (meta.routed == 1) {
                meta.next_hop = meta.next_hop + (meta.choice & meta.choice_mask);
                next_hop.apply();
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control RouterCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.ports);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(), RouterDeparser()) main;
