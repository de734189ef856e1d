// Range tables: two ranges, and range with exact, ternary, lpm and optional keys.
// Probes: both ends of a range belong to it, full ranges, overlapping ranges by priority.
#include "include/base.p4"

header in_t { bit<16> source; bit<16> destination; bit<8> protocol; bit<32> address; bit<12> vlan; bit<4> class; }
header result_t { bit<16> ports; bit<16> mixed; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set_ports(bit<16> value) { hdr.result.ports = value; }
    action set_mixed(bit<16> value) { hdr.result.mixed = value; }
    table ports {
        key = { hdr.ops.source: range; hdr.ops.destination: range; }
        actions = { set_ports; }
        size = 128;
        default_action = set_ports(0xdead);
    }
    table mixed {
        key = { hdr.ops.vlan: range; hdr.ops.protocol: exact; hdr.ops.address: lpm; hdr.ops.source: ternary; hdr.ops.class: optional; }
        actions = { set_mixed; NoAction; }
        size = 128;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        ports.apply();
        mixed.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
