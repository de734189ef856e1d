// Checksums and deparsers of both gresses.
#ifndef P4MESH_DEPARSER
#define P4MESH_DEPARSER

#include "types.p4"

control TesterIngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t deparser) {
    Mirror() mirror;
    apply {
        if (deparser.mirror_type == MIRROR_CAPTURED) {
            mirror.emit<captured_t>(meta.mirror_session, {
                meta.captured_bridge, meta.captured_frame, meta.captured_kind, meta.port_cell,
                meta.captured_time });
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.packet_in);
        packet.emit(hdr.loop);
        packet.emit(hdr.half);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.label);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
    }
}

control TesterEgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_t meta,
                             in egress_intrinsic_metadata_for_deparser_t deparser) {
    Checksum() signature_checksum;
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;
    apply {
        if (hdr.signature.isValid()) {
            hdr.signature.check = signature_checksum.update(SIGNATURE_FIELDS);
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp_ecn, hdr.ipv4.total_length,
                hdr.ipv4.identification, hdr.ipv4.flags_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src, hdr.ipv4.dst });
        }
        // IPv4 test frames carry no UDP checksum.
        if (hdr.ipv6.isValid()) {
            hdr.udp.checksum = udp_checksum.update({ IPV6_ADDRESSES, hdr.udp.src, hdr.udp.dst, meta.udp_rest }, true);
        }
        packet.emit(hdr.packet_in);
        packet.emit(hdr.report);
        packet.emit(hdr.loop);
        packet.emit(hdr.half);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.label);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
        packet.emit(hdr.signature);
    }
}

#endif
