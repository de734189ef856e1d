// P4Mesh, the network tester, for Tofino 1 and 2: the same tester as v1model/p4mesh.p4.
#include "arch.p4"
#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

Pipeline(TesterIngressParser(), TesterIngress(), TesterIngressDeparser(),
         TesterEgressParser(), TesterEgress(), TesterEgressDeparser()) pipe;
Switch(pipe) main;
