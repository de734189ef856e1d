// Labels, tunnels and more tags between the outermost Ethernet header with its tags and the innermost IP header.
// The program looks at it to find its way, and keeps it as words: all frames of a stream have the same, which its seed has.
#ifndef P4MESH_TUNNELS
#define P4MESH_TUNNELS

#include "types.p4"

const bit<16> ETHERTYPE_MPLS     = 0x8847;
const bit<16> ETHERTYPE_PPPOE    = 0x8864;
const bit<16> ETHERTYPE_BRIDGING = 0x6558;
const bit<16> ETHERTYPE_ARP      = 0x0806;
const bit<16> ETHERTYPE_LLDP     = 0x88CC;

const bit<8> PROTOCOL_IPV4     = 4;
const bit<8> PROTOCOL_IPV6     = 41;
const bit<8> PROTOCOL_GRE      = 47;
const bit<8> PROTOCOL_MPLS     = 137;
const bit<8> PROTOCOL_ETHERNET = 143;

const bit<16> PPP_IPV4 = 0x0021;
const bit<16> PPP_IPV6 = 0x0057;
const bit<16> PPP_MPLS = 0x0281;

const bit<16> PORT_GTPU      = 2152;
const bit<16> PORT_VXLAN     = 4789;
const bit<16> PORT_VXLAN_GPE = 4790;
const bit<16> PORT_GENEVE    = 6081;
const bit<16> PORT_MPLS      = 6635;
const bit<16> PORT_ROCE      = 4791;

// Next protocol of VXLAN-GPE.
const bit<8> GPE_IPV4     = 1;
const bit<8> GPE_IPV6     = 2;
const bit<8> GPE_ETHERNET = 3;
const bit<8> GPE_MPLS     = 5;

// Next protocol of VXLAN-GPE is a number of its own; all others lead into the parser below.
typedef bit<2> names_t;
const names_t NAMES_ETHER_TYPE = 0;
const names_t NAMES_PROTOCOL   = 1;
const names_t NAMES_PORT       = 2;

