// Measures whole messages: frames that leave a port back to back, each position in a flow of its own. The sequence
// number of a frame is the number of its message. On a Tofino: tna/messages.p4 (docs/designs/0016-message-registers.md).
#ifndef P4MESH_MESSAGES
#define P4MESH_MESSAGES

#include "types.p4"
#include "registers.p4"

// Compares the message of a frame with the newest one of its source: `ahead` is 0 in it, positive in a later one,
// negative (sign bit set) in one that is over.
control NewestMessage(in bit<2> op, in bit<32> cell, in bit<32> number, out bit<32> newest, out bit<32> ahead)
                     (bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(newest, cell);
        ahead = number - newest;
        if (op == OP_UPDATE) {
            if (ahead[31:31] == 0) {
                cells.write(cell, number);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Frames of the newest message that have arrived; the first one of a `later` message begins anew. Returns the old value.
control FramesArrived(in bit<2> op, in bit<32> cell, in bit<1> later, out bit<32> value)(bit<32> size) {
    register<bit<32>>(size) cells;
    apply {
        cells.read(value, cell);
        if (op == OP_UPDATE) {
            if (later == 1) {
                cells.write(cell, 1);
            } else {
                cells.write(cell, value + 1);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// A time of the newest message: `value` replaces it when `set`; returns the time that counts from then on.
control MessageTime(in bit<2> op, in bit<32> cell, in bit<1> set, in bit<48> value, out bit<48> time)(bit<32> size) {
    register<bit<48>>(size) cells;
    apply {
        cells.read(time, cell);
        if (op == OP_UPDATE) {
            if (set == 1) {
                time = value;
                cells.write(cell, value);
            }
        } else if (op == OP_CLEAR) {
            cells.write(cell, 0);
        }
    }
}

// Smallest, largest and sum of a time of complete messages, in ticks. The smallest is kept as the largest complement.
control MessageStatistics(in bit<2> op, in bit<32> cell, in bit<48> sample,
                          out bit<64> min_inverted, out bit<64> max, out bit<64> sum)(bit<32> size) {
    register<bit<64>>(size) min_cells;
    register<bit<64>>(size) max_cells;
    Sum64(size) sum_cells;
    apply {
        bit<64> value = (bit<64>)sample;
        min_cells.read(min_inverted, cell);
        max_cells.read(max, cell);
        if (op == OP_UPDATE) {
            if (~value > min_inverted) {
                min_cells.write(cell, ~value);
            }
            if (value > max) {
                max_cells.write(cell, value);
            }
        } else if (op == OP_CLEAR) {
            min_cells.write(cell, 0);
            max_cells.write(cell, 0);
        }
        sum_cells.apply(op, cell, value, sum);
    }
}

// Messages of a source: complete and damaged ones, and the times of complete ones. A message is over when a frame of a
// later one arrives; a frame that comes after that changes nothing.
control Messages(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    NewestMessage(MESSAGE_SOURCES) newest_message;
    FramesArrived(MESSAGE_SOURCES) frames_arrived;
    Sum64(MESSAGE_SOURCES) complete_messages;
    Sum64(MESSAGE_SOURCES) damaged_messages;
    MessageTime(MESSAGE_SOURCES) arrival_of_message;
    MessageTime(MESSAGE_SOURCES) departure_of_first;
    MessageTime(MESSAGE_SOURCES) departure_of_last;
    MessageStatistics(MESSAGE_SOURCES) fifo;
    MessageStatistics(MESSAGE_SOURCES) lilo;
    MessageStatistics(MESSAGE_SOURCES) filo;

    bit<32> source = 0;
    bit<32> frames = 0;
    bit<16> position = 0;
    bit<16> beyond_last = 0;

    @id(ID_ACTION_PART_OF_MESSAGE)
    @brief("The frame is one of a message; first and last flow are those of its first and last position")
    action part_of_message(bit<32> message_source, bit<16> first_flow, bit<16> last_flow, bit<32> message_frames) {
        source = message_source;
        frames = message_frames;
        position = hdr.signature.flow - first_flow;
        beyond_last = hdr.signature.flow - last_flow;
    }

    @id(ID_TABLE_MESSAGE)
    @brief("Source of the messages whose positions are a range of flows; other frames are in none")
    table message {
        key = { hdr.signature.flow : ternary @name("flow"); }
        actions = { part_of_message; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MESSAGE_RULES;
    }

    apply {
        bit<2>  op = OP_NONE;
        bit<2>  damage_op = OP_NONE;
        bit<2>  complete_op = OP_NONE;
        bit<1>  later = 0;
        bit<1>  begins = 0;
        bit<1>  is_first = 0;
        bit<1>  is_last = 0;
        bit<32> newest = 0;
        bit<32> ahead = 0;
        bit<32> arrived = 0;
        bit<64> damaged = 0;
        bit<64> complete = 0;
        bit<48> arrival_time = 0;
        bit<48> first_time = 0;
        bit<48> last_time = 0;
        bit<64> fifo_min = 0;
        bit<64> fifo_max = 0;
        bit<64> fifo_sum = 0;
        bit<64> lilo_min = 0;
        bit<64> lilo_max = 0;
        bit<64> lilo_sum = 0;
        bit<64> filo_min = 0;
        bit<64> filo_max = 0;
        bit<64> filo_sum = 0;

        if (hdr.loop.isValid()) {
            if (hdr.record.cell < MESSAGE_SOURCES) {
                source = hdr.record.cell;
                op = local.flow_op;
            }
        } else if (message.apply().hit) {
            op = OP_UPDATE;
        }

        if (op != OP_NONE) {
            newest_message.apply(op, source, hdr.signature.sequence, newest, ahead);
            if (op == OP_UPDATE && ahead[31:31] == 1) {
                op = OP_NONE;
            }
        }
        if (op != OP_NONE) {
            damage_op = op;
            complete_op = op;
            if (op == OP_UPDATE && ahead != 0) {
                later = 1;
            }
            frames_arrived.apply(op, source, later, arrived);
            bit<32> missed = ahead;
            if (op == OP_UPDATE) {
                // Those between the newest one and this, and the newest one unless it is complete.
                if (arrived == frames) {
                    missed = ahead - 1;
                }
                if (later == 0) {
                    damage_op = OP_NONE;
                }
                bit<32> now_arrived = arrived + 1;
                if (later == 1) {
                    now_arrived = 1;
                }
                if (now_arrived == 1) {
                    begins = 1;
                }
                if (now_arrived != frames) {
                    complete_op = OP_NONE;
                }
                if (position == 0) {
                    is_first = 1;
                }
                if (beyond_last == 0) {
                    is_last = 1;
                }
            }
            if (damage_op != OP_NONE) {
                damaged_messages.apply(damage_op, source, (bit<64>)missed, damaged);
            }
            arrival_of_message.apply(op, source, begins, arrival.ingress_mac_tstamp, arrival_time);
            departure_of_first.apply(op, source, is_first, hdr.signature.transmit_time, first_time);
            departure_of_last.apply(op, source, is_last, hdr.signature.transmit_time, last_time);
            if (complete_op != OP_NONE) {
                complete_messages.apply(complete_op, source, 1, complete);
                fifo.apply(complete_op, source, arrival_time - first_time, fifo_min, fifo_max, fifo_sum);
                lilo.apply(complete_op, source, arrival.ingress_mac_tstamp - last_time, lilo_min, lilo_max, lilo_sum);
                filo.apply(complete_op, source, arrival.ingress_mac_tstamp - first_time, filo_min, filo_max, filo_sum);
            }
        }
        if (hdr.loop.isValid()) {
            hdr.message_record.setValid();
            hdr.message_record.newest = newest;
            hdr.message_record.arrived = arrived;
            hdr.message_record.complete = complete;
            hdr.message_record.damaged = damaged;
            hdr.message_record.fifo_min_inverted = fifo_min;
            hdr.message_record.fifo_max = fifo_max;
            hdr.message_record.fifo_sum = fifo_sum;
            hdr.message_record.lilo_min_inverted = lilo_min;
            hdr.message_record.lilo_max = lilo_max;
            hdr.message_record.lilo_sum = lilo_sum;
            hdr.message_record.filo_min_inverted = filo_min;
            hdr.message_record.filo_max = filo_max;
            hdr.message_record.filo_sum = filo_sum;
        }
    }
}

#endif
