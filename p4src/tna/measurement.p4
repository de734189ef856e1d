// Measures received test frames, per flow and per port. A reading pass goes through the same registers and fills a half
// of the record.
#ifndef P4MESH_MEASUREMENT
#define P4MESH_MEASUREMENT

#include "types.p4"
#include "registers.p4"

// Order of a frame within its flow: one bit for each outcome of the two comparisons of a stateful ALU,
// sequence >= expected (1) and sequence = expected (2).
const bit<8> ORDER_LATE     = 0x1;
const bit<8> ORDER_GAP      = 0x2;
const bit<8> ORDER_EXPECTED = 0x8;

// With 65,536 flows, few placements fit Tofino 2, and the compiler takes long to find one: a register of pairs, with
// its two banks, fills a stage, and so do two registers of words.
#if FLOWS > BANK_FLOWS
#define AT_STAGE(N) @stage(N)
#else
#define AT_STAGE(N)
#endif

// The table of a register: CELLS##_update when OP is OP_UPDATE and the predicates KEY have the values
// MATCH; ANY matches all their values in a reading pass.
#define CELL_TABLE(CELLS, STAGE, OP, KEY, MATCH, ANY) \
    @hidden AT_STAGE(STAGE) table CELLS { \
        key = { OP : exact; KEY } \
        actions = { CELLS##_update; CELLS##_low; CELLS##_high; CELLS##_clear; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (OP_UPDATE, MATCH) : CELLS##_update(); \
            (OP_LOW, ANY) : CELLS##_low(); \
            (OP_HIGH, ANY) : CELLS##_high(); \
            (OP_CLEAR, ANY) : CELLS##_clear(); \
        } \
        size = 4; \
    }
// A duplicate is counted and is no sample of anything else (methodology, latency rule 7).
#define OF_SAMPLE(CELLS, STAGE) CELL_TABLE(CELLS, STAGE, local.flow_op, local.duplicate : ternary;, 0, _)
// A sample of jitter has a predecessor.
#define PAIR_00 0, 0
#define PAIR_ANY _, _
#define OF_SECOND(CELLS, STAGE) CELL_TABLE(CELLS, STAGE, local.flow_op, local.duplicate : ternary; local.first : ternary;, PAIR_00, PAIR_ANY)

// The bin of a number of ticks, added to the first cell of its histogram: 64 bins for every power of two.
control Bin(in bit<32> ticks, inout bit<32> cell) {
    bit<32> bin = 0;

    // Bin = 64 x (octave - 6) + the seven leading bits, of which the first is 1 from 64 on.
#define OCTAVE(N, LOW) @hidden action octave_##N() { bin = ticks >> LOW; cell = cell + (LOW << 6); }
    OCTAVE(6, 0)   OCTAVE(7, 1)   OCTAVE(8, 2)   OCTAVE(9, 3)   OCTAVE(10, 4)  OCTAVE(11, 5)
    OCTAVE(12, 6)  OCTAVE(13, 7)  OCTAVE(14, 8)  OCTAVE(15, 9)  OCTAVE(16, 10) OCTAVE(17, 11)
    OCTAVE(18, 12) OCTAVE(19, 13) OCTAVE(20, 14) OCTAVE(21, 15) OCTAVE(22, 16) OCTAVE(23, 17)
    OCTAVE(24, 18) OCTAVE(25, 19) OCTAVE(26, 20) OCTAVE(27, 21) OCTAVE(28, 22) OCTAVE(29, 23)
    OCTAVE(30, 24) OCTAVE(31, 25)
#undef OCTAVE

    // The leading bit selects the octave.
    @hidden table octave {
        key = { ticks : ternary; }
        actions = {
            octave_6;  octave_7;  octave_8;  octave_9;  octave_10; octave_11; octave_12;
            octave_13; octave_14; octave_15; octave_16; octave_17; octave_18; octave_19;
            octave_20; octave_21; octave_22; octave_23; octave_24; octave_25; octave_26;
            octave_27; octave_28; octave_29; octave_30; octave_31;
        }
        const default_action = octave_6();
        const entries = {
            0x80000000 &&& 0x80000000 : octave_31();
            0x40000000 &&& 0xC0000000 : octave_30();
            0x20000000 &&& 0xE0000000 : octave_29();
            0x10000000 &&& 0xF0000000 : octave_28();
            0x08000000 &&& 0xF8000000 : octave_27();
            0x04000000 &&& 0xFC000000 : octave_26();
            0x02000000 &&& 0xFE000000 : octave_25();
            0x01000000 &&& 0xFF000000 : octave_24();
            0x00800000 &&& 0xFF800000 : octave_23();
            0x00400000 &&& 0xFFC00000 : octave_22();
            0x00200000 &&& 0xFFE00000 : octave_21();
            0x00100000 &&& 0xFFF00000 : octave_20();
            0x00080000 &&& 0xFFF80000 : octave_19();
            0x00040000 &&& 0xFFFC0000 : octave_18();
            0x00020000 &&& 0xFFFE0000 : octave_17();
            0x00010000 &&& 0xFFFF0000 : octave_16();
            0x00008000 &&& 0xFFFF8000 : octave_15();
            0x00004000 &&& 0xFFFFC000 : octave_14();
            0x00002000 &&& 0xFFFFE000 : octave_13();
            0x00001000 &&& 0xFFFFF000 : octave_12();
            0x00000800 &&& 0xFFFFF800 : octave_11();
            0x00000400 &&& 0xFFFFFC00 : octave_10();
            0x00000200 &&& 0xFFFFFE00 : octave_9();
            0x00000100 &&& 0xFFFFFF00 : octave_8();
            0x00000080 &&& 0xFFFFFF80 : octave_7();
        }
        size = 32;
    }

    @hidden action add_bin() { cell = cell + bin; }
    @hidden table sum { actions = { add_bin; } const default_action = add_bin(); size = 1; }

    apply {
        octave.apply();
        sum.apply();
    }
}

