// Sizes that the memory of the chip bounds.
#ifndef P4MESH_TARGET_SIZES
#define P4MESH_TARGET_SIZES

#include "../include/sizes.p4"

// Front ports in loopback.
#define LOOP_PORTS 8

// PLACE_ZEROS are the upper bits of a number of 32 bits that holds a flow of 16 bits and its place in the window. IPDV of
// Tofino 2 takes the memory of other flows.
#if __TARGET_TOFINO__ == 2
#if IPDV == 1
#define FLOWS 16384
#define WINDOW_BITS 2
#define PLACE_ZEROS 14w0
#else
#define FLOWS 65536
#define WINDOW_BITS 1
#define PLACE_ZEROS 15w0
#endif
#else
// A full mesh of 128 ports.
#define FLOWS 16384
#define WINDOW_BITS 3
#define PLACE_ZEROS 13w0
#endif

// A register is in one stage, and the memory of a stage bounds it: 47 blocks of 16 KiB on Tofino 1,
// 23 on Tofino 2. Flows come in banks.
#if __TARGET_TOFINO__ == 2
#if IPDV == 1
#define BANK_BITS 14
#else
#define BANK_BITS 15
#endif
#define WINDOW_CELL_BITS 16
#else
#define BANK_BITS 14
#define WINDOW_CELL_BITS 17
#endif
#define BANK_FLOWS (1 << BANK_BITS)
#define WINDOW_CELLS (1 << WINDOW_CELL_BITS)
#define WINDOW_CELL ((bit<32>)local.place[WINDOW_CELL_BITS - 1 : 0])
#define FLOW_CELL ((bit<32>)local.cell[BANK_BITS - 1 : 0])

// Bits of a test frame's cell number that are 0 for a cell of a flow. The parser of Tofino 1 fills whole containers: that
// of the number takes the two bytes in front of the flow, too, so its upper half says nothing.
#if __TARGET_TOFINO__ == 2
#define TEST_CELL_BEYOND_FLOWS CELL_BEYOND_FLOWS
#else
#define TEST_CELL_BEYOND_FLOWS (0xFFFF ^ (FLOWS - 1))
#endif

// One counter is in one stage, whose memories hold no more bins.
#define HISTOGRAMS 64

// Multicast groups that are counted on each of 32 ports beside the flows: as many counters as one stage holds.
#if IPDV == 1
#define GROUPS 4096
#define GROUP_PORTS 32
#define GROUP_CELLS (GROUPS * GROUP_PORTS)
#define CELL_BEYOND_GROUPS (0xFFFFFFFF ^ (GROUP_CELLS - 1))

// Sources of messages, one for each (stream, transmit port, receive port), and the blocks of flows that they are: the
// positions of a message of 2,004 frames are at most 20 of them.
#define MESSAGE_SOURCES 4096
#define MESSAGE_RULES 4096
#endif

// Units of 8 bytes of IPv6 extension headers: the egress parser of Tofino 1 sees 160 bytes.
#define EXTENSION_UNITS 4

// Labels of MPLS in front of IP: of the way to a router, and of a service there (RFC 4364).
#define LABELS 2

// Kinds of frames that are captured.
#define CAPTURE_KINDS 8

#endif
