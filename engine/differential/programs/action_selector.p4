// Action selectors: which member of a group a frame gets, by the hash that the program names.
// Probes: crc16 and crc32 over fields of odd widths, groups of 1 to 7 members, entries that point at
// a member, entries that point at a group, a group that changes.
#include "include/base.p4"

header in_t { bit<16> key; bit<32> a; bit<32> b; bit<13> odd; bit<3> rest; }
header result_t { bit<16> by16; bit<16> by32; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set16(bit<16> value) { hdr.result.by16 = value; }
    action to_port(bit<9> port) { std.egress_spec = port; }
    action set32(bit<16> value) { hdr.result.by32 = value; }
    @name("selector16") action_selector(HashAlgorithm.crc16, 64, 16) selector16;
    @name("selector32") action_selector(HashAlgorithm.crc32, 64, 14) selector32;
    table ways16 {
        key = { hdr.ops.key: exact; hdr.ops.a: selector; hdr.ops.odd: selector; }
        actions = { set16; to_port; NoAction; }
        implementation = selector16;
        size = 64;
        default_action = NoAction();
    }
    table ways32 {
        key = { hdr.ops.key: lpm; hdr.ops.a: selector; hdr.ops.b: selector; }
        actions = { set32; NoAction; }
        implementation = selector32;
        size = 64;
        default_action = NoAction();
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        ways16.apply();
        ways32.apply();
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
