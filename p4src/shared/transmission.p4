// Egress: turns a copy of a seed into a test frame.
#ifndef P4MESH_TRANSMISSION
#define P4MESH_TRANSMISSION

#include "modifiers.p4"

// A copy of a seed comes with the reason UNKNOWN_TRANSMITTER and leaves with its final reason; all others have
// REASON_NONE. `index` is the transmitter of a copy and the cell of a reading pass. A copy with `bad_fcs` is to leave
// with a frame check sequence that does not fit, where the target can do that.
//
// Each step waits for its own inputs only: the registers of the transmitter for its table; arithmetic that does not
// depend on the position in the destination list comes before the position is known.
control Transmission(inout egress_headers_t hdr, in bit<9> port, in bit<16> transmitter_id, in bit<48> now,
                     in cell_t index, inout bit<REASON_BITS> reason, inout bit<1> bad_fcs) {
    Circulation() circulation;
    DepartureCount(TRANSMITTERS) departures;
    FirstDeparture(TRANSMITTERS) first_departure;
    LastDeparture(TRANSMITTERS) last_departure;
    ListPosition(TRANSMITTERS) position;
    FlowSequence(FLOWS) flow_sequence;
    ModifierA() modifier_a;
    ModifierB() modifier_b;
    FieldAdders() field_adders;

    @id(ID_COUNTER_FLOW_TRANSMIT)
    @brief("Test frames sent, per flow")
    SENT_COUNTER(FLOWS, flow_transmit);

    // Operations of this pass on the registers of the transmitter and of the flow.
    op_t op = OP_NONE;
    op_t flow_op = OP_NONE;

    // The transmitter's pattern. Departures `skip` to `end` - 1 are sent.
    bit<32> skip = 0;
    bit<64> end = 0;
    cell_t  list_base = 0;
    cell_t  list_length = 0;
    cell_t  last_position = 0;
    cell_t  flow_cell = 0;
    bit<2>  modifiers = 0;

    // Place in the destination list before and after it wraps at the list's end, and distance of the position beyond
    // that end (negative: before it).
    cell_t  straight_place = 0;
    cell_t  turned_place = 0;
    cell_t  beyond = 0;
    START_STOP(window)
    bit<1>  inside = 0;
    cell_t  offset = 0;
    bit<32> place = 0;

    // The parts of a transmitter that do not depend on the frame format. Bits of `modified`: the first field,
    // the second field, the frame check sequence.
    action set_pattern(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<64> end_departure, bit<3> modified) {
        straight_place = (cell_t)first;
        last_position = (cell_t)last;
        list_length = (cell_t)length_entries;
        list_base = (cell_t)base_entry;
        flow_cell = (cell_t)flow;
        skip = skipped;
        end = end_departure;
        modifiers = modified[1:0];
        bad_fcs = modified[2:2];
        op = OP_UPDATE;
        reason = REASON_OUTSIDE_START_STOP;
    }

    @id(ID_ACTION_SOURCE_ETHERNET)
    @brief("Source of plain Ethernet frames")
    action source_ethernet(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                           bit<32> flow, bit<32> skipped, bit<64> end_departure, bit<3> modified,
                           bit<48> mac) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, end_departure, modified);
        hdr.ethernet.src = mac;
    }

    @id(ID_ACTION_SOURCE_IPV4)
    @brief("Source of IPv4 frames")
    action source_ipv4(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<64> end_departure, bit<3> modified,
                       bit<48> mac, bit<32> address) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, end_departure, modified);
        hdr.ethernet.src = mac;
        hdr.ipv4.src = address;
    }

    @id(ID_ACTION_SOURCE_IPV6)
    @brief("Source of IPv6 frames")
    action source_ipv6(bit<32> first, bit<32> last, bit<32> length_entries, bit<32> base_entry,
                       bit<32> flow, bit<32> skipped, bit<64> end_departure, bit<3> modified,
                       bit<48> mac, bit<96> prefix, bit<32> low) {
        set_pattern(first, last, length_entries, base_entry, flow, skipped, end_departure, modified);
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

    @hidden action transmitted(bit<8> receiver_tag) {
        hdr.signature.setValid();
        hdr.signature.receiver = receiver_tag;
        flow_op = OP_UPDATE;
        reason = REASON_TRANSMITTED;
    }

    @id(ID_ACTION_STATION_ETHERNET)
    @brief("Destination station of plain Ethernet frames")
    action station_ethernet(bit<48> mac, bit<8> receiver_tag) {
        hdr.ethernet.dst = mac;
        transmitted(receiver_tag);
    }

    @id(ID_ACTION_STATION_IPV4)
    @brief("Destination station of IPv4 frames; mac is the next hop")
    action station_ipv4(bit<48> mac, bit<32> address, bit<8> receiver_tag) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = address;
        transmitted(receiver_tag);
    }

    @id(ID_ACTION_STATION_IPV6)
    @brief("Destination station of IPv6 frames; mac is the next hop")
    action station_ipv6(bit<48> mac, bit<96> prefix, bit<32> low, bit<8> receiver_tag) {
        hdr.ethernet.dst = mac;
        hdr.ipv6.dst_prefix = prefix;
        hdr.ipv6.dst_low = low;
        transmitted(receiver_tag);
    }

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
    action set_transmit_run(bit<8> run_id) { hdr.signature.run = run_id; }

    @id(ID_TABLE_TRANSMIT_RUN)
    @brief("The current run")
    table transmit_run {
        actions = { set_transmit_run; }
        default_action = set_transmit_run(0);
        size = 1;
    }

    STEP(prepare,
         beyond = straight_place - list_length;
         straight_place = straight_place + list_base;)
    STEP(prepare_turn, turned_place = straight_place - list_length;)
    STEP(advance,
         straight_place = straight_place + offset;
         turned_place = turned_place + offset;
         beyond = beyond + offset;
         flow_cell = flow_cell + offset;
         reason = REASON_NO_DESTINATION;)
    STEP(go_straight, place = (bit<32>)straight_place;)
    STEP(turn, place = (bit<32>)turned_place;)
    STEP(sign,
         hdr.signature.magic = SIGNATURE_MAGIC;
         hdr.signature.flow = flow_cell;
         hdr.signature.transmit_time = now;)

    apply {
        if (reason == REASON_UNKNOWN_TRANSMITTER) {
            transmitter.apply();
        } else {
            circulation.apply(hdr, port, now, op, flow_op);
            flow_cell = index;
        }
        DO(prepare);
        DO(prepare_turn);
        departures.apply(op, index, skip, end, window, inside, TRANSMIT_RECORD(departures));
        first_departure.apply(op, window, index, now, TRANSMIT_RECORD(first_departure));
        last_departure.apply(op, window, index, now, TRANSMIT_RECORD(last_departure));
        position.apply(op, window, index, last_position, offset);
        if (inside == 1) {
            DO(advance);
            if (beyond[15:15] == 1) {
                DO(go_straight);
            } else {
                DO(turn);
            }
            destination.apply();
        }
        flow_sequence.apply(flow_op, flow_cell, hdr.signature.sequence, TRANSMIT_RECORD(flow_sequence));

        bit<8> field_a = 0;
        bit<8> field_b = 0;
        addend_t value_a = 0;
        addend_t value_b = 0;
        WORTHWHILE_IF(modifiers[0:0] == 1 || op == OP_CLEAR) {
            modifier_a.apply(transmitter_id, modifiers[0:0], op, window, index, field_a, value_a);
        }
        WORTHWHILE_IF(modifiers[1:1] == 1 || op == OP_CLEAR) {
            modifier_b.apply(transmitter_id, modifiers[1:1], op, window, index, field_b, value_b);
        }
        WORTHWHILE_IF(modifiers != 0) {
            field_adders.apply(hdr, field_a, value_a, field_b, value_b);
        }

        if (reason == REASON_TRANSMITTED) {
            transmit_run.apply();
            COUNT(flow_transmit, (bit<32>)flow_cell);
            DO(sign);
        }
    }
}

#endif
