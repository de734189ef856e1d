// Parser and deparser of ingress.
#ifndef P4MESH_INGRESS_PARSER
#define P4MESH_INGRESS_PARSER

#include "frame.p4"

struct ingress_headers_t {
    bridge_t          bridge;
    packet_in_t       packet_in;
    packet_out_t      packet_out;
    loop_t            loop;
    receive_half_t    half;
    ethernet_t        ethernet;
    vlan_t            outer_vlan;
    vlan_t            inner_vlan;
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
    // What is done to the cells of the flow and of the port.
    bit<8>  flow_op;
    bit<8>  port_op;
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
    bit<32> previous_latency;
    bit<32> longer;
    bit<32> shorter;
    bit<32> jitter;
    bit<32> jitter_inverted;
    bit<16> port_cell;
    // Stream of a seed: whether it has an entry, a departure is due, its slot and the fraction.
    bit<8>  known;
    bit<8>  due;
    bit<8>  slot;
    bit<32> fraction;
    bit<32> wraps;
    bit<16> group;
    bit<3>  queue;
}

// Order of a frame within its flow: one bit for each outcome of the two comparisons of a stateful ALU,
// sequence >= expected (1) and sequence = expected (2).
const bit<8> ORDER_LATE = 0x1;
const bit<8> ORDER_GAP  = 0x2;

parser TesterIngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_t meta,
                           out ingress_intrinsic_metadata_t standard) {
    Checksum() signature_check;

    // Front ports in loopback, in the loop beside the recirculation port of each pipe.
    value_set<bit<9>>(LOOP_PORTS) loop_ports;

    state start {
        packet.extract(standard);
        meta.run_difference = 0;
        meta.owned = 0;
        meta.receiver_difference = 0;
        meta.punted = 0;
        meta.flow_op = OP_NONE;
        meta.port_op = OP_NONE;
        meta.reason = REASON_NONE;
        meta.overflow = 0;
        meta.duplicate = 0;
        meta.order = 0;
        meta.first = 0;
        meta.known = 0;
        meta.due = 0;
        meta.slot = 0;
        packet.advance(PORT_METADATA_SIZE);
        transition select(standard.ingress_port) {
            PORT_LOOP &&& PORT_IN_PIPE_MASK : parse_loop;
            PORT_CPU : parse_packet_out;
            loop_ports : parse_loop;
            default : parse_ethernet;
        }
    }
    // The payload of a packet-out is a template or a foreign frame: nothing to look at.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        meta.pass = PASS_REQUEST;
        transition accept;
    }
    // The template of a seed is payload in ingress.
    state parse_loop {
        packet.extract(hdr.loop);
        meta.pass = hdr.loop.kind;
        meta.cell = hdr.loop.value;
        meta.port_cell = hdr.loop.value[15:0];
        meta.window = hdr.loop.carry;
        transition select(hdr.loop.kind, hdr.loop.flags) {
            (KIND_READ, FLAG_HALVES &&& FLAG_HALVES) : drop_halves;
            default : accept;
        }
    }
    state drop_halves {
        packet.advance(2 * (RECEIVE_HALF_BITS + TRANSMIT_HALF_BITS));
        transition accept;
    }
    PARSE_FRAME(,)
    state parse_test {
        transition select(packet.lookahead<bit<16>>()) {
            SIGNATURE_MAGIC : parse_signature;
            default : accept;
        }
    }
    state parse_signature {
        packet.extract(hdr.signature);
        signature_check.add(hdr.signature);
        meta.damaged = (bit<1>)signature_check.verify();
        meta.cell = (bit<32>)hdr.signature.flow;
        meta.window = hdr.signature.sequence[7:0];
        meta.pass = PASS_TEST;
        transition accept;
    }
}

control TesterIngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t deparser) {
    apply {
        packet.emit(hdr.bridge);
        packet.emit(hdr.packet_in);
        packet.emit(hdr.loop);
        packet.emit(hdr.half);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extension);
        packet.emit(hdr.udp);
    }
}

#endif
