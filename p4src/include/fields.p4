// Codes of the header fields that a modifier changes.
#ifndef P4MESH_FIELD_CODES
#define P4MESH_FIELD_CODES

// The value of a modifier is added to what the template or the station has.
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
