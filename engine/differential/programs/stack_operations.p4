// Stacks as tunnels and label stacks use them: copies, swaps, pushes in egress, stacks that are emptied.
// Probes: assignment of a whole stack, push and pop of several elements, validity after each, an
// element made valid beyond the last valid one, packet_length in egress, two stacks.
#include "include/base.p4"

header in_t { bit<8> arrive; bit<8> leave; }
header label_t { bit<20> value; bit<3> class; bit<1> bottom; bit<8> ttl; }
header result_t { bit<8> valid_one; bit<8> valid_two; bit<16> length; }
struct headers_t { result_t result; in_t ops; label_t[3] one; label_t[3] two; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition one; }
    state one {
        packet.extract(hdr.one.next);
        transition select(hdr.one.last.bottom, hdr.one.last.class) {
            (1, 0): two;
            (1, _): accept;
            default: one;
        }
    }
    state two {
        packet.extract(hdr.two.next);
        transition select(hdr.two.last.bottom) { 1: accept; default: two; }
    }
}
NO_VERIFY
#define COUNT(target, stack) \
    target = (bit<8>) (bit<1>) stack[0].isValid() + ((bit<8>) (bit<1>) stack[1].isValid() << 1) + ((bit<8>) (bit<1>) stack[2].isValid() << 2)
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        if (hdr.ops.arrive == 1) { hdr.two = hdr.one; }
        if (hdr.ops.arrive == 2) { hdr.one.pop_front(2); }
        if (hdr.ops.arrive == 3) { hdr.one.push_front(2); hdr.one[0] = { 5, 1, 0, 64 }; }
        if (hdr.ops.arrive == 4) { hdr.one[2].setValid(); hdr.one[2].ttl = 9; hdr.one[0].setInvalid(); }
        if (hdr.ops.arrive == 5) { hdr.one.pop_front(1); hdr.one.push_front(1); hdr.one[0].setValid(); hdr.one[0].value = 7; }
        if (hdr.ops.arrive == 6) { hdr.one.pop_front(3); hdr.two.push_front(1); }
        if (hdr.ops.arrive == 7 && hdr.one[0].isValid()) { hdr.two.push_front(1); hdr.two[0] = hdr.one[0]; hdr.one.pop_front(1); hdr.two[0].ttl = hdr.two[0].ttl - 1; }
        COUNT(hdr.result.valid_one, hdr.one);
        COUNT(hdr.result.valid_two, hdr.two);
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        if (hdr.ops.leave == 1) { hdr.two.pop_front(1); }
        if (hdr.ops.leave == 2) { hdr.two.push_front(1); hdr.two[0].setValid(); hdr.two[0].bottom = 1; }
        hdr.result.length = (bit<16>) std.packet_length;
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); packet.emit(hdr.two); packet.emit(hdr.one); }
}
MAIN
