// Every hash algorithm over whole and over odd fields.
// Probes: base and maximum, results narrower than the algorithm, fields that do not end on a byte,
// constants among the data, a maximum of 0.
#include "include/base.p4"

header in_t { bit<32> a; bit<16> b; bit<8> c; bit<5> d; bit<11> e; }
header result_t {
    bit<16> crc16; bit<32> crc32; bit<16> csum16; bit<16> xor16; bit<32> identity;
    bit<16> crc16_custom; bit<32> crc32_custom;
    bit<16> odd16; bit<32> odd32; bit<16> odd_csum; bit<16> odd_xor; bit<32> odd_identity;
    bit<16> ranged; bit<8> narrow; bit<16> zero_maximum; bit<32> with_constant;
}
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
#define WHOLE { hdr.ops.a, hdr.ops.b, hdr.ops.c }
#define ODD { hdr.ops.d, hdr.ops.a, hdr.ops.e, hdr.ops.c }
#define ALL16 32w0x10000
#define ALL32 64w0x100000000
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, WHOLE, ALL16);
        hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, WHOLE, ALL32);
        hash(hdr.result.csum16, HashAlgorithm.csum16, 16w0, WHOLE, ALL16);
        hash(hdr.result.xor16, HashAlgorithm.xor16, 16w0, WHOLE, ALL16);
        hash(hdr.result.identity, HashAlgorithm.identity, 32w0, WHOLE, ALL32);
        hash(hdr.result.crc16_custom, HashAlgorithm.crc16_custom, 16w0, WHOLE, ALL16);
        hash(hdr.result.crc32_custom, HashAlgorithm.crc32_custom, 32w0, WHOLE, ALL32);
        hash(hdr.result.odd16, HashAlgorithm.crc16, 16w0, ODD, ALL16);
        hash(hdr.result.odd32, HashAlgorithm.crc32, 32w0, ODD, ALL32);
        hash(hdr.result.odd_csum, HashAlgorithm.csum16, 16w0, ODD, ALL16);
        hash(hdr.result.odd_xor, HashAlgorithm.xor16, 16w0, ODD, ALL16);
        hash(hdr.result.odd_identity, HashAlgorithm.identity, 32w0, ODD, ALL32);
        hash(hdr.result.ranged, HashAlgorithm.crc32, 16w1000, WHOLE, 16w77);
        hash(hdr.result.narrow, HashAlgorithm.crc32, 8w0, { hdr.ops.e }, ALL32);
        hash(hdr.result.zero_maximum, HashAlgorithm.crc16, 16w5, WHOLE, 16w0);
        hash(hdr.result.with_constant, HashAlgorithm.crc32, 32w0, { 8w0x5a, hdr.ops.d, 3w1, hdr.ops.b }, ALL32);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
