// Frames for the controller, and the way of a reading frame through ingress; the same for Tofino is in
// tna/reporting.p4.
#ifndef P4MESH_REPORTING
#define P4MESH_REPORTING

#include "types.p4"

// Entries of the table `classify` for reading passes.
#define READING_PASSES \
            (KIND_READ, _, _, _, _, _, _, 0 &&& CELL_BEYOND_PORTS, 0 &&& FLAG_CLEAR) : reading(OP_READ, OP_READ); \
            (KIND_READ, _, _, _, _, _, _, 0 &&& CELL_BEYOND_FLOWS, 0 &&& FLAG_CLEAR) : reading(OP_READ, OP_NONE); \
            (KIND_READ, _, _, _, _, _, _, 0 &&& CELL_BEYOND_PORTS, _) : reading(OP_CLEAR, OP_CLEAR); \
            (KIND_READ, _, _, _, _, _, _, 0 &&& CELL_BEYOND_FLOWS, _) : reading(OP_CLEAR, OP_NONE);

// Sends on reading frames and frames of test ports; frames that the controller has not asked for end here. A reading
// pass reads the cell `loop.value` and goes on to the next.
control Reporting(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival, inout verdict_t verdict,
                  inout manager_t manager) {
    apply {
        if (hdr.loop.isValid()) {
            hdr.record.setValid();
            hdr.record.cell = hdr.loop.value;
            if (hdr.loop.count == 1) {
                manager.ucast_egress_port = PORT_CPU;
            } else if (hdr.loop.flags & FLAG_SILENT != 0) {
                manager.ucast_egress_port = PORT_LOOP;
            } else {
                manager.mcast_grp_a = GROUP_READ;
            }
            hdr.loop.value = hdr.loop.value + 1;
            hdr.loop.count = hdr.loop.count - 1;
        } else if (local.punted == 1) {
            manager.ucast_egress_port = PORT_CPU;
        } else {
            verdict.drop_ctl = 1;
        }
    }
}

// Hands the first faulty frames of a trial to the controller, and the frames beside lost ones: of each kind no more than
// the controller has asked for, however many come. On Tofino the chip mirrors them (CaptureByMirror).
control Capture(inout ingress_headers_t hdr, in ingress_t local, in arrival_t arrival, inout verdict_t verdict,
                inout manager_t manager) {
    // Trial, and frames of it that were handed over.
    register<bit<64>>(CAPTURE_KINDS) taken;

    @id(ID_COUNTER_CAPTURED)
    @brief("Frames handed over, per kind of entry of the table capture")
    BIN_COUNTER(CAPTURE_KINDS, captured);

    bit<8> kind = 0;
    bit<32> trial = 0;
    bit<32> limit = 0;

    @id(ID_ACTION_CAPTURE_FIRST)
    @brief("Hands the first frames of this kind to the controller; a new trial counts them anew")
    action capture_first(bit<8> kind_number, bit<32> trial_number, bit<32> frames) {
        kind = kind_number;
        trial = trial_number;
        limit = frames;
    }

    @id(ID_TABLE_CAPTURE)
    @brief("Received frames that the controller wants to see, by the reason that is counted and the order in their flow")
    table capture {
        key = {
            local.reason : exact @name("reason");
            local.order : exact @name("order");
        }
        actions = { capture_first; @defaultonly NoAction; }
        const default_action = NoAction();
        size = CAPTURE_KINDS;
    }

    apply {
        if (capture.apply().hit) {
            bit<64> before;
            bit<32> frames = 0;
            taken.read(before, (bit<32>)kind);
            if (before[63:32] == trial) {
                frames = before[31:0];
            }
            if (EXCESS(limit, frames) != 0) {
                taken.write((bit<32>)kind, trial ++ (frames + 1));
                COUNT(captured, (bit<32>)kind);
                verdict.drop_ctl = 0;
                manager.ucast_egress_port = PORT_CPU;
                hdr.packet_in.setValid();
                hdr.packet_in.kind = CAPTURED_FRAME;
                hdr.packet_in.flags = kind;
                hdr.packet_in.port = (bit<16>)arrival.ingress_port;
                hdr.packet_in.time = arrival.ingress_mac_tstamp;
                hdr.captured.setValid();
                hdr.captured.cell = local.cell;
                hdr.captured.sequence = 0;
                hdr.captured.expected_sequence = local.seen.next_sequence;
                if (hdr.signature.isValid()) {
                    hdr.captured.sequence = hdr.signature.sequence;
                    // The checksums of a frame with a signature are computed anew; these bytes leave as they came.
                    hdr.as_received = hdr.signature;
                    hdr.signature.setInvalid();
                }
            }
        }
    }
}

#endif
