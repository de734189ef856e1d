// Next passes of the frames of the loop, and the reading pass in egress.
#ifndef P4MESH_CIRCULATION
#define P4MESH_CIRCULATION

#include "types.p4"

// The copy of a reading pass that goes to the controller reads the registers of egress; a silent one
// reads them on its way round.
control Circulation(inout egress_headers_t hdr, in bit<9> port, in bit<48> now,
                    inout op_t op, inout op_t flow_op) {
    apply {
        op_t reading = OP_NONE;
        if (hdr.record.isValid() && (port == PORT_CPU || hdr.loop.flags & FLAG_SILENT != 0)) {
            reading = OP_READ;
            if (hdr.loop.flags & FLAG_CLEAR != 0) {
                reading = OP_CLEAR;
            }
        }
        if (hdr.record.cell < TRANSMITTERS) {
            op = reading;
        }
        if (hdr.record.cell < FLOWS) {
            flow_op = reading;
        }
    }
}

// Time of the first bit of the last frame of the controller that a port sent and whose time was to be kept.
control ControllerDeparture(inout egress_headers_t hdr, in bit<9> port, in bit<48> now) {
    register<bit<64>>(PORTS) cells;
    apply {
        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.kind == KIND_SEND && hdr.packet_out.flags & STAMP_SENT != 0) {
                cells.write((bit<32>)port, (bit<64>)now);
            }
        } else if (hdr.record.isValid() && hdr.record.cell < PORTS
                   && (port == PORT_CPU || hdr.loop.flags & FLAG_SILENT != 0)) {
            cells.read(hdr.record.controller_departure, hdr.record.cell);
            if (hdr.loop.flags & FLAG_CLEAR != 0) {
                cells.write(hdr.record.cell, 0);
            }
        }
    }
}

// Puts the header for the controller in front of a frame for it.
control ToController(inout egress_headers_t hdr, in arrival_t arrival) {
    apply {
        hdr.packet_in.setValid();
        hdr.packet_in.kind = KIND_SEND;
        hdr.packet_in.flags = 0;
        hdr.packet_in.port = (bit<16>)arrival.ingress_port;
        hdr.packet_in.time = arrival.ingress_mac_tstamp;
        if (hdr.loop.isValid()) {
            // A frame that comes round the loop has no arrival time of its own.
            hdr.packet_in.kind = hdr.loop.kind;
            hdr.packet_in.time = hdr.loop.time;
            hdr.loop.setInvalid();
        }
    }
}

#endif
