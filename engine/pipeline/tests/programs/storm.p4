// A program whose packets never end: every pass makes copies by multicast group 1, and every copy goes round again; the
// egress of a frame with a first byte of 1 clones itself for ever.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; }
struct headers_t { request_t request; }
struct metadata_t { }

parser StormParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) {
    state start { packet.extract(hdr.request); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.request.op == 1) { standard.egress_spec = 1; } else { standard.mcast_grp = 1; }
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.request.op == 1) {
            clone(CloneType.E2E, 1);
        } else {
            recirculate_preserving_field_list(0);
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control StormDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(StormParser(), Verify(), In(), Out(), Update(), StormDeparser()) main;
