// Registers: read, write, read-modify-write, in ingress and egress.
// Probes: initial zeros, cells of 1, 13, 64 and 129 bits, signed cells, a write seen by the next
// frame and by a read later in the same pass.
#include "include/base.p4"

header in_t { bit<8> operation; bit<8> index; bit<64> value; }
header result_t { bit<64> before; bit<64> after; bit<16> odd; bit<8> flag; bit<136> wide; int<16> number; bit<32> frames; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<13> odd; bit<1> flag; bit<129> wide; bit<32> count; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<64>>(16) cells;
    register<bit<13>>(16) odd_cells;
    register<bit<1>>(16) flags;
    register<bit<129>>(16) wide_cells;
    register<int<16>>(16) numbers;
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        bit<32> index = (bit<32>) hdr.ops.index;
        hdr.result.before = 0x1111;
        meta.odd = 0x1abc;
        meta.flag = 1;
        meta.wide = 7;
        hdr.result.number = -3;
        cells.read(hdr.result.before, index);
        if (hdr.ops.operation == 0) { cells.write(index, hdr.ops.value); }
        if (hdr.ops.operation == 1) { cells.write(index, hdr.result.before + hdr.ops.value); }
        if (hdr.ops.operation == 2) { cells.write(index + 1, hdr.result.before |-| hdr.ops.value); }
        cells.read(hdr.result.after, index);
        odd_cells.read(meta.odd, index);
        odd_cells.write(index, meta.odd + (bit<13>) hdr.ops.value);
        flags.read(meta.flag, index);
        flags.write(index, ~meta.flag);
        wide_cells.read(meta.wide, index);
        wide_cells.write(index, (meta.wide << 3) - (bit<129>) hdr.ops.value);
        numbers.read(hdr.result.number, index);
        numbers.write(index, hdr.result.number |-| (int<16>) (bit<16>) hdr.ops.value[15:0]);
        hdr.result.odd = (bit<16>) meta.odd;
        hdr.result.flag = (bit<8>) meta.flag;
        hdr.result.wide = (bit<136>) meta.wide;
    }
}
control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) frames;
    apply {
        REQUIRE_OUT(hdr.ops)
        frames.read(meta.count, (bit<32>) std.egress_port);
        meta.count = meta.count + 1;
        frames.write((bit<32>) std.egress_port, meta.count);
        hdr.result.frames = meta.count;
    }
}
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
