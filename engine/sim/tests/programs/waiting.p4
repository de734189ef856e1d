// Test program of the simulator: frames go round the loop and wait, each in a way of its own, for
// a time that comes again and again; what they touch on each pass is counted.
// p4c-bm2-ss --std p4-16 -o waiting.json waiting.p4
#include <core.p4>
#include <v1model.p4>

const bit<9> PORT_LOOP = 509;
const bit<9> PORT_CPU = 510;
const bit<32> RECIRCULATED = 4;

// How a frame finds out that its time has come.
const bit<8> BY_SIGN = 0;
const bit<8> BY_ORDER = 1;
const bit<8> BY_SIGNED_ORDER = 2;
const bit<8> BY_EXCESS = 3;
const bit<8> BY_BIT = 4;
const bit<8> BY_DISTANCE = 5;
const bit<8> BY_EQUALITY = 6;
// Takes a random number on each pass: never idle.
const bit<8> BY_CHANCE = 7;

header wait_t {
    bit<8>  how;
    bit<8>  extra;
    bit<16> count;
    bit<48> time;
    bit<48> due;
    bit<32> step;
}

struct headers_t {
    wait_t wait;
}

struct metadata_t {
    @field_list(1)
    bit<16> kept;
}

parser WaitParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.wait);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control WaitIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(16) events;
    register<bit<64>>(16) same;
    counter(16, CounterType.packets_and_bytes) passes;
    meter(16, MeterType.packets) colours;
    direct_counter(CounterType.packets_and_bytes) known;

    action note() { known.count(); }

    table ways {
        key = { hdr.wait.how : exact; }
        actions = { note; NoAction; }
        counters = known;
        support_timeout = true;
        size = 16;
    }

    apply {
        bit<32> way = (bit<32>)hdr.wait.how;
        bit<1> come = 0;
        bit<32> late = hdr.wait.time[31:0] - hdr.wait.due[31:0];
        if (standard.instance_type != RECIRCULATED) {
            hdr.wait.due = standard.ingress_global_timestamp + (bit<48>)hdr.wait.step;
        } else {
            passes.count(way);
            ways.apply();
            if (hdr.wait.how == BY_SIGN) {
                come = ~late[31:31];
            } else if (hdr.wait.how == BY_ORDER) {
                if (hdr.wait.time >= hdr.wait.due) {
                    come = 1;
                }
            } else if (hdr.wait.how == BY_SIGNED_ORDER) {
                if ((int<48>)hdr.wait.due <= (int<48>)hdr.wait.time) {
                    come = 1;
                }
            } else if (hdr.wait.how == BY_EXCESS) {
                if ((hdr.wait.time |-| hdr.wait.due) != 0) {
                    come = 1;
                }
            } else if (hdr.wait.how == BY_BIT) {
                come = hdr.wait.time[20:20] ^ hdr.wait.count[0:0];
            } else if (hdr.wait.how == BY_DISTANCE) {
                if (hdr.wait.due - hdr.wait.time > 48w0x7fff_ffff_ffff) {
                    come = 1;
                }
            } else if (hdr.wait.how == BY_EQUALITY) {
                if (hdr.wait.time[40:18] == hdr.wait.due[40:18]) {
                    come = 1;
                }
            } else {
                bit<8> chance;
                random(chance, 0, 255);
                if (chance == 0) {
                    come = 1;
                }
            }
            if (hdr.wait.extra[0:0] == 1) {
                // After the first pass, the value that it writes is there already.
                bit<64> value;
                same.read(value, way);
                same.write(way, value | 5);
            }
            if (hdr.wait.extra[1:1] == 1) {
                bit<8> colour;
                colours.execute_meter(way, colour);
                if (colour == 2) {
                    meta.kept = meta.kept + 1;
                }
            }
        }
        standard.egress_spec = PORT_LOOP;
        if (come == 1) {
            bit<32> number;
            events.read(number, way);
            events.write(way, number + 1);
            hdr.wait.due = hdr.wait.due + (bit<48>)hdr.wait.step;
            hdr.wait.count = hdr.wait.count - 1;
            meta.kept = meta.kept + 3;
            if (hdr.wait.count == 0) {
                standard.egress_spec = PORT_CPU;
            }
        }
    }
}

control WaitEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == PORT_LOOP) {
            // The loop takes some time: the stamp is that of the return, roughly.
            hdr.wait.time = standard.egress_global_timestamp + 37;
            recirculate_preserving_field_list(1);
        } else {
            hdr.wait.step = (bit<32>)meta.kept;
        }
    }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control WaitDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.wait);
    }
}

V1Switch(WaitParser(), NoVerify(), WaitIngress(), WaitEgress(), NoUpdate(), WaitDeparser()) main;