// Histograms of latency and, where the program has it, of IPDV.
control Histograms(in ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    @id(ID_COUNTER_LATENCY)
    @brief("Frames per latency bin; cell = histogram x 2048 + bin")
    BIN_COUNTER(HISTOGRAMS * HISTOGRAM_BINS, latency_histogram);

    Bin() latency_bin;
    bit<32> cell = 0;
    bit<8>  selected = 0;
#if IPDV == 1
    // A counter is in one stage, which has no room for both.
    @brief("Frames per bin of the size of an IPDV without a sign; cell = histogram x 2048 + bin")
    BIN_COUNTER(HISTOGRAMS * HISTOGRAM_BINS, ipdv_increases);
    @brief("The same for an IPDV below 0")
    BIN_COUNTER(HISTOGRAMS * HISTOGRAM_BINS, ipdv_decreases);

    Bin() ipdv_bin;
    bit<32> ipdv_cell = 0;
#endif

    @id(ID_ACTION_USE_HISTOGRAM)
    @brief("Counts the frame in a histogram, whose first cell is given")
    action use_histogram(bit<32> first_cell) {
        cell = first_cell;
#if IPDV == 1
        ipdv_cell = first_cell;
#endif
        selected = 1;
    }

    @id(ID_TABLE_HISTOGRAM)
    @brief("Histogram of a range of flows on a port; frames without an entry are in none")
    table histogram {
        key = {
            arrival.ingress_port : exact @name("port");
            hdr.signature.flow : ternary @name("flow");
        }
        actions = { use_histogram; @defaultonly NoAction; }
        const default_action = NoAction();
        size = HISTOGRAM_RULES;
    }

    @hidden action count() { COUNT(latency_histogram, cell); }
    @hidden table counted {
        key = { local.flow_op : exact; local.duplicate : exact; selected : exact; }
        actions = { count; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (OP_UPDATE, 0, 1) : count(); }
        size = 1;
    }
#if IPDV == 1
    @hidden action count_increase() { COUNT(ipdv_increases, ipdv_cell); }
    @hidden table increased {
        key = { local.flow_op : exact; local.order : exact; local.first : exact; local.decrease : exact; selected : exact; }
        actions = { count_increase; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (OP_UPDATE, ORDER_EXPECTED, 0, 0, 1) : count_increase(); }
        size = 1;
    }
    @hidden action count_decrease() { COUNT(ipdv_decreases, ipdv_cell); }
    @hidden table decreased {
        key = { local.flow_op : exact; local.order : exact; local.first : exact; local.decrease : exact; selected : exact; }
        actions = { count_decrease; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (OP_UPDATE, ORDER_EXPECTED, 0, 1, 1) : count_decrease(); }
        size = 1;
    }
#endif

    apply {
        histogram.apply();
        latency_bin.apply(local.latency, cell);
        counted.apply();
#if IPDV == 1
        ipdv_bin.apply(local.ipdv_size, ipdv_cell);
        increased.apply();
        decreased.apply();
#endif
    }
}

