// Registers of a stream; the same controls for Tofino are in tna/stream_registers.p4.
#ifndef P4MESH_STREAM_REGISTERS
#define P4MESH_STREAM_REGISTERS

#include "types.p4"

// Ideal time of the last departure, and departures left. A departure is due when `time` has reached the
// last one; it moves the clock by the gap, in a schedule by one that is longer. ENDLESS departures stay as they are.
control DepartureClock(in ingress_headers_t hdr, inout ingress_t local, in bit<32> time, in bit<32> amount)
                      (bit<32> streams) {
    register<bit<64>>(streams) cells;
    // Departures since the schedule began anew.
    register<bit<32>>(streams) steps;
    bit<32> entry = 0;
    bit<32> last = 0;
    bit<32> gap = 0;

    @id(ID_ACTION_SCHEDULE_OF)
    @brief("Names the gaps of a stream, which come again after the last step")
    action schedule_of(bit<32> first_entry, bit<32> last_step) {
        entry = first_entry;
        last = last_step;
    }

    @id(ID_TABLE_SCHEDULE)
    @brief("Schedule of each stream whose group says SCHEDULED")
    table schedule {
        key = { hdr.loop.stream : exact @name("stream"); }
        actions = { schedule_of; @defaultonly NoAction; }
        const default_action = NoAction();
        size = STREAMS;
    }

    @id(ID_ACTION_ADD_GAP)
    @brief("Adds to the gap behind a departure")
    action add_gap(bit<32> ticks) { gap = ticks; }

    @id(ID_TABLE_GAP)
    @brief("Gaps of all schedules")
    table scheduled_gap {
        key = { entry : exact @name("entry"); }
        actions = { add_gap; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SCHEDULED_GAPS;
    }

    apply {
        bit<64> pair;
        bit<32> cell = (bit<32>)hdr.loop.stream;
        if (local.known == 1) {
            if (hdr.loop.kind == KIND_SEED) {
                cells.read(pair, cell);
                bit<32> late = time - pair[63:32];
                if (pair[31:0] != 0 && late[31:31] == 0) {
                    local.due = 1;
                    if (local.group & SCHEDULED != 0) {
                        local.group = local.group ^ SCHEDULED;
                        bit<32> step;
                        steps.read(step, cell);
                        schedule.apply();
                        entry = entry + step;
                        scheduled_gap.apply();
                        if (step >= last) {
                            step = 0;
                        } else {
                            step = step + 1;
                        }
                        steps.write(cell, step);
                    }
                    pair[63:32] = pair[63:32] + amount + gap;
                    if (pair[31:0] != ENDLESS) {
                        pair[31:0] = pair[31:0] - 1;
                    }
                    cells.write(cell, pair);
                }
            } else if (hdr.loop.flags & FLAG_TIMED != 0) {
                cells.write(cell, time ++ amount);
                steps.write(cell, 0);
            }
        }
    }
}

// Counts the slots 0 ... slot_last of a burst and its gap; those below `burst` are sent.
control SlotCounter(in ingress_headers_t hdr, inout ingress_t local, in bit<32> slot_last, in bit<32> burst)
                   (bit<32> streams) {
    register<bit<32>>(streams) cells;
    apply {
        bit<32> slot;
        bit<32> cell = (bit<32>)hdr.loop.stream;
        if (local.due == 1) {
            cells.read(slot, cell);
            if (slot < burst) {
                local.slot = SLOT_SENT;
            }
            if (slot >= slot_last) {
                cells.write(cell, 0);
            } else {
                cells.write(cell, slot + 1);
            }
        } else if (local.known == 1 && hdr.loop.kind == KIND_START && hdr.loop.flags & FLAG_TIMED != 0) {
            cells.write(cell, 0);
        }
    }
}

#endif
