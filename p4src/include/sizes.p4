// Sizes of tables and registers, with the reason for each. Index widths follow from these numbers. The memory of a
// target bounds three of them, whose numbers are in its own sizes.p4: FLOWS, WINDOW_BITS and HISTOGRAMS.
#ifndef P4MESH_SIZES
#define P4MESH_SIZES

// Ports that P4 can name: 9 bits on v1model and Tofino.
#define PORTS 512

// Streams that run at the same time: as many as the loop's header has numbers for. A trial of the standard suites needs
// one to eight; each flow of an Open Traffic Generator takes one or several.
#define STREAMS 256

// Transmitters, one for each (stream, transmit port): all streams on every one of 64 ports.
#define TRANSMITTERS 16384

// FLOWS, one for each (stream, source, destination): 256 x 255 = 65,280 for a 256-port full mesh.

// Places in the destination lists of all streams.
#define DESTINATIONS 16384

// (port, address) pairs that a receiving port answers to.
#define RECEIVERS 4096

// WINDOW_BITS: so many bits of the sequence numbers of each flow are a place in its window, which tells a duplicate
// from a late frame. A duplicate is recognised when fewer than 2^WINDOW_BITS later frames of its flow lie between it
// and the original.

// HISTOGRAMS of latency, and the bins of each: 64 bins per power of two give a relative bin width of
// at most 1/64, so that the middle of a bin is within 0.79 % of every latency in it. 256 histograms
// are one for each receive port of a 256-port stream; such a full mesh needs 8 rules on each port.
// A histogram of IPDV has these bins twice, for increases and for decreases.
#define HISTOGRAM_BINS 2048
#define HISTOGRAM_RULES 4096

// Field modifiers: one state cell for each transmitter, and the values of all modifier lists.
#define MODIFIER_VALUES 16384

// Protocols whose frames go to the controller.
#define PUNT_RULES 64

// Frame counters are kept for each (port, reason); 32 reasons.
#define REASON_BITS 5
#define REASON_CELLS (PORTS << REASON_BITS)

// Bits of a cell number that are 0 for a cell of a flow, and of a port.
#define CELL_BEYOND_FLOWS (0xFFFFFFFF ^ (FLOWS - 1))
#define CELL_BEYOND_PORTS (0xFFFFFFFF ^ (PORTS - 1))

#endif
