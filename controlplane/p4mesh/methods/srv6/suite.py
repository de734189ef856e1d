"""The tests of draft-ietf-bmwg-sr-bench-meth for SRv6: those of RFC 2544 with the segments of an operation."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.errors import ParameterError
from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.operations import Operation, Operations, Way, test_of
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.options.parameters import ParameterSet, boolean
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.methods.rfc9004.back_to_back import BackToBack

SMALLEST_BYTES = 164
"""Ethernet, IPv6 with two segments, IPv6 and UDP headers, the signature of the tester, FCS."""
SIZES_BYTES = (SMALLEST_BYTES, 256, 512, 1024, 1280, 1518)
SOURCE = "2001:db8:7::1"
"""Node that made the encapsulations."""
_REDUCED = "reduced"
_SECTION = "draft-ietf-bmwg-sr-bench-meth"
_ONE_WAY = {"bidirectional": False, "ports": "first_pair"}
"""The active segment decides where a packet goes, whichever port it comes on."""


def _segments(way: Sequence[str], left: int, parameters: ParameterSet) -> str:
    """Headers whose list is ``way``, of which ``left`` segments are still to come.

    A reduced list leaves out the first segment, and is not there where that is the only one (RFC 8986 5.2).
    """
    active = f"ipv6(source={SOURCE}, destination={way[len(way) - 1 - left]})"
    listed = way[1:] if parameters.flag(_REDUCED) else way
    segments = " ".join(reversed(listed))
    return f"{active}/segment_routing(segments={segments}, segments_left={left})" if listed else active


def _on_the_way(way: Sequence[str], parameters: ParameterSet) -> str:
    if len(way) == 1:
        raise ParameterError(f"--set segments={way[0]}: no segment is left after it", hint="give an End two or more")
    return _segments(way, len(way) - 1, parameters)


def _at_the_end(way: Sequence[str], parameters: ParameterSet) -> str:
    return _segments(way, 0, parameters)


OPERATIONS = Operations(
    _SECTION,
    "segments",
    {
        "source": Operation("the device puts packets into a header with segments (H.Encaps)"),
        "endpoint": Operation(
            "it goes on to the next segment (End)", "2001:db8:1::e 2001:db8:2::1", _on_the_way, Way.SEGMENT
        ),
        "endpoint_cross_connect": Operation(
            "it takes the packet out for a neighbour (End.DX)", "2001:db8:1::4", _at_the_end, Way.SEGMENT
        ),
        "endpoint_lookup": Operation("it takes the packet out and routes it (End.DT)", "2001:db8:1::d4", _at_the_end),
    },
    boolean(_REDUCED, False, _SECTION, "lists leave out the first segment, which is the destination (RFC 8986 5.2)"),
)

SUITE = Suite(
    "srv6",
    (
        test_of(Throughput(), "srv6.throughput", _SECTION, SIZES_BYTES, **_ONE_WAY),
        test_of(BackToBack(), "srv6.back_to_back", _SECTION, SIZES_BYTES),
        test_of(Latency(), "srv6.latency", _SECTION, SIZES_BYTES, **_ONE_WAY),
        test_of(FrameLoss(), "srv6.frame_loss", _SECTION, SIZES_BYTES, **_ONE_WAY),
        test_of(SystemRecovery(), "srv6.system_recovery", _SECTION, SIZES_BYTES),
        test_of(Reset(), "srv6.reset", _SECTION, (SMALLEST_BYTES,), **_ONE_WAY),
    ),
    (UnderConditions(), OPERATIONS),
)
