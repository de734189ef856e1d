// Register cells with one read-modify-write each. A cell is 32 bits or a pair of 32 bits (written
// here as bit<64>), as a stateful ALU of Tofino holds it.
#ifndef P4MESH_REGISTERS
#define P4MESH_REGISTERS

#include "types.p4"

// Adds `addend` modulo 2^32 and returns the old value.
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

// Adds a 33-bit number, `addend` below and its sign in `negative`, to a signed 96-bit sum, and returns
// the old value. The upper 64 bits change by at most one for each number added.
control Sum96(in bit<2> op, in bit<32> cell, in bit<32> addend, in bit<1> negative,
              out bit<64> high, out bit<32> low)(bit<32> size) {
    Sum32(size) low_cells;
    Sum64(size) high_cells;
    apply {
        low_cells.apply(op, cell, addend, low);
        // The low sum has wrapped when its old value exceeds the new one.
        bit<32> wraps = EXCESS(low, low + addend);
        bit<64> step = 0;
        bit<2>  high_op = op;
        if (wraps != 0 && negative == 0) {
            step = 1;
        } else if (wraps == 0 && negative == 1) {
            step = 0xFFFFFFFFFFFFFFFF;
        } else if (op == OP_UPDATE) {
            high_op = OP_NONE;
        }
        high = 0;
        if (high_op != OP_NONE) {
            high_cells.apply(high_op, cell, step, high);
        }
    }
}

// RFC 3550 interarrival jitter in sixteenths, in the integer form of its section A.8; returns the
// old value. A `difference` below 2^28 keeps the cell below 2^32 - 8.
control SmoothedJitter(in bit<2> op, in bit<32> cell, in bit<32> difference, out bit<32> jitter_x16)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(jitter_x16, cell);
        if (op == OP_UPDATE) {
            cells.write(cell, jitter_x16 + difference - ((jitter_x16 + 8) >> 4));
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

// Remembers which of a flow's last 64 sequence numbers have come: bit 0 is the one before the next that is expected. A
// late frame before them is `beyond` the window: whether it has come is not known.
control DuplicateWindow(in bit<2> op, in bit<32> cell, in bit<32> ahead,
                        out bit<1> duplicate, out bit<1> beyond)(bit<32> size) {
    register<bit<64>>(size) cells;
    apply {
        bit<64> seen;
        cells.read(seen, cell);
        duplicate = 0;
        beyond = 0;
        if (op == OP_UPDATE) {
            if (ahead[31:31] == 1) {
                bit<32> behind = ~ahead;
                bit<64> place = 64w1 << behind[WINDOW_BITS - 1 : 0];
                if (behind[31:WINDOW_BITS] != 0) {
                    beyond = 1;
                } else if (seen & place != 0) {
                    duplicate = 1;
                } else {
                    cells.write(cell, seen | place);
                }
            } else {
                if (ahead[31:WINDOW_BITS] != 0) {
                    seen = 0;
                }
                cells.write(cell, seen << ahead[WINDOW_BITS - 1 : 0] << 1 | 1);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

#endif
