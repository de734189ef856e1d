// Egress: turns a copy of a seed into a test frame.
#ifndef P4MESH_TRANSMISSION
#define P4MESH_TRANSMISSION

#include "modifiers.p4"

control Transmission(inout headers_t hdr, in bit<16> transmitter_id, in bit<48> now, in bit<2> op_read,
                     inout bit<REASON_BITS> reason) {
    Sum32(TRANSMITTERS) departures;
    First48(TRANSMITTERS) first_departure;
    Swap48(TRANSMITTERS) last_departure;
    Cycle(TRANSMITTERS) position;
    Sum32(FLOWS) flow_sequence;
    ModifierA() modifier_a;
    ModifierB() modifier_b;

    @id(ID_COUNTER_FLOW_TRANSMIT)
    @brief("Test frames sent, per flow")
    FRAME_COUNTER(FLOWS, flow_transmit);

    bit<32> first_place = 0;
    bit<32> last_position = 0;
    bit<32> list_length = 0;
    bit<32> list_base = 0;
    bit<32> flow_base = 0;
    bit<32> skip = 0;
    bit<32> limit = 0;
    bit<2>  modifiers = 0;
    bit<8>  run = 0;

    // The parts of a transmitter that do not depend on the frame format.
    action set_pattern(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<32> frames, bit<2> modified) {
        first_place = first;
        last_position = last;
        list_length = length_entries;
        list_base = base_entry;
        flow_base = flow;
        skip = skipped;
        limit = frames;
        modifiers = modified;
    }

    @id(ID_ACTION_SOURCE_ETHERNET)
    @brief("Source of plain Ethernet frames")
    action source_ethernet(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                           bit<32> flow, bit<32> skipped, bit<32> frames, bit<2> modified,
                           bit<48> mac) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, frames, modified);
        hdr.ethernet.src = mac;
    }

    @id(ID_ACTION_SOURCE_IPV4)
    @brief("Source of IPv4 frames")
    action source_ipv4(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<32> frames, bit<2> modified,
                           bit<48> mac, bit<32> address) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, frames, modified);
        hdr.ethernet.src = mac;
        hdr.ipv4.src = address;
    }

    @id(ID_ACTION_SOURCE_IPV6)
    @brief("Source of IPv6 frames")
    action source_ipv6(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<32> frames, bit<2> modified,
                           bit<48> mac,
                       bit<96> prefix, bit<32> low) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, frames, modified);
        hdr.ethernet.src = mac;
        hdr.ipv6.src_prefix = prefix;
        hdr.ipv6.src_low = low;
    }

    @id(ID_TABLE_TRANSMITTER)
    @brief("Source station and destination pattern of each (stream, port); key = replication id")
    table transmitter {
        key = { transmitter_id : exact @name("transmitter"); }
        actions = { source_ethernet; source_ipv4; source_ipv6; @defaultonly NoAction; }
        const default_action = NoAction();
        size = TRANSMITTERS;
    }

    @id(ID_ACTION_STATION_ETHERNET)
    @brief("Destination station of plain Ethernet frames")
    action station_ethernet(bit<48> mac) { hdr.ethernet.dst = mac; }

    @id(ID_ACTION_STATION_IPV4)
    @brief("Destination station of IPv4 frames; mac is the next hop")
    action station_ipv4(bit<48> mac, bit<32> address) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = address;
    }

    @id(ID_ACTION_STATION_IPV6)
    @brief("Destination station of IPv6 frames; mac is the next hop")
    action station_ipv6(bit<48> mac, bit<96> prefix, bit<32> low) {
        hdr.ethernet.dst = mac;
        hdr.ipv6.dst_prefix = prefix;
        hdr.ipv6.dst_low = low;
    }

    bit<32> place = 0;

    @id(ID_TABLE_DESTINATION)
    @brief("Stations of all destination lists; key = first entry of the list + place in it")
    table destination {
        key = { place : exact @name("entry"); }
        actions = { station_ethernet; station_ipv4; station_ipv6; @defaultonly NoAction; }
        const default_action = NoAction();
        size = DESTINATIONS;
    }

    @id(ID_ACTION_SET_TRANSMIT_RUN)
    @brief("Sets the run that transmitted frames carry")
    action set_transmit_run(bit<8> run_id) { run = run_id; }

    @id(ID_TABLE_TRANSMIT_RUN)
    @brief("The current run")
    table transmit_run {
        actions = { set_transmit_run; }
        default_action = set_transmit_run(0);
        size = 1;
    }

    apply {
        // A copy of a seed moves every register on; a reading pass only looks at them.
        bit<2>  op = op_read;
        bit<2>  frame_op = op_read;
        bit<32> cell = hdr.record.cell;
        bit<32> flow = hdr.record.cell;
        bit<32> count = 0;
        bit<32> offset = 0;
        bit<32> sequence = 0;
        bit<64> first = 0;
        bit<64> last = 0;
        bit<1>  sending = 0;

        if (op_read == OP_NONE) {
            op = OP_UPDATE;
            cell = (bit<32>)transmitter_id;
            if (transmitter.apply().hit) {
                sending = 1;
            } else {
                reason = REASON_UNKNOWN_TRANSMITTER;
                op = OP_NONE;
            }
        }
        if (op != OP_NONE && cell < TRANSMITTERS) {
            departures.apply(op, cell, 1, count);
            if (op_read == OP_NONE) {
                // Frames before the port's start offset and after its last one are not sent.
                bit<32> started = count - skip;
                bit<32> left = started - limit;
                if (started[31:31] == 1 || left[31:31] == 0) {
                    op = OP_NONE;
                    sending = 0;
                    reason = REASON_OUTSIDE_START_STOP;
                }
            }
            if (op != OP_NONE) {
                first_departure.apply(op, cell, now, first);
                last_departure.apply(op, cell, now, last);
                position.apply(op, cell, last_position, offset);
            }
        }
        if (sending == 1) {
            place = first_place + offset;
            bit<32> beyond = place - list_length;
            if (beyond[31:31] == 0) {
                place = beyond;
            }
            place = place + list_base;
            if (destination.apply().hit) {
                frame_op = OP_UPDATE;
                flow = flow_base + offset;
            } else {
                sending = 0;
                reason = REASON_NO_DESTINATION;
            }
        }
        if (frame_op != OP_NONE && flow < FLOWS) {
            flow_sequence.apply(frame_op, flow, 1, sequence);
        }
        if (modifiers[0:0] == 1 || op_read != OP_NONE) {
            modifier_a.apply(hdr, transmitter_id, op, cell);
        }
        if (modifiers[1:1] == 1 || op_read != OP_NONE) {
            modifier_b.apply(hdr, transmitter_id, op, cell);
        }
        if (sending == 1) {
            transmit_run.apply();
            COUNT(flow_transmit, flow);
            hdr.loop.setInvalid();
            hdr.signature.setValid();
            hdr.signature.magic = SIGNATURE_MAGIC;
            hdr.signature.run = run;
            hdr.signature.flow = flow[23:0];
            hdr.signature.sequence = sequence;
            hdr.signature.transmit_time = now;
            reason = REASON_TRANSMITTED;
        }
        if (hdr.record.isValid()) {
            hdr.record.departures = count;
            hdr.record.first_departure = first;
            hdr.record.last_departure = last;
            hdr.record.flow_sequence = sequence;
        }
    }
}

#endif
