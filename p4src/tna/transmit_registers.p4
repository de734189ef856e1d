// Registers of egress and the parts of Transmission that each architecture spells in its own way; the
// same controls for v1model are in v1model/transmit_registers.p4.
#ifndef P4MESH_TRANSMIT_REGISTERS
#define P4MESH_TRANSMIT_REGISTERS

#include "types.p4"
#include "registers.p4"

// Place for the values that a reading pass reads.
#define TRANSMIT_RECORD(FIELD) hdr.half.FIELD

// Frames only, in words that the driver adds up: 65,536 pairs of frames and bytes do not fit the memories
// that one stage has for counters.
#define SENT_COUNTER(SIZE, NAME) Counter<bit<32>, bit<32>>(SIZE, CounterType_t.PACKETS) NAME

// Arithmetic that takes one stage. The table keeps the compiler from merging it with the next operation,
// which would not fit one stage.
#define STEP(NAME, STATEMENTS) \
    @hidden action NAME##_action() { STATEMENTS } \
    @hidden table NAME { actions = { NAME##_action; } const default_action = NAME##_action(); size = 1; }
#define DO(NAME) NAME.apply()

// Encloses code that changes nothing when the condition does not hold. Skipping it saves time in software; on Tofino it
// would only make the tables inside wait for the condition.
#define WORTHWHILE_IF(CONDITION)

#define CRC32_UNIT(NAME) Hash<bit<32>>(HashAlgorithm_t.CRC32) NAME;
#define CRC32(NAME, RESULT, SEED, STEP) RESULT = NAME.get({ SEED, STEP })

// Copies a 32-bit number by the hash unit. Words that ALUs move or add share a group of 16 words; a copy
// made like this may lie in another group than its original.
#define COPY_UNIT(NAME) Hash<bit<32>>(HashAlgorithm_t.IDENTITY) NAME;
#define COPY(NAME, RESULT, VALUE) RESULT = NAME.get({ VALUE })

#define START_STOP(NAME) window_t NAME = { 0, 0, 0 };
#define START_STOP_KEYS \
    window.early : ternary; \
    window.laps_left : ternary; \
    window.behind : ternary;
// Entries of a table whose first key is an operation: UPDATE for a departure inside of the window only.
#define IN_WINDOW(UPDATE) \
    (OP_UPDATE, 1, _, _) : NoAction(); \
    (OP_UPDATE, _, 0x80000000 &&& 0x80000000, _) : NoAction(); \
    (OP_UPDATE, _, 0, 0) : NoAction(); \
    (OP_UPDATE, _, _, _) : UPDATE;

// The table of a register that reading passes return.
#define TIME_REGISTER(CELLS) \
    @hidden table CELLS##_register { \
        key = { op : exact; START_STOP_KEYS } \
        actions = { CELLS##_update; CELLS##_low; CELLS##_high; CELLS##_clear; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            IN_WINDOW(CELLS##_update()) \
            (OP_LOW, _, _, _) : CELLS##_low(); \
            (OP_HIGH, _, _, _) : CELLS##_high(); \
            (OP_CLEAR, _, _, _) : CELLS##_clear(); \
        } \
        size = 8; \
    }

// Counts the departures of a transmitter; this one is inside of the window when it has the number `first` or a later
// one before `end`. The number has 64 bits, in two registers: a stateful ALU returns one word to a frame, and compares
// with two.
control DepartureCount(in op_t op, in cell_t index, in bit<32> first, in bit<64> end,
                       inout window_t window, inout bit<1> inside, inout word_t value)(bit<32> capacity) {
    WORDS(skipped, capacity);
    WORDS(low, capacity);
    PAIRS(high, capacity);
    bit<32> count = 0;

    // Counts to `first` and stays there.
    RegisterAction<bit<32>, bit<32>, bit<1>>(skipped_cells) skip = {
        void apply(inout bit<32> skipped, out bit<1> early) {
            early = 0;
            if (skipped < first) {
                early = 1;
                skipped = skipped + 1;
            }
        }
    };
    WORD_ACTION(forget, skipped) = { void apply(inout bit<32> skipped) { skipped = 0; } };
    @hidden action skipped_update() { window.early = skip.execute((bit<32>)index); }
    @hidden action skipped_clear() { forget.execute((bit<32>)index); }
    @hidden table skipped_register {
        key = { op : exact; }
        actions = { skipped_update; skipped_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            OP_UPDATE : skipped_update();
            OP_CLEAR : skipped_clear();
        }
        size = 2;
    }

    WORD_ACTION(add, low) = {
        void apply(inout bit<32> low, out bit<32> old) {
            old = low;
            low = low + 1;
        }
    };
    WORD_ACTION(read, low) = { void apply(inout bit<32> low, out bit<32> old) { old = low; } };
    @hidden action low_update() { count = add.execute((bit<32>)index); }
    @hidden action low_read() { value = read.execute((bit<32>)index); }
    WORD_ACTION(restart, low) = { void apply(inout bit<32> low) { low = 0; } };
    @hidden action low_restart() { restart.execute((bit<32>)index); }
    @hidden table low_register {
        key = { op : exact; }
        actions = { low_update; low_read; low_restart; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            OP_UPDATE : low_update();
            OP_LOW : low_read();
            OP_CLEAR : low_restart();
        }
        size = 4;
    }

    // The upper word of the number, and its distance from that of `end` as a by-product.
    PAIR_ACTION(measure, high) = {
        void apply(inout pair_t laps, out bit<32> left) {
            laps.high = end[63:32] - laps.low;
            left = laps.high;
        }
    };
    PAIR_ACTION(measure_and_carry, high) = {
        void apply(inout pair_t laps, out bit<32> left) {
            laps.high = end[63:32] - laps.low;
            left = laps.high;
            laps.low = laps.low + 1;
        }
    };
    PAIR_ACTION(read_high, high) = { void apply(inout pair_t laps, out bit<32> old) { old = laps.low; } };
    PAIR_ACTION(clear_high, high) = {
        void apply(inout pair_t laps, out bit<32> old) {
            old = laps.low;
            laps.low = 0;
        }
    };
    @hidden action high_update() { window.laps_left = measure.execute((bit<32>)index); }
    @hidden action high_carry() { window.laps_left = measure_and_carry.execute((bit<32>)index); }
    @hidden action high_high() { value = read_high.execute((bit<32>)index); }
    @hidden action high_clear() { value = clear_high.execute((bit<32>)index); }
    @hidden table high_register {
        key = {
            op : exact;
            count : ternary;
        }
        actions = { high_update; high_carry; high_high; high_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, 0xFFFFFFFF) : high_carry();
            (OP_UPDATE, _) : high_update();
            (OP_HIGH, _) : high_high();
            (OP_CLEAR, _) : high_clear();
        }
        size = 4;
    }
    STEP(compare, window.behind = end[31:0] |-| count;)

    @hidden action is_inside() { inside = 1; }
    @hidden table verdict {
        key = { op : exact; START_STOP_KEYS }
        actions = { is_inside; NoAction; }
        const default_action = NoAction();
        const entries = { IN_WINDOW(is_inside()) }
        size = 4;
    }

    apply {
        skipped_register.apply();
        low_register.apply();
        high_register.apply();
        DO(compare);
        verdict.apply();
    }
}

