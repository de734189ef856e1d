// An IPv4 and IPv6 router as a device under test: longest prefix match, equal-cost paths by a
// hash of the flow, time to live, header checksum, ARP (RFC 826) and neighbour discovery (RFC
// 4861): answers for its own addresses, and next hops whose address it asks for. A packet whose
// next hop is not known is lost: it becomes the request for its MAC.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ICMPV6 = 58;
const bit<8> ND_SOLICITATION = 135;
const bit<8> ND_ADVERTISEMENT = 136;
const bit<8> ND_HOP_LIMIT = 255;
const bit<16> ND_BYTES = 32; // with one option, which holds a MAC
const bit<32> ND_ROUTER_SOLICITED_OVERRIDE = 0xe0000000;
const bit<8> ND_SOURCE_MAC = 1; // option types
const bit<8> ND_TARGET_MAC = 2;
const bit<128> SOLICITED_NODES = 0xff0200000000000000000001ff000000;
const bit<48> SOLICITED_NODES_MAC = 0x3333ff000000;
const bit<48> BROADCAST_MAC = 0xffffffffffff;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;
const bit<32> ROUTES = 4096;
const bit<32> NEXT_HOPS = 1024;
const bit<32> INTERFACES = 512;
const bit<32> ARP_FRAME_BYTES = 60;
const bit<32> ND_FRAME_BYTES = 86;

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

header nd_t {
    bit<8>   message;
    bit<8>   code;
    bit<16>  checksum;
    bit<32>  flags;
    bit<128> target;
    bit<8>   option_type;
    bit<8>   option_units;
    bit<48>  mac;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
    nd_t       nd;
    ports_t    ports;
}

