// Metadata that parsers and controls hand to each other.
#ifndef P4MESH_TYPES
#define P4MESH_TYPES

#include "arch.p4"
#include "headers.p4"

// Operation of a register cell in a pass: OP_UPDATE, or one of the reading passes.
const bit<8> OP_NONE   = 0;
const bit<8> OP_UPDATE = 1;
const bit<8> OP_LOW    = 2;
const bit<8> OP_HIGH   = 3;
const bit<8> OP_CLEAR  = 4;

struct ingress_headers_t {
    bridge_t          bridge;
    packet_in_t       packet_in;
    packet_out_t      packet_out;
    loop_t            loop;
    receive_half_t    half;
    ethernet_t        ethernet;
    vlan_t            outer_vlan;
    vlan_t            inner_vlan;
    label_t[LABELS]   label;
    ipv4_t            ipv4;
    ipv6_t            ipv6;
    extension_unit_t[EXTENSION_UNITS] extension;
    udp_t             udp;
    signature_t       signature;
}

struct ingress_t {
    // Kind of the loop, or PASS_...
    bit<8>  pass;
    // Flow of the signature, or cell that is read.
    bit<32> cell;
    // Classification: signature damaged, another run, port owns the destination, the frame is meant for
    // another port, controller asks.
    bit<1>  damaged;
    bit<8>  run_difference;
    bit<1>  owned;
    bit<8>  receiver_difference;
    bit<1>  punted;
    // Operations on the cells of the flow and of the port.
    op_t    flow_op;
    op_t    port_op;
    bit<REASON_BITS> reason;
    bit<32> latency;
    bit<32> latency_inverted;
    bit<16> latency_high;
    bit<32> borrow;
    bit<1>  overflow;
    // Frame in the duplicate window of its flow, and its place there.
    bit<32> tag;
    bit<8>  window;
    bit<32> place;
    bit<8>  duplicate;
    bit<32> following;
    bit<8>  order;
    bit<8>  first;
    bit<32> jitter;
    bit<32> jitter_inverted;
#if IPDV == 1
    bit<32> ipdv;
    bit<32> ipdv_inverted;
    bit<32> ipdv_size;
    bit<8>  decrease;
#endif
    bit<16> port_cell;
    // Stream of a seed: whether it has an entry, a departure is due, its slot and the fraction.
    bit<8>  known;
    bit<8>  due;
    bit<8>  slot;
    bit<32> fraction;
    bit<32> wraps;
    bit<16> group;
    bit<3>  queue;
    // Mirror session of a captured frame, and the fields of captured_t.
    MirrorId_t mirror_session;
    bit<8>  captured_bridge;
    bit<8>  captured_frame;
    bit<8>  captured_kind;
    bit<48> captured_time;
}

struct egress_headers_t {
    packet_in_t      packet_in;
    report_t         report;
    loop_t           loop;
    transmit_half_t  half;
    ethernet_t       ethernet;
    vlan_t           outer_vlan;
    vlan_t           inner_vlan;
    label_t[LABELS]  label;
    ipv4_t           ipv4;
    ipv6_t           ipv6;
    extension_unit_t[EXTENSION_UNITS] extension;
    udp_t            udp;
    signature_t      signature;
}

struct egress_t {
    // Transmitter of a copy, or cell of a reading pass.
    cell_t  cell;
    bit<REASON_BITS> reason;
#if IPDV == 0
    // Of the seed or the frame of the controller.
    bit<8>  flags;
#endif
    bit<16> udp_rest;
}

// The UDP checksum over IPv6 (RFC 8200 8.1) is kept by difference: the template has a right one, and the signature adds
// nothing to it. So only the fields that egress changes are taken out here and put in again.
#define IPV6_ADDRESSES hdr.ipv6.src_prefix, hdr.ipv6.src_low, hdr.ipv6.dst_prefix, hdr.ipv6.dst_low

#endif
