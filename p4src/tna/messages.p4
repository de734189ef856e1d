// Measures whole messages, as v1model/messages.p4 does, with times of 32 bits: they are right below 2^32 ticks. The
// controller reads the registers alone: a reading frame has no room for them.
#ifndef P4MESH_MESSAGES
#define P4MESH_MESSAGES

#include "types.p4"
#include "registers.p4"

#if IPDV == 1
// What a frame is to the newest message of its source; MESSAGE_NONE: part of none, or of one that is over.
const bit<8> MESSAGE_NONE  = 0;
const bit<8> MESSAGE_SAME  = 1;
const bit<8> MESSAGE_LATER = 2;

#define NOW arrival.ingress_mac_tstamp[31:0]

// A time of the newest message, which VALUE replaces; both actions put into SINCE the time that has passed since then,
// AGE for VALUE itself.
#define MESSAGE_TIME(CELLS, VALUE, AGE, SINCE) \
    WORDS(CELLS, MESSAGE_SOURCES); \
    WORD_ACTION(CELLS##_store, CELLS) = { void apply(inout bit<32> cell) { cell = VALUE; } }; \
    WORD_ACTION(CELLS##_keep, CELLS) = { void apply(inout bit<32> cell, out bit<32> since) { since = NOW - cell; } }; \
    @hidden action CELLS##_new() { \
        CELLS##_store.execute(source); \
        SINCE = AGE; \
    } \
    @hidden action CELLS##_old() { SINCE = CELLS##_keep.execute(source); }
// The table of a time that one position of a message has: the one for which PLACE is 0.
#define TIME_OF_POSITION(CELLS, PLACE) \
    @hidden table CELLS { \
        key = { kind : exact; PLACE : ternary; } \
        actions = { CELLS##_new; CELLS##_old; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (MESSAGE_SAME, 0) : CELLS##_new(); \
            (MESSAGE_LATER, 0) : CELLS##_new(); \
            (MESSAGE_SAME, _) : CELLS##_old(); \
            (MESSAGE_LATER, _) : CELLS##_old(); \
        } \
        size = 4; \
    }

#define OF_COMPLETE(CELLS) \
    @hidden table CELLS { \
        key = { is_complete : exact; } \
        actions = { CELLS##_update; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        const entries = { 1 : CELLS##_update(); } \
        size = 1; \
    }
// Smallest, largest and sum of a time of complete messages, in ticks.
#define MESSAGE_STATISTICS(TIME) \
    PAIRS(TIME##_extremes, MESSAGE_SOURCES); \
    KEEP_EXTREMES(TIME##_extremes, TIME, TIME##_inverted) \
    @hidden action TIME##_extremes_update() { TIME##_extremes_keep.execute(source); } \
    OF_COMPLETE(TIME##_extremes) \
    PAIRS(TIME##_sum, MESSAGE_SOURCES); \
    ADD_64(TIME##_sum, TIME, TIME##_inverted) \
    @hidden action TIME##_sum_update() { TIME##_sum_add.execute(source); } \
    OF_COMPLETE(TIME##_sum)

// Messages of a source: complete and damaged ones, and the times of complete ones. A message is over when a frame of a
// later one arrives; a frame that comes after that changes nothing.
control Messages(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    bit<32> source = 0;
    bit<32> frames = 0;
    bit<16> first = 0;
    bit<16> last = 0;
    bit<8>  kind = MESSAGE_NONE;
    bit<32> ahead = 0;
    bit<32> between = 0;
    bit<32> before = 0;
    bit<32> missing = 0;
    bit<8>  is_complete = 0;
    bit<32> elapsed = 0;
    bit<32> fifo = 0;
    bit<32> lilo = 0;
    bit<32> filo = 0;
    bit<32> fifo_inverted = 0;
    bit<32> lilo_inverted = 0;
    bit<32> filo_inverted = 0;

    @id(ID_ACTION_PART_OF_MESSAGE)
    @brief("The frame is one of a message; first and last flow are those of its first and last position")
    action part_of_message(bit<32> message_source, bit<16> first_flow, bit<16> last_flow, bit<32> message_frames) {
        source = message_source;
        frames = message_frames;
        first = first_flow;
        last = last_flow;
    }

    @id(ID_TABLE_MESSAGE)
    @brief("Source of the messages whose positions are a range of flows; other frames are in none")
    table message {
        key = { hdr.signature.flow : ternary @name("flow"); }
        actions = { part_of_message; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MESSAGE_RULES;
    }
    // From here on they are distances from the first and from the last position.
    @hidden action subtract_flows() {
        first = hdr.signature.flow - first;
        last = hdr.signature.flow - last;
    }
    @hidden table position { actions = { subtract_flows; } const default_action = subtract_flows(); size = 1; }

    // Compares the message of a frame with the newest one of its source: `ahead` is 0 in it, positive in a later one,
    // negative (sign bit set) in one that is over. A duplicate is part of none.
    WORDS(newest, MESSAGE_SOURCES);
    WORD_ACTION(newest_advance, newest) = {
        void apply(inout bit<32> cell, out bit<32> distance) {
            distance = hdr.signature.sequence - cell;
            if ((int<32>)hdr.signature.sequence - (int<32>)cell >= 0) { cell = hdr.signature.sequence; }
        }
    };
    @hidden action newest_update() {
        ahead = newest_advance.execute(source);
        kind = MESSAGE_SAME;
    }
    @hidden table newest {
        key = { local.flow_op : exact; local.duplicate : ternary; }
        actions = { newest_update; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (OP_UPDATE, 0) : newest_update(); }
        size = 1;
    }

    // Frames of the newest message that have arrived `before` this one; the first one of a later message begins anew.
    WORDS(arrived, MESSAGE_SOURCES);
    WORD_ACTION(arrived_begin, arrived) = { void apply(inout bit<32> cell, out bit<32> old) { old = cell; cell = 1; } };
    WORD_ACTION(arrived_add, arrived) = { void apply(inout bit<32> cell, out bit<32> old) { old = cell; cell = cell + 1; } };
    @hidden action arrived_of_later() {
        before = arrived_begin.execute(source);
        kind = MESSAGE_LATER;
    }
    @hidden action arrived_of_same() { before = arrived_add.execute(source); }
    @hidden action is_over() { kind = MESSAGE_NONE; }
    @hidden table arrived {
        key = { kind : exact; ahead : ternary; }
        actions = { arrived_of_later; arrived_of_same; is_over; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (MESSAGE_SAME, 0x80000000 &&& 0x80000000) : is_over();
            (MESSAGE_SAME, 0) : arrived_of_same();
            (MESSAGE_SAME, _) : arrived_of_later();
        }
        size = 4;
    }
    @hidden action subtract() {
        missing = frames - before;
        between = ahead - 1;
    }
    @hidden table difference { actions = { subtract; } const default_action = subtract(); size = 1; }

    // Those between the newest one and this, and the newest one unless it is complete.
    WORDS(damaged, MESSAGE_SOURCES);
    WORD_ACTION(damaged_add, damaged) = { void apply(inout bit<32> cell) { cell = cell + ahead; } };
    WORD_ACTION(damaged_add_others, damaged) = { void apply(inout bit<32> cell) { cell = cell + between; } };
    @hidden action all_damaged() { damaged_add.execute(source); }
    @hidden action others_damaged() { damaged_add_others.execute(source); }
    @hidden table damaged {
        key = { kind : exact; missing : ternary; }
        actions = { all_damaged; others_damaged; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (MESSAGE_LATER, 0) : others_damaged();
            (MESSAGE_LATER, _) : all_damaged();
        }
        size = 2;
    }

    WORDS(complete, MESSAGE_SOURCES);
    WORD_ACTION(complete_count, complete) = { void apply(inout bit<32> cell) { cell = cell + 1; } };
    @hidden action is_last_of_all() {
        complete_count.execute(source);
        is_complete = 1;
    }
    @hidden table complete {
        key = { kind : exact; missing : ternary; frames : ternary; }
        actions = { is_last_of_all; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (MESSAGE_SAME, 1, _) : is_last_of_all();
            (MESSAGE_LATER, _, 1) : is_last_of_all();
        }
        size = 2;
    }

    MESSAGE_TIME(departure_of_first, hdr.signature.transmit_time[31:0], local.latency, filo)
    TIME_OF_POSITION(departure_of_first, first)
    MESSAGE_TIME(departure_of_last, hdr.signature.transmit_time[31:0], local.latency, lilo)
    TIME_OF_POSITION(departure_of_last, last)
    MESSAGE_TIME(first_arrival, NOW, 0, elapsed)
    @hidden table first_arrival {
        key = { kind : exact; before : ternary; }
        actions = { first_arrival_new; first_arrival_old; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (MESSAGE_SAME, 0) : first_arrival_new();
            (MESSAGE_SAME, _) : first_arrival_old();
            (MESSAGE_LATER, _) : first_arrival_new();
        }
        size = 4;
    }
    @hidden action subtract_elapsed() {
        fifo = filo - elapsed;
        filo_inverted = ~filo;
        lilo_inverted = ~lilo;
    }
    @hidden table until_first_arrival { actions = { subtract_elapsed; } const default_action = subtract_elapsed(); size = 1; }
    @hidden action invert() { fifo_inverted = ~fifo; }
    @hidden table inversion { actions = { invert; } const default_action = invert(); size = 1; }

    MESSAGE_STATISTICS(fifo)
    MESSAGE_STATISTICS(lilo)
    MESSAGE_STATISTICS(filo)

    apply {
        if (message.apply().hit) {
            position.apply();
            newest.apply();
        }
        arrived.apply();
        difference.apply();
        damaged.apply();
        complete.apply();
        departure_of_first.apply();
        departure_of_last.apply();
        first_arrival.apply();
        until_first_arrival.apply();
        inversion.apply();
        fifo_extremes.apply();
        fifo_sum.apply();
        lilo_extremes.apply();
        lilo_sum.apply();
        filo_extremes.apply();
        filo_sum.apply();
    }
}

#endif

#endif
