// Loop passes in ingress: seeds that wait for their stream's next departure, the start of streams,
// and the passes that read cells.
#ifndef P4MESH_STREAMS
#define P4MESH_STREAMS

// What ingress asks of the traffic manager for a frame of the loop or of the controller.
struct verdict_t {
    bit<1>  drop;
    // Unicast port, or a multicast group when not 0.
    bit<9>  port;
    bit<16> group;
    // Queue of the transmit ports, larger is more urgent.
    bit<3>  queue;
}

control Streams(inout headers_t hdr, inout local_t local, inout verdict_t verdict) {
    DepartureClock(STREAMS) departure_clock;
    Cycle(STREAMS) slot;

    bit<32> interval = 0;
    bit<32> interval_fraction = 0;
    bit<32> departures = 0;
    bit<32> start_offset = 0;
    bit<32> slot_last = 0;
    bit<32> burst = 0;
    bit<16> group = 0;
    bit<3>  priority = 0;
    bit<1>  known = 0;

    @id(ID_ACTION_SET_STREAM)
    @brief("Sets the departure rate and the replicas of a stream")
    action set_stream(bit<32> interval_ticks, bit<32> interval_fraction_q32, bit<32> departure_count,
                      bit<32> start_offset_ticks, bit<32> last_slot, bit<32> burst_slots,
                      bit<16> multicast_group, bit<3> queue) {
        interval = interval_ticks;
        interval_fraction = interval_fraction_q32;
        departures = departure_count;
        start_offset = start_offset_ticks;
        slot_last = last_slot;
        burst = burst_slots;
        group = multicast_group;
        priority = queue;
        known = 1;
    }

    @id(ID_TABLE_STREAM)
    @brief("Rate, length and replicas of each stream; a seed whose stream has no entry ends here")
    table stream {
        key = { hdr.loop.stream : exact @name("stream"); }
        actions = { set_stream; @defaultonly NoAction; }
        const default_action = NoAction();
        size = STREAMS;
    }

    apply {
        stream.apply();
        bit<32> cell = (bit<32>)hdr.loop.stream;
        bit<32> now = hdr.loop.time[31:0];
        // The carry of the fraction belongs to the next gap that this seed closes.
        bit<32> gap = interval + (bit<32>)hdr.loop.carry;
        bit<32> now_less_gap = now - gap;
        bit<32> start = hdr.loop.value + start_offset - interval;
        bit<2> op = OP_NONE;
        bit<1> due = 0;
        bit<32> position = 0;

        if (known == 0) {
            verdict.drop = 1;
            local.reason = REASON_UNKNOWN_STREAM;
        } else {
            op = OP_UPDATE;
            if (hdr.loop.kind == KIND_START) {
                op = OP_CLEAR;
            }
            departure_clock.apply(op, cell, now_less_gap, gap, start, departures, due);
            if (op == OP_CLEAR) {
                slot.apply(OP_CLEAR, cell, slot_last, position);
                hdr.loop.stream = hdr.loop.stream + 1;
                hdr.loop.count = hdr.loop.count - 1;
            } else if (due == 1) {
                slot.apply(OP_UPDATE, cell, slot_last, position);
                // Old fraction above the complement of the addend: the sum wraps.
                bit<32> wraps = EXCESS(hdr.loop.value, ~interval_fraction);
                hdr.loop.value = hdr.loop.value + interval_fraction;
                hdr.loop.carry = 0;
                if (wraps != 0) {
                    hdr.loop.carry = 1;
                }
                bit<32> silent = position - burst;
                if (silent[31:31] == 1) {
                    verdict.group = group;
                    verdict.queue = priority;
                }
            }
        }
    }
}

#endif
