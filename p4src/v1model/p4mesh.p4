// P4Mesh, the network tester, for v1model (embedded engine and simple_switch).
//
// Ingress: frames of the controller enter the loop or leave; frames of the loop are paced, started
// or read cells; all other frames are classified and measured. Egress: copies of seeds become test
// frames, frames of the loop are stamped and recirculated, records go to the controller.
#include "arch.p4"
#include "registers.p4"
#include "measurement.p4"
#include "stream_registers.p4"
#include "reporting.p4"
#include "transmit_registers.p4"
#include "../shared/reception.p4"
#include "../shared/requests.p4"
#include "../shared/streams.p4"
#include "fields.p4"
#include "circulation.p4"
#include "../shared/transmission.p4"
#include "parser.p4"

control TesterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(ID_COUNTER_RECEIVE_REASON)
    @brief("Frames at ingress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, receive_reason);

    Requests() requests;
    Streams() streams;
    Pacing() pacing;
    Reporting() reporting;
    Reception() reception;
    Classification() classification;
    FlowMeasurement() flow_measurement;
    ArrivalSpacing() arrival_spacing;

    apply {
        verdict_t verdict = { 0 };
        manager_t manager = { 0, 0, 0 };
        meta.arrival.ingress_port = standard.ingress_port;
        meta.arrival.ingress_mac_tstamp = standard.ingress_global_timestamp;
        meta.local.frame_bytes = standard.packet_length + 4;
        meta.local.damaged = (bit<1>)standard.checksum_error;

        if (hdr.packet_out.isValid()) {
            requests.apply(hdr, meta.local, verdict, manager);
        } else if (hdr.loop.isValid() && hdr.loop.kind != KIND_READ) {
            meta.arrival.ingress_port = PORT_LOOP;
            streams.apply(hdr, meta.local);
            pacing.apply(hdr, meta.local, PORT_LOOP, verdict, manager);
        } else {
            if (hdr.loop.isValid()) {
                meta.arrival.ingress_port = PORT_LOOP;
                meta.local.pass = KIND_READ;
                meta.local.cell = hdr.loop.value;
                meta.local.window = hdr.loop.carry[WINDOW_BITS - 1 : 0];
            } else {
                if (hdr.signature.isValid()) {
                    meta.local.pass = PASS_TEST;
                    meta.local.cell = (bit<32>)hdr.signature.flow;
                } else if (!hdr.ethernet.isValid()) {
                    meta.local.pass = PASS_RUNT;
                }
                reception.apply(hdr, meta.local, meta.arrival.ingress_port);
            }
            classification.apply(hdr, meta.local);
            reporting.apply(hdr, meta.local, meta.arrival, verdict, manager);
        }

        if (meta.local.flow_op != OP_NONE) {
            flow_measurement.apply(hdr, meta.local, meta.arrival);
        }
        if (meta.local.port_op != OP_NONE) {
            arrival_spacing.apply(hdr, meta.local, meta.arrival);
        }
        if (meta.local.reason != REASON_NONE) {
            COUNT(receive_reason, (bit<32>)(meta.arrival.ingress_port ++ meta.local.reason));
        }

        if (verdict.drop_ctl == 1) {
            mark_to_drop(standard);
        } else {
            standard.egress_spec = manager.ucast_egress_port;
            standard.mcast_grp = manager.mcast_grp_a;
            standard.priority = manager.qid;
        }
    }
}

control TesterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(ID_COUNTER_TRANSMIT_REASON)
    @brief("Copies of seeds at egress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, transmit_reason);

    Transmission() transmission;
    ToController() to_controller;

    apply {
        bit<REASON_BITS> reason = REASON_NONE;
        cell_t index = hdr.record.cell[15:0];
        // simple_switch has no FCS: its MACs would have to damage it.
        bit<1> bad_fcs = 0;
        bit<1> again = 0;
        if (hdr.loop.isValid()) {
            if (standard.egress_port != PORT_CPU) {
                if (standard.egress_rid == 0) {
                    again = 1;
                    hdr.loop.time = standard.egress_global_timestamp;
                } else {
                    reason = REASON_UNKNOWN_TRANSMITTER;
                    index = standard.egress_rid;
                }
            }
            if (hdr.record.isValid() || (again == 0 && standard.egress_rid < TRANSMITTERS)) {
                transmission.apply(hdr, standard.egress_port, standard.egress_rid,
                                   standard.egress_global_timestamp, index, reason, bad_fcs);
            }
        }
        if (standard.egress_port == PORT_CPU) {
            to_controller.apply(hdr, meta.arrival);
        }
        if (reason != REASON_NONE) {
            COUNT(transmit_reason, (bit<32>)(standard.egress_port ++ reason));
            if (reason == REASON_TRANSMITTED) {
                hdr.loop.setInvalid();
            } else {
                mark_to_drop(standard);
            }
        }
        if (again == 1) {
            hdr.record.setInvalid();
            recirculate_preserving_field_list(0);
        }
    }
}

V1Switch(TesterParser(), VerifySignature(), TesterIngress(), TesterEgress(),
         UpdateChecksums(), TesterDeparser()) main;
