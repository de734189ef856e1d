// Classifies received frames, and chooses the operation on the cells of their flow and port.
#ifndef P4MESH_RECEPTION
#define P4MESH_RECEPTION

// Examines a frame that arrives on a test port; Classification combines the findings.
control Reception(in ingress_headers_t hdr, inout ingress_t local, in bit<9> port) {
    @id(ID_ACTION_SET_RECEIVE_RUN)
    @brief("Sets the run whose frames are measured")
    action set_receive_run(bit<8> run_id) { local.run_difference = hdr.signature.run ^ run_id; }

    @id(ID_TABLE_RECEIVE_RUN)
    @brief("The current run; frames of another run are stale")
    table receive_run {
        actions = { set_receive_run; }
        default_action = set_receive_run(0);
        size = 1;
    }

    @id(ID_ACTION_EXPECTED)
    @brief("The port owns the destination; cell = flow of the signature + offset")
    action expected(bit<32> flow_offset, bit<8> receiver_tag) {
        local.cell = local.cell + flow_offset;
        local.owned = 1;
        local.receiver_difference = hdr.signature.receiver ^ receiver_tag;
    }

    @id(ID_ACTION_FLOODED)
    @brief("The port does not own the destination")
    action flooded() { local.owned = 0; }

    @id(ID_TABLE_RECEIVER)
    @brief("Destinations that a port owns (RFC 2285 3.8.3: all other test frames are flooded)")
    table receiver {
        key = {
            port : exact @name("port");
            hdr.ethernet.dst : ternary @name("destination_mac");
        }
        actions = { expected; @defaultonly flooded; }
        const default_action = flooded();
        size = RECEIVERS;
    }

    @id(ID_ACTION_TO_CONTROLLER)
    @brief("Hands the frame to the controller")
    action to_controller() { local.punted = 1; }

    @id(ID_TABLE_PUNT)
    @brief("Frames without signature that the controller asks for")
    table punt {
        key = {
            port : ternary @name("port");
            hdr.ethernet.dst : ternary @name("destination_mac");
            hdr.ethernet.ether_type : ternary @name("ether_type");
        }
        actions = { to_controller; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PUNT_RULES;
    }

    apply {
        receive_run.apply();
        if (local.pass == PASS_TEST) {
            receiver.apply();
        } else if (local.pass == PASS_FOREIGN) {
            punt.apply();
        }
    }
}

// Chooses the operation of this pass on the cells of flow and port, and the reason that is counted.
control Classification(in ingress_headers_t hdr, inout ingress_t local) {
    @hidden action measured() {
        local.reason = REASON_EXPECTED;
        local.flow_op = OP_UPDATE;
        local.port_op = OP_UPDATE;
    }
    @hidden action ended(bit<REASON_BITS> reason) {
        local.reason = reason;
        local.port_op = OP_UPDATE;
    }
    @hidden action reading(op_t flow_op, op_t port_op) {
        local.flow_op = flow_op;
        local.port_op = port_op;
    }

    @hidden table classify {
        key = {
            local.pass : exact;
            local.damaged : ternary;
            local.run_difference : ternary;
            local.owned : ternary;
            local.receiver_difference : ternary;
            local.punted : ternary;
            hdr.ethernet.ether_type : ternary;
            local.cell : ternary;
            hdr.loop.flags : ternary;
        }
        actions = { measured; ended; reading; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (PASS_TEST, 1, _, _, _, _, _, _, _) : ended(REASON_DAMAGED);
            (PASS_TEST, _, 0, 0, _, _, _, _, _) : ended(REASON_FLOODED);
            (PASS_TEST, _, 0, 1, 0, _, _, 0 &&& TEST_CELL_BEYOND_FLOWS, _) : measured();
            (PASS_TEST, _, 0, 1, 0, _, _, _, _) : ended(REASON_UNKNOWN_FLOW);
            (PASS_TEST, _, 0, 1, _, _, _, _, _) : ended(REASON_MISDIRECTED);
            (PASS_TEST, _, _, _, _, _, _, _, _) : ended(REASON_STALE);
            (PASS_FOREIGN, _, _, _, _, 1, _, _, _) : ended(REASON_PUNTED);
            (PASS_FOREIGN, _, _, _, _, _, ETHERTYPE_MAC_CONTROL, _, _) : ended(REASON_PAUSE);
            (PASS_FOREIGN, _, _, _, _, _, _, _, _) : ended(REASON_FOREIGN);
            (PASS_RUNT, _, _, _, _, _, _, _, _) : ended(REASON_FOREIGN);
            READING_PASSES
        }
    }

    apply { classify.apply(); }
}

#endif
