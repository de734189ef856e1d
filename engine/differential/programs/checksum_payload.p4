// Checksums that cover the payload, as UDP and TCP have them.
// Probes: payload of odd and even length and none, verification of what was received, a payload that
// grows because a header was not emitted by the parser, several algorithms.
#include "include/base.p4"

header choice_t { bit<8> kind; }
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header tag_t { bit<16> value; }
header trailer_t { bit<16> crc16; bit<32> crc32; bit<16> csum; }
header result_t { bit<8> bad; }
struct headers_t { result_t result; choice_t choice; udp_t udp; tag_t tag; trailer_t sums; }
struct meta_t { bit<32> pseudo; bool verify; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        packet.extract(hdr.udp);
        meta.pseudo = 0x0a000001;
        transition select(hdr.choice.kind) { 1: tag; default: accept; }
    }
    state tag { packet.extract(hdr.tag); transition accept; }
}
#define DATA { meta.pseudo, 8w0, hdr.choice.kind, hdr.udp.source, hdr.udp.destination, hdr.udp.length }
control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0, DATA, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.bad = (bit<8>) std.checksum_error;
        if (hdr.udp.isValid()) { hdr.sums.setValid(); }
        if (hdr.choice.kind == 2) { hdr.udp.destination = 53; }
        if (hdr.choice.kind == 3) { truncate(16); }
        if (hdr.choice.kind == 4) { hdr.tag.setValid(); hdr.tag.value = 0x1234; }
    }
}
NO_EGRESS
control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum_with_payload(hdr.udp.isValid(), DATA, hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.sums.isValid(), { hdr.udp.checksum }, hdr.sums.crc16, HashAlgorithm.crc16);
        update_checksum_with_payload(hdr.sums.isValid(), { hdr.udp.source }, hdr.sums.crc32, HashAlgorithm.crc32);
        update_checksum_with_payload(hdr.sums.isValid(), { hdr.udp.source, hdr.choice.kind }, hdr.sums.csum, HashAlgorithm.csum16);
    }
}
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.result); packet.emit(hdr.choice); packet.emit(hdr.sums); packet.emit(hdr.udp); packet.emit(hdr.tag);
    }
}
MAIN
