"""Switch chips that can run the tester program: their pipes, and the loops of them.

The latencies of the chips are assumptions, as nothing in public documents gives them for this
program: a run on hardware must replace them by the measured round of a lone seed.
"""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.errors import ParameterError
from p4mesh.target.loop import LoopModel

PORTS_PER_PIPE = 128
"""Port numbers of a pipe."""


@dataclass(frozen=True)
class Chip:
    """A switch chip with recirculation ports of its own in every pipe."""

    name: str
    pipes: int
    recirculation_bps: int
    """Of the recirculation port of one pipe."""
    latency_ps: int
    """From the end of a pass on the recirculation port to the next pass: an assumption."""
    tick_ps: int = 1000

    def loop(self) -> LoopModel:
        """Return the loop of one pipe: its recirculation port."""
        return LoopModel(self.recirculation_bps, self.latency_ps)

    def front_loop(self, rate_bps: int) -> LoopModel:
        """Return the loop of a front port in loopback, taken to be as far from the parser as the recirculation port.

        A stream is in one loop: further loops carry further streams (:func:`p4mesh.tester.pacing.shared_loops`).
        """
        return LoopModel(rate_bps, self.latency_ps)


TOFINO_1 = Chip("tofino", pipes=2, recirculation_bps=100_000_000_000, latency_ps=700_000)
"""The two-pipe Tofino 1 of a Wedge100BF-32X."""
TOFINO_2 = Chip("tofino2", pipes=4, recirculation_bps=400_000_000_000, latency_ps=700_000)
CHIPS = (TOFINO_1, TOFINO_2)


def pipe_of(port: int, chip: Chip) -> int:
    """Return the pipe of a device port."""
    pipe = port // PORTS_PER_PIPE
    if not 0 <= pipe < chip.pipes:
        raise ParameterError(
            f"port {port} is in pipe {pipe}: {chip.name} has {chip.pipes} pipes",
            hint="use device port numbers, not the numbers of the front panel",
        )
    return pipe
