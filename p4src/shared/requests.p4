// Requests of the controller.
#ifndef P4MESH_REQUESTS
#define P4MESH_REQUESTS

// A packet-out: into the loop, or out of a port. Frames of the loop go to the recirculation port of
// pipe 0, or to `port` when it is not 0.
control Requests(inout ingress_headers_t hdr, inout ingress_t local, inout verdict_t verdict,
                 inout manager_t manager) {
    @hidden action enter_loop() {
        hdr.loop.setValid();
        hdr.loop.kind = hdr.packet_out.kind;
        hdr.loop.flags = hdr.packet_out.flags;
        hdr.loop.stream = hdr.packet_out.stream;
        hdr.loop.carry = hdr.packet_out.window;
        hdr.loop.time = 0;
        hdr.loop.value = hdr.packet_out.value;
        hdr.loop.count = hdr.packet_out.count;
    }
    @hidden action enter_first_loop() {
        enter_loop();
        manager.ucast_egress_port = PORT_LOOP;
    }
    @hidden action enter_loop_of_port() {
        enter_loop();
        manager.ucast_egress_port = hdr.packet_out.port[8:0];
    }
    @hidden action send() {
        UNTOUCHED_BY_EGRESS(KIND_OF_SENT)
        manager.ucast_egress_port = hdr.packet_out.port[8:0];
    }
    @hidden action refuse() {
        verdict.drop_ctl = 1;
        local.reason = REASON_BAD_REQUEST;
    }
    @hidden table request {
        key = {
            hdr.packet_out.kind : exact;
            hdr.packet_out.count : ternary;
            hdr.packet_out.port : ternary;
        }
        actions = { enter_first_loop; enter_loop_of_port; send; refuse; }
        const default_action = refuse();
        const entries = {
            (KIND_SEND, _, _) : send();
            (KIND_SEED, _, 0) : enter_first_loop();
            (KIND_SEED, _, _) : enter_loop_of_port();
            (KIND_START, 0, _) : refuse();
            (KIND_START, _, 0) : enter_first_loop();
            (KIND_START, _, _) : enter_loop_of_port();
            (KIND_READ, 0, _) : refuse();
            (KIND_READ, _, 0) : enter_first_loop();
            (KIND_READ, _, _) : enter_loop_of_port();
        }
    }
    apply { request.apply(); }
}

#endif
