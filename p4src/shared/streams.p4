// Loop passes in ingress: seeds that wait for their stream's next departure, and the start of streams.
#ifndef P4MESH_STREAMS
#define P4MESH_STREAMS

control Streams(inout ingress_headers_t hdr, inout ingress_t local) {
    // Seed: now less the gap, and the gap. Start: first departure less the interval, and departures.
    bit<32> time = 0;
    bit<32> start = 0;
    bit<32> amount = 0;
    bit<32> departures = 0;
    bit<32> slot_last = 0;
    bit<32> burst = 0;
    bit<32> room = 0;

    @id(ID_ACTION_SET_STREAM)
    @brief("Sets the departure rate and the replicas of a stream")
    action set_stream(bit<32> interval_ticks, bit<32> interval_fraction_q32, bit<32> departure_count,
                      bit<32> start_offset_ticks, bit<32> last_slot, bit<32> burst_slots,
                      bit<16> multicast_group, bit<3> queue) {
        amount = interval_ticks;
        local.fraction = interval_fraction_q32;
        departures = departure_count;
        start = hdr.loop.value + start_offset_ticks;
        slot_last = last_slot;
        burst = burst_slots;
        local.group = multicast_group;
        local.queue = queue;
        local.known = 1;
    }

    @id(ID_TABLE_STREAM)
    @brief("Rate, length and replicas of each stream; a seed whose stream has no entry ends here")
    table stream {
        key = { hdr.loop.stream : exact @name("stream"); }
        actions = { set_stream; @defaultonly NoAction; }
        const default_action = NoAction();
        size = STREAMS;
    }

    // The carry of the fraction belongs to the next gap that this seed closes.
    @hidden action delay_by_carry() { hdr.loop.time[31:0] = hdr.loop.time[31:0] - 1; }
    @hidden table delay {
        key = { hdr.loop.kind : exact; hdr.loop.carry : exact; }
        actions = { delay_by_carry; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (KIND_SEED, 1) : delay_by_carry(); }
    }
    @hidden action prepare_seed() {
        room = ~local.fraction;
        time = hdr.loop.time[31:0] - amount;
    }
    @hidden action prepare_carry() {
        prepare_seed();
        amount = amount + 1;
    }
    @hidden action prepare_start() {
        time = start - amount;
        amount = departures;
    }
    @hidden action prepare_unlimited() {
        time = start - amount;
        amount = ENDLESS;
    }
    @hidden table prepare {
        key = { hdr.loop.kind : exact; hdr.loop.carry : ternary; departures : ternary; }
        actions = { prepare_seed; prepare_carry; prepare_start; prepare_unlimited; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_SEED, 0, _) : prepare_seed();
            (KIND_SEED, _, _) : prepare_carry();
            (KIND_START, _, 0 &&& ENDLESS) : prepare_start();
            (KIND_START, _, _) : prepare_unlimited();
        }
    }

    DepartureClock(STREAMS) departure_clock;
    SlotCounter(STREAMS) slot_counter;

    // Old fraction above the complement of the addend: the sum wraps.
    @hidden action find_carry() { local.wraps = hdr.loop.value |-| room; }
    @hidden table fraction { actions = { find_carry; } const default_action = find_carry(); size = 1; }

    apply {
        stream.apply();
        delay.apply();
        prepare.apply();
        departure_clock.apply(hdr, local, time, amount);
        fraction.apply();
        slot_counter.apply(hdr, local, slot_last, burst);
    }
}

// Decides where a seed or a starting frame goes.
control Pacing(inout ingress_headers_t hdr, inout ingress_t local, in bit<9> port, inout verdict_t verdict,
               inout manager_t manager) {
    @hidden action end(bit<REASON_BITS> reason) {
        local.reason = reason;
        verdict.drop_ctl = 1;
    }
    @hidden action again() { manager.ucast_egress_port = port; }
    // The first starting pass turns the delay into a time, which is the same for all streams; each
    // further one starts a stream and goes on to the next.
    @hidden action set_time() {
        again();
        hdr.loop.value = hdr.loop.value + hdr.loop.time[31:0];
        hdr.loop.flags = FLAG_TIMED;
    }
    @hidden action next_stream() {
        again();
        hdr.loop.stream = hdr.loop.stream + 1;
        hdr.loop.count = hdr.loop.count - 1;
    }
    @hidden action close_gap(bit<8> carry) {
        hdr.loop.value = hdr.loop.value + local.fraction;
        hdr.loop.carry = carry;
    }
    @hidden action skip_slot(bit<8> carry) {
        close_gap(carry);
        again();
    }
    @hidden action depart(bit<8> carry) {
        close_gap(carry); SEED_BESIDE_COPIES
        manager.mcast_grp_a = local.group;
        manager.qid = (QueueId_t)local.queue;
    }

    @hidden table route {
        key = {
            hdr.loop.kind : exact;
            local.known : ternary;
            local.due : ternary;
            local.slot : ternary;
            local.wraps : ternary;
            hdr.loop.flags : ternary;
            hdr.loop.count : ternary;
        }
        actions = { end; again; set_time; next_stream; skip_slot; depart; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_SEED, 0, _, _, _, _, _) : end(REASON_UNKNOWN_STREAM);
            (KIND_SEED, _, 0, _, _, _, _) : again();
            (KIND_SEED, _, _, 0 &&& SLOT_SENT, 0, _, _) : skip_slot(0);
            (KIND_SEED, _, _, 0 &&& SLOT_SENT, _, _, _) : skip_slot(1);
            (KIND_SEED, _, _, _, 0, _, _) : depart(0);
            (KIND_SEED, _, _, _, _, _, _) : depart(1);
            (KIND_START, _, _, _, _, 0 &&& FLAG_TIMED, _) : set_time();
            (KIND_START, 0, _, _, _, _, _) : end(REASON_UNKNOWN_STREAM);
            (KIND_START, _, _, _, _, _, 1) : end(REASON_REQUEST_DONE);
            (KIND_START, _, _, _, _, _, _) : next_stream();
        }
    }
    apply { route.apply(); }
}

#endif
