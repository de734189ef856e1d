// Measures received test frames, per flow and per port. A reading pass goes through the same registers in the same
// order and fills a record.
#ifndef P4MESH_MEASUREMENT
#define P4MESH_MEASUREMENT

#include "types.p4"
#include "registers.p4"

// Largest difference of two latencies that RFC 3550 jitter takes in, and largest IPDV, in ticks.
const bit<32> SMOOTHED_DIFFERENCE_MAX = 0x0FFFFFFF;
const bit<32> IPDV_MAX = 0x7FFFFFFF;

// The place of a number of ticks in a histogram, added to its first cell: 64 bins for every power of two, times
// 2^finer_bits. A Tofino cannot shift by a variable.
control Bin(in bit<32> ticks, in bit<8> finer_bits, inout bit<32> cell) {
    bit<8> low = 0;

    // Bits below the seven leading ones, of which the first is 1 from 64 on.
    action bits_below(bit<8> bits) { low = bits |-| finer_bits; }

    @brief("Leading bit of a number of ticks selects the width of its bin; fixed by the program")
    table octave {
        key = { ticks : lpm; }
        actions = { bits_below; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            0x80000000 &&& 0x80000000 : bits_below(25);
            0x40000000 &&& 0xC0000000 : bits_below(24);
            0x20000000 &&& 0xE0000000 : bits_below(23);
            0x10000000 &&& 0xF0000000 : bits_below(22);
            0x08000000 &&& 0xF8000000 : bits_below(21);
            0x04000000 &&& 0xFC000000 : bits_below(20);
            0x02000000 &&& 0xFE000000 : bits_below(19);
            0x01000000 &&& 0xFF000000 : bits_below(18);
            0x00800000 &&& 0xFF800000 : bits_below(17);
            0x00400000 &&& 0xFFC00000 : bits_below(16);
            0x00200000 &&& 0xFFE00000 : bits_below(15);
            0x00100000 &&& 0xFFF00000 : bits_below(14);
            0x00080000 &&& 0xFFF80000 : bits_below(13);
            0x00040000 &&& 0xFFFC0000 : bits_below(12);
            0x00020000 &&& 0xFFFE0000 : bits_below(11);
            0x00010000 &&& 0xFFFF0000 : bits_below(10);
            0x00008000 &&& 0xFFFF8000 : bits_below(9);
            0x00004000 &&& 0xFFFFC000 : bits_below(8);
            0x00002000 &&& 0xFFFFE000 : bits_below(7);
            0x00001000 &&& 0xFFFFF000 : bits_below(6);
            0x00000800 &&& 0xFFFFF800 : bits_below(5);
            0x00000400 &&& 0xFFFFFC00 : bits_below(4);
            0x00000200 &&& 0xFFFFFE00 : bits_below(3);
            0x00000100 &&& 0xFFFFFF00 : bits_below(2);
            0x00000080 &&& 0xFFFFFF80 : bits_below(1);
        }
    }

    apply {
        octave.apply();
        cell = cell + (ticks >> low) + ((((bit<32>)low) << 6) << finer_bits);
    }
}

