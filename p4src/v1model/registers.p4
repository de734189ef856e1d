// Register cells with one read-modify-write each. A cell is 32 bits or a pair of 32 bits (written
// here as bit<64>), as a stateful ALU of Tofino holds it.
#ifndef P4MESH_REGISTERS
#define P4MESH_REGISTERS

#include "arch.p4"

// Adds `addend` and returns the old value.
control Sum32(in bit<2> op, in bit<32> cell, in bit<32> addend, out bit<32> value)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(value, cell);
        if (op == OP_UPDATE) {
            cells.write(cell, value + addend);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Adds `addend` to a 64-bit sum and returns the old value.
control Sum64(in bit<2> op, in bit<32> cell, in bit<64> addend, out bit<64> value)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        cells.read(value, cell);
        if (op == OP_UPDATE) {
            cells.write(cell, value + addend);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Keeps the largest `sample` and the largest complement of it, which is the smallest sample.
control Extremes(in bit<2> op, in bit<32> cell, in bit<32> sample,
                 out bit<32> min_inverted, out bit<32> max)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        bit<64> pair;
        cells.read(pair, cell);
        min_inverted = pair[63:32];
        max = pair[31:0];
        if (op == OP_UPDATE) {
            if (~sample > min_inverted) {
                pair[63:32] = ~sample;
            }
            if (sample > max) {
                pair[31:0] = sample;
            }
            cells.write(cell, pair);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Stores `value` and returns what it replaces.
control Swap32(in bit<2> op, in bit<32> cell, in bit<32> value, out bit<32> previous)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(previous, cell);
        if (op == OP_UPDATE) {
            cells.write(cell, value);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Stores a time stamp and returns what it replaces.
control Swap48(in bit<2> op, in bit<32> cell, in bit<48> value, out bit<64> previous)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        cells.read(previous, cell);
        if (op == OP_UPDATE) {
            cells.write(cell, (bit<64>)value);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Stores the first time stamp after a clear.
control First48(in bit<2> op, in bit<32> cell, in bit<48> value, out bit<64> first)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        cells.read(first, cell);
        if (op == OP_UPDATE) {
            if (first == 0) {
                cells.write(cell, (bit<64>)value);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Next sequence number that a flow is expected to bring. `ahead` is the distance of `sequence`
// from it: 0 in order, positive after a gap, negative (sign bit set) for a late frame.
control SequenceTracker(in bit<2> op, in bit<32> cell, in bit<32> sequence,
                        out bit<32> next, out bit<32> ahead)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(next, cell);
        ahead = sequence - next;
        if (op == OP_UPDATE) {
            if (ahead[31:31] == 0) {
                cells.write(cell, sequence + 1);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Remembers the last frame in each place of a flow's window; `tag` is unique for a frame of a run.
control DuplicateWindow(in bit<2> op, in bit<32> cell, in bit<32> tag, out bit<1> duplicate)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        bit<32> previous;
        cells.read(previous, cell);
        duplicate = 0;
        if (op == OP_UPDATE) {
            if (previous == tag) {
                duplicate = 1;
            }
            cells.write(cell, tag);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Counts 0, 1, ... `last`, 0, 1, ... and returns the value before the step.
control Cycle(in bit<2> op, in bit<32> cell, in bit<32> last, out bit<32> value)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(value, cell);
        if (op == OP_UPDATE) {
            if (value >= last) {
                cells.write(cell, 0);
            } else {
                cells.write(cell, value + 1);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Counts 0 ... `last` as Cycle does and adds `step` each time; both start again at 0 together.
control Progression(in bit<2> op, in bit<32> cell, in bit<32> last, in bit<32> step,
                    out bit<32> position, out bit<32> value)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        bit<64> pair;
        cells.read(pair, cell);
        position = pair[63:32];
        value = pair[31:0];
        if (op == OP_UPDATE) {
            if (position >= last) {
                pair = 0;
            } else {
                pair[63:32] = position + 1;
                pair[31:0] = value + step;
            }
            cells.write(cell, pair);
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// The departure clock of a stream: ideal time of the last departure, and departures left.
// OP_UPDATE: a departure is due when `now_less_gap` has reached the last one; it moves the clock
// by `gap`. OP_CLEAR: sets the clock to `start` with `limit` departures.
control DepartureClock(in bit<2> op, in bit<32> cell, in bit<32> now_less_gap, in bit<32> gap,
                       in bit<32> start, in bit<32> limit, out bit<1> due)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        bit<64> pair;
        cells.read(pair, cell);
        due = 0;
        if (op == OP_UPDATE) {
            bit<32> late = now_less_gap - pair[63:32];
            if (pair[31:0] != 0 && late[31:31] == 0) {
                due = 1;
                pair[63:32] = pair[63:32] + gap;
                pair[31:0] = pair[31:0] - 1;
                cells.write(cell, pair);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, start ++ limit);
        }
    }
}

#endif
