// Longest prefix match, alone and together with an exact key; 32, 128 and 24 bits.
// simple_switch_grpc refuses prefixes of fields that are not whole bytes, so they cannot be compared.
// Probes: nested prefixes, prefix length 0 and full length, deletion of a longer prefix.
#include "include/base.p4"

header in_t { bit<32> v4; bit<128> v6; bit<24> short; bit<8> group; }
header result_t { bit<16> v4; bit<16> v6; bit<16> short; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set_v4(bit<16> value) { hdr.result.v4 = value; }
    action set_v6(bit<16> value) { hdr.result.v6 = value; }
    action set_short(bit<16> value) { hdr.result.short = value; }
    table v4 { key = { hdr.ops.v4: lpm; } actions = { set_v4; } size = 128; default_action = set_v4(0xdead); }
    table v6 {
        key = { hdr.ops.group: exact; hdr.ops.v6: lpm; }
        actions = { set_v6; NoAction; }
        size = 128;
        default_action = NoAction();
    }
    table short { key = { hdr.ops.short: lpm; } actions = { set_short; NoAction; } size = 64; default_action = NoAction(); }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        v4.apply();
        v6.apply();
        short.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
