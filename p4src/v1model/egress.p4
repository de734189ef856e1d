// Egress of the tester: copies of seeds become test frames, frames of the loop are stamped and recirculated,
// records go to the controller.
#ifndef P4MESH_EGRESS
#define P4MESH_EGRESS

#include "types.p4"
#include "transmit_registers.p4"
#include "fields.p4"
#include "circulation.p4"
#include "frame_sizes.p4"
#include "../shared/transmission.p4"
#include "more_modifiers.p4"
#include "invariant_crc.p4"

// The Ethernet header inside a tunnel has the addresses of stations where its seed has none. Then the header outside may
// have addresses of the ends of the tunnel: `tunnel_end` is the destination that the seed has.
control InnerAddresses(inout headers_t hdr, in mac_t tunnel_end) {
    apply {
        if (hdr.inner_ethernet.dst == 0) {
            hdr.inner_ethernet.dst = hdr.ethernet.dst;
        }
        if (hdr.inner_ethernet.src == 0) {
            hdr.inner_ethernet.src = hdr.ethernet.src;
        }
        if (tunnel_end != 0) {
            hdr.ethernet.dst = tunnel_end;
        }
    }
}

// Segments are left: checksums cover the last one instead of the destination.
control FinalDestination(in ipv6_t ipv6, inout metadata_t meta) {
    apply {
        bit<32> change = (bit<32>)~ipv6.dst_prefix[95:80] + (bit<32>)~ipv6.dst_prefix[79:64]
                         + (bit<32>)~ipv6.dst_prefix[63:48] + (bit<32>)~ipv6.dst_prefix[47:32]
                         + (bit<32>)~ipv6.dst_prefix[31:16] + (bit<32>)~ipv6.dst_prefix[15:0]
                         + (bit<32>)~ipv6.dst_low[31:16] + (bit<32>)~ipv6.dst_low[15:0];
        // That of a seed of TCP or ICMP covers the last segment.
        meta.constant_sum = meta.constant_sum + change;
        meta.own_sum = meta.own_sum + change + meta.final_sum;
    }
}

control TesterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(ID_COUNTER_TRANSMIT_REASON)
    @brief("Copies of seeds at egress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, transmit_reason);

    Transmission() transmission;
    MoreModifiers() more_modifiers;
    FrameSizes() frame_sizes;
    ControllerDeparture() controller_departure;
    ToController() to_controller;
    InnerAddresses() inner_addresses;
    FinalDestination() final_destination;
    InvariantCrc() invariant_crc;

    apply {
        bit<REASON_BITS> reason = REASON_NONE;
        cell_t index = hdr.record.cell[15:0];
        // simple_switch has no FCS: its MACs would have to damage it.
        bit<1> bad_fcs = 0;
        bit<1> again = 0;
        if (hdr.loop.isValid()) {
            if (standard.egress_port != PORT_CPU) {
                if (standard.egress_rid == 0) {
                    again = 1;
                    hdr.loop.time = standard.egress_global_timestamp;
                } else {
                    reason = REASON_UNKNOWN_TRANSMITTER;
                    index = standard.egress_rid;
                }
            }
            if (hdr.record.isValid() || (again == 0 && standard.egress_rid < TRANSMITTERS)) {
                transmission.apply(hdr, standard.egress_port, standard.egress_rid,
                                   standard.egress_global_timestamp, index, reason, bad_fcs);
            }
        }
        op_t size_op = OP_NONE;
        op_t modifier_op = OP_NONE;
        if (reason == REASON_TRANSMITTED) {
            if (hdr.loop.flags & SIZES_IN_TURN != 0) {
                size_op = OP_UPDATE;
            }
            if (hdr.loop.flags & MORE_MODIFIERS != 0) {
                modifier_op = OP_UPDATE;
            }
        } else if (hdr.record.isValid() && hdr.loop.flags & FLAG_CLEAR != 0 && hdr.record.cell < TRANSMITTERS) {
            size_op = OP_CLEAR;
            modifier_op = OP_CLEAR;
        }
        if (modifier_op != OP_NONE) {
            more_modifiers.apply(hdr, modifier_op, index);
            if (hdr.loop.count & BALANCED != 0 && modifier_op == OP_UPDATE) {
                invariant_crc.apply(hdr);
            }
        }
        if (hdr.inner_ethernet.isValid() && reason == REASON_TRANSMITTED) {
            inner_addresses.apply(hdr, meta.tunnel_end);
        }
        if (meta.final_sum != 0) {
            final_destination.apply(hdr.ipv6, meta);
        }
        if (size_op != OP_NONE) {
            frame_sizes.apply(hdr, meta, size_op, index);
        }
        controller_departure.apply(hdr, standard.egress_port, standard.egress_global_timestamp);
        if (standard.egress_port == PORT_CPU && !hdr.captured.isValid()) {
            to_controller.apply(hdr, meta.arrival);
        }
        if (reason != REASON_NONE) {
            COUNT(transmit_reason, (bit<32>)(standard.egress_port ++ reason));
            if (reason == REASON_TRANSMITTED) {
                hdr.loop.setInvalid();
            } else {
                mark_to_drop(standard);
            }
        }
        if (again == 1) {
            hdr.record.setInvalid();
            hdr.message_record.setInvalid();
            recirculate_preserving_field_list(0);
        }
    }
}

#endif
