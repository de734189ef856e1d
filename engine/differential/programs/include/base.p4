// Parts that every program of the corpus shares: the standard includes, the instance types of simple_switch, and the
// controls that a program does not care about.
#ifndef BASE_P4
#define BASE_P4

#include <core.p4>
#include <v1model.p4>

const bit<32> INSTANCE_NORMAL = 0;
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;
const bit<32> INSTANCE_REPLICATION = 5;
const bit<32> INSTANCE_RESUBMITTED = 6;

const bit<9> OUT = 1;
const bit<9> DROP = 511;

// Fields of a header that was never extracted hold what an earlier frame left there in simple_switch,
// so programs that would read them let frames without it pass by port 3.
#define REQUIRE_IN(header) if (!header.isValid()) { std.egress_spec = 3; exit; }
#define REQUIRE_OUT(header) if (!header.isValid()) { exit; }

#define NO_VERIFY control Verify(inout headers_t hdr, inout meta_t meta) { apply { } }
#define NO_EGRESS control EgressPass(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
#define NO_COMPUTE control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }
#define MAIN V1Switch(Parse(), Verify(), IngressPass(), EgressPass(), Compute(), Deparse()) main;

#endif
