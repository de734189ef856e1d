// P4Mesh, the network tester, for v1model (embedded engine and simple_switch).
#include "arch.p4"
#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

V1Switch(TesterParser(), VerifySignature(), TesterIngress(), TesterEgress(),
         UpdateChecksums(), TesterDeparser()) main;
