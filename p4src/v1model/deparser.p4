// Checksums and deparser.
#ifndef P4MESH_DEPARSER
#define P4MESH_DEPARSER

#include "types.p4"

// For a switch whose ports do not compare payloads, `check` of a signature covers what is behind it, too.
#ifdef CHECK_COVERS_PAYLOAD
#define VERIFY_SIGNATURE verify_checksum_with_payload
#define UPDATE_BESIDE_SIGNATURE update_checksum
#else
#define VERIFY_SIGNATURE verify_checksum
#define UPDATE_BESIDE_SIGNATURE update_checksum_with_payload
#endif

control VerifySignature(inout headers_t hdr, inout metadata_t meta) {
    apply {
        VERIFY_SIGNATURE(hdr.signature.isValid(), SIGNATURE_FIELDS, hdr.signature.check,
                         HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
#ifdef CHECK_COVERS_PAYLOAD
        update_checksum_with_payload(hdr.signature.isValid() && meta.is_cut == 0, SIGNATURE_FIELDS,
                                     hdr.signature.check, HashAlgorithm.csum16);
        update_checksum(hdr.signature.isValid() && meta.is_cut == 1,
            { hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, hdr.signature.flow,
              hdr.signature.sequence, hdr.signature.transmit_time, meta.payload_sum },
            hdr.signature.check, HashAlgorithm.csum16);
#else
        update_checksum(hdr.signature.isValid(), SIGNATURE_FIELDS, hdr.signature.check,
                        HashAlgorithm.csum16);
#endif
        update_checksum(hdr.signature.isValid() && hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_length,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // Conditions that most frames do not meet ask first for what these do not have.
        update_checksum(meta.options_sum != 0 && hdr.signature.isValid() && hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_length,
              hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst, meta.options_sum },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // IPv4 test frames carry no UDP checksum, except a wrong one; IPv6 requires one (RFC 8200 8.1).
        update_checksum_with_payload(
            hdr.signature.isValid() && hdr.ipv6.isValid() && hdr.udp.isValid() && hdr.udp.checksum != 0 && meta.is_cut == 0,
            { hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low,
              16w0, hdr.udp.length_bytes, 8w0, PROTOCOL_UDP, 8w0, 8w0,
              hdr.udp.src, hdr.udp.dst, hdr.udp.length_bytes, meta.own_sum,
              hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, hdr.signature.flow,
              hdr.signature.sequence, hdr.signature.transmit_time, hdr.signature.check },
            hdr.udp.checksum, HashAlgorithm.csum16);
        // simple_switch cuts a frame after this: a checksum over the payload would cover what will not leave.
        update_checksum(hdr.signature.isValid() && hdr.ipv6.isValid() && hdr.udp.isValid() && hdr.udp.checksum != 0 && meta.is_cut == 1,
            { hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low,
              16w0, hdr.udp.length_bytes, 8w0, PROTOCOL_UDP, 8w0, 8w0,
              hdr.udp.src, hdr.udp.dst, hdr.udp.length_bytes, meta.own_sum,
              hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, hdr.signature.flow,
              hdr.signature.sequence, hdr.signature.transmit_time, hdr.signature.check,
              meta.payload_sum },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.first_ipv4.isValid() && hdr.signature.isValid(),
            { hdr.first_ipv4.version, hdr.first_ipv4.header_words, hdr.first_ipv4.dscp_ecn, hdr.first_ipv4.total_length,
              hdr.first_ipv4.identification, hdr.first_ipv4.flags_offset, hdr.first_ipv4.ttl, hdr.first_ipv4.protocol,
              hdr.first_ipv4.src, hdr.first_ipv4.dst, meta.first_sum },
            hdr.first_ipv4.checksum, HashAlgorithm.csum16);
        // The sum of what `check` covers is zero, and the seed has no addresses: its own checksums stay.
        update_checksum(meta.transport == TRANSPORT_TCP && hdr.ipv4.isValid(),
            { meta.constant_sum, hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.src, hdr.tcp.dst,
              hdr.tcp.sequence, hdr.tcp.acknowledgment, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent },
            hdr.tcp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.transport == TRANSPORT_TCP && hdr.ipv6.isValid(),
            { meta.constant_sum, hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low,
              hdr.tcp.src, hdr.tcp.dst, hdr.tcp.sequence, hdr.tcp.acknowledgment, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent },
            hdr.tcp.checksum, HashAlgorithm.csum16);
        UPDATE_BESIDE_SIGNATURE(meta.transport == TRANSPORT_UDP_TO_SPOIL && hdr.ipv4.isValid(),
            { hdr.ipv4.src, hdr.ipv4.dst, 8w0, PROTOCOL_UDP, hdr.udp.length_bytes,
              hdr.udp.src, hdr.udp.dst, hdr.udp.length_bytes, meta.own_sum },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.transport == TRANSPORT_ICMP && hdr.ipv4.isValid(),
            { meta.constant_sum, hdr.icmp.type_code, hdr.icmp.rest }, hdr.icmp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.transport == TRANSPORT_ICMP && hdr.ipv6.isValid(),
            { meta.constant_sum, hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low,
              hdr.icmp.type_code, hdr.icmp.rest },
            hdr.icmp.checksum, HashAlgorithm.csum16);
    }
}

control TesterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.captured);
        packet.emit(hdr.record);
        packet.emit(hdr.message_record);
        packet.emit(hdr.loop);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.first_ipv4);
        packet.emit(hdr.first_ipv6);
        packet.emit(hdr.first_extension);
        packet.emit(hdr.segments);
        packet.emit(hdr.first_udp);
        packet.emit(hdr.outer);
        packet.emit(hdr.inner_ethernet);
        packet.emit(hdr.inner);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.icmp);
        packet.emit(hdr.own);
        packet.emit(hdr.signature);
        packet.emit(hdr.as_received);
    }
}

#endif
