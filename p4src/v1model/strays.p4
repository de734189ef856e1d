// Counts flooded and misdirected frames by the flow that they are of. Only v1model has this: a Tofino counts them per port.
#ifndef P4MESH_STRAYS
#define P4MESH_STRAYS

#include "types.p4"

control StrayCounting(in ingress_headers_t hdr, in ingress_t local) {
    @id(ID_COUNTER_FLOODED_FLOW)
    @brief("Flooded frames per flow of their signature")
    BIN_COUNTER(FLOWS, flooded_flow);

    @id(ID_COUNTER_MISDIRECTED_FLOW)
    @brief("Misdirected frames per flow of their signature")
    BIN_COUNTER(FLOWS, misdirected_flow);

    apply {
        if (local.reason == REASON_FLOODED) {
            COUNT(flooded_flow, (bit<32>)hdr.signature.flow);
        } else if (local.reason == REASON_MISDIRECTED) {
            COUNT(misdirected_flow, (bit<32>)hdr.signature.flow);
        }
    }
}

#endif
