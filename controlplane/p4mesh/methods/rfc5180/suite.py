"""The tests of RFC 5180, in the order of the text: those of RFC 2544 with IPv6 frames, and hop-by-hop options."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.rfc5180.hop_by_hop import HopByHop
from p4mesh.methods.rfc5180.over_ipv6 import (
    BackToBackOverIpv6,
    FrameLossOverIpv6,
    Ipv6Frames,
    LatencyOverIpv6,
    ResetOverIpv6,
    SystemRecoveryOverIpv6,
    ThroughputOverIpv6,
)

SUITE = Suite(
    "rfc5180",
    (
        HopByHop(),
        ThroughputOverIpv6(),
        LatencyOverIpv6(),
        FrameLossOverIpv6(),
        BackToBackOverIpv6(),
        SystemRecoveryOverIpv6(),
        ResetOverIpv6(),
    ),
    (UnderConditions(), Ipv6Frames()),
)