// Follows what a header names with `number`, up to the innermost IP header or the next Ethernet header: `found` says which.
parser Tunnels(packet_in packet, inout four_bytes_t[TUNNEL_WORDS] words, in names_t names, in bit<16> number,
               in bit<1> is_template, in bit<1> in_tunnel, out found_t found) {
    bit<16>  kind = number;
    bit<8>   protocol = number[7:0];
    bit<8>   left = 0;
    bit<192> ipv4 = 0;
    bit<352> ipv6 = 0;

    state start {
        found = FOUND_NOTHING;
        transition select(names) {
            NAMES_PROTOCOL : follow_protocol;
            NAMES_PORT : follow_port;
            default : follow_ether_type;
        }
    }
    state follow_ether_type {
        transition select(kind) {
            ETHERTYPE_IPV4 : look_at_ipv4;
            ETHERTYPE_IPV6 : look_at_ipv6;
            ETHERTYPE_VLAN : take_tag;
            ETHERTYPE_QINQ : take_tag;
            ETHERTYPE_MPLS : take_label;
            ETHERTYPE_PPPOE : take_pppoe;
            ETHERTYPE_BRIDGING : find_ethernet;
            ETHERTYPE_ARP : accept;
            ETHERTYPE_MAC_CONTROL : accept;
            ETHERTYPE_LLDP : accept;
            default : find_signature;
        }
    }
    state find_ethernet {
        found = FOUND_ETHERNET;
        transition accept;
    }
    state find_ipv4 {
        found = FOUND_IPV4;
        transition accept;
    }
    state find_ipv6 {
        found = FOUND_IPV6;
        transition accept;
    }
    state find_signature {
        found = FOUND_SIGNATURE;
        transition accept;
    }
    state take_tag {
        packet.extract(words.next);
        kind = words.last.value[15:0];
        transition follow_ether_type;
    }
    state take_label {
        packet.extract(words.next);
        transition select(words.last.value[8:8]) {
            0 : take_label;
            default : look_behind_labels;
        }
    }
    // The first four bits are the version of IP, or 0 of the control word of a pseudowire (RFC 4385).
    state look_behind_labels {
        transition select(packet.lookahead<bit<4>>()) {
            0 : take_control_word;
            4 : look_at_ipv4;
            6 : look_at_ipv6;
            default : accept;
        }
    }
    state take_control_word {
        packet.extract(words.next);
        transition find_ethernet;
    }
    state take_pppoe {
        packet.extract(words.next);
        packet.extract(words.next);
        transition select(words.last.value[15:0]) {
            PPP_IPV4 : look_at_ipv4;
            PPP_IPV6 : look_at_ipv6;
            PPP_MPLS : take_label;
            default : accept;
        }
    }
    // Version and length, no fragment, protocol, and the destination port of UDP behind five words.
    state look_at_ipv4 {
        ipv4 = packet.lookahead<bit<192>>();
        protocol = ipv4[119:112];
        left = 4w0 ++ ipv4[187:184];
        transition select(ipv4[191:188], ipv4[140:128], protocol) {
            (4, 0, PROTOCOL_UDP) : look_at_port_over_ipv4;
            (4, 0, PROTOCOL_IPV4) : take_ip;
            (4, 0, PROTOCOL_IPV6) : take_ip;
            (4, 0, PROTOCOL_GRE) : take_ip;
            (4, 0, PROTOCOL_MPLS) : take_ip;
            (4, 0, PROTOCOL_ETHERNET) : take_ip;
            default : find_ipv4;
        }
    }
    state look_at_port_over_ipv4 {
        transition select(left, ipv4[15:0]) {
            (5, PORT_GTPU) : look_behind_udp_over_ipv4;
            (5, PORT_VXLAN) : look_behind_udp_over_ipv4;
            (5, PORT_VXLAN_GPE) : look_behind_udp_over_ipv4;
            (5, PORT_GENEVE) : look_behind_udp_over_ipv4;
            (5, PORT_MPLS) : look_behind_udp_over_ipv4;
            default : find_ipv4;
        }
    }
    // A test frame may have any port: the signature tells that there is no tunnel, and a seed has a flag for one.
    state look_behind_udp_over_ipv4 {
        transition select(is_template, in_tunnel, packet.lookahead<bit<240>>()[15:0]) {
            (1, 0, _) : find_ipv4;
            (0, _, SIGNATURE_MAGIC) : find_ipv4;
            default : take_ip;
        }
    }
    // The destination port of UDP, directly behind the fixed header. Extension headers have no room in front of another
    // packet here: they belong to the innermost one.
    state look_at_ipv6 {
        ipv6 = packet.lookahead<bit<352>>();
        protocol = ipv6[303:296];
        left = 10;
        transition select(protocol) {
            PROTOCOL_UDP : look_at_port_over_ipv6;
            PROTOCOL_IPV4 : take_ip;
            PROTOCOL_IPV6 : take_ip;
            PROTOCOL_GRE : take_ip;
            PROTOCOL_MPLS : take_ip;
            PROTOCOL_ETHERNET : take_ip;
            default : find_ipv6;
        }
    }
    state look_at_port_over_ipv6 {
        transition select(ipv6[15:0]) {
            PORT_GTPU : look_behind_udp_over_ipv6;
            PORT_VXLAN : look_behind_udp_over_ipv6;
            PORT_VXLAN_GPE : look_behind_udp_over_ipv6;
            PORT_GENEVE : look_behind_udp_over_ipv6;
            PORT_MPLS : look_behind_udp_over_ipv6;
            default : find_ipv6;
        }
    }
    state look_behind_udp_over_ipv6 {
        transition select(is_template, in_tunnel, packet.lookahead<bit<400>>()[15:0]) {
            (1, 0, _) : find_ipv6;
            (0, _, SIGNATURE_MAGIC) : find_ipv6;
            default : take_ip;
        }
    }
    state take_ip {
        packet.extract(words.next);
        left = left - 1;
        transition select(left) {
            0 : follow_protocol;
            default : take_ip;
        }
    }
    state follow_protocol {
        transition select(protocol) {
            PROTOCOL_UDP : take_udp;
            PROTOCOL_IPV4 : look_at_ipv4;
            PROTOCOL_IPV6 : look_at_ipv6;
            PROTOCOL_GRE : take_gre;
            PROTOCOL_MPLS : take_label;
            PROTOCOL_ETHERNET : find_ethernet;
            default : accept;
        }
    }
    // Checksum, key and sequence number are there where a flag says so (RFC 2890).
    state take_gre {
        packet.extract(words.next);
        kind = words.last.value[15:0];
        left = (7w0 ++ words.last.value[31:31]) + (7w0 ++ words.last.value[29:29]) + (7w0 ++ words.last.value[28:28]);
        transition take_more;
    }
    state take_more {
        transition select(left) {
            0 : follow_ether_type;
            default : take_one_more;
        }
    }
    state take_one_more {
        packet.extract(words.next);
        left = left - 1;
        transition take_more;
    }
    state take_udp {
        packet.extract(words.next);
        kind = words.last.value[15:0];
        packet.extract(words.next);
        transition follow_port;
    }
    state follow_port {
        transition select(kind) {
            PORT_VXLAN : take_vxlan;
            PORT_VXLAN_GPE : take_vxlan_gpe;
            PORT_GENEVE : take_geneve;
            PORT_GTPU : take_gtpu;
            PORT_MPLS : take_label;
            default : accept;
        }
    }
    state take_vxlan {
        packet.extract(words.next);
        packet.extract(words.next);
        transition find_ethernet;
    }
    state take_vxlan_gpe {
        bit<32> ahead = packet.lookahead<bit<32>>();
        packet.extract(words.next);
        packet.extract(words.next);
        transition select(ahead[7:0]) {
            GPE_IPV4 : look_at_ipv4;
            GPE_IPV6 : look_at_ipv6;
            GPE_ETHERNET : find_ethernet;
            GPE_MPLS : take_label;
            default : accept;
        }
    }
    state take_geneve {
        packet.extract(words.next);
        kind = words.last.value[15:0];
        left = 2w0 ++ words.last.value[29:24];
        packet.extract(words.next);
        transition take_more;
    }
    // Sequence number, N-PDU number and the type of an extension header are there where a flag asks for one of them.
    state take_gtpu {
        bit<8> flags = packet.lookahead<bit<8>>();
        packet.extract(words.next);
        packet.extract(words.next);
        transition select(flags[2:0]) {
            0 : look_at_user_packet;
            default : take_gtpu_options;
        }
    }
    // An extension header of one word ends like these options, with the type of the next one.
    state take_gtpu_options {
        packet.extract(words.next);
        transition select(words.last.value[7:0]) {
            0 : look_at_user_packet;
            default : take_gtpu_options;
        }
    }
    state look_at_user_packet {
        transition select(packet.lookahead<bit<4>>()) {
            4 : look_at_ipv4;
            6 : look_at_ipv6;
            default : accept;
        }
    }
}

#endif
