// IPv4 header checksum and a second checksum over odd fields: verified on arrival, updated on departure.
// Probes: checksum_error, conditions of verify and update, update of a header that is not valid,
// csum16 of data that is not a whole number of 16-bit words, crc16 and crc32 as checksums.
#include "include/base.p4"

header choice_t { bit<8> kind; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> length; bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header odd_t { bit<5> a; bit<11> b; bit<8> c; bit<16> sum; bit<16> crc16; bit<32> crc32; bit<16> xors; }
header result_t { bit<8> bad; }
struct headers_t { result_t result; choice_t choice; ipv4_t ip; odd_t odd; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        transition select(hdr.choice.kind) { 0 .. 2: ip; default: odd; }
    }
    state ip {
        packet.extract(hdr.ip);
        transition select(hdr.choice.kind) { 2: odd; default: accept; }
    }
    state odd { packet.extract(hdr.odd); transition accept; }
}
#define IP { hdr.ip.version, hdr.ip.ihl, hdr.ip.diffserv, hdr.ip.length, hdr.ip.id, hdr.ip.flags, hdr.ip.fragment, \
    hdr.ip.ttl, hdr.ip.protocol, hdr.ip.source, hdr.ip.destination }
control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid() && hdr.ip.ihl == 5, IP, hdr.ip.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.choice.isValid() && hdr.choice.kind == 4 && hdr.odd.isValid(), { hdr.odd.a, hdr.odd.b, hdr.odd.c }, hdr.odd.sum, HashAlgorithm.csum16);
    }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.bad = (bit<8>) std.checksum_error;
        if (std.parser_error != error.NoError) { hdr.result.bad = hdr.result.bad + 2; }
        hdr.ip.ttl = hdr.ip.ttl - 1;
        if (hdr.choice.kind == 5) { hdr.odd.setInvalid(); }
    }
}
NO_EGRESS
control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.isValid(), IP, hdr.ip.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.choice.isValid() && hdr.choice.kind != 3, { hdr.odd.a, hdr.odd.b, hdr.odd.c }, hdr.odd.sum, HashAlgorithm.csum16);
        update_checksum(hdr.odd.isValid(), { hdr.odd.a, hdr.odd.b, hdr.odd.c }, hdr.odd.crc16, HashAlgorithm.crc16);
        update_checksum(hdr.odd.isValid(), { hdr.odd.a, hdr.odd.b, hdr.odd.c }, hdr.odd.crc32, HashAlgorithm.crc32);
        update_checksum(hdr.odd.isValid(), { hdr.odd.a, hdr.odd.b, hdr.odd.sum }, hdr.odd.xors, HashAlgorithm.xor16);
    }
}
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.ip); packet.emit(hdr.odd); }
}
MAIN