// Histograms of latency and of IPDV, or of latency and of times between arrivals and between departures of a flow. A target
// may leave out all but that of latency.
control Histograms(in ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    @id(ID_COUNTER_LATENCY)
    @brief("Frames per latency bin; cell = histogram x 2048 + bin")
    BIN_COUNTER(HISTOGRAMS * HISTOGRAM_BINS, latency_histogram);

    @id(ID_COUNTER_IPDV)
    @brief("Frames per IPDV bin; cell = histogram x 4096 + bin of the size, + 2048 for a decrease; or per bin of time between arrivals, + 2048 between departures")
    BIN_COUNTER(2 * HISTOGRAMS * HISTOGRAM_BINS, ipdv_histogram);

    Bin() latency_bin;
    Bin() ipdv_bin;
    Bin() departure_bin;
    bit<32> base = 0;
    bit<8>  finer = 0;
    bit<32> interarrival_base = 0;
    bit<1>  is_interarrival = 0;

    @id(ID_ACTION_USE_HISTOGRAM)
    @brief("Counts the frame in a histogram, whose first cell is given; it has 2^finer_bits times as many bins as others")
    action use_histogram(bit<32> first_cell, bit<8> finer_bits) {
        base = first_cell;
        finer = finer_bits;
    }

    @id(ID_ACTION_USE_INTERARRIVAL)
    @brief("Counts the frame in a histogram, and the times since the frame before it, not its IPDV, in another one")
    action use_interarrival(bit<32> first_cell, bit<32> first_interarrival_cell, bit<8> finer_bits) {
        base = first_cell;
        finer = finer_bits;
        interarrival_base = first_interarrival_cell;
        is_interarrival = 1;
    }

    @id(ID_TABLE_HISTOGRAM)
    @brief("Histogram of a range of flows on a port; frames without an entry are in none")
    table histogram {
        key = {
            arrival.ingress_port : exact @name("port");
            hdr.signature.flow : ternary @name("flow");
        }
        actions = { use_histogram; use_interarrival; @defaultonly NoAction; }
        const default_action = NoAction();
        size = HISTOGRAM_RULES;
    }

    apply {
        if (histogram.apply().hit) {
            bit<32> cell = base;
            bit<32> size = (bit<32>)HISTOGRAM_BINS << finer;
            latency_bin.apply(local.latency, finer, cell);
            COUNT(latency_histogram, cell);
            // IPDV, or the time between arrivals; the first frame of a flow has neither.
            bit<1>  is_counted = local.has_ipdv;
            bit<32> second = local.ipdv_size;
            bit<32> place = base << 1;
            if (local.decrease == 1) {
                place = place + size;
            }
            bit<48> between = arrival.ingress_mac_tstamp - local.seen.last_arrival[47:0];
            if (is_interarrival == 1) {
                is_counted = (bit<1>)(local.seen.frames != 0);
                place = interarrival_base;
                second = between[31:0];
                if (between[47:32] != 0) {
                    second = 0xFFFFFFFF;
                }
            }
            if (is_counted == 1) {
                cell = place;
                ipdv_bin.apply(second, finer, cell);
                COUNT(ipdv_histogram, cell);
            }
            // Latencies tell the time between departures from that between arrivals, where no frame between them is missing.
            if (is_interarrival == 1 && local.has_ipdv == 1) {
                between = between + (bit<48>)local.seen.latency_last - (bit<48>)local.latency;
                second = between[31:0];
                if (between[47:32] != 0) {
                    second = 0xFFFFFFFF;
                }
                cell = place + size;
                departure_bin.apply(second, finer, cell);
                COUNT(ipdv_histogram, cell);
            }
        }
    }
}

