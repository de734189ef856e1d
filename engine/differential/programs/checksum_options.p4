// IPv4 options as a varbit field that takes part in checksums and hashes.
// Probes: 0 to 10 words of options in verify and update, a header length below the least one, options
// taken away before the update, and a varbit field between others in a hash.
#include "include/base.p4"

error { BadLength }
header ipv4_t { bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }
header options_t { varbit<320> words; }
header result_t { bit<8> code; bit<8> wrong; bit<16> hash; }
struct headers_t { result_t result; ipv4_t ip; options_t options; }
struct meta_t { }

#define IP_FIELDS hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.id, hdr.ip.flags, hdr.ip.offset, hdr.ip.ttl, hdr.ip.protocol, hdr.ip.source, hdr.ip.destination

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ip);
        verify(hdr.ip.ihl >= 5, error.BadLength);
        packet.extract(hdr.options, (bit<32>) (((bit<16>) hdr.ip.ihl - 5) * 32));
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout meta_t meta) {
    apply { verify_checksum(hdr.options.isValid(), { IP_FIELDS, hdr.options.words }, hdr.ip.checksum, HashAlgorithm.csum16); }
}
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ip)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (std.parser_error == error.BadLength) { hdr.result.code = 1; }
        if (std.parser_error == error.PacketTooShort) { hdr.result.code = 2; }
        hdr.result.wrong = 7w0 ++ std.checksum_error;
        if (hdr.options.isValid()) {
            hash(hdr.result.hash, HashAlgorithm.crc16, 16w0, { hdr.ip.protocol, hdr.options.words, hdr.ip.ttl }, 32w65536);
        }
        hdr.ip.ttl = hdr.ip.ttl |-| 1;
        if (hdr.ip.tos == 1 && hdr.options.isValid()) { hdr.options.setInvalid(); hdr.ip.ihl = 5; }
    }
}
NO_EGRESS
control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.options.isValid(), { IP_FIELDS, hdr.options.words }, hdr.ip.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.ip.isValid() && !hdr.options.isValid(), { IP_FIELDS }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
MAIN
