// Bases and limits of hashes of any width, constant and from the packet.
// Probes: limit 1, 2, 7, 2^16, 2^32, the largest of 64 bits and 0 (from the packet), a base above 64
// bits, results narrower than the hash, inputs that do not end on a byte.
#include "include/base.p4"

header in_t { bit<3> a; bit<13> b; bit<65> c; bit<7> d; bit<32> base; bit<32> limit; }
header result_t { bit<16> whole; bit<32> offset; bit<16> sum; bit<64> identity; bit<9> narrow; bit<7> seven; bit<128> wide; bit<32> variable; bit<16> custom; bit<32> custom32; bit<1> one; bit<15> fifteen; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hash(hdr.result.whole, HashAlgorithm.crc16, 16w0, { hdr.ops.a, hdr.ops.b, hdr.ops.c }, 32w65536);
        hash(hdr.result.offset, HashAlgorithm.crc32, 32w5, { hdr.ops.b, hdr.ops.c }, 64w0x100000000);
        hash(hdr.result.sum, HashAlgorithm.csum16, 16w100, { hdr.ops.c, hdr.ops.d, hdr.ops.a }, 32w1000);
        hash(hdr.result.identity, HashAlgorithm.identity, 64w0, { hdr.ops.d, hdr.ops.c }, 64w0xffffffffffffffff);
        hash(hdr.result.narrow, HashAlgorithm.crc32, 9w3, { hdr.ops.base }, 9w7);
        hash(hdr.result.seven, HashAlgorithm.crc16, 7w100, { hdr.ops.d, hdr.ops.b }, 7w127);
        hash(hdr.result.wide, HashAlgorithm.crc32, 128w0xffffffffffffffff0000, { hdr.ops.c, 16w0xabcd, hdr.ops.base }, 128w0x10000);
        hash(hdr.result.variable, HashAlgorithm.crc32, hdr.ops.base, { hdr.ops.c }, hdr.ops.limit);
        hash(hdr.result.custom, HashAlgorithm.crc16_custom, 16w0, { hdr.ops.c, hdr.ops.b }, 32w65536);
        hash(hdr.result.custom32, HashAlgorithm.crc32_custom, 32w0, { 5w3, hdr.ops.b }, 64w0x100000000);
        hash(hdr.result.one, HashAlgorithm.crc16, 1w0, { hdr.ops.d }, 2w2);
        hash(hdr.result.fifteen, HashAlgorithm.xor16, 15w1, { hdr.ops.d, hdr.ops.b }, 15w0x7fff);
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
MAIN
