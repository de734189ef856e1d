// A network address translator for IPv4 (RFC 3022) as a device under test. Its table is fixed: the control plane binds
// an address and a port inside to those outside. Checksums of UDP and TCP are changed by the difference (RFC 1624).
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<32> BINDINGS = 65536;
const bit<32> ROUTES = 1024;

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

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgment;
    bit<16> offset_flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    tcp_t      tcp;
}

struct metadata_t {
    bit<16> source_port;
    bit<16> destination_port;
    // One's complement sum of what was taken out and what was put in.
    bit<32> difference;
}

parser NatParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.protocol) {
            (5, PROTOCOL_UDP): udp;
            (5, PROTOCOL_TCP): tcp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        meta.source_port = hdr.udp.source;
        meta.destination_port = hdr.udp.destination;
        transition accept;
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.source_port = hdr.tcp.source;
        meta.destination_port = hdr.tcp.destination;
        transition accept;
    }
}

control NatVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control NatIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action change(bit<32> old_address, bit<16> old_port, bit<32> new_address, bit<16> new_port) {
        meta.difference = (bit<32>) ~old_address[31:16] + (bit<32>) ~old_address[15:0] + (bit<32>) ~old_port
            + (bit<32>) new_address[31:16] + (bit<32>) new_address[15:0] + (bit<32>) new_port;
    }

    action to_outside(bit<32> address, bit<16> port) {
        change(hdr.ipv4.source, meta.source_port, address, port);
        hdr.ipv4.source = address;
        meta.source_port = port;
    }

    @brief("Bindings of hosts inside; packets of others are dropped")
    table inside {
        key = {
            hdr.ipv4.source: exact @name("address");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.source_port: exact @name("port");
        }
        actions = { to_outside; @defaultonly drop; }
        const default_action = drop();
        size = BINDINGS;
    }

    action to_inside(bit<32> address, bit<16> port) {
        change(hdr.ipv4.destination, meta.destination_port, address, port);
        hdr.ipv4.destination = address;
        meta.destination_port = port;
    }

    @brief("The same bindings by address and port outside")
    table outside {
        key = {
            hdr.ipv4.destination: exact @name("address");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.destination_port: exact @name("port");
        }
        actions = { to_inside; @defaultonly drop; }
        const default_action = drop();
        size = BINDINGS;
    }

    action is_inside() { }

    @brief("Ports with hosts inside; all others are outside")
    table inside_port {
        key = { standard.ingress_port: exact @name("port"); }
        actions = { is_inside; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    action send(bit<9> port, bit<48> own_mac, bit<48> next_hop_mac) {
        standard.egress_spec = port;
        hdr.ethernet.source = own_mac;
        hdr.ethernet.destination = next_hop_mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    @brief("Where packets go, by their new destination")
    table route {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { send; @defaultonly drop; }
        const default_action = drop();
        size = ROUTES;
    }

    apply {
        if ((hdr.udp.isValid() || hdr.tcp.isValid()) && hdr.ipv4.ttl > 1) {
            bool bound;
            if (inside_port.apply().hit) {
                bound = inside.apply().hit;
            } else {
                bound = outside.apply().hit;
            }
            if (bound) {
                route.apply();
            }
        } else {
            drop();
        }
    }
}

control NatEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    // RFC 1624 3, equation 3.
    action adjust(inout bit<16> checksum) {
        bit<32> sum = (bit<32>) ~checksum + meta.difference;
        sum = (bit<32>) sum[15:0] + (bit<32>) sum[31:16];
        sum = (bit<32>) sum[15:0] + (bit<32>) sum[31:16];
        checksum = ~sum[15:0];
    }

    apply {
        if (hdr.tcp.isValid()) {
            hdr.tcp.source = meta.source_port;
            hdr.tcp.destination = meta.destination_port;
            adjust(hdr.tcp.checksum);
        } else if (hdr.udp.isValid()) {
            hdr.udp.source = meta.source_port;
            hdr.udp.destination = meta.destination_port;
            // 0 says that there is none.
            if (hdr.udp.checksum != 0) {
                adjust(hdr.udp.checksum);
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
        }
    }
}

control NatUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control NatDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
    }
}

V1Switch(NatParser(), NatVerify(), NatIngress(), NatEgress(), NatUpdate(), NatDeparser()) main;
