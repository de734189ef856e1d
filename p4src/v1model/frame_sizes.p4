// Frame sizes in turn: a copy of a seed of full length leaves cut to the next size of its transmitter. Only v1model has
// this; a Tofino cannot cut a frame at egress, and sends each size as a stream of its own.
#ifndef P4MESH_FRAME_SIZES
#define P4MESH_FRAME_SIZES

#include "types.p4"

// Counts 0, 1, ... `last`, 0, 1, ... and returns the value before the step. Behind each `last_of_round` + 1 frames one
// value is left out, if that is not 0: each of the transmitter's destinations then gets all values, also where the number
// of values and that of destinations have a common factor.
control SizeTurn(in op_t op, in cell_t index, in bit<32> last, in bit<32> last_of_round,
                 out bit<32> value)(bit<32> capacity) {
    // Frames of the round; the value.
    register<bit<64>>(capacity) size_turn;
    apply {
        value = 0;
        bit<64> next = 0;
        if (op == OP_UPDATE) {
            size_turn.read(next, (bit<32>)index);
            value = next[31:0];
            next[31:0] = next[31:0] + 1;
            if (value == last) {
                next[31:0] = 0;
            }
            if (last_of_round != 0) {
                if (next[63:32] == last_of_round) {
                    next[63:32] = 0;
                    if (next[31:0] == last) {
                        next[31:0] = 0;
                    } else {
                        next[31:0] = next[31:0] + 1;
                    }
                } else {
                    next[63:32] = next[63:32] + 1;
                }
            }
        }
        size_turn.write((bit<32>)index, next);
    }
}

// Cuts a test frame to the next size of its transmitter, and corrects the lengths in its headers; or clears the turn of a
// transmitter. `truncate` cuts when the frame leaves, so a checksum over the payload needs the sum of what will be left.
control FrameSizes(inout headers_t hdr, inout metadata_t meta, in op_t op, in cell_t index) {
    SizeTurn(TRANSMITTERS) turn;
    bit<32> first = 0;
    bit<32> last = 0;
    bit<32> last_of_round = 0;
    bit<32> step = 0;
    bit<16> shorter = 0;

    @id(ID_ACTION_SIZES_OF)
    @brief("Steps 0 to last_step from first_entry; one step is left out behind each last_round_frame + 1 frames")
    action sizes_of(bit<32> first_entry, bit<32> last_step, bit<32> last_round_frame) {
        first = first_entry;
        last = last_step;
        last_of_round = last_round_frame;
    }

    @id(ID_TABLE_SIZES)
    @brief("Frame sizes of a transmitter whose seeds have the flag SIZES_IN_TURN")
    table sizes {
        key = { index : exact @name("transmitter"); }
        actions = { sizes_of; @defaultonly NoAction; }
        const default_action = NoAction();
        size = TRANSMITTERS;
    }

    @id(ID_ACTION_CUT_TO)
    @brief("Length without FCS, the bytes cut off the seed, and the ones' complement sum of the payload that is left")
    action cut_to(bit<32> length_bytes, bit<16> shorter_bytes, bit<16> payload_sum) {
        truncate(length_bytes);
        shorter = shorter_bytes;
        meta.payload_sum = payload_sum;
        meta.is_cut = 1;
    }

    @id(ID_TABLE_FRAME_SIZE)
    @brief("Frame sizes of all transmitters; key = first entry of the transmitter's sizes + step")
    table frame_size {
        key = { first + step : exact @name("entry"); }
        actions = { cut_to; @defaultonly NoAction; }
        const default_action = NoAction();
        size = FRAME_SIZES;
    }

    apply {
        if (op == OP_UPDATE) {
            sizes.apply();
        }
        turn.apply(op, index, last, last_of_round, step);
        if (op == OP_UPDATE) {
            frame_size.apply();
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.total_length = hdr.ipv4.total_length - shorter;
            }
            if (hdr.ipv6.isValid()) {
                hdr.ipv6.payload_length = hdr.ipv6.payload_length - shorter;
            }
            if (hdr.udp.isValid()) {
                hdr.udp.length_bytes = hdr.udp.length_bytes - shorter;
            }
        }
    }
}

#endif
