"""The target ``tofino``: a switch with a Tofino, whose P4Runtime server the topology names.

The switch is there already: ports, loopback and clock are set by other means (docs/TOFINO.md), P4Runtime does not
tell about links, and nothing here has met a chip.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from p4mesh.errors import ProgramError, TopologyError, UnsupportedError
from p4mesh.target.base import BadFcsRule, LinkState, Target
from p4mesh.tester.contract import P4SRC, Contract, hash_of_sources, load_contract, sources_of
from p4mesh.tester.loop_model import TOFINO_1, TOFINO_2, Chip, pipe_of
from p4mesh.tester.pacing import LoopModel
from p4mesh.topology import TofinoSwitch, Topology

NAME = "tofino"
TICK_PS = 1000
UNMEASURED = ("IPDV", "RFC 3550 jitter")
"""What the program for Tofino does not measure (docs/LIMITATIONS.md)."""
_CHIPS = {"tofino1": TOFINO_1, "tofino2": TOFINO_2}
_MAIN = "tna/p4mesh.p4"
_FIX = "run make p4-tofino where the Tofino back end of p4c is installed, or check out p4src again"


@dataclass(frozen=True)
class TofinoContract(Contract):
    """The program for one chip; its records are those of v1model, less what it does not measure."""

    device_config: Path
    records: tuple[tuple[str, int], ...]

    @property
    def device_config_path(self) -> Path:
        """What the compiler and the assembler of the user made of the program."""
        return self.device_config

    @property
    def record_fields(self) -> tuple[tuple[str, int], ...]:
        """Names and widths in bytes of the fields of ``record_t``."""
        return self.records


def load_tofino_contract(chip: str, device_config: Path, p4src: Path = P4SRC) -> TofinoContract:
    """Return the program for ``tofino1`` or ``tofino2``; raise ProgramError when something is missing or stale."""
    directory = p4src / "compiled"
    path = directory / "tofino.json"
    try:
        record = json.loads(path.read_text())
        constants = record["constants"][chip]
    except (OSError, KeyError, json.JSONDecodeError):
        raise ProgramError(f"{path}: no record of the program for {chip}", hint=_FIX) from None
    if (p4src / _MAIN).exists() and hash_of_sources(sources_of(_MAIN, p4src), p4src) != record["source_sha256"]:
        raise ProgramError(f"{path}: the compiled program is older than its sources", hint=_FIX)
    if not device_config.is_file():
        raise ProgramError(
            f"{device_config}: the compiled program for the switch is missing",
            hint="build it as docs/TOFINO.md says, and name the file as tester.tofino.device_config",
        )
    return TofinoContract(
        directory, f"p4mesh.{chip}", constants, device_config, load_contract(p4src=p4src).record_fields
    )


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
    """Return the chip of a switch with the pipes and the loop latency that the topology gives it."""
    usual = _CHIPS[switch.chip]
    return replace(usual, pipes=switch.pipes or usual.pipes, latency_ps=round(switch.loop_latency_ns * 1000))


class TofinoTarget(Target):
    """A switch that runs on its own; entering connects nothing and starts nothing."""

    name = NAME
    start_lead_ns = 50_000_000
    exact_clock = False
    scheduling_jitter_ns = 1_000_000

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.tick_ps = TICK_PS
        self._switch = switch_of(topology)
        chip = chip_of(self._switch)
        self.loop: LoopModel = chip.loop()
        self.front_loops = tuple(chip.front_loop(loop.rate_bps) for loop in self._switch.front_loops)
        self.device_id = self._switch.device_id
        self.damages_fcs = self._switch.bad_fcs

    def __enter__(self) -> TofinoTarget:
        """Return the target; the switch is running."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the switch as it is."""

    @property
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server."""
        return self._switch.address

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep; the switch runs on the wall clock."""
        time.sleep(float(duration_ns) / 1e9)

    def align(self, packet_outs: int, number: int) -> None:
        """Do nothing: trials on the wall clock differ anyway."""

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
        if rules and not self.damages_fcs:
            super().set_bad_fcs(rules)

    def in_flight(self) -> int:
        """Return 0: the switch does not tell; the settle time of the trial covers it."""
        return 0
