// log_msg, assert and assume (always true here: a false one ends simple_switch).
// Probes: that they execute, and change nothing.
#include "include/base.p4"

header in_t { bit<8> kind; bit<16> value; }
struct headers_t { in_t ops; }
struct meta_t { bit<16> value; bool flag; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action logged(bit<16> amount) {
        log_msg("amount {} of {}", { amount, hdr.ops.value });
        hdr.ops.value = hdr.ops.value + amount;
    }
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        log_msg("a frame arrived");
        meta.value = hdr.ops.value >> 1;
        assert(meta.value < 0x8000);
        assume(hdr.ops.value >= meta.value);
        meta.flag = hdr.ops.kind == 1;
        log_msg("kind {} value {} flag {}", { hdr.ops.kind, meta.value, (bit<1>) meta.flag });
        if (hdr.ops.kind == 2) { logged(5); }
        assert(std.egress_spec == OUT);
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { REQUIRE_OUT(hdr.ops) assert(std.egress_port == OUT || std.egress_port == 0); log_msg("leaves by {}", { std.egress_port }); }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ops); }
}
MAIN
