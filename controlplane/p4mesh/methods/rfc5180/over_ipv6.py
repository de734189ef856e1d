"""RFC 5180 7: the tests of RFC 2544 with IPv6 frames, as they are but for names, frame sizes and defaults."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.layers import IPv6
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.options.parameters import with_defaults
from p4mesh.methods.options.shared import frame_of
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.methods.rfc9004.back_to_back import BackToBack

SMALLEST_BYTES = 84
"""Ethernet, IPv6 and UDP headers, the signature of the tester, FCS."""
SIZES_BYTES = (SMALLEST_BYTES, 128, 256, 512, 1024, 1280, 1518)
"""The sizes of RFC 5180 5.1.1, but 64 bytes, which the headers and the signature do not fit in."""
_IPV6 = "ipv6"


class Ipv6Frames(Extension):
    """Says where frames of the user's choice are none of IPv6."""

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome, with the deviation of frames whose innermost packet is none of IPv6."""
        outcome = assemble(results)
        if isinstance(frame_of(case.parameters).network, IPv6):
            return outcome
        noted = "The frames carry no IPv6, which RFC 5180 is about: headers or frame_format ask for others."
        return replace(outcome, deviations=(*outcome.deviations, noted))


class ThroughputOverIpv6(Throughput):
    """RFC 2544 26.1 with IPv6 frames."""

    name = "rfc5180.throughput"
    section = "RFC 5180 7.1"
    frame_sizes_bytes = SIZES_BYTES
    parameters = with_defaults(Throughput.parameters, frame_format=_IPV6)


class LatencyOverIpv6(Latency):
    """RFC 2544 26.2 with IPv6 frames."""

    name = "rfc5180.latency"
    section = "RFC 5180 7.2"
    frame_sizes_bytes = SIZES_BYTES
    parameters = with_defaults(Latency.parameters, frame_format=_IPV6)


class FrameLossOverIpv6(FrameLoss):
    """RFC 2544 26.3 with IPv6 frames."""

    name = "rfc5180.frame_loss"
    section = "RFC 5180 7.3"
    frame_sizes_bytes = SIZES_BYTES
    parameters = with_defaults(FrameLoss.parameters, frame_format=_IPV6)


class BackToBackOverIpv6(BackToBack):
    """RFC 2544 26.4 with IPv6 frames, which RFC 5180 does not recommend."""

    name = "rfc5180.back_to_back"
    section = "RFC 5180 7.4"
    frame_sizes_bytes = SIZES_BYTES
    parameters = with_defaults(BackToBack.parameters, frame_format=_IPV6)


class SystemRecoveryOverIpv6(SystemRecovery):
    """RFC 2544 26.5 with IPv6 frames."""

    name = "rfc5180.system_recovery"
    section = "RFC 5180 7.5"
    frame_sizes_bytes = SIZES_BYTES
    parameters = with_defaults(SystemRecovery.parameters, frame_format=_IPV6)


class ResetOverIpv6(Reset):
    """RFC 2544 26.6 with IPv6 frames."""

    name = "rfc5180.reset"
    section = "RFC 5180 7.6"
    frame_sizes_bytes = (SMALLEST_BYTES,)
    parameters = with_defaults(Reset.parameters, frame_format=_IPV6)
