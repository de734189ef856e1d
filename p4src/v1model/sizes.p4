// Sizes that the memory of the target bounds; software has room for all that include/sizes.p4 asks for.
#ifndef P4MESH_TARGET_SIZES
#define P4MESH_TARGET_SIZES

#include "../include/sizes.p4"

#define FLOWS 65536
#define TEST_CELL_BEYOND_FLOWS CELL_BEYOND_FLOWS

// One bit of a register cell for each frame of a window.
#define WINDOW_BITS 6

// A histogram may have 2^FINER_BITS times as many bins, in the place of as many histograms: bins of at most 1/512.
#define HISTOGRAMS 256
#define FINER_BITS 3

// Multicast groups that are counted on each of 256 ports beside the flows: 4,095 groups on 255 ports are
// 16 times as many pairs as there are flows. They have a counter and no register.
#define GROUPS 4096
#define GROUP_PORTS 256
#define GROUP_CELLS (GROUPS * GROUP_PORTS)

// Sources of messages, one for each (stream, transmit port, receive port), and the blocks of flows that they are: the
// positions of a message of 2,004 frames are at most 20 of them.
#define MESSAGE_SOURCES 4096
#define MESSAGE_RULES 16384

// Frame sizes in turn, of all transmitters together: a range has at most 9,153 of them, 64 to 9,216 bytes.
#define FRAME_SIZES 16384

// Gaps between departures in the schedules of all streams, and the bit of a stream's group that says that it has one.
#define SCHEDULED_GAPS 65536
#define SCHEDULED 0x8000

// Headers by which flows on a port are told apart: two for each of 1,024 flows.
#define RECEIVED_FIELD_RULES 2048

// Kinds of frames that the controller captures: five faults, frames behind a gap, late frames.
#define CAPTURE_KINDS 8

// Units of 8 bytes of IPv6 extension headers: a list of five segments.
#define EXTENSION_UNITS 11

// Words of 4 bytes between the first IP header and the innermost one, and between an Ethernet header in a tunnel and that:
// eight labels and a control word, or IPv6. Each element of a stack costs time in every frame, so there are no more.
#define TUNNEL_WORDS 10

// Segments of the list behind the first IPv6 header.
#define SEGMENTS 5

#define IPV4_OPTION_WORDS 3

// Words of one's own in front of the signature.
#define OWN_WORDS 32

#endif
