// Ingress of the tester: frames of the controller enter the loop or leave; frames of the loop are paced, started
// or read cells; all other frames are classified and measured.
#ifndef P4MESH_INGRESS
#define P4MESH_INGRESS

#include "types.p4"
#include "measurement.p4"
#include "messages.p4"
#include "received_fields.p4"
#include "strays.p4"
#include "stream_registers.p4"
#include "reporting.p4"
#include "../shared/reception.p4"
#include "../shared/requests.p4"
#include "../shared/streams.p4"

control TesterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(ID_COUNTER_RECEIVE_REASON)
    @brief("Frames at ingress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, receive_reason);

    Requests() requests;
    Streams() streams;
    Pacing() pacing;
    Reporting() reporting;
    Reception() reception;
    ReceivedFields() received_fields;
    Classification() classification;
    GroupCounting() group_counting;
    FlowMeasurement() flow_measurement;
    ArrivalSpacing() arrival_spacing;
    Messages() messages;
    Capture() capture;
    StrayCounting() stray_counting;

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
            } else {
                if (meta.is_behind_own == 1 && meta.local.damaged == 1
                    && !(hdr.udp.isValid() && hdr.udp.dst == PORT_ROCE)) {
                    // Two bytes behind unknown words that look like a signature; its checksums would be computed anew.
                    hdr.as_received = hdr.signature;
                    hdr.signature.setInvalid();
                }
                if (hdr.signature.isValid()) {
                    meta.local.pass = PASS_TEST;
                    meta.local.cell = (bit<32>)hdr.signature.flow;
                } else if (!hdr.ethernet.isValid()) {
                    meta.local.pass = PASS_RUNT;
                }
                reception.apply(hdr, meta.local, meta.arrival.ingress_port);
                if (meta.local.cell & TOLD_APART != 0) {
                    received_fields.apply(hdr, meta.local, meta.arrival.ingress_port);
                }
            }
            classification.apply(hdr, meta.local);
            group_counting.apply(meta.local);
            stray_counting.apply(hdr, meta.local);
            reporting.apply(hdr, meta.local, meta.arrival, verdict, manager);
        }

        if (meta.local.flow_op != OP_NONE) {
            flow_measurement.apply(hdr, meta.local, meta.arrival);
        }
        if (meta.local.is_sample == 1 || (hdr.loop.isValid() && hdr.loop.kind == KIND_READ
                                          && hdr.loop.flags & READ_MESSAGES != 0)) {
            messages.apply(hdr, meta.local, meta.arrival);
        }
        if (meta.local.port_op != OP_NONE) {
            arrival_spacing.apply(hdr, meta.local, meta.arrival);
        }
        if (meta.local.reason != REASON_NONE) {
            capture.apply(hdr, meta.local, meta.arrival, verdict, manager);
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

#endif