// Registers of the flow `local.cell`.
control FlowMeasurement(inout ingress_headers_t hdr, inout ingress_t local, in arrival_t arrival) {
    SequenceTracker(FLOWS) sequence;
    DuplicateWindow(FLOWS) window;
    Sum64(FLOWS) duplicates;
    Sum64(FLOWS) reordered;
    Sum64(FLOWS) beyond_window;
    Swap48(FLOWS) last_gap;
    Sum64(FLOWS) frames;
    Sum64(FLOWS) bytes;
    Extremes(FLOWS) latency_extremes;
    Sum96(FLOWS) latency_sum;
    Swap32(FLOWS) latency_last;
    Sum64(FLOWS) latency_overflows;
    Extremes(FLOWS) jitter_extremes;
    Sum96(FLOWS) jitter_sum;
    SmoothedJitter(FLOWS) jitter_smoothed;
    Swap32(FLOWS) latency_in_order;
    Sum64(FLOWS) ipdv_count;
    Extremes(FLOWS) ipdv_extremes;
    Sum96(FLOWS) ipdv_sum;
    First48(FLOWS) first_arrival;
    Swap48(FLOWS) last_arrival;
    Histograms() histograms;

    apply {
        bit<2>  op = local.flow_op;
        bit<32> cell = local.cell;
        bit<32> ahead;
        bit<1>  duplicate;
        bit<1>  beyond;
        bit<2>  late_op = op;
        bit<2>  gap_op = op;
        bit<2>  sample_op = op;
        bit<2>  jitter_op = op;
        bit<2>  in_order_op = op;
        bit<2>  ipdv_op = op;
        bit<32> latency = 0;
        bit<32> overflow = 0;

        sequence.apply(op, cell, hdr.signature.sequence, local.seen.next_sequence, ahead);
        window.apply(op, cell, ahead, duplicate, beyond);

        // A duplicate is counted and is no sample of anything else (methodology, latency rule 7).
        if (op == OP_UPDATE && duplicate == 1) {
            sample_op = OP_NONE;
        }
        if (op != OP_UPDATE || duplicate == 1) {
            duplicates.apply(op, cell, 1, local.seen.duplicates);
        }
        if (sample_op != OP_NONE) {
            if (op == OP_UPDATE) {
                late_op = OP_NONE;
                gap_op = OP_NONE;
                if (ahead[31:31] == 1) {
                    late_op = OP_UPDATE;
                    local.order = ORDER_LATE;
                    in_order_op = OP_NONE;
                } else if (ahead != 0) {
                    gap_op = OP_UPDATE;
                    local.order = ORDER_GAP;
                }
            }
            if (late_op != OP_NONE) {
                reordered.apply(late_op, cell, 1, local.seen.reordered);
            }
            if (op != OP_UPDATE || beyond == 1) {
                beyond_window.apply(op, cell, 1, local.seen.beyond_window);
            }
            if (gap_op != OP_NONE) {
                last_gap.apply(gap_op, cell, hdr.signature.transmit_time, local.seen.last_gap_time);
            }
            frames.apply(op, cell, 1, local.seen.frames);
            bytes.apply(op, cell, (bit<64>)local.frame_bytes, local.seen.bytes);

            // Differences modulo 2^48; more than 32 bits of ticks saturate and are counted.
            bit<48> difference = arrival.ingress_mac_tstamp - hdr.signature.transmit_time;
            latency = difference[31:0];
            if (difference[47:32] != 0) {
                latency = 0xFFFFFFFF;
                overflow = 1;
            }
            latency_extremes.apply(op, cell, latency, local.seen.latency_min_inverted, local.seen.latency_max);
            latency_sum.apply(op, cell, latency, 0, local.seen.latency_sum_high, local.seen.latency_sum_low);
            latency_last.apply(op, cell, latency, local.seen.latency_last);
            if (op != OP_UPDATE || overflow == 1) {
                latency_overflows.apply(op, cell, 1, local.seen.latency_overflows);
            }

            // RFC 4689 jitter: difference of consecutive latencies; the first frame has none.
            bit<32> longer = EXCESS(latency, local.seen.latency_last);
            bit<32> shorter = EXCESS(local.seen.latency_last, latency);
            bit<32> jitter = longer | shorter;
            if (op == OP_UPDATE && local.seen.frames == 0) {
                jitter_op = OP_NONE;
                ipdv_op = OP_NONE;
            }
            if (jitter_op != OP_NONE) {
                jitter_extremes.apply(op, cell, jitter, local.seen.jitter_min_inverted, local.seen.jitter_max);
                jitter_sum.apply(op, cell, jitter, 0, local.seen.jitter_sum_high, local.seen.jitter_sum_low);
                // RFC 3550 jitter of the same differences.
                bit<32> difference_kept = jitter;
                if (EXCESS(jitter, SMOOTHED_DIFFERENCE_MAX) != 0) {
                    difference_kept = SMOOTHED_DIFFERENCE_MAX;
                }
                jitter_smoothed.apply(op, cell, difference_kept, local.seen.jitter_smoothed_x16);
            }

            // IPDV (RFC 5481 4.1): latency less that of the frame sent before, when no frame between them is missing; a
            // late frame has none and is no predecessor.
            if (in_order_op != OP_NONE) {
                latency_in_order.apply(op, cell, latency, local.seen.latency_in_order);
            }
            if (op == OP_UPDATE && ahead != 0) {
                ipdv_op = OP_NONE;
            }
            bit<32> increase = EXCESS(latency, local.seen.latency_in_order);
            bit<32> ipdv_size = EXCESS(local.seen.latency_in_order, latency);
            bit<1>  decrease = 0;
            if (ipdv_size != 0) {
                decrease = 1;
            }
            ipdv_size = ipdv_size | increase;
            if (ipdv_size[31:31] == 1) {
                ipdv_size = IPDV_MAX;
            }
            bit<32> ipdv = ipdv_size;
            if (decrease == 1) {
                ipdv = 0 - ipdv_size;
            }
            if (ipdv_op != OP_NONE) {
                ipdv_count.apply(op, cell, 1, local.seen.ipdv_count);
                ipdv_extremes.apply(op, cell, ipdv ^ 0x80000000, local.seen.ipdv_min_inverted, local.seen.ipdv_max);
                ipdv_sum.apply(op, cell, ipdv, decrease, local.seen.ipdv_sum_high, local.seen.ipdv_sum_low);
            }
            first_arrival.apply(op, cell, arrival.ingress_mac_tstamp, local.seen.first_arrival);
            last_arrival.apply(op, cell, arrival.ingress_mac_tstamp, local.seen.last_arrival);
            if (op == OP_UPDATE) {
                local.is_sample = 1;
                local.latency = latency;
                local.ipdv_size = ipdv_size;
                local.has_ipdv = ipdv_op[0:0];
                local.decrease = decrease;
                histograms.apply(hdr, local, arrival);
            }
        }
        if (hdr.record.isValid()) {
            hdr.record.duplicates = local.seen.duplicates;
            hdr.record.next_sequence = local.seen.next_sequence;
            hdr.record.reordered = local.seen.reordered;
            hdr.record.beyond_window = local.seen.beyond_window;
            hdr.record.last_gap_time = local.seen.last_gap_time;
            hdr.record.frames = local.seen.frames;
            hdr.record.bytes = local.seen.bytes;
            hdr.record.latency_min_inverted = local.seen.latency_min_inverted;
            hdr.record.latency_max = local.seen.latency_max;
            hdr.record.latency_sum_high = local.seen.latency_sum_high;
            hdr.record.latency_sum_low = local.seen.latency_sum_low;
            hdr.record.latency_last = local.seen.latency_last;
            hdr.record.latency_overflows = local.seen.latency_overflows;
            hdr.record.jitter_min_inverted = local.seen.jitter_min_inverted;
            hdr.record.jitter_max = local.seen.jitter_max;
            hdr.record.jitter_sum_high = local.seen.jitter_sum_high;
            hdr.record.jitter_sum_low = local.seen.jitter_sum_low;
            hdr.record.jitter_smoothed_x16 = local.seen.jitter_smoothed_x16;
            hdr.record.ipdv_count = local.seen.ipdv_count;
            hdr.record.ipdv_min_inverted = local.seen.ipdv_min_inverted;
            hdr.record.ipdv_max = local.seen.ipdv_max;
            hdr.record.ipdv_sum_high = local.seen.ipdv_sum_high;
            hdr.record.ipdv_sum_low = local.seen.ipdv_sum_low;
            hdr.record.first_arrival = local.seen.first_arrival;
            hdr.record.last_arrival = local.seen.last_arrival;
        }
    }
}

