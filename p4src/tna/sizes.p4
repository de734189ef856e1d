// Every table and register size on Tofino. Where it is smaller than on v1model, the chip forces it.
#ifndef P4MESH_SIZES
#define P4MESH_SIZES

// Ports that P4 can name: 9 bits on v1model and Tofino 1.
#define PORTS 512

// Front ports in loopback.
#define LOOP_PORTS 8

// Streams that run at the same time. A trial of the standard suites needs one to eight; 64 leave
// room for one stream per priority and frame size of a mixed-traffic campaign.
#define STREAMS 64

// Transmitters, one for each (stream, transmit port): 64 streams on every one of 256 ports.
#define TRANSMITTERS 16384

// Flows, one for each (stream, source, destination): 256 x 255 = 65,280 for a 256-port full mesh.
#if __TARGET_TOFINO__ == 2
#define FLOWS 65536
#else
#define FLOWS 16384
#endif

// Places in the destination lists of all streams.
#define DESTINATIONS 16384

// (port, address) pairs that a receiving port answers to.
#define RECEIVERS 4096

// Sequence numbers remembered for each flow to tell a duplicate from a late frame. A duplicate is
// recognised when fewer than this many later frames of its flow lie between it and the original.
#if __TARGET_TOFINO__ == 2
#define WINDOW_BITS 1
#else
#define WINDOW_BITS 3
#endif
// A register is in one stage, and the memory of a stage bounds it: 47 blocks of 16 KiB on Tofino 1,
// 23 on Tofino 2. Flows come in banks.
#if __TARGET_TOFINO__ == 2
#define BANK_BITS 15
#define WINDOW_CELL_BITS 16
#else
#define BANK_BITS 14
#define WINDOW_CELL_BITS 17
#endif
// What is in front of a flow of 16 bits and its place in a number of 32 bits.
#if WINDOW_BITS == 1
#define PLACE_ZEROS 15w0
#else
#define PLACE_ZEROS 13w0
#endif
#define BANK_FLOWS (1 << BANK_BITS)
#define WINDOW_CELLS (1 << WINDOW_CELL_BITS)
#define WINDOW_CELL ((bit<32>)local.place[WINDOW_CELL_BITS - 1 : 0])
#define FLOW_CELL ((bit<32>)local.cell[BANK_BITS - 1 : 0])

// Latency histograms, and the bins of each: 64 bins per power of two give a relative bin width of
// at most 1/64, so that the middle of a bin is within 0.79 % of every latency in it.
#define HISTOGRAMS 64
#define HISTOGRAM_BINS 2048
#define HISTOGRAM_RULES 4096

// Field modifiers: one state cell for each transmitter, and the values of all modifier lists.
#define MODIFIER_VALUES 16384

// Protocols whose frames go to the controller.
#define PUNT_RULES 64

// Frame counters are kept for each (port, reason); 32 reasons.
#define REASON_BITS 5
#define REASON_CELLS (PORTS << REASON_BITS)

// Units of 8 bytes of IPv6 extension headers: the egress parser of Tofino 1 sees 160 bytes.
#define EXTENSION_UNITS 4

// Bits of a cell number that are 0 for a cell of a flow, and of a port.
#define CELL_BEYOND_FLOWS (0xFFFFFFFF ^ (FLOWS - 1))
#define CELL_BEYOND_PORTS (0xFFFFFFFF ^ (PORTS - 1))

#endif
