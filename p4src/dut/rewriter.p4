// A middlebox between two ports as a device under test: it rewrites every frame, whatever the frame carries. The source
// MAC address becomes its own, a tag is put in front of what follows the addresses, and of the first header behind them the
// time to live (IPv4, IPv6, MPLS) is one less and the class (IPv4, IPv6) another one.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86DD;
const bit<16> TYPE_MPLS = 0x8847;
const bit<16> TYPE_VLAN = 0x8100;
const bit<48> OWN_MAC = 0x020000000101;
const bit<12> OWN_VLAN = 99;
const bit<8> OWN_CLASS = 0xB8;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> vid;
    bit<16> ether_type;
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
    bit<4>  version;
    bit<8>  traffic_class;
    bit<20> flow_label;
    bit<16> payload_bytes;
    bit<8>  next_header;
    bit<8>  hop_limit;
}

header mpls_t {
    bit<24> label_class_bottom;
    bit<8>  ttl;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
    mpls_t     mpls;
}

struct metadata_t {
    // Complements of the checksum of IPv4 as it came, and of the words under it that change.
    bit<16> old_sum;
    bit<16> old_class;
    bit<16> old_ttl;
}

parser RewriterParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4 : parse_ipv4;
            TYPE_IPV6 : parse_ipv6;
            TYPE_MPLS : parse_mpls;
            default : accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
    state parse_mpls {
        packet.extract(hdr.mpls);
        transition accept;
    }
}

control NoVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control RewriterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 3 - standard.ingress_port;
        hdr.vlan.setValid();
        hdr.vlan.priority = 0;
        hdr.vlan.drop_eligible = 0;
        hdr.vlan.vid = OWN_VLAN;
        hdr.vlan.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = TYPE_VLAN;
        hdr.ethernet.source = OWN_MAC;
        if (hdr.ipv4.isValid()) {
            meta.old_class = ~(hdr.ipv4.version ++ hdr.ipv4.header_words ++ hdr.ipv4.dscp_ecn);
            meta.old_ttl = ~(hdr.ipv4.ttl ++ hdr.ipv4.protocol);
            meta.old_sum = ~hdr.ipv4.checksum;
            hdr.ipv4.dscp_ecn = OWN_CLASS;
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
        if (hdr.ipv6.isValid()) {
            hdr.ipv6.traffic_class = OWN_CLASS;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
        if (hdr.mpls.isValid()) {
            hdr.mpls.ttl = hdr.mpls.ttl - 1;
        }
    }
}

control RewriterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

// The checksum changes by what has changed (RFC 1624): options are not looked at, and a wrong one stays wrong.
control UpdateChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { meta.old_sum, meta.old_class, meta.old_ttl, hdr.ipv4.version, hdr.ipv4.header_words,
              hdr.ipv4.dscp_ecn, hdr.ipv4.ttl, hdr.ipv4.protocol },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RewriterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.mpls);
    }
}

V1Switch(RewriterParser(), NoVerification(), RewriterIngress(), RewriterEgress(), UpdateChecksum(), RewriterDeparser()) main;
