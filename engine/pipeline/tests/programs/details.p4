// Details of simple_switch that P4 leaves open: what truncate cuts, keys of invalid headers,
// several digest calls for one type, lengths of variable fields beyond 31 bits.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> argument; }
header result_t { bit<8> value; bit<16> length; bit<16> sum; }
header options_t { bit<32> length; varbit<64> data; }
struct headers_t { request_t request; result_t result; options_t options; }
struct metadata_t { @field_list(1) bit<8> passes; }
struct learned_t { bit<8> argument; }

parser DetailsParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.request);
        packet.extract(hdr.result);
        transition select(hdr.request.op) {
            5: options;
            default: accept;
        }
    }
    state options {
        bit<32> length = packet.lookahead<bit<32>>();
        packet.extract(hdr.options, length);
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action set(bit<8> value) { hdr.result.value = value; }
    table by_argument {
        key = { hdr.request.argument: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 8;
    }
    apply {
        standard.egress_spec = 1;
        if (hdr.request.op == 2) {
            hdr.request.setInvalid();
            by_argument.apply();
        } else if (hdr.request.op == 3) {
            if (hdr.request.argument < 10) {
                digest<learned_t>(1, { hdr.request.argument });
            } else {
                digest<learned_t>(1, { hdr.result.value });
            }
        } else if (hdr.request.op == 5) {
            if (standard.parser_error == error.PacketTooShort) {
                hdr.result.value = 1;
            } else if (standard.parser_error == error.ParserInvalidArgument) {
                hdr.result.value = 2;
            }
        } else if (hdr.request.op == 6) {
            truncate((bit<32>)hdr.request.argument);
            if (meta.passes == 0) {
                meta.passes = 1;
                resubmit_preserving_field_list(1);
            }
        } else if (hdr.request.op == 7) {
            truncate((bit<32>)hdr.request.argument);
            standard.mcast_grp = 1;
        }
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.result.length = (bit<16>)standard.packet_length;
        if (hdr.request.op == 0 && standard.instance_type == 0) {
            truncate((bit<32>)hdr.request.argument);
            clone(CloneType.E2E, 6);
        } else if (hdr.request.op == 1 && meta.passes == 0) {
            truncate((bit<32>)hdr.request.argument);
            meta.passes = 1;
            recirculate_preserving_field_list(1);
        } else if (hdr.request.op == 4) {
            truncate((bit<32>)hdr.request.argument);
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum_with_payload(hdr.request.op == 4, { hdr.request.op, hdr.request.argument },
                                     hdr.result.sum, HashAlgorithm.csum16);
    }
}
control DetailsDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(DetailsParser(), Verify(), In(), Out(), Update(), DetailsDeparser()) main;
