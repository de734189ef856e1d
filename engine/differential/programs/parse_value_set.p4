// Parser value sets, of one field and of several.
// Probes: an empty value set matches nothing. simple_switch_grpc does not implement writing them, so
// members cannot be compared.
#include "include/base.p4"

header key_t { bit<16> kind; bit<8> extra; }
header result_t { bit<8> path; }
struct headers_t { result_t result; key_t key; }
struct meta_t { bit<8> path; }
struct pair_t { @match(ternary) bit<16> kind; @match(range) bit<8> extra; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(8) known;
    value_set<pair_t>(4) pairs;
    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind) {
            known: of_known;
            0x0800: fixed;
            default: others;
        }
    }
    state of_known { meta.path = 1; transition accept; }
    state fixed { meta.path = 2; transition accept; }
    state others {
        transition select(hdr.key.kind, hdr.key.extra) {
            pairs: of_pairs;
            (_, 0x80 &&& 0x80): upper;
            default: accept;
        }
    }
    state of_pairs { meta.path = 3; transition accept; }
    state upper { meta.path = 4; transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.path = meta.path;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.key); }
}
MAIN
