// Effects of replication, cloning, resubmit, recirculation, truncation and digests on a packet. The first byte of the
// frame chooses the operation; bytes that follow record what each pass saw.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> argument; }
header record_t {
    bit<8> instance_type; bit<8> ingress_port; bit<8> egress_port; bit<8> rid; bit<8> passes; bit<16> length;
}
struct headers_t { request_t request; record_t record; }
struct metadata_t {
    @field_list(1, 2) bit<8> passes;
    bit<8> lost;
}
struct digest_t { bit<8> op; bit<9> port; }

parser CopiesParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start { packet.extract(hdr.request); packet.extract(hdr.record); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(4) seen;
    apply {
        bit<32> count;
        seen.read(count, 0);
        seen.write(0, count + 1);
        hdr.record.ingress_port = (bit<8>)standard.ingress_port;
        hdr.record.passes = meta.passes + meta.lost;
        meta.lost = 7;
        standard.egress_spec = 1;
        if (hdr.request.op == 1) {
            standard.mcast_grp = (bit<16>)hdr.request.argument;
        } else if (hdr.request.op == 2) {
            meta.passes = 9;
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.request.argument, 1);
        } else if (hdr.request.op == 3 && meta.passes < 2) {
            meta.passes = meta.passes + 1;
            resubmit_preserving_field_list(2);
        } else if (hdr.request.op == 6) {
            digest<digest_t>(1, { hdr.request.op, standard.ingress_port });
            mark_to_drop(standard);
        } else if (hdr.request.op == 8) {
            resubmit_preserving_field_list(2);
        }
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.record.instance_type = (bit<8>)standard.instance_type;
        hdr.record.egress_port = (bit<8>)standard.egress_port;
        hdr.record.rid = (bit<8>)standard.egress_rid;
        hdr.record.length = (bit<16>)standard.packet_length;
        if (hdr.request.op == 2 && standard.instance_type == 1) {
            hdr.record.passes = meta.passes;
        } else if (hdr.request.op == 4 && standard.instance_type == 0 && meta.passes == 0) {
            if (hdr.request.argument > 0) {
                hdr.request.argument = hdr.request.argument - 1;
                meta.passes = 5;
                recirculate_preserving_field_list(2);
            }
        } else if (hdr.request.op == 5 && standard.instance_type == 0) {
            meta.passes = 4;
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.request.argument, 1);
            hdr.record.passes = 77;
        } else if (hdr.request.op == 5) {
            hdr.record.passes = meta.passes;
        } else if (hdr.request.op == 7) {
            truncate((bit<32>)hdr.request.argument);
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control CopiesDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(CopiesParser(), Verify(), In(), Out(), Update(), CopiesDeparser()) main;
