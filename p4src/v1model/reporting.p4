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

#endif
