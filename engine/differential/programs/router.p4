// A small IPv4 router with VLAN tags: several features together, the way programs are written. Probes: parser, lpm,
// exact, ternary, counters, checksum and multicast in one program.
#include "include/base.p4"

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header vlan_t { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> length; bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header ports_t { bit<16> source; bit<16> destination; }
struct headers_t { ethernet_t ethernet; vlan_t[2] vlan; ipv4_t ipv4; ports_t ports; }
struct meta_t { bit<16> next_hop; bit<12> vid; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ethernet); transition by_type; }
    state by_type { transition select(hdr.ethernet.type) { 0x8100: vlan; 0x0800: ipv4; default: accept; } }
    state vlan {
        packet.extract(hdr.vlan.next);
        meta.vid = hdr.vlan.last.vid;
        transition select(hdr.vlan.last.type) { 0x8100: vlan; 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.fragment, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (0, 5, 6): ports;
            (0, 5, 17): ports;
            default: accept;
        }
    }
    state ports { packet.extract(hdr.ports); transition accept; }
}
#define IP { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, \
    hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination }
control Verify(inout headers_t hdr, inout meta_t meta) {
    apply { verify_checksum(hdr.ipv4.isValid(), IP, hdr.ipv4.checksum, HashAlgorithm.csum16); }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets_and_bytes) dropped;
    direct_counter(CounterType.packets_and_bytes) routed;
    action drop(bit<32> reason) { dropped.count(reason); mark_to_drop(std); }
    action next_hop(bit<16> index) { routed.count(); meta.next_hop = index; hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
    action forward(bit<9> port, bit<48> source, bit<48> destination) {
        std.egress_spec = port;
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
    }
    action flood(bit<16> group) { std.mcast_grp = group; }
    action permit() { }
    table routes { key = { hdr.ipv4.destination: lpm; } actions = { next_hop; @defaultonly NoAction; } counters = routed; size = 256; }
    table hops { key = { meta.next_hop: exact; } actions = { forward; drop; } size = 64; default_action = drop(1); }
    table bridge { key = { meta.vid: exact; hdr.ethernet.destination: ternary; } actions = { forward; flood; drop; } size = 64; default_action = drop(2); }
    table rules {
        key = { hdr.ipv4.source: ternary; hdr.ipv4.protocol: ternary; hdr.ports.destination: range; hdr.ports.isValid(): exact @name("has_ports"); }
        actions = { permit; drop; }
        size = 64;
        default_action = permit();
    }
    apply {
        REQUIRE_IN(hdr.ethernet)
        if (std.checksum_error == 1) { drop(3); exit; }
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && routes.apply().hit) { hops.apply(); } else { bridge.apply(); }
        if (hdr.ipv4.isValid()) { rules.apply(); }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action untag() { hdr.ethernet.type = hdr.vlan[0].type; hdr.vlan.pop_front(1); }
    action tag(bit<12> vid) {
        hdr.vlan.push_front(1);
        hdr.vlan[0].setValid();
        hdr.vlan[0].vid = vid;
        hdr.vlan[0].type = hdr.ethernet.type;
        hdr.ethernet.type = 0x8100;
    }
    table port_tags { key = { std.egress_port: exact @name("port"); hdr.vlan[0].isValid(): exact @name("tagged"); } actions = { untag; tag; NoAction; } size = 32; }
    apply { REQUIRE_OUT(hdr.ethernet) if (std.egress_rid != 0 && std.egress_port == std.ingress_port) { mark_to_drop(std); } else { port_tags.apply(); } }
}
control Compute(inout headers_t hdr, inout meta_t meta) {
    apply { update_checksum(hdr.ipv4.isValid(), IP, hdr.ipv4.checksum, HashAlgorithm.csum16); }
}
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.vlan); packet.emit(hdr.ipv4); packet.emit(hdr.ports); }
}
MAIN
