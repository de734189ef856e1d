// Egress of the tester: copies of seeds become test frames, frames of the loop go round.
#ifndef P4MESH_EGRESS
#define P4MESH_EGRESS

#include "types.p4"
#include "transmit_registers.p4"
#include "fields.p4"
#include "circulation.p4"
#include "../shared/transmission.p4"

// Tofino 1 has no bit that says whether drop_ctl is valid: whatever its container holds at the end is obeyed. Without this
// the compiler lets a random number share the container, and the frames are lost that it says.
@pa_no_overlay("egress", "eg_intr_md_for_dprsr.drop_ctl")
#if __TARGET_TOFINO__ == 2
// In smaller ones the compiler finds no format for the action that sets it.
@pa_container_size("egress", "hdr.ipv6.src_prefix", 16)
#endif
control TesterEgress(inout egress_headers_t hdr, inout egress_t meta,
                     in egress_intrinsic_metadata_t standard,
                     in egress_intrinsic_metadata_from_parser_t parsed,
                     inout egress_intrinsic_metadata_for_deparser_t deparser,
                     inout egress_intrinsic_metadata_for_output_port_t output) {
    @id(ID_COUNTER_TRANSMIT_REASON)
    @brief("Copies of seeds at egress, per port and reason; cell = port x 32 + reason")
    FRAME_COUNTER(REASON_CELLS, transmit_reason);

    Transmission() transmission;
    // Profile FORCE_TX_ERROR: the MAC damages the FCS. The compiler's tna.p4 must have the field.
#ifdef FORCE_TX_ERROR
#define BAD_FCS output.force_tx_error
#else
    bit<1> not_damaged = 0;
#define BAD_FCS not_damaged
#endif

    apply {
        transmission.apply(hdr, standard.egress_port, standard.egress_rid, parsed.global_tstamp,
                           meta.cell, meta.reason, BAD_FCS);
#if IPDV == 0
        output.capture_tstamp_on_tx = meta.flags[3:3]; // STAMP_SENT
#endif
        if (meta.reason != REASON_NONE) {
            COUNT(transmit_reason, 18w0 ++ standard.egress_port ++ meta.reason);
            if (meta.reason != REASON_TRANSMITTED) {
                deparser.drop_ctl = 1;
            }
        }
    }
}

#endif