// The cells of a bank of flows.
control FlowCells(inout ingress_headers_t hdr, inout ingress_t local, in arrival_t arrival) {
    // Remembers the last frame in each place of a flow's window; the tag is unique for a frame of a run.
    WORDS(window, WINDOW_CELLS);
    RegisterAction<bit<32>, bit<32>, bit<8>>(window_cells) window_remember = {
        void apply(inout bit<32> cell, out bit<8> same) {
            same = 0;
            if (cell == local.tag) { same = 1; }
            cell = local.tag;
        }
    };
    RegisterAction<bit<32>, bit<32>, bit<8>>(window_cells) window_forget = {
        void apply(inout bit<32> cell, out bit<8> same) { same = 0; cell = 0; }
    };
    @hidden action window_update() { local.duplicate = window_remember.execute(WINDOW_CELL); }
    @hidden action window_clear() { local.duplicate = window_forget.execute(WINDOW_CELL); }
    @hidden AT_STAGE(2) table window {
        key = { local.flow_op : exact; }
        actions = { window_update; window_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { OP_UPDATE : window_update(); OP_CLEAR : window_clear(); }
        size = 2;
    }

    WORDS(duplicates, BANK_FLOWS);
    COUNT_32(duplicates)
    READ_WORD(duplicates, FLOW_CELL, hdr.half.duplicates)
    @hidden action duplicates_update() { duplicates_count.execute(FLOW_CELL); }
    CELL_TABLE(duplicates, 9, local.flow_op, local.duplicate : ternary;, 1, _)

    // Next sequence number that a flow is expected to bring. Numbers wrap: the sign of their difference, for which the
    // stateful ALU has comparisons of its own, tells which is later while they are less than 2^31 apart.
    WORDS(sequence, BANK_FLOWS);
#define REACHED ((int<32>)hdr.signature.sequence - (int<32>)cell >= 0)
    RegisterAction<bit<32>, bit<32>, bit<8>>(sequence_cells) sequence_advance = {
        void apply(inout bit<32> cell, out bit<8> order) {
            order = this.predicate(REACHED, hdr.signature.sequence == cell);
            if (REACHED) { cell = local.following; }
        }
    };
#undef REACHED
    READ_WORD(sequence, FLOW_CELL, hdr.half.next_sequence)
    @hidden action sequence_update() { local.order = sequence_advance.execute(FLOW_CELL); }
    @hidden AT_STAGE(4) table sequence {
        key = { local.flow_op : exact; local.duplicate : ternary; }
        actions = { sequence_update; sequence_low; sequence_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, 0) : sequence_update();
            (OP_LOW, _) : sequence_low();
            (OP_HIGH, _) : sequence_low();
            (OP_CLEAR, _) : sequence_clear();
        }
        size = 4;
    }

    WORDS(reordered, BANK_FLOWS);
    COUNT_32(reordered)
    READ_WORD(reordered, FLOW_CELL, hdr.half.reordered)
    @hidden action reordered_update() { reordered_count.execute(FLOW_CELL); }
    CELL_TABLE(reordered, 9, local.flow_op, local.order : ternary;, ORDER_LATE, _)

    PAIRS(last_gap, BANK_FLOWS);
    STORE_TIME(last_gap, hdr.signature.transmit_time[31:0], (bit<32>)hdr.signature.transmit_time[47:32])
    READ_PAIR(last_gap, FLOW_CELL, hdr.half.last_gap_time)
    @hidden action last_gap_update() { last_gap_store.execute(FLOW_CELL); }
    CELL_TABLE(last_gap, 15, local.flow_op, local.order : ternary;, ORDER_GAP, _)

    PAIRS(frames, BANK_FLOWS);
    COUNT_64(frames)
    READ_PAIR(frames, FLOW_CELL, hdr.half.frames)
    @hidden action frames_update() { frames_count.execute(FLOW_CELL); }
    OF_SAMPLE(frames, 10)

    PAIRS(latency_extremes, BANK_FLOWS);
    KEEP_EXTREMES(latency_extremes, local.latency, local.latency_inverted)
    READ_PAIR(latency_extremes, FLOW_CELL, hdr.half.latency_extremes)
    @hidden action latency_extremes_update() { latency_extremes_keep.execute(FLOW_CELL); }
    OF_SAMPLE(latency_extremes, 11)

    PAIRS(latency_sum, BANK_FLOWS);
    ADD_64(latency_sum, local.latency, local.latency_inverted)
    READ_PAIR(latency_sum, FLOW_CELL, hdr.half.latency_sum)
    @hidden action latency_sum_update() { latency_sum_add.execute(FLOW_CELL); }
    OF_SAMPLE(latency_sum, 12)

    WORDS(latency_last, BANK_FLOWS);
    // RFC 4689 jitter: difference of consecutive latencies; the first frame has none.
    WORD_ACTION(latency_last_swap, latency_last) = {
        void apply(inout bit<32> cell, out bit<32> difference) {
            if (local.latency > cell) { difference = local.latency - cell; } else { difference = cell - local.latency; }
            cell = local.latency;
        }
    };
    READ_WORD(latency_last, FLOW_CELL, hdr.half.latency_last)
    @hidden action latency_last_update() { local.jitter = latency_last_swap.execute(FLOW_CELL); }
    OF_SAMPLE(latency_last, 4)

    WORDS(latency_overflows, BANK_FLOWS);
    COUNT_32(latency_overflows)
    READ_WORD(latency_overflows, FLOW_CELL, hdr.half.latency_overflows)
    @hidden action latency_overflows_update() { latency_overflows_count.execute(FLOW_CELL); }
    @hidden AT_STAGE(14) table latency_overflows {
        key = { local.flow_op : exact; local.duplicate : ternary; local.overflow : ternary; }
        actions = { latency_overflows_update; latency_overflows_low; latency_overflows_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, 0, 1) : latency_overflows_update();
            (OP_LOW, _, _) : latency_overflows_low();
            (OP_HIGH, _, _) : latency_overflows_low();
            (OP_CLEAR, _, _) : latency_overflows_clear();
        }
        size = 4;
    }

    // The first arrival after a clear; `first` tells that there was none before.
    PAIRS(first_arrival, BANK_FLOWS);
    RegisterAction<pair_t, bit<32>, bit<8>>(first_arrival_cells) first_arrival_store = {
        void apply(inout pair_t cell, out bit<8> first) {
            first = 0;
            if (cell.low == 0 && cell.high == 0) {
                first = 1;
                cell.low = arrival.ingress_mac_tstamp[31:0];
                cell.high = (bit<32>)arrival.ingress_mac_tstamp[47:32];
            }
        }
    };
    READ_PAIR(first_arrival, FLOW_CELL, hdr.half.first_arrival)
    @hidden action first_arrival_update() { local.first = first_arrival_store.execute(FLOW_CELL); }
    OF_SAMPLE(first_arrival, 6)

    PAIRS(last_arrival, BANK_FLOWS);
    STORE_TIME(last_arrival, arrival.ingress_mac_tstamp[31:0], (bit<32>)arrival.ingress_mac_tstamp[47:32])
    READ_PAIR(last_arrival, FLOW_CELL, hdr.half.last_arrival)
    @hidden action last_arrival_update() { last_arrival_store.execute(FLOW_CELL); }
    OF_SAMPLE(last_arrival, 13)

    @hidden action invert_jitter() { local.jitter_inverted = ~local.jitter; }
    @hidden table inversion { actions = { invert_jitter; } const default_action = invert_jitter(); size = 1; }

    PAIRS(jitter_extremes, BANK_FLOWS);
    KEEP_EXTREMES(jitter_extremes, local.jitter, local.jitter_inverted)
    READ_PAIR(jitter_extremes, FLOW_CELL, hdr.half.jitter_extremes)
    @hidden action jitter_extremes_update() { jitter_extremes_keep.execute(FLOW_CELL); }
    OF_SECOND(jitter_extremes, 7)

    PAIRS(jitter_sum, BANK_FLOWS);
    ADD_64(jitter_sum, local.jitter, local.jitter_inverted)
    READ_PAIR(jitter_sum, FLOW_CELL, hdr.half.jitter_sum)
    @hidden action jitter_sum_update() { jitter_sum_add.execute(FLOW_CELL); }
    OF_SECOND(jitter_sum, 8)

