// Registers of egress and the parts of Transmission that each architecture spells in its own way; the
// same controls for Tofino are in tna/transmit_registers.p4.
#ifndef P4MESH_TRANSMIT_REGISTERS
#define P4MESH_TRANSMIT_REGISTERS

#include "types.p4"

// Place for the values that a reading pass reads.
#define TRANSMIT_RECORD(FIELD) hdr.record.FIELD

#define SENT_COUNTER(SIZE, NAME) counter(SIZE, CounterType.packets) NAME

// Arithmetic that takes one stage of a Tofino.
#define STEP(NAME, STATEMENTS) @hidden action NAME##_action() { STATEMENTS }
#define DO(NAME) NAME##_action()

// Encloses code that changes nothing when the condition does not hold.
#define WORTHWHILE_IF(CONDITION) if (CONDITION)

#define CRC32_UNIT(NAME)
#define CRC32(NAME, RESULT, SEED, STEP) hash(RESULT, HashAlgorithm.crc32, 32w0, { SEED, STEP }, 33w0x1_0000_0000)

#define COPY_UNIT(NAME)
// A sum of steps is signed: a field of more than 32 bits can count down, too.
#define COPY(NAME, RESULT, VALUE) RESULT = (addend_t)(int<48>)(int<32>)VALUE

#define START_STOP(NAME) window_t NAME = 0;

// Counts the departures of a transmitter. This one is inside of the window when it has the number `first`
// or a later one before `end`.
control DepartureCount(in op_t op, in cell_t index, in bit<32> first, in bit<64> end,
                       inout window_t window, inout bit<1> inside, inout word_t value)(bit<32> capacity) {
    register<bit<64>>(capacity) cells;
    apply {
        if (op != OP_NONE) {
            bit<64> count;
            cells.read(count, (bit<32>)index);
            if (op == OP_UPDATE) {
                if (count >= (bit<64>)first && count < end) {
                    window = 1;
                    inside = 1;
                }
                cells.write((bit<32>)index, count + 1);
            } else {
                value = count;
                if (op == OP_CLEAR) {
                    cells.write((bit<32>)index, 0);
                }
            }
        }
    }
}

// Adds 1 and returns the old value, of a frame in `sequence`, of a reading pass in `value`.
control FlowSequence(in op_t op, in cell_t index, inout bit<32> sequence, inout word_t value)(bit<32> capacity) {
    register<bit<64>>(capacity) cells;
    apply {
        if (op != OP_NONE) {
            bit<64> next;
            cells.read(next, (bit<32>)index);
            if (op == OP_UPDATE) {
                sequence = next[31:0];
                cells.write((bit<32>)index, next + 1);
            } else {
                value = next;
                if (op == OP_CLEAR) {
                    cells.write((bit<32>)index, 0);
                }
            }
        }
    }
}

// Stores the last time stamp.
control LastDeparture(in op_t op, in window_t window, in cell_t index, in bit<48> now,
                      inout word_t value)(bit<32> capacity) {
    register<bit<64>>(capacity) cells;
    apply {
        if (op == OP_UPDATE) {
            if (window == 1) {
                cells.write((bit<32>)index, (bit<64>)now);
            }
        } else if (op != OP_NONE) {
            cells.read(value, (bit<32>)index);
            if (op == OP_CLEAR) {
                cells.write((bit<32>)index, 0);
            }
        }
    }
}

// Stores the first time stamp after a clear.
control FirstDeparture(in op_t op, in window_t window, in cell_t index, in bit<48> now,
                       inout word_t value)(bit<32> capacity) {
    register<bit<64>>(capacity) cells;
    apply {
        if (op != OP_NONE) {
            bit<64> time;
            cells.read(time, (bit<32>)index);
            if (op == OP_UPDATE) {
                if (window == 1 && time == 0) {
                    cells.write((bit<32>)index, (bit<64>)now);
                }
            } else {
                value = time;
                if (op == OP_CLEAR) {
                    cells.write((bit<32>)index, 0);
                }
            }
        }
    }
}

// Counts 0, 1, ... `last`, 0, 1, ... and returns the value before the step.
control ListPosition(in op_t op, in window_t window, in cell_t index, in bit<16> last,
              inout bit<16> value)(bit<32> capacity) {
    register<bit<16>>(capacity) cells;
    apply {
        if (op == OP_UPDATE && window == 1) {
            cells.read(value, (bit<32>)index);
            if (value >= last) {
                cells.write((bit<32>)index, 0);
            } else {
                cells.write((bit<32>)index, value + 1);
            }
        } else if (op == OP_CLEAR) {
            cells.write((bit<32>)index, 0);
        }
    }
}

// Counts 0 ... `last` as ListPosition does and adds `step` each time; both start again at 0 together. Returns
// the sum before the step.
control Progression(in op_t op, in window_t window, in cell_t index, in bit<32> last, in bit<32> step,
                    inout bit<32> value)(bit<32> capacity) {
    register<bit<64>>(capacity) cells;
    apply {
        if (op == OP_UPDATE && window == 1) {
            bit<64> pair;
            cells.read(pair, (bit<32>)index);
            value = pair[31:0];
            if (pair[63:32] >= last) {
                pair = 0;
            } else {
                pair[63:32] = pair[63:32] + 1;
                pair[31:0] = value + step;
            }
            cells.write((bit<32>)index, pair);
        } else if (op == OP_CLEAR) {
            cells.write((bit<32>)index, 0);
        }
    }
}

#endif
