// Codes that controls, counters, controller and report share.
#ifndef P4MESH_REASONS
#define P4MESH_REASONS

// Why a frame ended, or how a received frame was classified. One numbering for the counters
// receive_reason and transmit_reason, the controller and the report.
const bit<REASON_BITS> REASON_NONE               = 0;
// Received test frames.
const bit<REASON_BITS> REASON_EXPECTED           = 1;
const bit<REASON_BITS> REASON_FLOODED            = 2;
const bit<REASON_BITS> REASON_STALE              = 3;
const bit<REASON_BITS> REASON_DAMAGED            = 4;
const bit<REASON_BITS> REASON_FOREIGN            = 5;
const bit<REASON_BITS> REASON_PAUSE              = 6;
const bit<REASON_BITS> REASON_UNKNOWN_FLOW       = 7;
const bit<REASON_BITS> REASON_PUNTED             = 8;
// Frames of the loop and of the controller.
const bit<REASON_BITS> REASON_UNKNOWN_STREAM     = 9;
const bit<REASON_BITS> REASON_BAD_REQUEST        = 10;
const bit<REASON_BITS> REASON_REQUEST_DONE       = 11;
// Copies in egress.
const bit<REASON_BITS> REASON_TRANSMITTED        = 12;
const bit<REASON_BITS> REASON_UNKNOWN_TRANSMITTER = 13;
const bit<REASON_BITS> REASON_OUTSIDE_START_STOP = 14;
const bit<REASON_BITS> REASON_NO_DESTINATION     = 15;
// Received test frame: the port owns its destination, and it was made for another port.
const bit<REASON_BITS> REASON_MISDIRECTED        = 16;

// Departure count of a stream that goes on until its entry is removed; more frames than 32 bits can
// count are limited by the transmitters.
const bit<32> UNLIMITED_DEPARTURES = 0xFFFFFFFF;

// Largest difference of two latencies that RFC 3550 jitter takes in, and largest IPDV, in ticks.
const bit<32> SMOOTHED_DIFFERENCE_MAX = 0x0FFFFFFF;
const bit<32> IPDV_MAX = 0x7FFFFFFF;

// What a frame is to ingress: a kind of the loop, or one of these.
const bit<8> PASS_FOREIGN = 0;
const bit<8> PASS_REQUEST = 16;
const bit<8> PASS_TEST    = 17;
// Shorter than an Ethernet header.
const bit<8> PASS_RUNT    = 18;

// Outcome of the slot counter: these bits for a slot that is sent.
const bit<8> SLOT_SENT = 0xC;

// Departures left of a stream without an end: the smallest signed number. From 2^31 departures on, a
// stream ends by the limits of its transmitters.
const bit<32> ENDLESS = 0x80000000;

#endif
