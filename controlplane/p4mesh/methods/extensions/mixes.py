"""Frames of a mix of sizes instead of one: each stream of a test becomes one per size, with its share of the frames.

A test computes its rates with the mean of the sizes, and gets the counts of all of them together; those of each size
stand in a table of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Annotated

from p4mesh.measurement.counts import Transient
from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.composition import Assemble, Case, Extension, Results, Run
from p4mesh.methods.conditions.background import renamed
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    Group,
    definition_of,
    definition_text,
    summary_of,
)
from p4mesh.methods.results.latency_cells import Circumstances, latency_cells
from p4mesh.methods.results.loss_interval import BUCKET_LOSSES, bucket_ratio
from p4mesh.methods.results.metrics import early_frames, early_of_flows, late_frames, late_of_flows, missed_error_pct
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import INLINE, OMITTED, Record, table_of
from p4mesh.quantities import number_text
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.derived import mixed_in_turn
from p4mesh.traffic.imix import MixedSize
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

_COLUMNS = (
    *(fields.MIX, fields.PART, fields.TRIAL, fields.LOAD_PCT, fields.FRAME_SIZE_BYTES),
    *(fields.TX_FRAMES, fields.RX_FRAMES, fields.LOST_FRAMES, fields.LOSS_PCT, fields.LOSS_ERROR_PCT),
    fields.BUCKET_LOSS_PCT,
)
_LATENCY = (fields.MIN_US, fields.AVG_US, fields.AVG_ERROR_US, fields.MAX_US)


@dataclass(frozen=True, kw_only=True)
class SizeCounts(Record):
    """Frames of one size in a trial, and their latency where the trial is for it."""

    mix: Annotated[str, fields.MIX]
    part: Annotated[str, fields.PART]
    trial: Annotated[int, fields.TRIAL]
    load_pct: Annotated[float, fields.LOAD_PCT]
    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted: Corrupted = field(metadata=INLINE)
    loss_pct: Annotated[float, fields.LOSS_PCT]
    loss_error_pct: Annotated[float, fields.LOSS_ERROR_PCT]
    bucket_loss_pct: Annotated[float, fields.BUCKET_LOSS_PCT]
    latency: Record | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Mixed(Record):
    """The result of a unit whose frames have a mix of sizes, and the counts of each size."""

    result: Record = field(metadata=INLINE)
    size: str
    sizes: tuple[SizeCounts, ...]


class Mixes(Extension):
    """Lets the tests that can take it send a mix of frame sizes."""

    def run_unit(self, run: Run, unit: Unit, case: Case, session: Session) -> Record:
        """Measure the unit with a stream for each size, and keep the counts of each."""
        mix = unit.frame_size
        if not isinstance(mix, MixedSize):
            return run(session)
        split = _Split(session, unit, mix, case)
        return Mixed(result=run(split), size=_text(mix), sizes=tuple(split.counts))

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome with a table of sizes, and the sizes of each mix among the deviations."""
        outcome = assemble({unit: each.result if isinstance(each, Mixed) else each for unit, each in results.items()})
        mixed = [each for each in results.values() if isinstance(each, Mixed)]
        if not mixed:
            return outcome
        rows = [(row.latency or Record(), row) for each in mixed for row in each.sizes]
        note = (
            "Trials that can be trusted. Lost frames never came. The loss has late and early frames, too, as in the "
            "table of all sizes together; which sizes a full queue loses in their place is not known: it is in the "
            f"error. {BUCKET_LOSSES}"
        )
        columns = (*_COLUMNS, *_LATENCY)
        title = "Sizes of the mix"
        table = table_of("sizes", title, columns, rows, note, optional=_LATENCY, keys=(), detail=True)
        told = dict.fromkeys(each.size for each in mixed)
        return replace(outcome, tables=(*outcome.tables, table), deviations=(*outcome.deviations, *told))


def _text(mix: MixedSize) -> str:
    """The sentence about a mix for the report."""
    shares = ", ".join(f"{part.frame_size_bytes:,} B : {part.weight:,}" for part in mix.parts)
    return (
        f"Frames of {mix.name} (RFC 6985): {shares}, in the mean {number_text(mix)} B, by which rates and loads are "
        "computed. Each size is a stream with an even pace of its own. Received bit rates are those of the mix as "
        "sent: where a device loses one size more than others, the table of sizes tells. Which sizes a queue loses "
        "that was not full in the trial is not known, and is in the errors."
    )