struct metadata_t {
    bit<16> next_hop;
    bit<16> choice;
    bit<16> choice_mask;
    bit<1>  routed;
    bit<48> next_hop_mac;
    bit<128> neighbour;
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
        transition select(hdr.ipv6.next_header, hdr.ipv6.hop_limit, hdr.ipv6.payload_bytes) {
            (PROTOCOL_UDP, _, _): ports;
            (PROTOCOL_ICMPV6, ND_HOP_LIMIT, ND_BYTES): icmpv6;
            default: accept;
        }
    }
    state icmpv6 {
        transition select(packet.lookahead<bit<8>>()) {
            ND_SOLICITATION: nd;
            ND_ADVERTISEMENT: nd;
            default: accept;
        }
    }
    state nd {
        packet.extract(hdr.nd);
        transition accept;
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
        verify_checksum(hdr.nd.isValid(),
            { hdr.ipv6.source, hdr.ipv6.destination, 16w0, ND_BYTES, 24w0, PROTOCOL_ICMPV6,
              hdr.nd.message, hdr.nd.code, hdr.nd.flags, hdr.nd.target, hdr.nd.option_type,
              hdr.nd.option_units, hdr.nd.mac },
            hdr.nd.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    // MAC of each next hop that was asked for; 0 = no answer yet.
    register<bit<48>>(NEXT_HOPS) neighbour_mac;

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

    action advertise(bit<48> mac) {
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = mac;
        hdr.ipv6.destination = hdr.ipv6.source;
        hdr.ipv6.source = hdr.nd.target;
        hdr.nd.message = ND_ADVERTISEMENT;
        hdr.nd.flags = ND_ROUTER_SOLICITED_OVERRIDE;
        hdr.nd.option_type = ND_TARGET_MAC;
        hdr.nd.mac = mac;
        standard.egress_spec = standard.ingress_port;
    }

    @brief("Neighbour solicitations for the router's own addresses.")
    table own_address_ipv6 {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.nd.target: exact @name("address");
        }
        actions = { advertise; drop; }
        const default_action = drop();
        size = INTERFACES;
    }

    action learn_ipv4(bit<16> next_hop) {
        neighbour_mac.write((bit<32>)next_hop, hdr.arp.sender_mac);
    }

    @brief("Next hops that announce their MAC by ARP.")
    table neighbour_ipv4 {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.arp.sender: exact @name("address");
        }
        actions = { learn_ipv4; NoAction; }
        const default_action = NoAction();
        size = NEXT_HOPS;
    }

    action learn_ipv6(bit<16> next_hop) {
        neighbour_mac.write((bit<32>)next_hop, hdr.nd.mac);
    }

    @brief("Next hops that announce their MAC by neighbour discovery.")
    table neighbour_ipv6 {
        key = {
            standard.ingress_port: exact @name("port");
            meta.neighbour: exact @name("address");
        }
        actions = { learn_ipv6; NoAction; }
        const default_action = NoAction();
        size = NEXT_HOPS;
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

    action ask_ipv4(bit<9> port, bit<48> source, bit<32> own, bit<32> neighbour) {
        standard.egress_spec = port;
        hdr.ethernet.destination = BROADCAST_MAC;
        hdr.ethernet.source = source;
        hdr.ethernet.ether_type = TYPE_ARP;
        hdr.ipv4.setInvalid();
        hdr.ports.setInvalid();
        hdr.arp.setValid();
        hdr.arp.hardware_type = 1;
        hdr.arp.protocol_type = TYPE_IPV4;
        hdr.arp.hardware_bytes = 6;
        hdr.arp.protocol_bytes = 4;
        hdr.arp.operation = ARP_REQUEST;
        hdr.arp.sender_mac = source;
        hdr.arp.sender = own;
        hdr.arp.target_mac = 0;
        hdr.arp.target = neighbour;
        truncate(ARP_FRAME_BYTES);
    }

    action ask_ipv6(bit<9> port, bit<48> source, bit<128> own, bit<128> neighbour) {
        standard.egress_spec = port;
        hdr.ethernet.destination = SOLICITED_NODES_MAC | (bit<48>)neighbour[23:0];
        hdr.ethernet.source = source;
        hdr.ports.setInvalid();
        hdr.ipv6.traffic_class = 0;
        hdr.ipv6.flow_label = 0;
        hdr.ipv6.payload_bytes = ND_BYTES;
        hdr.ipv6.next_header = PROTOCOL_ICMPV6;
        hdr.ipv6.hop_limit = ND_HOP_LIMIT;
        hdr.ipv6.source = own;
        hdr.ipv6.destination = SOLICITED_NODES | (bit<128>)neighbour[23:0];
        hdr.nd.setValid();
        hdr.nd.message = ND_SOLICITATION;
        hdr.nd.code = 0;
        hdr.nd.flags = 0;
        hdr.nd.target = neighbour;
        hdr.nd.option_type = ND_SOURCE_MAC;
        hdr.nd.option_units = 1;
        hdr.nd.mac = source;
        truncate(ND_FRAME_BYTES);
    }

    @brief("How to ask for the MAC of a next hop that next_hop leaves open.")
    table question {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { ask_ipv4; ask_ipv6; drop; }
        const default_action = drop();
        size = NEXT_HOPS;
    }

    action send_when_known(bit<9> port, bit<48> source) {
        neighbour_mac.read(meta.next_hop_mac, (bit<32>)meta.next_hop);
        standard.egress_spec = port;
        hdr.ethernet.source = source;
        hdr.ethernet.destination = meta.next_hop_mac;
    }

    @brief("Port and addresses of a next hop; its MAC is given, or learned from its answers.")
    table next_hop {
        key = { meta.next_hop: exact @name("next_hop"); }
        actions = { send; send_when_known; drop; }
        const default_action = drop();
        size = NEXT_HOPS;
    }

    apply {
        meta.next_hop_mac = 0;
        if (hdr.arp.isValid()) {
            neighbour_ipv4.apply();
            if (hdr.arp.operation == ARP_REQUEST) {
                own_address.apply();
            } else {
                drop();
            }
        } else if (hdr.nd.isValid()) {
            bool solicitation = hdr.nd.message == ND_SOLICITATION;
            bool tells = hdr.nd.option_type == (solicitation ? ND_SOURCE_MAC : ND_TARGET_MAC);
            meta.neighbour = solicitation ? hdr.ipv6.source : hdr.nd.target;
            if (standard.checksum_error == 1) {
                drop();
            } else {
                if (tells) {
                    neighbour_ipv6.apply();
                }
                if (solicitation) {
                    own_address_ipv6.apply();
                } else {
                    drop();
                }
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
                switch (next_hop.apply().action_run) {
                    send_when_known: {
                        if (meta.next_hop_mac == 0) {
                            question.apply();
                        }
                    }
                    default: { }
                }
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
        update_checksum(hdr.nd.isValid(),
            { hdr.ipv6.source, hdr.ipv6.destination, 16w0, ND_BYTES, 24w0, PROTOCOL_ICMPV6,
              hdr.nd.message, hdr.nd.code, hdr.nd.flags, hdr.nd.target, hdr.nd.option_type,
              hdr.nd.option_units, hdr.nd.mac },
            hdr.nd.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.nd);
        packet.emit(hdr.ports);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(), RouterDeparser()) main;
