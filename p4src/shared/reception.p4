// Classification of what arrives on a test port.
#ifndef P4MESH_RECEPTION
#define P4MESH_RECEPTION

control Reception(inout headers_t hdr, inout local_t local, inout verdict_t verdict) {
    bit<8> run = 0;

    @id(ID_ACTION_SET_RECEIVE_RUN)
    @brief("Sets the run whose frames are measured")
    action set_receive_run(bit<8> run_id) { run = run_id; }

    @id(ID_TABLE_RECEIVE_RUN)
    @brief("The current run; frames of another run are stale")
    table receive_run {
        actions = { set_receive_run; }
        default_action = set_receive_run(0);
        size = 1;
    }

    @id(ID_ACTION_EXPECTED)
    @brief("The port owns the destination; cell = flow of the signature + offset")
    action expected(bit<32> flow_offset) {
        local.cell = (bit<32>)hdr.signature.flow + flow_offset;
        local.reason = REASON_EXPECTED;
    }

    @id(ID_ACTION_FLOODED)
    @brief("The port does not own the destination")
    action flooded() { local.reason = REASON_FLOODED; }

    @id(ID_TABLE_RECEIVER)
    @brief("Destinations that a port owns (RFC 2285 3.8.3: all other test frames are flooded)")
    table receiver {
        key = {
            local.port : exact @name("port");
            hdr.ethernet.dst : ternary @name("destination_mac");
        }
        actions = { expected; @defaultonly flooded; }
        const default_action = flooded();
        size = RECEIVERS;
    }

    @id(ID_ACTION_TO_CONTROLLER)
    @brief("Hands the frame to the controller")
    action to_controller() {
        verdict.drop = 0;
        verdict.port = PORT_CPU;
        local.reason = REASON_PUNTED;
    }

    @id(ID_TABLE_PUNT)
    @brief("Frames without signature that the controller asks for")
    table punt {
        key = {
            local.port : ternary @name("port");
            hdr.ethernet.dst : ternary @name("destination_mac");
            hdr.ethernet.ether_type : ternary @name("ether_type");
        }
        actions = { to_controller; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PUNT_RULES;
    }

    apply {
        verdict.drop = 1;
        local.port_op = OP_UPDATE;
        receive_run.apply();
        if (!hdr.signature.isValid()) {
            local.reason = REASON_FOREIGN;
            if (hdr.ethernet.isValid()) {
                if (hdr.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
                    local.reason = REASON_PAUSE;
                }
                punt.apply();
            }
        } else if (local.damaged == 1) {
            local.reason = REASON_DAMAGED;
        } else if (hdr.signature.run != run) {
            local.reason = REASON_STALE;
        } else if (receiver.apply().hit) {
            if (local.cell < FLOWS) {
                local.flow_op = OP_UPDATE;
            } else {
                local.reason = REASON_UNKNOWN_FLOW;
            }
        }
    }
}

#endif
