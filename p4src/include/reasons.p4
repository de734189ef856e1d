// Reasons why a frame ended, and classes of received frames.
#ifndef P4MESH_REASONS
#define P4MESH_REASONS

// One numbering for the counters receive_reason and transmit_reason, the controller and the report.
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

#endif
