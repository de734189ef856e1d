"""Switch chips that can run the tester program: their pipes, their ports, and the loops of them.

The latencies of the chips are the clocks of all stages at 1 GHz (docs/TOFINO_RESOURCES.md), and more for parsers,
traffic manager and MAC, which is an assumption: a run on hardware must replace them by the measured round of a single
seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from p4mesh.errors import ParameterError
from p4mesh.target.loop import LoopModel

PORTS_PER_PIPE = 128
"""Port numbers of a pipe."""


_INNER, _ABSENT = "recirculates or leads to the CPU", "does not exist"


@dataclass(frozen=True)
class Chip:
    """A switch chip with recirculation ports of its own in every pipe."""

    name: str
    program: str
    """Name of the compiled program for it: the number of the CPU port is part of the program."""
    p4info: str
    """Name of its P4Info, which has no ports."""
    pipes: int
    inner_ports: Mapping[range, str]
    """Numbers within a pipe that no front port has, with their use."""
    recirculation_port: int
    """Its number within each pipe; the program puts seeds into that of pipe 0."""
    recirculation_bps: int
    """Rate of the recirculation port of one pipe, as the switch software sets it up by itself."""
    latency_ps: int
    """From the end of a pass on the recirculation port to the next pass: an assumption."""
    inner_loops: Mapping[int, int]
    """Other ports of pipe 0 that the switch software sets up in loopback, with their rates in bits per second."""
    pipe_frames_per_s: int
    """Frames that a pipe passes in each gress: one per clock, of a chip whose SKU does not reduce it."""
    pads_in_egress: bool
    """Its egress parser reads 65 bytes at least, and so takes more states (:mod:`p4mesh.tester.parser_time`)."""
    tick_ps: int = 1000
    """Unit of its time stamps."""

    def loop(self) -> LoopModel:
        """The loop of one pipe: its recirculation port."""
        return LoopModel(self.recirculation_bps, self.latency_ps)

    def other_loop(self, rate_bps: int) -> LoopModel:
        """The loop of another port in loopback, taken to be as far from the parser as the recirculation port.

        A stream is in one loop: further loops carry further streams (:func:`p4mesh.tester.pacing.shared_loops`).
        """
        return LoopModel(rate_bps, self.latency_ps)


TOFINO_1 = Chip(
    "tofino",
    program="tofino1",
    p4info="tofino1",
    pipes=2,
    inner_ports={range(64, 72): _INNER, range(72, 128): _ABSENT},
    recirculation_port=68,
    recirculation_bps=100_000_000_000,
    latency_ps=700_000,
    inner_loops={},
    pipe_frames_per_s=1_220_000_000,
    pads_in_egress=True,
)
"""The two-pipe Tofino 1 of a Wedge100BF-32X; the compiler reckons with this clock, and the driver sets it."""
TOFINO_1_4_PIPES = replace(TOFINO_1, program="tofino1_4pipes", pipes=4)
"""The four-pipe Tofino 1 of a Wedge100BF-65X: its CPU port is in pipe 2."""
TOFINO_2 = Chip(
    "tofino2",
    program="tofino2",
    p4info="tofino2",
    pipes=4,
    inner_ports={range(8): _INNER, range(72, 128): _ABSENT},
    recirculation_port=6,
    recirculation_bps=100_000_000_000,
    latency_ps=1_000_000,
    inner_loops={1: 50_000_000_000, 2: 100_000_000_000, 4: 100_000_000_000},
    pipe_frames_per_s=1_100_000_000,
    pads_in_egress=False,
)
"""Its two clocks are 1.25 or 1.3125 GHz, and 1.1 to 1.5 GHz, by SKU; the slowest is taken.

bf_switchd adds ports 2, 4 and 6 of a pipe with 100 Gbit/s and two lanes, and an odd one with 50 where a lane is left:
in pipe 0 port 1, beside the CPU port. An Ethernet CPU port takes 2 and 4. A front port in loopback may have 400 Gbit/s.
"""
TOFINO_2_IPDV = replace(TOFINO_2, program="tofino2_ipdv", p4info="tofino2_ipdv")
"""Its program that measures IPDV, for fewer flows."""
CHIPS = (TOFINO_1, TOFINO_1_4_PIPES, TOFINO_2, TOFINO_2_IPDV)
_TWO_PIPES = 2


def chip_with_pipes(name: str, pipes: int | None, *, ipdv: bool = False) -> Chip:
    """The chip ``tofino1`` or ``tofino2`` with so many pipes; None: those of the usual one.

    With ``ipdv`` its program, of a Tofino 2, is the one that measures IPDV.
    """
    if name == TOFINO_2.program:
        return replace(TOFINO_2_IPDV if ipdv else TOFINO_2, pipes=pipes or TOFINO_2.pipes)
    usual = TOFINO_1_4_PIPES if pipes is not None and pipes > _TWO_PIPES else TOFINO_1
    return replace(usual, pipes=pipes or usual.pipes)


def pipe_of(port: int, chip: Chip) -> int:
    """The pipe of a front port; raise ParameterError for a device port that is not a front port."""
    pipe, within = divmod(port, PORTS_PER_PIPE)
    if not 0 <= pipe < chip.pipes:
        raise ParameterError(
            f"port {port} is in pipe {pipe}: {chip.name} has {chip.pipes} pipes",
            hint="use device port numbers, not the numbers of the front panel",
        )
    for inner, what in chip.inner_ports.items():
        if within in inner:
            raise ParameterError(
                f"port {port} is not a front port of {chip.name}: it {what}",
                hint="use the device ports that the switch's own port map gives its front ports",
            )
    return pipe
