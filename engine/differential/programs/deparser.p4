// Emission of headers by the deparser. Probes: order of emission other than order of
// extraction, headers that are swapped, emitted twice, duplicated, removed; structs of
// headers; payload behind headers that were not extracted; frames that grow and
// shrink.
#include "include/base.p4"

header choice_t { bit<8> change; }
header a_t { bit<4> x; bit<12> y; }
header b_t { bit<24> value; }
header c_t { bit<8> value; }
struct group_t { b_t b; c_t c; }
struct headers_t { choice_t choice; a_t a; group_t group; a_t spare; c_t[2] tail; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.choice);
        packet.extract(hdr.a);
        packet.extract(hdr.group.b);
        packet.extract(hdr.group.c);
        transition accept;
    }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.choice)
        std.egress_spec = OUT;
        if (hdr.choice.change == 1) { hdr.spare = hdr.a; hdr.spare.x = 0xf; }
        if (hdr.choice.change == 2) { hdr.a.setInvalid(); }
        if (hdr.choice.change == 3) { hdr.tail[1].setValid(); hdr.tail[1].value = 0x11; }
        if (hdr.choice.change == 4) { hdr.tail[0] = hdr.group.c; hdr.group.c.setInvalid(); }
        if (hdr.choice.change == 5) { hdr.choice.setInvalid(); hdr.a.setInvalid(); hdr.group.b.setInvalid(); hdr.group.c.setInvalid(); }
        if (hdr.choice.change == 6) { hdr.tail.push_front(1); hdr.tail[0].setValid(); hdr.tail.push_front(1); }
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.group);
        packet.emit(hdr.choice);
        packet.emit(hdr.tail);
        packet.emit(hdr.a);
        packet.emit(hdr.spare);
        packet.emit(hdr.a);
    }
}
MAIN
