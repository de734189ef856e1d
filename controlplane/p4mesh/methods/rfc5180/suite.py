"""The one test of RFC 5180 that RFC 2544 does not have; its other tests are those of RFC 2544 with IPv6 frames."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.rfc5180.hop_by_hop import HopByHop

SUITE = Suite("rfc5180", (HopByHop(),), (UnderConditions(),))
