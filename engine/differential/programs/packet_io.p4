// Packet-out and packet-in with controller headers.
// Probes: metadata of odd widths in both directions, frames from and to the CPU port, copies to the
// controller by clone and by multicast, payload of any length.
#include "include/base.p4"

const bit<9> CPU = 510;
@controller_header("packet_out")
header packet_out_t { bit<9> port; bit<1> flood; bit<6> tag; }
@controller_header("packet_in")
header packet_in_t { bit<9> port; bit<7> reason; bit<32> length; }
header in_t { bit<8> request; bit<8> value; }
struct headers_t { packet_out_t from_controller; packet_in_t to_controller; in_t ops; }
struct meta_t { @field_list(1) bit<7> reason; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) { CPU: controller; default: frame; }
    }
    state controller { packet.extract(hdr.from_controller); transition frame; }
    state frame { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        meta.reason = hdr.ops.request[6:0];
        if (hdr.from_controller.isValid()) {
            std.egress_spec = hdr.from_controller.port;
            if (hdr.from_controller.flood == 1) { std.mcast_grp = 1; }
            hdr.ops.value = hdr.ops.value + (bit<8>) hdr.from_controller.tag;
            hdr.from_controller.setInvalid();
        } else {
            if (hdr.ops.request == 0) { std.egress_spec = CPU; }
            if (hdr.ops.request == 1) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
            if (hdr.ops.request == 2) { std.mcast_grp = 1; }
        }
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        REQUIRE_OUT(hdr.ops)
        if (std.egress_port == CPU) {
            hdr.to_controller.setValid();
            hdr.to_controller.port = std.ingress_port;
            hdr.to_controller.reason = meta.reason;
            hdr.to_controller.length = std.packet_length;
        }
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.to_controller); packet.emit(hdr.ops); }
}
MAIN
