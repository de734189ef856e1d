// Test program of the simulator: frames of the CPU port say what is to be done with them; frames of
// other ports go to the CPU port with the time stamps of both sides.
// p4c-bm2-ss --std p4-16 -o stamps.json stamps.p4
#include <core.p4>
#include <v1model.p4>

const bit<9> PORT_LOOP = 509;
const bit<9> PORT_CPU = 510;

const bit<8> KIND_SEND = 0;
// Round the loop `passes` times, then out.
const bit<8> KIND_LOOP = 1;
// Resubmitted for ever.
const bit<8> KIND_RESUBMIT = 2;
// Round the loop for ever, dropping nothing and sending nothing.
const bit<8> KIND_CIRCLE = 3;

header order_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<8>  kind;
    bit<8>  priority;
    bit<16> passes;
    bit<16> port;
    bit<48> sent;
    bit<48> received;
    bit<48> egress;
    bit<32> depth;
}

struct headers_t { order_t order; }
struct metadata_t { }

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.order);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (!hdr.order.isValid()) {
            mark_to_drop(standard);
        } else if (standard.ingress_port != PORT_CPU && standard.instance_type == 0) {
            hdr.order.received = standard.ingress_global_timestamp;
            standard.egress_spec = PORT_CPU;
        } else if (hdr.order.kind == KIND_RESUBMIT) {
            resubmit_preserving_field_list(0);
        } else if (hdr.order.kind == KIND_CIRCLE || (hdr.order.kind == KIND_LOOP && hdr.order.passes != 0)) {
            hdr.order.passes = hdr.order.passes - 1;
            standard.egress_spec = PORT_LOOP;
        } else {
            standard.egress_spec = hdr.order.port[8:0];
            standard.priority = hdr.order.priority[2:0];
        }
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == PORT_LOOP) {
            recirculate_preserving_field_list(0);
        } else if (standard.egress_port != PORT_CPU) {
            hdr.order.sent = standard.egress_global_timestamp;
            hdr.order.depth = (bit<32>)standard.enq_qdepth;
        } else {
            hdr.order.egress = standard.egress_global_timestamp;
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }
control TheDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.order); } }

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Update(), TheDeparser()) main;
