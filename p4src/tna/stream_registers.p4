// Registers of a stream; the same controls for v1model are in v1model/stream_registers.p4.
#ifndef P4MESH_STREAM_REGISTERS
#define P4MESH_STREAM_REGISTERS

#include "types.p4"
#include "registers.p4"

// Ideal time of the last departure (low), and departures left (high). A departure is due when `time` has
// reached the last one; it moves the clock by the gap. Times wrap; they are compared as sequence numbers
// are (measurement.p4). Subtraction with saturation leaves ENDLESS as it is.
control DepartureClock(in ingress_headers_t hdr, inout ingress_t local, in bit<32> time, in bit<32> amount)
                      (bit<32> streams) {
    PAIRS(clock, streams);
    RegisterAction<pair_t, bit<32>, bit<8>>(clock_cells) clock_depart = {
        void apply(inout pair_t cell, out bit<8> departs) {
            departs = 0;
            if (cell.high != 0 && (int<32>)time - (int<32>)cell.low >= 0) {
                departs = 1;
                cell.low = cell.low + amount;
                cell.high = (bit<32>)((int<32>)cell.high |-| 1);
            }
        }
    };
    PAIR_ACTION(clock_set, clock) = {
        void apply(inout pair_t cell) { cell.low = time; cell.high = amount; }
    };
    @hidden action clock_pass() { local.due = clock_depart.execute((bit<32>)hdr.loop.stream); }
    @hidden action clock_start() { clock_set.execute((bit<32>)hdr.loop.stream); }
    @hidden table clock {
        key = {
            hdr.loop.kind : exact;
            local.known : exact;
            hdr.loop.flags : ternary;
        }
        actions = { clock_pass; clock_start; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_SEED, 1, _) : clock_pass();
            (KIND_START, 1, FLAG_TIMED &&& FLAG_TIMED) : clock_start();
        }
        size = 2;
    }
    apply { clock.apply(); }
}

// Counts the slots 0 ... slot_last of a burst and its gap; those below `burst` are sent.
control SlotCounter(in ingress_headers_t hdr, inout ingress_t local, in bit<32> slot_last, in bit<32> burst)
                   (bit<32> streams) {
    WORDS(slot, streams);
    RegisterAction<bit<32>, bit<32>, bit<8>>(slot_cells) slot_step = {
        void apply(inout bit<32> cell, out bit<8> outcome) {
            outcome = this.predicate(cell >= slot_last, cell < burst);
            if (cell >= slot_last) { cell = 0; } else { cell = cell + 1; }
        }
    };
    WORD_ACTION(slot_restart, slot) = { void apply(inout bit<32> cell) { cell = 0; } };
    @hidden action slot_next() { local.slot = slot_step.execute((bit<32>)hdr.loop.stream); }
    @hidden action slot_start() { slot_restart.execute((bit<32>)hdr.loop.stream); }
    @hidden table slot {
        key = {
            hdr.loop.kind : exact;
            local.known : exact;
            hdr.loop.flags : ternary;
            local.due : ternary;
        }
        actions = { slot_next; slot_start; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_SEED, 1, _, 1) : slot_next();
            (KIND_START, 1, FLAG_TIMED &&& FLAG_TIMED, _) : slot_start();
        }
        size = 2;
    }
    apply { slot.apply(); }
}

#endif
