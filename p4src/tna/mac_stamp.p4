// Profile TRANSMIT_STAMP_MAC: the transmit time is put in by the MAC as the frame leaves.
#ifndef P4MESH_MAC_STAMP
#define P4MESH_MAC_STAMP

#include "types.p4"

// The MAC takes a ptp_metadata_t off the frame, adds the time of departure to `updated_cf`, which is 0
// here, and writes the sum to the 48 bits at `cf_byte_offset`, which egress left 0. It makes good for the
// difference in the checksum at `udp_cksum_byte_offset`. That is the check of the signature: the sum over
// the signature stays what it was, and the UDP checksum needs no change, nor need there be one.
const bit<8> ETHERNET_BYTES = 14;
const bit<8> VLAN_BYTES = 4;
const bit<8> IPV4_UDP_BYTES = 28;
const bit<8> IPV6_UDP_BYTES = 48;
const bit<8> EXTENSION_UNIT_BYTES = 8;
const bit<8> TIME_IN_SIGNATURE_BYTES = 10;
const bit<8> CHECK_IN_SIGNATURE_BYTES = 16;

control MacStamp(inout egress_headers_t hdr, inout egress_intrinsic_metadata_for_output_port_t output) {
    @hidden action stamp_at(bit<8> time, bit<8> check) {
        output.update_delay_on_tx = 1;
        hdr.stamp.setValid();
        hdr.stamp.updated_cf = 0;
        hdr.stamp.cf_byte_offset = time;
        hdr.stamp.udp_cksum_byte_offset = check;
    }
#define STAMP_BEHIND(BYTES) \
    stamp_at(ETHERNET_BYTES + (BYTES) + TIME_IN_SIGNATURE_BYTES, ETHERNET_BYTES + (BYTES) + CHECK_IN_SIGNATURE_BYTES)
#define STAMP_LAYERS(OUTER, INNER, TAGS) \
    (OUTER, INNER, false, false, false, false, false, false) : STAMP_BEHIND(TAGS * VLAN_BYTES); \
    (OUTER, INNER, true, false, false, false, false, false) : STAMP_BEHIND(TAGS * VLAN_BYTES + IPV4_UDP_BYTES); \
    (OUTER, INNER, false, true, false, false, false, false) : STAMP_BEHIND(TAGS * VLAN_BYTES + IPV6_UDP_BYTES); \
    (OUTER, INNER, false, true, true, false, false, false) : \
        STAMP_BEHIND(TAGS * VLAN_BYTES + IPV6_UDP_BYTES + EXTENSION_UNIT_BYTES); \
    (OUTER, INNER, false, true, true, true, false, false) : \
        STAMP_BEHIND(TAGS * VLAN_BYTES + IPV6_UDP_BYTES + 2 * EXTENSION_UNIT_BYTES); \
    (OUTER, INNER, false, true, true, true, true, false) : \
        STAMP_BEHIND(TAGS * VLAN_BYTES + IPV6_UDP_BYTES + 3 * EXTENSION_UNIT_BYTES); \
    (OUTER, INNER, false, true, true, true, true, true) : \
        STAMP_BEHIND(TAGS * VLAN_BYTES + IPV6_UDP_BYTES + 4 * EXTENSION_UNIT_BYTES);
    @hidden table place_of_stamp {
        key = {
            hdr.outer_vlan.isValid() : exact;
            hdr.inner_vlan.isValid() : exact;
            hdr.ipv4.isValid() : exact;
            hdr.ipv6.isValid() : exact;
            hdr.extension[0].isValid() : exact;
            hdr.extension[1].isValid() : exact;
            hdr.extension[2].isValid() : exact;
            hdr.extension[3].isValid() : exact;
        }
        actions = { stamp_at; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            STAMP_LAYERS(false, false, 0)
            STAMP_LAYERS(true, false, 1)
            STAMP_LAYERS(true, true, 2)
        }
        size = 32;
    }

    apply { place_of_stamp.apply(); }
}

#endif