// Adds 1 to a number of 64 bits; returns the old lower word of a frame in `sequence`, of a reading pass in
// `value`.
control FlowSequence(in op_t op, in cell_t index, inout bit<32> sequence, inout word_t value)(bit<32> capacity) {
    // Two registers: 65,536 pairs of words do not fit what one register of Tofino 2 can have.
    WORDS(low, capacity);
    WORD_ACTION(count, low) = {
        void apply(inout bit<32> next, out bit<32> old) {
            old = next;
            next = next + 1;
        }
    };
    WORD_ACTION(read, low) = { void apply(inout bit<32> next, out bit<32> old) { old = next; } };
    WORD_ACTION(clear, low) = { void apply(inout bit<32> next) { next = 0; } };
    @hidden action low_update() { sequence = count.execute((bit<32>)index); }
    @hidden action low_read() { value = read.execute((bit<32>)index); }
    @hidden action low_clear() { clear.execute((bit<32>)index); }
    @hidden table low_register {
        key = { op : exact; }
        actions = { low_update; low_read; low_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            OP_UPDATE : low_update();
            OP_LOW : low_read();
            OP_CLEAR : low_clear();
        }
        size = 4;
    }

    WORDS(high, capacity);
    WORD_ACTION(carry, high) = { void apply(inout bit<32> next) { next = next + 1; } };
    WORD_ACTION(read_high, high) = { void apply(inout bit<32> next, out bit<32> old) { old = next; } };
    WORD_ACTION(clear_high, high) = { void apply(inout bit<32> next, out bit<32> old) { old = next; next = 0; } };
    @hidden action high_update() { carry.execute((bit<32>)index); }
    @hidden action high_read() { value = read_high.execute((bit<32>)index); }
    @hidden action high_clear() { value = clear_high.execute((bit<32>)index); }
    @hidden table high_register {
        key = { op : exact; sequence : ternary; }
        actions = { high_update; high_read; high_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, 0xFFFFFFFF) : high_update();
            (OP_HIGH, _) : high_read();
            (OP_CLEAR, _) : high_clear();
        }
        size = 4;
    }
    apply {
        low_register.apply();
        high_register.apply();
    }
}