#if IPDV == 1
    // IPDV (RFC 5481 4.1): latency less that of the frame sent before, when no frame between them is missing; a late frame
    // has none and is no predecessor. The controller reads the registers alone: a reading frame has no room for them.
    WORDS(latency_in_order, BANK_FLOWS);
    WORD_ACTION(latency_in_order_swap, latency_in_order) = {
        void apply(inout bit<32> cell, out bit<32> difference) { difference = local.latency - cell; cell = local.latency; }
    };
    @hidden action latency_in_order_update() { local.ipdv = latency_in_order_swap.execute(FLOW_CELL); }
    @hidden table latency_in_order {
        key = { local.flow_op : exact; local.order : exact; }
        actions = { latency_in_order_update; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, ORDER_GAP) : latency_in_order_update();
            (OP_UPDATE, ORDER_EXPECTED) : latency_in_order_update();
        }
        size = 2;
    }
    @hidden action is_decrease() {
        local.ipdv_size = 0 - local.ipdv;
        local.decrease = 1;
    }
    @hidden action is_increase() { local.ipdv_size = local.ipdv; }
    @hidden table size_of_ipdv {
        key = { local.ipdv : ternary; }
        actions = { is_decrease; is_increase; }
        const default_action = is_increase();
        const entries = { 0x80000000 &&& 0x80000000 : is_decrease(); }
        size = 1;
    }
    // With its top bit flipped, numbers without sign are in the order of those with one.
    @hidden action flip_sign() {
        local.ipdv_inverted = local.ipdv ^ 0x7FFFFFFF;
        local.ipdv = local.ipdv ^ 0x80000000;
    }
    @hidden table flipped { actions = { flip_sign; } const default_action = flip_sign(); size = 1; }
