// Egress of the tester: copies of seeds become test frames, frames of the loop go round.
#ifndef P4MESH_EGRESS
#define P4MESH_EGRESS

#include "frame.p4"
#include "transmit_registers.p4"

struct egress_headers_t {
#ifdef TRANSMIT_STAMP_MAC
    ptp_metadata_t   stamp;
#endif
    packet_in_t      packet_in;
    report_t         report;
    loop_t           loop;
    transmit_half_t  half;
    ethernet_t       ethernet;
    vlan_t           outer_vlan;
    vlan_t           inner_vlan;
    ipv4_t           ipv4;
    ipv6_t           ipv6;
    extension_unit_t[EXTENSION_UNITS] extension;
    udp_t            udp;
    signature_t      signature;
}

struct egress_t {
    // Transmitter of a copy, or cell of a reading pass.
    cell_t  cell;
    bit<REASON_BITS> reason;
    bit<16> udp_rest;
}

#ifdef TRANSMIT_STAMP_MAC
#include "mac_stamp.p4"
#endif
#include "fields.p4"
#include "circulation.p4"
#include "../shared/transmission.p4"

const bit<32> LOOP_BITS = 144;
const bit<32> BRIDGE_BITS = 8;

// The UDP checksum over IPv6 (RFC 8200 8.1) is kept by difference: the template has a right one, the
// signature adds nothing to it, so only what egress changes is taken out here and put in again.
#define IPV6_ADDRESSES hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low

parser TesterEgressParser(packet_in packet, out egress_headers_t hdr, out egress_t meta,
                          out egress_intrinsic_metadata_t standard) {
    Checksum() udp_checksum;

    state start {
        packet.extract(standard);
        transition select(packet.lookahead<bit<8>>(), standard.egress_rid) {
            (KIND_FOREIGN, _) : skip_bridge;
            (KIND_SEED, 0) : parse_loop;
            (KIND_SEED, _) : parse_template;
            default : parse_loop;
        }
    }
    state skip_bridge {
        packet.advance(BRIDGE_BITS);
        transition accept;
    }
    state parse_loop {
        packet.extract(hdr.loop);
        meta.cell = hdr.loop.value[15:0];
        transition accept;
    }
    // The loop header ends here: a copy gets a signature, which is as long.
    state parse_template {
        packet.advance(LOOP_BITS);
        meta.cell = standard.egress_rid;
        meta.reason = REASON_UNKNOWN_TRANSMITTER;
        transition parse_ethernet;
    }
    PARSE_FRAME(udp_checksum.subtract({ IPV6_ADDRESSES });,
                udp_checksum.subtract({ hdr.udp.src, hdr.udp.dst, hdr.udp.checksum });
                udp_checksum.subtract_all_and_deposit(meta.udp_rest);)
    state parse_test {
        transition accept;
    }
}

control TesterEgress(inout egress_headers_t hdr, inout egress_t meta,
                     in egress_intrinsic_metadata_t standard,
                     in egress_intrinsic_metadata_from_parser_t parsed,
                     inout egress_intrinsic_metadata_for_deparser_t deparser,
                     inout egress_intrinsic_metadata_for_output_port_t output) {
    @id(ID_COUNTER_TRANSMIT_REASON)
    @brief("Copies of seeds at egress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, transmit_reason);

    Transmission() transmission;
    // Profile FORCE_TX_ERROR: the MAC damages the FCS. The compiler's tna.p4 must have the field.
#ifdef FORCE_TX_ERROR
#define BAD_FCS output.force_tx_error
#else
    bit<1> not_damaged = 0;
#define BAD_FCS not_damaged
#endif
#ifdef TRANSMIT_STAMP_MAC
    MacStamp() mac_stamp;
#endif

    apply {
#ifdef TRANSMIT_STAMP_MAC
        if (meta.reason != REASON_NONE) {
            mac_stamp.apply(hdr, output);
        }
#endif
        transmission.apply(hdr, standard.egress_port, standard.egress_rid, parsed.global_tstamp,
                           meta.cell, meta.reason, BAD_FCS);
        if (meta.reason != REASON_NONE) {
            COUNT(transmit_reason, 18w0 ++ standard.egress_port ++ meta.reason);
            if (meta.reason != REASON_TRANSMITTED) {
                deparser.drop_ctl = 1;
            }
        }
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
#ifdef TRANSMIT_STAMP_MAC
        packet.emit(hdr.stamp);
#endif
        packet.emit(hdr.packet_in);
        packet.emit(hdr.report);
        packet.emit(hdr.loop);
        packet.emit(hdr.half);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
        packet.emit(hdr.signature);
    }
}

#endif
