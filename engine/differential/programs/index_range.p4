// Indices beyond counters, meters and registers, up to 2^32 - 1.
// Probes: nothing is counted or written, the destination of a read keeps its value, the colour of a
// meter stays, and cells next to the end are untouched. Only a simple_switch_grpc with its checks of
// ranges can be compared: an optimised build writes outside its arrays.
#include "include/base.p4"

header in_t { bit<32> index; bit<32> value; }
header result_t { bit<32> before; bit<32> after; bit<136> wide; bit<8> colour; bit<32> last; }
struct headers_t { result_t result; in_t ops; }
struct meta_t { bit<2> colour; bit<129> wide; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ops); transition accept; }
}
NO_VERIFY
control IngressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets_and_bytes) counted;
    meter(8, MeterType.packets) metered;
    register<bit<32>>(16) cells;
    register<bit<129>>(4) wide_cells;
    apply {
        REQUIRE_IN(hdr.ops)
        std.egress_spec = OUT;
        hdr.result.setValid();
        hdr.result.before = 0x1111;
        hdr.result.after = 0x2222;
        hdr.result.last = 0;
        meta.colour = 3;
        meta.wide = 7;
        counted.count(hdr.ops.index);
        metered.execute_meter(hdr.ops.index, meta.colour);
        cells.read(hdr.result.before, hdr.ops.index);
        cells.write(hdr.ops.index, hdr.ops.value);
        cells.read(hdr.result.after, hdr.ops.index);
        wide_cells.read(meta.wide, hdr.ops.index);
        wide_cells.write(hdr.ops.index, meta.wide + (bit<129>) hdr.ops.value);
        cells.read(hdr.result.last, 15);
        hdr.result.wide = (bit<136>) meta.wide;
        hdr.result.colour = (bit<8>) meta.colour;
    }
}
NO_EGRESS
NO_COMPUTE
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ops); }
}
MAIN
