"""The target ``tofino``: a switch with a Tofino, whose P4Runtime server the topology names.

The switch is there already: ports, loopback and clock are set by other means (docs/TOFINO.md), P4Runtime does not
report links, and nothing here was tried on a chip.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import TopologyError, UnsupportedError
from p4mesh.target.base import BadFcsRule, LinkState, ProgramPorts, Target
from p4mesh.target.capabilities import Architecture, Capabilities, Pipes, Stamps
from p4mesh.target.chips import Chip, chip_with_pipes, pipe_of
from p4mesh.topology import TofinoSwitch, Topology
from p4mesh.traffic.stamps import StampKind

_TICK_PS = 1000
_BEYOND_THE_PARSER = (("routing", "destination", "fragment"),)
"""It takes 32 bytes of extension headers, of which the last one alone may have more than 8."""


def switch_of(topology: Topology) -> TofinoSwitch:
    """Return the switch of a topology; raise TopologyError or ParameterError for one that cannot be used."""
    switch = topology.tofino
    if switch is None:
        raise TopologyError(
            f"{topology.source}: target tofino needs tester.tofino, the switch", hint="docs/TOFINO.md has an example"
        )
    chip = chip_of(switch)
    for port in topology.tester_ports:
        if port.device_port is None:
            raise TopologyError(
                f"{topology.source}: target tofino needs the device port of tester port {port.number}",
                hint="give every group of tester.ports its device_ports",
            )
        pipe_of(port.device_port, chip)
    taken = {port.device_port for port in topology.tester_ports}
    for loop in switch.front_loops:
        if loop.device_port in taken:
            raise TopologyError(
                f"{topology.source}: device port {loop.device_port} is in loopback and named before",
                hint="name each device port once, in tester.ports or in tester.tofino.front_loops",
            )
        taken.add(loop.device_port)
        if pipe_of(loop.device_port, chip):
            raise TopologyError(
                f"{topology.source}: front loop {loop.device_port} is not in pipe 0, where the clocks of streams are",
                hint="use front ports with device ports below 128",
            )
    return switch


def chip_of(switch: TofinoSwitch) -> Chip:
    """Return the chip of a switch with the pipes, their rate and the loop latency that the topology gives it."""
    return replace(
        chip_with_pipes(switch.chip, switch.pipes),
        latency_ps=round(switch.loop_latency_ns * 1000),
        pipe_frames_per_s=switch.pipe_frames_per_s,
    )


class TofinoTarget(Target):
    """A switch that runs by itself; opening connects nothing and starts nothing."""

    name = "tofino"

    def __init__(self, topology: Topology) -> None:
        switch = switch_of(topology)
        super().__init__(
            topology, switch.address, device_id=switch.device_id, election_id=switch.election_id, tls=switch.tls
        )

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """Return the capabilities of the program for Tofino on the switch of a topology (docs/LIMITATIONS.md)."""
        switch = switch_of(topology)
        chip = chip_of(switch)
        return Capabilities(
            target=cls.name,
            architecture=Architecture.TNA,
            real_time=True,
            stamps=Stamps(_TICK_PS, StampKind.PARSER),
            pipes=Pipes(
                {p.number: pipe_of(p.device_port, chip) for p in topology.tester_ports if p.device_port is not None},
                chip.pipe_frames_per_s,
            ),
            loop=chip.loop(),
            front_loops=tuple(chip.front_loop(loop.rate_bps) for loop in switch.front_loops),
            start_lead_ns=50_000_000,
            scheduling_jitter_ns=1_000_000,
            bad_fcs=switch.bad_fcs,
            stamps_controller_frames=False,
            unmeasured=("IPDV", "RFC 3550 jitter"),
            unsupported_headers=_BEYOND_THE_PARSER,
        )

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[TofinoTarget]:
        """Return the target; the switch is running, and stays as it is."""
        yield cls(topology)

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep; the switch runs on the wall clock."""
        time.sleep(float(duration_ns) / 1e9)

    def links(self) -> dict[int, LinkState]:
        """Return every link as up: P4Runtime does not tell, so a loss of link shows as loss of frames only."""
        return {port.number: LinkState(True, 0) for port in self.topology.tester_ports}

    def set_links(self, up: bool) -> None:
        """Raise: ports are set outside of P4Runtime."""
        raise UnsupportedError(
            f"toggle_link is not supported on {self.name}: P4Runtime does not set ports",
            hint="use another reset_between, such as one with a command",
        )

    def set_bad_fcs(self, rules: Mapping[int, Sequence[BadFcsRule]]) -> None:
        """Do nothing: a table entry of each transmitter says which frames the MAC damages."""
        if rules and not self.capabilities.bad_fcs:
            super().set_bad_fcs(rules)

    def in_flight(self) -> int:
        """Return 0: the switch does not tell; the settle time of the trial covers it."""
        return 0
