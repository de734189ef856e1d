"""The tests of RFC 5695, in the order of the text: those of RFC 2544 with the labels of an operation.

The draft on segment routing has a test of the buffer beside them, also for labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.operations import Operation, Operations, Way, test_of
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.methods.rfc9004.back_to_back import BackToBack

SMALLEST_BYTES = 68
"""Ethernet, one label, IPv4 and UDP headers, the signature of the tester, FCS."""
SIZES_BYTES = (SMALLEST_BYTES, 128, 256, 512, 1024, 1280, 1518)
"""The sizes of RFC 2544 9.1, but 64 bytes, which a label, the other headers and the signature do not fit in."""


def _stack(labels: Sequence[str], _: ParameterSet) -> str:
    return "/".join(f"mpls(label={label})" for label in labels)


OPERATIONS = Operations(
    "RFC 5695 Throughput",
    "labels",
    {
        "push": Operation("the device puts labels on packets"),
        "swap": Operation("it changes the label on top", "100", _stack, Way.PORT_AND_LABEL),
        "pop_unlabeled": Operation(
            "it takes the label off and sends the packet on by it", "101", _stack, Way.PORT_AND_LABEL
        ),
        "pop_aggregate": Operation("it takes the label off and routes the packet", "102", _stack),
    },
)

SUITE = Suite(
    "rfc5695",
    (
        test_of(Throughput(), "rfc5695.throughput", "RFC 5695 Throughput", SIZES_BYTES),
        test_of(BackToBack(), "rfc5695.back_to_back", "draft-ietf-bmwg-sr-bench-meth", SIZES_BYTES),
        test_of(Latency(), "rfc5695.latency", "RFC 5695 Latency", SIZES_BYTES),
        test_of(FrameLoss(), "rfc5695.frame_loss", "RFC 5695 Frame Loss Rate", SIZES_BYTES),
        test_of(SystemRecovery(), "rfc5695.system_recovery", "RFC 5695 System Recovery", SIZES_BYTES),
        test_of(Reset(), "rfc5695.reset", "RFC 5695 Reset", (SMALLEST_BYTES,)),
    ),
    (UnderConditions(), OPERATIONS),
)
