// A VXLAN tunnel end point (RFC 7348) as a device under test: frames of a port belong to a segment, and go to the remote
// end point that has their destination, or to a port here. The control plane knows where every address is.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> PORT_VXLAN = 4789;
const bit<8> VNI_IS_VALID = 0x08;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_AND_VXLAN_BYTES = 16;
const bit<16> DO_NOT_FRAGMENT = 0x4000;
const bit<8> TUNNEL_TTL = 64;
const bit<32> SEGMENTS = 512;
const bit<32> ADDRESSES = 4096;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
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

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> bytes;
    bit<16> checksum;
}

header vxlan_t {
    bit<8>  flags;
    bit<24> reserved;
    bit<24> vni;
    bit<8>  reserved_byte;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    vxlan_t    vxlan;
    ethernet_t inner_ethernet;
    // Those of a frame that came as it is.
    ipv4_t     inner_ipv4;
    udp_t      inner_udp;
}

struct metadata_t {
    bit<24> vni;
    bit<48> destination;
}

parser VtepParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        meta.destination = hdr.ethernet.destination;
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.flags_offset & 0x3fff, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination) {
            PORT_VXLAN: vxlan;
            default: accept;
        }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        packet.extract(hdr.inner_ethernet);
        meta.destination = hdr.inner_ethernet.destination;
        transition accept;
    }
}

control VtepVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control VtepIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action decapsulate() {
        meta.vni = hdr.vxlan.vni;
        hdr.ethernet.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.udp.setInvalid();
        hdr.vxlan.setInvalid();
    }

    @brief("Tunnels that end here")
    table tunnel_end {
        key = {
            hdr.ipv4.destination: exact @name("destination");
            hdr.vxlan.vni: exact @name("vni");
        }
        actions = { decapsulate; @defaultonly drop; }
        const default_action = drop();
        size = SEGMENTS;
    }

    action in_segment(bit<24> vni) {
        meta.vni = vni;
    }

    @brief("Segment of the frames that come on a port as they are")
    table access {
        key = { standard.ingress_port: exact @name("port"); }
        actions = { in_segment; @defaultonly drop; }
        const default_action = drop();
        size = SEGMENTS;
    }

    action to_port(bit<9> port) {
        standard.egress_spec = port;
    }

    action to_tunnel(bit<9> port, bit<48> own_mac, bit<48> next_hop_mac, bit<32> source, bit<32> destination) {
        standard.egress_spec = port;
        hdr.inner_ethernet = hdr.ethernet;
        hdr.inner_ipv4 = hdr.ipv4;
        hdr.inner_udp = hdr.udp;
        hdr.ethernet.setValid();
        hdr.ethernet.destination = next_hop_mac;
        hdr.ethernet.source = own_mac;
        hdr.ethernet.ether_type = TYPE_IPV4;
        bit<16> tunnel_bytes = UDP_AND_VXLAN_BYTES + (bit<16>) standard.packet_length;
        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.header_words = 5;
        hdr.ipv4.dscp_ecn = 0;
        hdr.ipv4.total_bytes = IPV4_BYTES + tunnel_bytes;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags_offset = DO_NOT_FRAGMENT;
        hdr.ipv4.ttl = TUNNEL_TTL;
        hdr.ipv4.protocol = PROTOCOL_UDP;
        hdr.ipv4.source = source;
        hdr.ipv4.destination = destination;
        hdr.udp.setValid();
        hdr.udp.destination = PORT_VXLAN;
        hdr.udp.bytes = tunnel_bytes;
        hdr.udp.checksum = 0;
        hdr.vxlan.setValid();
        hdr.vxlan.flags = VNI_IS_VALID;
        hdr.vxlan.reserved = 0;
        hdr.vxlan.vni = meta.vni;
        hdr.vxlan.reserved_byte = 0;
        // A hash of the inner addresses spreads flows over the paths of the underlay (RFC 7348 5).
        hash(hdr.udp.source, HashAlgorithm.crc16, 16w0xc000,
             { hdr.inner_ethernet.destination, hdr.inner_ethernet.source }, 32w0x4000);
    }

    @brief("Where the addresses of a segment are; frames to others are dropped")
    table address {
        key = {
            meta.vni: exact @name("vni");
            meta.destination: exact @name("mac");
        }
        actions = { to_port; to_tunnel; @defaultonly drop; }
        const default_action = drop();
        size = ADDRESSES;
    }

    apply {
        bool known;
        if (hdr.vxlan.isValid()) {
            known = tunnel_end.apply().hit;
        } else {
            known = access.apply().hit;
        }
        if (known) {
            address.apply();
        }
    }
}

control VtepEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control VtepUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.vxlan.isValid(),
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control VtepDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.inner_ethernet);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_udp);
    }
}

V1Switch(VtepParser(), VtepVerify(), VtepIngress(), VtepEgress(), VtepUpdate(), VtepDeparser()) main;
