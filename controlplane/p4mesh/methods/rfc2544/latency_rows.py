"""Rows of the latency test: summaries of the samples of all runs, per pair of line rates and per pair of ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.latency import (
    Definition,
    Group,
    LatencySummary,
    definition_of,
    definition_text,
    groups_of,
    merged,
    summary_of,
)
from p4mesh.methods.results.latency_cells import (
    CALIBRATED,
    RAW,
    Circumstances,
    DefinitionCells,
    LatencyCells,
    VariationCells,
    definition_cells,
    latency_cells,
    us,
    variation_cells,
)
from p4mesh.methods.results.layers import largest
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.repetition import spread_of
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_US
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

NOT_APPLICABLE = "NA"


@dataclass(frozen=True, kw_only=True)
class Place(Record):
    """Frames that a latency is measured on."""

    frame_size_bytes: FrameSize
    at: str
    load_pct: float
    rate_fps: float
    network: str
    lost_frames: int
    """In all runs that can be trusted."""
    untrusted: str = ""
    """Status of the first run that cannot be trusted, and why; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class NotReached(Record):
    """A load above the throughput."""

    frame_size_bytes: FrameSize
    at: str
    load_pct: float
    state: None = None
    latency: LatencyCells = field(default=LatencyCells(definition=NOT_APPLICABLE), metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class NoSamples(Record):
    """A load at which no sample arrived, or no run can be trusted."""

    place: Place = field(metadata=INLINE)
    link: None = None
    latency: LatencyCells = field(metadata=INLINE)
    state: Verdict


@dataclass(frozen=True, kw_only=True)
class RunSpread(Record):
    """Variation of the average over the runs."""

    runs: Annotated[int, fields.RUNS]
    stddev_us: Annotated[float | None, fields.STDDEV_US]
    rsd_pct: Annotated[float | None, fields.RSD_PCT]


@dataclass(frozen=True, kw_only=True)
class PairLatency(Record):
    """Latency of one pair of ports over all runs."""

    tx_port: int
    rx_port: int
    latency: LatencyCells = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class AllDefinitions(DefinitionCells):
    """The average in every definition, and the smallest FIFO latency."""

    fifo_min_us: float | None


@dataclass(frozen=True, kw_only=True)
class LinkLatency(Record):
    """Latency between ports of one pair of line rates, as measured or less the latency of the wires."""

    place: Place = field(metadata=INLINE)
    link: str
    over_runs: RunSpread | None = field(metadata=INLINE)
    state: Verdict
    avg_low_us: float
    avg_high_us: float
    pair_error_us: float | None
    """Largest error of the mean of a pair; None where one has none."""
    pairs: tuple[PairLatency, ...]
    latency: LatencyCells = field(metadata=INLINE)
    variation: VariationCells | None = field(default=None, metadata=OMITTED)
    definitions: Record | None = field(default=None, metadata=OMITTED)
    """AllDefinitions; empty where the time stamps do not give them."""


LatencyRow = NotReached | NoSamples | LinkLatency


def latency_rows(
    place: Place, bed: Bed, results: Sequence[TrialResult], samples: Sequence[str], parameters: ParameterSet
) -> list[LatencyRow]:
    """One row per pair of line rates, and one more of each where wires are subtracted."""
    state = Verdict.worst(result.status for result in results)
    measured = [groups_of(result, samples) for result in results if result.status.trusted]
    links = dict.fromkeys(_link(bed, group) for groups in measured for group in groups)
    name, size = definition_text(bed, parameters), place.frame_size_bytes
    if not links:
        return [NoSamples(place=place, latency=latency_cells(None, name, Circumstances()), state=state)]
    circumstances = Circumstances.of([result for result in results if result.status.trusted], bed.stamps.resolution_ns)
    rows: list[LatencyRow] = []
    for link in links:
        runs = [[group for group in groups if _link(bed, group) == link] for groups in measured]
        for calibrated in (False, True) if bed.calibration else (False,):
            summaries = _summaries(runs, bed, size, definition_of(parameters), calibrated=calibrated)
            whole = merged(summaries)
            pairs = _by_pair(runs, bed, size, definition_of(parameters), calibrated=calibrated)
            averages = [summary.latency.avg_ns for summary in pairs.values()]
            rows.append(
                LinkLatency(
                    place=place,
                    link=link,
                    over_runs=_over_runs(summaries),
                    state=state,
                    avg_low_us=us(min(averages)),
                    avg_high_us=us(max(averages)),
                    pair_error_us=largest(us(circumstances.error_ns(summary)) for summary in pairs.values()),
                    pairs=tuple(
                        PairLatency(tx_port=tx, rx_port=rx, latency=_named(summary, name, circumstances, calibrated))
                        for (tx, rx), summary in pairs.items()
                    ),
                    latency=_named(whole, name, circumstances, calibrated),
                    variation=None if calibrated else variation_cells(whole, circumstances),
                    definitions=None if calibrated else _definitions(runs, bed, size, circumstances),
                )
            )
    return rows


def _named(summary: LatencySummary | None, name: str, circumstances: Circumstances, calibrated: bool) -> LatencyCells:
    return latency_cells(summary, name, circumstances, CALIBRATED if calibrated else RAW)


def _by_pair(
    runs: Sequence[Sequence[Group]], bed: Bed, size: FrameSize, definition: Definition, *, calibrated: bool
) -> dict[tuple[int, int], LatencySummary]:
    """The latency of every pair of ports over all runs."""
    groups: dict[tuple[int, int], list[Group]] = {}
    for group in (group for run in runs for group in run):
        groups.setdefault((group.tx_port, group.rx_port), []).append(group)
    found = {pair: summary_of(some, bed, size, definition, calibrated=calibrated) for pair, some in groups.items()}
    return {pair: summary for pair, summary in found.items() if summary is not None}


def _summaries(
    runs: Sequence[Sequence[Group]], bed: Bed, size: FrameSize, definition: Definition, *, calibrated: bool = False
) -> list[LatencySummary]:
    found = [summary_of(groups, bed, size, definition, calibrated=calibrated) for groups in runs]
    return [summary for summary in found if summary is not None]


def _over_runs(summaries: Sequence[LatencySummary]) -> RunSpread | None:
    if not summaries:
        return None
    average = spread_of([summary.latency.avg_ns for summary in summaries])
    repeated = len(summaries) > 1
    return RunSpread(
        runs=len(summaries),
        stddev_us=average.stddev / NS_PER_US if repeated else None,
        rsd_pct=average.rsd_pct if repeated else None,
    )


def _definitions(runs: Sequence[Sequence[Group]], bed: Bed, size: FrameSize, circumstances: Circumstances) -> Record:
    if not bed.defines_latency:
        return Record()
    found = {kind: merged(_summaries(runs, bed, size, kind)) for kind in Definition}
    first_bits = found[Definition.FIFO]
    smallest = us(first_bits.latency.min_ns) if first_bits else None
    return AllDefinitions(**definition_cells(found, circumstances).data(), fifo_min_us=smallest)


def _link(bed: Bed, group: Group) -> str:
    rates = (bed.rate_bps(port) / 1e9 for port in (group.tx_port, group.rx_port))
    return " -> ".join(number_text(rate) for rate in rates)