#define OF_EXPECTED(CELLS) \
    @hidden table CELLS { \
        key = { local.flow_op : exact; local.order : exact; local.first : exact; } \
        actions = { CELLS##_update; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        const entries = { (OP_UPDATE, ORDER_EXPECTED, 0) : CELLS##_update(); } \
        size = 1; \
    }

    PAIRS(ipdv_count, BANK_FLOWS);
    COUNT_64(ipdv_count)
    @hidden action ipdv_count_update() { ipdv_count_count.execute(FLOW_CELL); }
    OF_EXPECTED(ipdv_count)

    PAIRS(ipdv_extremes, BANK_FLOWS);
    KEEP_EXTREMES(ipdv_extremes, local.ipdv, local.ipdv_inverted)
    @hidden action ipdv_extremes_update() { ipdv_extremes_keep.execute(FLOW_CELL); }
    OF_EXPECTED(ipdv_extremes)

    PAIRS(ipdv_sum, BANK_FLOWS);
    ADD_64(ipdv_sum, local.ipdv, local.ipdv_inverted)
    @hidden action ipdv_sum_update() { ipdv_sum_add.execute(FLOW_CELL); }
    OF_EXPECTED(ipdv_sum)
#endif

    apply {
        window.apply();
        duplicates.apply();
        sequence.apply();
        frames.apply();
        first_arrival.apply();
        latency_last.apply();
        latency_extremes.apply();
        latency_sum.apply();
        latency_overflows.apply();
        last_arrival.apply();
        reordered.apply();
        last_gap.apply();
        inversion.apply();
        jitter_extremes.apply();
        jitter_sum.apply();
#if IPDV == 1
        latency_in_order.apply();
        size_of_ipdv.apply();
        flipped.apply();
        ipdv_count.apply();
        ipdv_extremes.apply();
        ipdv_sum.apply();
#endif
    }
}

