// Arithmetic of every width and signedness: two operands in, the results of the operators out.
#include <core.p4>
#include <v1model.p4>

header operands_t { bit<8> a; bit<8> b; bit<64> c; bit<64> d; bit<128> e; bit<128> f; }
header results_t {
    bit<8> sum; bit<8> difference; bit<8> saturated_sum; bit<8> saturated_difference;
    int<8> signed_saturated_sum; int<8> signed_shift; bit<8> less; bit<8> signed_less;
    bit<16> concatenation; bit<4> high; bit<4> low; bit<8> multiple;
    bit<64> wide_sum; bit<64> saturated_wide_sum; bit<64> product; bit<64> shifted;
    bit<128> double_sum; bit<128> double_and; bit<128> double_shift; bit<128> double_product;
    bit<8> double_less; bit<16> double_slice; bit<8> chosen; int<16> extended;
}
struct headers_t { operands_t args; results_t results; }
struct metadata_t {}

parser ArithmeticParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard) {
    state start { packet.extract(hdr.args); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        hdr.results.setValid();
        bit<8> a = hdr.args.a;
        bit<8> b = hdr.args.b;
        int<8> x = (int<8>)a;
        int<8> y = (int<8>)b;
        hdr.results.sum = a + b;
        hdr.results.difference = a - b;
        hdr.results.saturated_sum = a |+| b;
        hdr.results.saturated_difference = a |-| b;
        hdr.results.signed_saturated_sum = x |+| y;
        hdr.results.signed_shift = x >> 2;
        hdr.results.less = a < b ? 8w1 : 0;
        hdr.results.signed_less = x < y ? 8w1 : 0;
        hdr.results.concatenation = a ++ b;
        hdr.results.high = a[7:4];
        hdr.results.low = b[3:0];
        hdr.results.multiple = a * b;
        hdr.results.wide_sum = hdr.args.c + hdr.args.d;
        hdr.results.saturated_wide_sum = hdr.args.c |+| hdr.args.d;
        hdr.results.product = hdr.args.c * hdr.args.d;
        hdr.results.shifted = (hdr.args.c << a) ^ (hdr.args.d >> b);
        hdr.results.double_sum = hdr.args.e + hdr.args.f;
        hdr.results.double_and = hdr.args.e & ~hdr.args.f;
        hdr.results.double_shift = hdr.args.e << a;
        hdr.results.double_product = hdr.args.e * hdr.args.f;
        hdr.results.double_less = hdr.args.e < hdr.args.f ? 8w1 : 0;
        hdr.results.double_slice = hdr.args.e[71:56];
        hdr.results.chosen = (hdr.args.c == hdr.args.d || a == b) ? a : b;
        hdr.results.extended = (int<16>)x;
    }
}
control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control Update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control ArithmeticDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.results); } }

V1Switch(ArithmeticParser(), Verify(), In(), Out(), Update(), ArithmeticDeparser()) main;