// Stores the last time stamp.
control LastDeparture(in op_t op, in window_t window, in cell_t index, in bit<48> now,
                      inout word_t value)(bit<32> capacity) {
    PAIRS(last, capacity);
    STORE_TIME(last, now[31:0], (bit<32>)now[47:32])
    @hidden action last_update() { last_store.execute((bit<32>)index); }
    READ_PAIR(last, (bit<32>)index, value)
    TIME_REGISTER(last)
    apply { last_register.apply(); }
}

// Stores the first time stamp after a clear.
control FirstDeparture(in op_t op, in window_t window, in cell_t index, in bit<48> now,
                       inout word_t value)(bit<32> capacity) {
    PAIRS(first, capacity);
    PAIR_ACTION(store, first) = {
        void apply(inout pair_t time) {
            if (time.low == 0 && time.high == 0) {
                time.low = now[31:0];
                time.high = (bit<32>)now[47:32];
            }
        }
    };
    @hidden action first_update() { store.execute((bit<32>)index); }
    READ_PAIR(first, (bit<32>)index, value)
    TIME_REGISTER(first)
    apply { first_register.apply(); }
}

// Declares the table of a register that no reading pass returns.
#define STATE_REGISTER(NAME) \
    @hidden table NAME { \
        key = { op : exact; START_STOP_KEYS } \
        actions = { update; clear; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            IN_WINDOW(update()) \
            (OP_CLEAR, _, _, _) : clear(); \
        } \
        size = 8; \
    }

// Counts 0, 1, ... `last`, 0, 1, ... and returns the value before the step.
control ListPosition(in op_t op, in window_t window, in cell_t index, in bit<16> last,
              inout bit<16> value)(bit<32> capacity) {
    Register<bit<16>, bit<32>>(capacity) positions;
    RegisterAction<bit<16>, bit<32>, bit<16>>(positions) step = {
        void apply(inout bit<16> position, out bit<16> old) {
            old = position;
            if (position >= last) {
                position = 0;
            } else {
                position = position + 1;
            }
        }
    };
    RegisterAction<bit<16>, bit<32>, bit<16>>(positions) restart = {
        void apply(inout bit<16> position) { position = 0; }
    };
    @hidden action update() { value = step.execute((bit<32>)index); }
    @hidden action clear() { restart.execute((bit<32>)index); }
    STATE_REGISTER(position_register)
    apply { position_register.apply(); }
}

struct progression_t {
    bit<32> sum;
    bit<32> position;
}

// Counts 0 ... `last` as ListPosition does and adds `step` each time; both start again at 0 together. Returns
// the sum before the step.
control Progression(in op_t op, in window_t window, in cell_t index, in bit<32> last, in bit<32> step,
                    inout bit<32> value)(bit<32> capacity) {
    Register<progression_t, bit<32>>(capacity) progressions;
    RegisterAction<progression_t, bit<32>, bit<32>>(progressions) advance = {
        void apply(inout progression_t progression, out bit<32> old) {
            old = progression.sum;
            if (progression.position >= last) {
                progression.position = 0;
                progression.sum = 0;
            } else {
                progression.position = progression.position + 1;
                progression.sum = progression.sum + step;
            }
        }
    };
    RegisterAction<progression_t, bit<32>, bit<32>>(progressions) restart = {
        void apply(inout progression_t progression) {
            progression.position = 0;
            progression.sum = 0;
        }
    };
    @hidden action update() { value = advance.execute((bit<32>)index); }
    @hidden action clear() { restart.execute((bit<32>)index); }
    STATE_REGISTER(progression_register)
    apply { progression_register.apply(); }
}

#endif