control FlowMeasurement(inout ingress_headers_t hdr, inout ingress_t local, in arrival_t arrival) {
    FlowCells() cells;
#if FLOWS > BANK_FLOWS
    FlowCells() upper_cells;
#endif
    Histograms() histograms;

    @brief("Bytes of the frames of each flow, with FCS, without duplicates")
    Counter<bit<32>, bit<32>>(FLOWS, CounterType_t.BYTES) flow_bytes;
    @hidden action bytes_update() { flow_bytes.count((bit<32>)local.cell[15:0]); }
    @hidden table bytes {
        key = { local.flow_op : exact; local.duplicate : exact; }
        actions = { bytes_update; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (OP_UPDATE, 0) : bytes_update(); }
        size = 1;
    }

    apply {
#if FLOWS > BANK_FLOWS
        if (local.cell[BANK_BITS:BANK_BITS] == 1) {
            upper_cells.apply(hdr, local, arrival);
        } else
#endif
        {
            cells.apply(hdr, local, arrival);
        }
        bytes.apply();
        histograms.apply(hdr, local, arrival);
    }
}

#if IPDV == 1
// Counts frames of groups that are counted per port: their cells lie beyond those of the flows.
control GroupCounting(inout ingress_t local) {
    @brief("Frames received per group and port; cell = place of the port x 4096 + flow of the group")
    BIN_COUNTER(GROUP_CELLS, group_frames);

    bit<32> group_cell = 0;

    @hidden action subtract() { group_cell = local.cell - FLOWS; }
    @hidden table beyond_flows { actions = { subtract; } const default_action = subtract(); size = 1; }

    @hidden action count() {
        local.reason = REASON_EXPECTED;
        COUNT(group_frames, group_cell);
    }
    @hidden table counted {
        key = { local.reason : exact; group_cell : ternary; }
        actions = { count; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { (REASON_UNKNOWN_FLOW, 0 &&& CELL_BEYOND_GROUPS) : count(); }
        size = 1;
    }

    apply {
        beyond_flows.apply();
        counted.apply();
    }
}
#endif

// Shortest distance between the starts of two frames of any kind on a port.
control ArrivalSpacing(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival) {
    bit<32> previous = 0;
    bit<32> distance_inverted = 0;

    WORDS(last_start, PORTS);
    WORD_ACTION(last_start_swap, last_start) = {
        void apply(inout bit<32> cell, out bit<32> before) { before = cell; cell = arrival.ingress_mac_tstamp[31:0]; }
    };
    WORD_ACTION(last_start_forget, last_start) = { void apply(inout bit<32> cell) { cell = 0; } };
    @hidden action last_start_update() { previous = last_start_swap.execute((bit<32>)local.port_cell); }
    @hidden action last_start_clear() { last_start_forget.execute((bit<32>)local.port_cell); }
    @hidden table last_start {
        key = { local.port_op : exact; }
        actions = { last_start_update; last_start_clear; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { OP_UPDATE : last_start_update(); OP_CLEAR : last_start_clear(); }
        size = 2;
    }

    // ~(start - previous) = previous - start - 1.
    @hidden action subtract() { distance_inverted = previous - arrival.ingress_mac_tstamp[31:0]; }
    @hidden table difference { actions = { subtract; } const default_action = subtract(); size = 1; }
    @hidden action subtract_one() { distance_inverted = distance_inverted - 1; }
    @hidden table complement { actions = { subtract_one; } const default_action = subtract_one(); size = 1; }

    WORDS(spacing, PORTS);
    WORD_ACTION(spacing_keep, spacing) = {
        void apply(inout bit<32> cell) {
            if (distance_inverted > cell) { cell = distance_inverted; }
        }
    };
    READ_WORD(spacing, (bit<32>)local.port_cell, hdr.half.spacing_min_inverted)
    @hidden action spacing_update() { spacing_keep.execute((bit<32>)local.port_cell); }
    // A port that has not received since the clear has no distance yet.
    @hidden table spacing {
        key = { local.port_op : exact; previous : ternary; }
        actions = { spacing_update; spacing_low; spacing_clear; NoAction; }
        const default_action = NoAction();
        const entries = {
            (OP_UPDATE, 0) : NoAction();
            (OP_UPDATE, _) : spacing_update();
            (OP_LOW, _) : spacing_low();
            (OP_HIGH, _) : spacing_low();
            (OP_CLEAR, _) : spacing_clear();
        }
        size = 8;
    }

    apply {
        last_start.apply();
        difference.apply();
        complement.apply();
        spacing.apply();
    }
}

#endif
