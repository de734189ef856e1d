// Register cells with one read-modify-write each, by the stateful ALUs of Tofino.
//
// A stateful ALU holds a pair of 32-bit words and returns one of them; a reading pass reads the low
// words, the next one the high words. Each register is one table without entries of the controller:
// its key is what is done in this pass, and predicates; an action is one use of the ALU.
#ifndef P4MESH_REGISTERS
#define P4MESH_REGISTERS

#include "types.p4"

struct pair_t {
    bit<32> low;
    bit<32> high;
}

#define PAIRS(NAME, SIZE) Register<pair_t, bit<32>>(SIZE) NAME##_cells
#define WORDS(NAME, SIZE) Register<bit<32>, bit<32>>(SIZE) NAME##_cells
#define PAIR_ACTION(NAME, CELLS) RegisterAction<pair_t, bit<32>, bit<32>>(CELLS##_cells) NAME
#define WORD_ACTION(NAME, CELLS) RegisterAction<bit<32>, bit<32>, bit<32>>(CELLS##_cells) NAME

// Actions of a reading pass: CELLS##_low, _high and _clear put a word of the cell into RESULT.
#define READ_PAIR(CELLS, INDEX, RESULT) \
    PAIR_ACTION(CELLS##_read_low, CELLS) = { void apply(inout pair_t cell, out bit<32> word) { word = cell.low; } }; \
    PAIR_ACTION(CELLS##_read_high, CELLS) = { void apply(inout pair_t cell, out bit<32> word) { word = cell.high; } }; \
    PAIR_ACTION(CELLS##_read_clear, CELLS) = { \
        void apply(inout pair_t cell, out bit<32> word) { word = cell.high; cell.low = 0; cell.high = 0; } \
    }; \
    @hidden action CELLS##_low() { RESULT = CELLS##_read_low.execute(INDEX); } \
    @hidden action CELLS##_high() { RESULT = CELLS##_read_high.execute(INDEX); } \
    @hidden action CELLS##_clear() { RESULT = CELLS##_read_clear.execute(INDEX); }

// The same for single words, which both reading passes return.
#define READ_WORD(CELLS, INDEX, RESULT) \
    WORD_ACTION(CELLS##_read_word, CELLS) = { void apply(inout bit<32> cell, out bit<32> word) { word = cell; } }; \
    WORD_ACTION(CELLS##_read_clear, CELLS) = { void apply(inout bit<32> cell, out bit<32> word) { word = cell; cell = 0; } }; \
    @hidden action CELLS##_low() { RESULT = CELLS##_read_word.execute(INDEX); } \
    @hidden action CELLS##_high() { RESULT = CELLS##_read_word.execute(INDEX); } \
    @hidden action CELLS##_clear() { RESULT = CELLS##_read_clear.execute(INDEX); }

// Counts up to 2^32 - 1 and stays there.
#define COUNT_32(CELLS) WORD_ACTION(CELLS##_count, CELLS) = { void apply(inout bit<32> cell) { cell = cell |+| 1; } };

// Counts in 64 bits.
#define COUNT_64(CELLS) \
    PAIR_ACTION(CELLS##_count, CELLS) = { \
        void apply(inout pair_t cell) { \
            if ((int<32>)cell.low == -1) { cell.high = cell.high + 1; } \
            cell.low = cell.low + 1; \
        } \
    };

// Adds a 32-bit `addend`, whose complement is `room`, to a 64-bit sum.
#define ADD_64(CELLS, ADDEND, ROOM) \
    PAIR_ACTION(CELLS##_add, CELLS) = { \
        void apply(inout pair_t cell) { \
            if (cell.low > ROOM) { cell.high = cell.high + 1; } \
            cell.low = cell.low + ADDEND; \
        } \
    };

// Keeps the largest SAMPLE, and the largest complement of it, which is the smallest sample.
#define KEEP_EXTREMES(CELLS, SAMPLE, INVERTED) \
    PAIR_ACTION(CELLS##_keep, CELLS) = { \
        void apply(inout pair_t cell) { \
            if (SAMPLE > cell.low) { cell.low = SAMPLE; } \
            if (INVERTED > cell.high) { cell.high = INVERTED; } \
        } \
    };

#define STORE_TIME(CELLS, LOW, HIGH) \
    PAIR_ACTION(CELLS##_store, CELLS) = { \
        void apply(inout pair_t cell) { cell.low = LOW; cell.high = HIGH; } \
    };

#endif
