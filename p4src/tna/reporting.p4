// Frames for the controller, and the way of a reading frame through ingress; the same for v1model is in
// v1model/reporting.p4.
#ifndef P4MESH_REPORTING
#define P4MESH_REPORTING

#include "types.p4"

// Entries of the table `classify` for reading passes (headers.p4).
#define READING_PASSES \
            (KIND_READ_LOW, _, _, _, _, _, _, 0 &&& CELL_BEYOND_PORTS, _) : reading(OP_LOW, OP_LOW); \
            (KIND_READ_LOW, _, _, _, _, _, _, 0 &&& CELL_BEYOND_FLOWS, _) : reading(OP_LOW, OP_NONE); \
            (KIND_READ_HIGH, _, _, _, _, _, _, 0 &&& CELL_BEYOND_PORTS, 0 &&& FLAG_CLEAR) : reading(OP_HIGH, OP_HIGH); \
            (KIND_READ_HIGH, _, _, _, _, _, _, 0 &&& CELL_BEYOND_FLOWS, 0 &&& FLAG_CLEAR) : reading(OP_HIGH, OP_NONE); \
            (KIND_READ_HIGH, _, _, _, _, _, _, 0 &&& CELL_BEYOND_PORTS, _) : reading(OP_CLEAR, OP_CLEAR); \
            (KIND_READ_HIGH, _, _, _, _, _, _, 0 &&& CELL_BEYOND_FLOWS, _) : reading(OP_CLEAR, OP_NONE);

// Sends on reading frames and frames of test ports; frames that the controller has not asked for end here.
control Reporting(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival, inout verdict_t verdict,
                  inout manager_t manager) {
    @hidden action drop() { verdict.drop_ctl = 1; }
    @hidden action read() {
        manager.ucast_egress_port = arrival.ingress_port;
        hdr.half.setValid();
    }
    @hidden action report() { manager.mcast_grp_a = GROUP_READ; manager.qid = 0; }
    @hidden action report_last() { manager.ucast_egress_port = PORT_CPU; }
    @hidden action hand_over() {
        manager.ucast_egress_port = PORT_CPU;
        UNTOUCHED_BY_EGRESS
        hdr.packet_in.setValid();
        hdr.packet_in.kind = KIND_SEND;
        hdr.packet_in.flags = 0;
        hdr.packet_in.port = (bit<16>)arrival.ingress_port;
        hdr.packet_in.time = arrival.ingress_mac_tstamp;
    }
    @hidden table deliver {
        key = {
            local.pass : exact;
            hdr.loop.count : ternary;
            local.punted : ternary;
        }
        actions = { drop; read; report; report_last; hand_over; }
        const default_action = drop();
        const entries = {
            (KIND_READ_LOW, _, _) : read();
            (KIND_READ_HIGH, _, _) : read();
            (KIND_REPORT, 1, _) : report_last();
            (KIND_REPORT, _, _) : report();
            (PASS_FOREIGN, _, 1) : hand_over();
        }
        size = 8;
    }
    apply { deliver.apply(); }
}

#endif
