// Registers of a stream; the same controls for Tofino are in tna/stream_registers.p4.
#ifndef P4MESH_STREAM_REGISTERS
#define P4MESH_STREAM_REGISTERS

#include "types.p4"

// Ideal time of the last departure, and departures left. A departure is due when `time` has reached the
// last one; it moves the clock by the gap. ENDLESS departures stay as they are.
control DepartureClock(in ingress_headers_t hdr, inout ingress_t local, in bit<32> time, in bit<32> amount)
                      (bit<32> streams) {
    register<bit<64>>(streams) cells;
    apply {
        bit<64> pair;
        bit<32> cell = (bit<32>)hdr.loop.stream;
        if (local.known == 1) {
            if (hdr.loop.kind == KIND_SEED) {
                cells.read(pair, cell);
                bit<32> late = time - pair[63:32];
                if (pair[31:0] != 0 && late[31:31] == 0) {
                    local.due = 1;
                    pair[63:32] = pair[63:32] + amount;
                    if (pair[31:0] != ENDLESS) {
                        pair[31:0] = pair[31:0] - 1;
                    }
                    cells.write(cell, pair);
                }
            } else if (hdr.loop.flags & FLAG_TIMED != 0) {
                cells.write(cell, time ++ amount);
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