// Shortest distance between the starts of two frames of any kind on a port.
control ArrivalSpacing(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    Swap48(PORTS) last_start;
    Extremes(PORTS) spacing;

    apply {
        bit<32> cell = local.cell;
        bit<64> previous;
        bit<32> min_inverted = 0;
        bit<32> unused;
        if (local.port_op == OP_UPDATE) {
            cell = (bit<32>)arrival.ingress_port;
        }
        last_start.apply(local.port_op, cell, arrival.ingress_mac_tstamp, previous);
        // A port that has not received since the clear has no distance yet.
        if (local.port_op != OP_UPDATE || previous != 0) {
            bit<48> distance = arrival.ingress_mac_tstamp - previous[47:0];
            bit<32> kept = distance[31:0];
            if (distance[47:32] != 0) {
                kept = 0xFFFFFFFF;
            }
            spacing.apply(local.port_op, cell, kept, min_inverted, unused);
        }
        if (hdr.record.isValid()) {
            hdr.record.spacing_min_inverted = min_inverted;
        }
    }
}

// Counts frames of groups that are counted per port: their cells lie beyond those of the flows.
control GroupCounting(inout ingress_t local) {
    @id(ID_COUNTER_GROUP_FRAMES)
    @brief("Frames received per group and port; cell = place of the port x 4096 + flow of the group")
    BIN_COUNTER(GROUP_CELLS, group_frames);

    apply {
        if (local.reason == REASON_UNKNOWN_FLOW && local.cell < FLOWS + GROUP_CELLS) {
            local.reason = REASON_EXPECTED;
            COUNT(group_frames, local.cell - FLOWS);
        }
    }
}

#endif
