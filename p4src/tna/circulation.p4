// Next passes of the frames of the loop, and the reading passes in egress.
#ifndef P4MESH_CIRCULATION
#define P4MESH_CIRCULATION

#include "types.p4"

// A cell is read in three passes (headers.p4): KIND_READ_LOW, KIND_READ_HIGH, and KIND_REPORT, of which the
// controller gets a copy; a silent reading frame has the third for its last cell only.
control Circulation(inout egress_headers_t hdr, in bit<9> port, in bit<48> now,
                    inout op_t op, inout op_t flow_op) {
    @hidden action to_controller() {
        hdr.packet_in.setValid();
        hdr.packet_in.kind = KIND_READ;
        hdr.packet_in.flags = 0;
        hdr.packet_in.port = 0;
        hdr.packet_in.time = now;
        hdr.report.setValid();
        hdr.report.cell = hdr.loop.value;
        hdr.loop.setInvalid();
    }
    @hidden action stamp() { hdr.loop.time = now; }
    @hidden action begin_reading() { hdr.loop.kind = KIND_READ_LOW; }
    // A cell that has no such registers reads as 0.
    @hidden action add_half() {
        hdr.half.setValid();
        hdr.half.flow_sequence = 0;
        hdr.half.departures = 0;
        hdr.half.first_departure = 0;
        hdr.half.last_departure = 0;
    }
    @hidden action read_low() {
        hdr.loop.kind = KIND_READ_HIGH;
        add_half();
    }
    @hidden action read_high() {
        hdr.loop.kind = KIND_REPORT;
        add_half();
    }
    @hidden action next_cell() {
        hdr.loop.kind = KIND_READ_LOW;
        hdr.loop.flags = hdr.loop.flags | FLAG_HALVES;
        hdr.loop.value = hdr.loop.value + 1;
        hdr.loop.count = hdr.loop.count - 1;
    }
    @hidden action read_high_silent() {
        next_cell();
        add_half();
    }

    @brief("The next pass of a frame of the loop; fixed by the program")
    @hidden table next_pass {
        key = {
            hdr.loop.kind : exact;
            port : ternary;
            hdr.loop.flags : ternary;
            hdr.loop.count : ternary;
        }
        actions = { to_controller; stamp; begin_reading; read_low; read_high; read_high_silent; next_cell; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_SEED, _, _, _) : stamp();
            (KIND_START, _, _, _) : stamp();
            (KIND_READ, _, _, _) : begin_reading();
            (KIND_READ_LOW, _, _, _) : read_low();
            (KIND_READ_HIGH, _, _, 1) : read_high();
            (KIND_READ_HIGH, _, FLAG_SILENT &&& FLAG_SILENT, _) : read_high_silent();
            (KIND_READ_HIGH, _, _, _) : read_high();
            (KIND_REPORT, PORT_CPU, _, _) : to_controller();
            (KIND_REPORT, _, _, _) : next_cell();
        }
        size = 16;
    }

    @hidden action on_transmitter(op_t operation) {
        op = operation;
        flow_op = operation;
    }
    @hidden action on_flow(op_t operation) { flow_op = operation; }

    // There are more flows than transmitters.
#define BELOW(LIMIT) 32w0 &&& ~((bit<32>)LIMIT - 1)
    @brief("Operation of a reading pass on the registers of its cell; fixed by the program")
    @hidden table reading {
        key = {
            hdr.loop.kind : exact;
            hdr.loop.flags : ternary;
            hdr.loop.value : ternary;
        }
        actions = { on_transmitter; on_flow; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_READ_LOW, _, BELOW(TRANSMITTERS)) : on_transmitter(OP_LOW);
            (KIND_READ_LOW, _, BELOW(FLOWS)) : on_flow(OP_LOW);
            (KIND_READ_HIGH, FLAG_CLEAR &&& FLAG_CLEAR, BELOW(TRANSMITTERS)) : on_transmitter(OP_CLEAR);
            (KIND_READ_HIGH, FLAG_CLEAR &&& FLAG_CLEAR, BELOW(FLOWS)) : on_flow(OP_CLEAR);
            (KIND_READ_HIGH, _, BELOW(TRANSMITTERS)) : on_transmitter(OP_HIGH);
            (KIND_READ_HIGH, _, BELOW(FLOWS)) : on_flow(OP_HIGH);
        }
        size = 8;
    }

    apply {
        reading.apply();
        next_pass.apply();
    }
}

#endif
