"""Estimates the share of the loop, the time and the disk space that samples of a trial take."""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.measurement.samples import Sampler
from p4mesh.quantities import number_text
from p4mesh.store.sample_file import LINE_BYTES
from p4mesh.tester.plan import Plan
from p4mesh.tester.planning import Planner
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.spec import TrialSpec

MOST_BYTES = 2_000_000_000
"""Bytes of all samples of a run."""
MOST_OF_THE_TIME = 0.5
"""Largest part of the time between two samples that reading them may take."""


@dataclass(frozen=True)
class SamplingCost:
    """The cost of the samples of one trial."""

    every_ns: int
    samples: int
    lines: int
    cells: int
    reading_ns: int
    share: float
    """Share of the recirculation port."""

    @property
    def bytes_on_disk(self) -> int:
        """Size of all samples."""
        return self.samples * self.lines * LINE_BYTES

    def __str__(self) -> str:
        """The words for people."""
        return (
            f"{self.samples} samples of {self.lines} lines, one each {number_text(self.every_ns / NS_PER_S)} s: "
            f"{self.cells} "
            f"cells in {number_text(self.reading_ns / 1000, 3)} us, {number_text(100 * self.share, 2)} % of the "
            "recirculation port"
        )


def sampling_cost(spec: TrialSpec, plan: Plan, planner: Planner) -> SamplingCost | None:
    """The cost of the samples of a trial; None where it takes none."""
    if spec.sampling is None:
        return None
    sampler = Sampler(plan, 1, flows=spec.sampling.flows)
    every_ns = spec.sampling.every_ns
    longest_ns = max((offset for stream in spec.streams for offset in stream.start_offset_ns), default=0)
    return SamplingCost(
        every_ns,
        (spec.duration_ns + longest_ns) // every_ns,
        sampler.lines,
        sum(map(len, sampler.cells)),
        planner.reading_ns(plan, sampler.cells),
        planner.reading_share(sampler.cells, every_ns),
    )
