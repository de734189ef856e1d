// A router of IPv4 multicast with GRE tunnels (RFC 2784) as a device under test: a packet to a group comes as it is or
// in a tunnel that ends here, and each copy leaves as it is or in a tunnel of its own. The controller programs groups,
// tunnels and neighbours. The router answers ARP (RFC 826) for its addresses.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<8> PROTOCOL_GRE = 47;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;
const bit<32> ARP_FRAME_BYTES = 60;
const bit<16> TUNNEL_BYTES = 24; // IPv4 and GRE
const bit<16> DO_NOT_FRAGMENT = 0x4000;
const bit<8> TUNNEL_TTL = 64;
// First 25 bits of the MAC of a group (RFC 1112 6.4).
const bit<25> GROUP_MAC = 25w0x200bc;
const bit<32> INTERFACES = 512;
const bit<32> GROUPS = 8192;
const bit<32> COPIES = 4096;

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

header gre_t {
    bit<16> flags_version;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     outer;
    gre_t      gre;
    ipv4_t     ipv4;
}

struct metadata_t { }

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_ARP: arp;
            TYPE_IPV4: ipv4_or_tunnel;
            default: accept;
        }
    }
    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }
    // The protocol is the tenth byte.
    state ipv4_or_tunnel {
        transition select(packet.lookahead<bit<80>>()) {
            0x2f &&& 0xff: tunnel;
            default: ipv4;
        }
    }
    state tunnel {
        packet.extract(hdr.outer);
        packet.extract(hdr.gre);
        transition select(hdr.outer.header_words, hdr.gre.flags_version, hdr.gre.ether_type) {
            (5, 0, TYPE_IPV4): ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.outer.isValid() && hdr.outer.header_words == 5,
            { hdr.outer.version, hdr.outer.header_words, hdr.outer.dscp_ecn, hdr.outer.total_bytes,
              hdr.outer.identification, hdr.outer.flags_offset, hdr.outer.ttl, hdr.outer.protocol,
              hdr.outer.source, hdr.outer.destination },
            hdr.outer.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

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
        truncate(ARP_FRAME_BYTES);
    }

    @brief("Addresses of the router; ARP requests for others are dropped")
    table own_address {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.arp.target: exact @name("address");
        }
        actions = { answer; @defaultonly drop; }
        const default_action = drop();
        size = INTERFACES;
    }

    action decapsulate() {
        hdr.outer.setInvalid();
        hdr.gre.setInvalid();
    }

    @brief("Tunnels that end here; packets in others are dropped")
    table tunnel_end {
        key = {
            hdr.ethernet.destination: exact @name("mac");
            hdr.outer.destination: exact @name("destination");
            hdr.outer.source: ternary @name("source");
        }
        actions = { decapsulate; @defaultonly drop; }
        const default_action = drop();
        size = COPIES;
    }

    action replicate(bit<16> multicast_group) {
        standard.mcast_grp = multicast_group;
    }

    @brief("Groups and the ports on which they come; packets to other addresses are dropped")
    table group {
        key = {
            standard.ingress_port: exact @name("port");
            hdr.ipv4.destination: lpm @name("group");
        }
        actions = { replicate; @defaultonly drop; }
        const default_action = drop();
        size = GROUPS;
    }

    apply {
        if (standard.checksum_error == 1) {
            drop();
        } else if (hdr.arp.isValid() && hdr.arp.operation == ARP_REQUEST) {
            own_address.apply();
        } else if (hdr.ipv4.isValid() && hdr.ipv4.header_words == 5 && hdr.ipv4.ttl > 1) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            if (!hdr.outer.isValid() || tunnel_end.apply().hit) {
                group.apply();
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action as_it_is(bit<48> own_mac) {
        hdr.ethernet.source = own_mac;
        hdr.ethernet.destination = GROUP_MAC ++ hdr.ipv4.destination[22:0];
    }

    action encapsulate(bit<48> own_mac, bit<48> next_hop_mac, bit<32> source, bit<32> destination) {
        hdr.ethernet.source = own_mac;
        hdr.ethernet.destination = next_hop_mac;
        hdr.outer.setValid();
        hdr.outer.version = 4;
        hdr.outer.header_words = 5;
        hdr.outer.dscp_ecn = hdr.ipv4.dscp_ecn;
        hdr.outer.total_bytes = hdr.ipv4.total_bytes + TUNNEL_BYTES;
        hdr.outer.identification = 0;
        hdr.outer.flags_offset = DO_NOT_FRAGMENT;
        hdr.outer.ttl = TUNNEL_TTL;
        hdr.outer.protocol = PROTOCOL_GRE;
        hdr.outer.source = source;
        hdr.outer.destination = destination;
        hdr.gre.setValid();
        hdr.gre.flags_version = 0;
        hdr.gre.ether_type = TYPE_IPV4;
    }

    @brief("How a copy leaves; key = its multicast group, and its instance there")
    table copy {
        key = {
            standard.mcast_grp: exact @name("multicast_group");
            standard.egress_rid: exact @name("instance");
        }
        actions = { as_it_is; encapsulate; @defaultonly drop; }
        const default_action = drop();
        size = COPIES;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            copy.apply();
        }
    }
}

control RouterUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.outer.isValid(),
            { hdr.outer.version, hdr.outer.header_words, hdr.outer.dscp_ecn, hdr.outer.total_bytes,
              hdr.outer.identification, hdr.outer.flags_offset, hdr.outer.ttl, hdr.outer.protocol,
              hdr.outer.source, hdr.outer.destination },
            hdr.outer.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.ipv4.isValid(),
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
        packet.emit(hdr.outer);
        packet.emit(hdr.gre);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterUpdate(), RouterDeparser()) main;
