// Codes that the shared controls use.
#ifndef P4MESH_CODES
#define P4MESH_CODES

// Multicast group that hands a record to the controller and sends the reading frame round again.
const bit<16> GROUP_READ = 1;

// Departure count of a stream that goes on until its entry is removed; more frames than 32 bits can
// count are limited by the transmitters.
const bit<32> UNLIMITED_DEPARTURES = 0xFFFFFFFF;

// Kind of a frame at ingress: a kind of the loop, or one of these.
const bit<8> PASS_FOREIGN = 0;
const bit<8> PASS_REQUEST = 16;
const bit<8> PASS_TEST    = 17;
// Shorter than an Ethernet header.
const bit<8> PASS_RUNT    = 18;

// Result of the slot counter: it has these bits for a slot that is sent.
const bit<8> SLOT_SENT = 0xC;

// Departures left of a stream without an end: the smallest signed number. From 2^31 departures on, a
// stream ends by the limits of its transmitters.
const bit<32> ENDLESS = 0x80000000;

// Header fields that a modifier changes: its value is added to what the template or the station has.
const bit<8> FIELD_ETHERNET_DST = 1;
const bit<8> FIELD_ETHERNET_SRC = 2;
const bit<8> FIELD_OUTER_VLAN   = 3;
const bit<8> FIELD_INNER_VLAN   = 4;
const bit<8> FIELD_IPV4_DST     = 5;
const bit<8> FIELD_IPV4_SRC     = 6;
const bit<8> FIELD_IPV6_DST     = 7;
const bit<8> FIELD_IPV6_SRC     = 8;
const bit<8> FIELD_UDP_DST      = 9;
const bit<8> FIELD_UDP_SRC      = 10;

#endif
