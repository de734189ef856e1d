// Headers on the wire, inside the loop, and between data plane and controller.
#ifndef P4MESH_HEADERS
#define P4MESH_HEADERS

typedef bit<48> mac_t;

const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_QINQ = 0x88A8;
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<16> ETHERTYPE_MAC_CONTROL = 0x8808;
// Plain Ethernet test frames: the signature follows the EtherType.
const bit<16> ETHERTYPE_TEST = 0xFFFF;

const bit<8> PROTOCOL_UDP = 17;
const bit<8> NEXT_HOP_BY_HOP = 0;
const bit<8> NEXT_ROUTING = 43;
const bit<8> NEXT_FRAGMENT = 44;
// RFC 4303: security parameters index and sequence number, 8 bytes; the type of the next header is in a trailer; a
// tester always has UDP there, not encrypted.
const bit<8> NEXT_ENCAPSULATION = 50;
// RFC 4302: counts its length in units of 4 bytes, less 2.
const bit<8> NEXT_AUTHENTICATION = 51;
const bit<8> NEXT_DESTINATION = 60;
const bit<8> NEXT_MOBILITY = 135;

const bit<16> SIGNATURE_MAGIC = 0x504D;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> id;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<8>  dscp_ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<16> flags_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

// The low 32 bits of the addresses are fields of their own: modifiers count in them.
header ipv6_t {
    bit<4>  version;
    bit<8>  traffic_class;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8>  next_header;
    bit<8>  hop_limit;
    bit<96> src_prefix;
    bit<32> src_low;
    bit<96> dst_prefix;
    bit<32> dst_low;
}

// Lengths of an authentication header that are whole units of 8 bytes, as IPv6 needs it.
const bit<8> AUTHENTICATION_16_BYTES = 2;
const bit<8> AUTHENTICATION_24_BYTES = 4;
const bit<8> AUTHENTICATION_32_BYTES = 6;

// Eight bytes of an IPv6 extension header; the first unit of a header carries its successor's type and its
// length, that of an encapsulation neither.
header extension_unit_t {
    bit<8>  next_header;
    bit<8>  length_units;
    bit<48> rest;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length_bytes;
    bit<16> checksum;
}

// First 18 bytes of the payload of every test frame. `check` is the ones' complement checksum of
// the other fields, so the sum over the whole signature is constant and the UDP checksum does not
// depend on it. `receiver` is the tag of the port that the frame is meant for, 0 when several are.
header signature_t {
    bit<16> magic;
    bit<8>  run;
    bit<8>  receiver;
    bit<16> flow;
    bit<32> sequence;
    bit<48> transmit_time;
    bit<16> check;
}

// The fields that `check` covers.
#define SIGNATURE_FIELDS { hdr.signature.magic, hdr.signature.run, hdr.signature.receiver, \
                           hdr.signature.flow, hdr.signature.sequence, hdr.signature.transmit_time }

// State that a frame carries while it circulates. It has the size of the signature, which takes
// its place in a transmitted copy: a seed is exactly as long as the frames made from it.
header loop_t {
    bit<8>  kind;
    bit<8>  flags;
    bit<8>  stream;
    bit<8>  carry;
    // When the frame left egress in its last pass, in ticks of the target's clock.
    bit<48> time;
    // SEED: fraction of a tick; START: first departure; READ: cell to be read.
    bit<32> value;
    // START: streams left; READ: cells left.
    bit<32> count;
}

// Kinds of frame in the loop, and operations of a packet-out; one numbering for both.
const bit<8> KIND_SEED  = 1;
const bit<8> KIND_START = 2;
const bit<8> KIND_READ  = 3;
const bit<8> KIND_SEND  = 4;

// Flags of KIND_READ: clear each cell; report only the last cell; position of the duplicate
// window that is cleared.
const bit<8> FLAG_CLEAR  = 0x01;
const bit<8> FLAG_SILENT = 0x02;
// Flag of KIND_START: the first departure has been computed.
const bit<8> FLAG_TIMED  = 0x04;

@controller_header("packet_out")
header packet_out_t {
    // KIND_SEED: the payload joins the loop. KIND_START: streams begin together. KIND_READ: cells
    // are read. KIND_SEND: the payload leaves through `port`.
    bit<8>  kind;
    bit<8>  flags;
    bit<8>  stream;
    bit<8>  window;
    bit<16> port;
    bit<32> value;
    bit<32> count;
    PACKET_OUT_PADDING
}

@controller_header("packet_in")
header packet_in_t {
    // KIND_READ: the payload is what a cell holds. KIND_SEND: the payload is a frame from `port`.
    bit<8>  kind;
    bit<8>  flags;
    bit<16> port;
    // When the frame arrived, or when the pass that reads the record began; 0 where records have no time.
    bit<48> time;
}

#endif