def _held(result: TrialResult, mix: MixedSize) -> TrialResult:
    """The result with an error for frames that a queue held back: a full one loses others in their place.

    A queue is full again as soon as a short frame fits, so that it may lose more short frames than long ones were held.
    """
    held = late_frames(result)
    if not held or early_frames(result):
        return result
    most = held * (mix / min(mix.sizes) - 1)
    others = min(ceil(most), result.expected_rx_frames - result.lost_frames - held)
    found = result.transient or Transient(ends_ns=0, over=True, frames=0)
    hidden, uneven = found.hidden_frames + others, found.uneven_frames + others
    return replace(result, transient=replace(found, hidden_frames=hidden, uneven_frames=uneven))


class _Split:
    """A session that sends each stream of a mix as one stream per size, and shows the counts of all together."""

    def __init__(self, session: Session, unit: Unit, mix: MixedSize, case: Case) -> None:
        self._session = session
        self._part, self._mix = unit.part, mix
        self._case = case
        self._trials = 0
        self.counts: list[SizeCounts] = []

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Run one trial and count its sizes."""
        sent = self._offered(spec)
        result = _held(self._session.measure(sent, note), self._mix)
        self._trials += 1
        if result.status.trusted:
            self.counts += [self._counted(sent, result, note.load_pct, size) for size in self._mix.sizes]
        return renamed(result, {part.name: stream.name for stream in spec.streams for part in self._parts(stream)})

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Announce the trials as they will be sent."""
        self._session.announce([self._offered(spec) for spec in specs])

    def _offered(self, spec: TrialSpec) -> TrialSpec:
        flows = tuple(
            (part.name, tx_port, rx_port)
            for name, tx_port, rx_port in spec.histogram_flows
            for stream in spec.streams
            if stream.name == name
            for part in self._parts(stream)
        )
        spec = replace(
            spec,
            streams=tuple(part for stream in spec.streams for part in self._parts(stream)),
            histogram_flows=flows,
            per_flow=True,
        )
        counted = len(flows) or sum(len(stream.tx_ports) * len(stream.rx_ports) for stream in spec.streams)
        if spec.histograms is HistogramPer.FLOW and counted > self._case.bed.histograms:
            return replace(spec, histograms=None, histogram_flows=())
        return spec

    def _parts(self, stream: Stream) -> tuple[Stream, ...]:
        return mixed_in_turn(stream, self._mix.parts)

    def _counted(self, sent: TrialSpec, result: TrialResult, load_pct: Fraction, size: int) -> SizeCounts:
        names = {stream.name for stream in sent.streams if stream.frame_size_bytes == size}
        flows = [flow for flow in result.flows if flow.stream in names]
        expected, lost = sum(flow.tx_frames for flow in flows), sum(flow.lost_frames for flow in flows)
        shares = zip(result.flows, late_of_flows(sent, result), early_of_flows(result), strict=True)
        missed = lost + round(sum(late + early for flow, late, early in shares if flow.stream in names))
        loss_pct = 100 * missed / max(1, expected)
        error_pct = min(missed_error_pct(result, missed, expected) or 0.0, max(loss_pct, 100 - loss_pct))
        bucket_pct = 100 * bucket_ratio(missed, expected, len({flow.tx_port for flow in flows}))
        parameters, bed = self._case.parameters, self._case.bed
        latency = None
        if LATENCY_DEFINITION.name in parameters.values and sent.departure_error_ns is not None:
            groups = [Group(flow.tx_port, flow.rx_port, flow.latency) for flow in flows if flow.latency is not None]
            whole = summary_of(groups, bed, size, definition_of(parameters))
            latency = latency_cells(
                whole, definition_text(bed, parameters), Circumstances.of([result], bed.stamps.resolution_ns)
            )
        return SizeCounts(
            mix=self._mix.name,
            part=self._part,
            trial=self._trials,
            load_pct=float(load_pct),
            frame_size_bytes=size,
            tx_frames=expected,
            rx_frames=sum(flow.rx_frames for flow in flows),
            lost_frames=lost,
            corrupted=CorruptedAtPorts(result).of(flows),
            loss_pct=loss_pct,
            loss_error_pct=error_pct,
            bucket_loss_pct=min(100.0, max(bucket_pct, loss_pct + error_pct)),
            latency=latency,
        )
