"""The simulated network with the program of target bmv2, whose signatures cover the payload."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.target.capabilities import Capabilities
from p4mesh.target.sim import SimTarget
from p4mesh.topology import Topology


class SummingSim(SimTarget):
    """The simulated network with the program that sums payloads."""

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        return replace(super().declare(topology), checks_payload=False, sums_payload=True)
