"""The tests of RFC 2544, in the order of the text; 26.4 is that of RFC 9004, 26.6 that of RFC 6201."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.methods.rfc9004.back_to_back import BackToBack

SUITE = Suite(
    "rfc2544",
    (Throughput(), Latency(), FrameLoss(), BackToBack(), SystemRecovery(), Reset()),
    (UnderConditions(),),
)
