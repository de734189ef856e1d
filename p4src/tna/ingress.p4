// Ingress of the tester.
#ifndef P4MESH_INGRESS
#define P4MESH_INGRESS

#include "types.p4"
#include "measurement.p4"
#include "messages.p4"
#include "stream_registers.p4"
#include "reporting.p4"
#include "../shared/reception.p4"
#include "../shared/requests.p4"
#include "../shared/streams.p4"

#if __TARGET_TOFINO__ == 1
// The parser fills four containers of each size in a clock. With these it takes Ethernet in one clock and IPv6 in two; with
// those that the compiler chooses, each takes one more.
@pa_container_size("ingress", "hdr.ethernet.src", 32, 16)
@pa_container_size("ingress", "hdr.ipv6.src_prefix", 16, 16, 32, 32)
@pa_container_size("ingress", "hdr.ipv6.src_low", 32)
@pa_container_size("ingress", "hdr.ipv6.dst_prefix", 16, 16, 32, 32)
@pa_container_size("ingress", "hdr.ipv6.dst_low", 32)
#endif
#if __TARGET_TOFINO__ == 2
// The parser writes the result of the signature's checksum; to write the kind of the pass to the same container is a parser
// error, and the frame is dropped.
@pa_container_size("ingress", "meta.pass", 8)
#endif
#if IPDV == 1
// In a larger container the assembler has no way from the register to it.
@pa_container_size("ingress", "meta.first", 8)
#endif
// Nothing reads 'parsed'. It stays because the architecture tells parameters by their place, and two used ones follow.
control TesterIngress(inout ingress_headers_t hdr, inout ingress_t meta,
                      in ingress_intrinsic_metadata_t standard,
                      in ingress_intrinsic_metadata_from_parser_t parsed,
                      inout ingress_intrinsic_metadata_for_deparser_t deparser,
                      inout ingress_intrinsic_metadata_for_tm_t manager) {
    @id(ID_COUNTER_RECEIVE_REASON)
    @brief("Frames at ingress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, receive_reason);

    Reception() reception;
    Classification() classification;
    FlowMeasurement() flow_measurement;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) tag;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) place;

    @hidden action subtract_times() {
        meta.latency = standard.ingress_mac_tstamp[31:0] - hdr.signature.transmit_time[31:0];
        meta.latency_high = standard.ingress_mac_tstamp[47:32] - hdr.signature.transmit_time[47:32];
        meta.borrow = hdr.signature.transmit_time[31:0] |-| standard.ingress_mac_tstamp[31:0];
    }
    @hidden table latency_difference {
        actions = { subtract_times; }
        const default_action = subtract_times();
        size = 1;
    }
    @hidden action fits() { meta.latency_inverted = ~meta.latency; }
    @hidden action saturates() {
        meta.latency = 0xFFFFFFFF;
        meta.latency_inverted = 0;
        meta.overflow = 1;
    }
    @hidden table latency_range {
        key = {
            meta.latency_high : exact;
            meta.borrow : ternary;
        }
        actions = { fits; saturates; }
        const default_action = saturates();
        const entries = {
            (0, 0) : fits();
            (1, 0) : saturates();
            (1, _) : fits();
        }
        size = 4;
    }
    @hidden action make_tag() { meta.tag = tag.get({ hdr.signature.run, hdr.signature.sequence[23:0] }); }
    @hidden table tag_of { actions = { make_tag; } const default_action = make_tag(); size = 1; }
    @hidden action make_place() { meta.place = place.get({ PLACE_ZEROS, meta.cell[15:0], meta.window[WINDOW_BITS - 1 : 0] }); }
    @hidden table place_of { actions = { make_place; } const default_action = make_place(); size = 1; }

    @hidden action follow() { meta.following = hdr.signature.sequence + 1; }
    @hidden table next_sequence { actions = { follow; } const default_action = follow(); size = 1; }
    @hidden action port_is_cell() { meta.port_cell = (bit<16>)standard.ingress_port; }
    @hidden table port_cell { actions = { port_is_cell; } const default_action = port_is_cell(); size = 1; }

    Requests() requests;
    Streams() streams;
    Pacing() pacing;
    Reporting() reporting;
    CaptureByMirror() capture;
#if IPDV == 1
    GroupCounting() group_counting;
    Messages() messages;
#endif
    ArrivalSpacing() arrival_spacing;

    apply {
        reception.apply(hdr, meta, standard.ingress_port);
        latency_difference.apply();
        tag_of.apply();
        latency_range.apply();
        place_of.apply();
        classification.apply(hdr, meta);
#if IPDV == 1
        group_counting.apply(meta);
#endif
        // Reasons that come later are of frames of the loop and of the controller, which are not captured.
        capture.apply(meta, standard, deparser);
        next_sequence.apply();
        if (!hdr.loop.isValid()) {
            port_cell.apply();
        }
        flow_measurement.apply(hdr, meta, standard);
#if IPDV == 1
        messages.apply(hdr, meta, standard);
#endif
        arrival_spacing.apply(hdr, meta, standard);
        if (meta.pass == PASS_REQUEST) {
            requests.apply(hdr, meta, deparser, manager);
        } else if (meta.pass == KIND_SEED || meta.pass == KIND_START) {
            streams.apply(hdr, meta);
            pacing.apply(hdr, meta, standard.ingress_port, deparser, manager);
        } else {
            reporting.apply(hdr, meta, standard, deparser, manager);
        }
        if (meta.reason != REASON_NONE) {
            COUNT(receive_reason, 18w0 ++ standard.ingress_port ++ meta.reason);
        }
    }
}

#endif
