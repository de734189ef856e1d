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
        UNTOUCHED_BY_EGRESS(KIND_FOREIGN)
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

// Has the first frames of a trial with a reason mirrored to the controller: of each kind no more in each pipe than the
// controller has asked for, however many come. The frame ends; its copy is as it was received.
const MirrorType_t MIRROR_CAPTURED = 1;
#define SESSION_CAPTURED 1

control CaptureByMirror(inout ingress_t local, in arrival_t arrival, inout verdict_t verdict) {
    bit<32> trial = 0;
    bit<32> limit = 0;
    bit<8>  wanted = 0;

    // Frames of a trial that were handed over, and the trial.
    PAIRS(taken, CAPTURE_KINDS);
    RegisterAction<pair_t, bit<32>, bit<8>>(taken_cells) take = {
        void apply(inout pair_t cell, out bit<8> counts) {
            counts = 0;
            if (cell.high != trial || cell.low < limit) { counts = 1; }
            if (cell.high != trial) { cell.low = 1; }
            else if (cell.low < limit) { cell.low = cell.low + 1; }
            cell.high = trial;
        }
    };

    @id(ID_ACTION_CAPTURE_FIRST)
    @brief("Hands the first frames of this kind to the controller; a new trial counts them anew")
    action capture_first(bit<8> kind_number, bit<32> trial_number, bit<32> frames) {
        local.captured_kind = kind_number;
        local.captured_time = arrival.ingress_mac_tstamp;
        trial = trial_number;
        limit = frames;
    }

    @id(ID_TABLE_CAPTURE)
    @brief("Received frames that the controller wants to see, by the reason that is counted")
    table capture {
        key = {
            local.reason : exact @name("reason");
        }
        actions = { capture_first; @defaultonly NoAction; }
        const default_action = NoAction();
        size = CAPTURE_KINDS;
    }
    @hidden action count() { wanted = take.execute((bit<32>)local.captured_kind); }
    @hidden table taken { actions = { count; } const default_action = count(); size = 1; }

    @hidden action copy() {
        verdict.mirror_type = MIRROR_CAPTURED;
        local.captured_frame = CAPTURED_FRAME;
        local.captured_bridge = KIND_FOREIGN;
        local.mirror_session = SESSION_CAPTURED;
    }
    @hidden table mirrored {
        key = { wanted : exact; }
        actions = { copy; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { 1 : copy(); }
        size = 1;
    }

    apply {
        if (capture.apply().hit) {
            taken.apply();
        }
        mirrored.apply();
    }
}

#endif
