// What the controller asks for, and how frames of the loop go round.
#ifndef P4MESH_REQUESTS
#define P4MESH_REQUESTS

// A packet-out at ingress: into the loop, or out of a port.
control Requests(inout headers_t hdr, inout local_t local, inout verdict_t verdict) {
    apply {
        if (hdr.packet_out.kind == KIND_SEND) {
            verdict.port = hdr.packet_out.port[8:0];
        } else if (hdr.packet_out.kind == KIND_SEED || hdr.packet_out.kind == KIND_START ||
                   hdr.packet_out.kind == KIND_READ) {
            hdr.loop.setValid();
            hdr.loop.kind = hdr.packet_out.kind;
            hdr.loop.flags = hdr.packet_out.flags;
            hdr.loop.stream = hdr.packet_out.stream;
            hdr.loop.carry = hdr.packet_out.window;
            hdr.loop.time = 0;
            hdr.loop.value = hdr.packet_out.value;
            hdr.loop.count = hdr.packet_out.count;
            verdict.port = PORT_LOOP;
        } else {
            verdict.drop = 1;
            local.reason = REASON_BAD_REQUEST;
        }
        if (hdr.packet_out.kind != KIND_SEND && hdr.packet_out.kind != KIND_SEED &&
            hdr.packet_out.count == 0) {
            verdict.drop = 1;
            local.reason = REASON_BAD_REQUEST;
        }
        hdr.packet_out.setInvalid();
    }
}

// A reading pass at ingress: reads the registers of cell `loop.value`, reports and goes on.
control Reading(inout headers_t hdr, inout local_t local, inout verdict_t verdict) {
    apply {
        bit<2> op = OP_READ;
        if (hdr.loop.flags & FLAG_CLEAR != 0) {
            op = OP_CLEAR;
        }
        local.cell = hdr.loop.value;
        local.window = hdr.loop.carry[WINDOW_BITS - 1 : 0];
        hdr.record.setValid();
        hdr.record.cell = hdr.loop.value;
        if (local.cell < FLOWS) {
            local.flow_op = op;
        }
        if (local.cell < PORTS) {
            local.port_op = op;
        }
        if (hdr.loop.count == 1) {
            verdict.port = PORT_CPU;
        } else if (hdr.loop.flags & FLAG_SILENT != 0) {
            verdict.port = PORT_LOOP;
        } else {
            verdict.group = GROUP_READ;
        }
        hdr.loop.value = hdr.loop.value + 1;
        hdr.loop.count = hdr.loop.count - 1;
    }
}

// A starting pass at ingress. The first one turns the delay into a time, which is the same for all
// streams; each further one starts a stream (control Streams) and goes on to the next.
control Starting(inout headers_t hdr, inout local_t local, inout verdict_t verdict, out bit<1> starts) {
    apply {
        starts = 0;
        verdict.port = PORT_LOOP;
        if (hdr.loop.flags & FLAG_TIMED == 0) {
            hdr.loop.value = hdr.loop.value + hdr.loop.time[31:0];
            hdr.loop.flags = FLAG_TIMED;
        } else {
            starts = 1;
            if (hdr.loop.count == 1) {
                verdict.drop = 1;
                local.reason = REASON_REQUEST_DONE;
            }
        }
    }
}

// Egress of frames of the loop and of frames to the controller. `again` is set for a frame that
// goes round; `read_op` for the one copy of a reading pass that reads the egress registers: the
// record, or the circulating frame itself when it is silent.
control Circulation(inout headers_t hdr, in local_t local, in bit<9> port, in bit<16> replica,
                    in bit<48> now, out bit<2> read_op, out bit<1> again) {
    apply {
        read_op = OP_NONE;
        again = 0;
        if (hdr.loop.isValid() && port != PORT_CPU && replica == 0) {
            again = 1;
            hdr.loop.time = now;
        }
        if (hdr.record.isValid() && (again == 0 || hdr.loop.flags & FLAG_SILENT != 0)) {
            read_op = OP_READ;
            if (hdr.loop.flags & FLAG_CLEAR != 0) {
                read_op = OP_CLEAR;
            }
        }
        if (port == PORT_CPU) {
            hdr.packet_in.setValid();
            hdr.packet_in.kind = KIND_SEND;
            hdr.packet_in.flags = 0;
            hdr.packet_in.port = (bit<16>)local.port;
            hdr.packet_in.time = local.arrival_time;
            if (hdr.loop.isValid()) {
                hdr.packet_in.kind = hdr.loop.kind;
                hdr.loop.setInvalid();
            }
        }
    }
}

#endif
