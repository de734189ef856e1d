"""Latency and its variation as stored results, in microseconds, from summaries in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Annotated, TypeVar, overload

from p4mesh.measurement.counts import Trend
from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import Definition, LatencySummary, Percentiles, Spread
from p4mesh.methods.results.metrics import begun_share, grows, late_frames, part_alone, trend_of
from p4mesh.methods.results.queues import queue_text
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_US
from p4mesh.trial.result import TrialResult

RAW, CALIBRATED = "no", "yes"
Times = TypeVar("Times", bound="LatencyTimes")


@dataclass(frozen=True, kw_only=True)
class LatencyTimes(Record):
    """Times of some frames; all empty without samples."""

    min_us: Annotated[float | None, fields.MIN_US] = None
    avg_us: Annotated[float | None, fields.AVG_US] = None
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US] = None
    max_us: Annotated[float | None, fields.MAX_US] = None
    single_error_us: float | None = field(default=None, metadata=OMITTED)
    """Error of the smallest and the largest latency; None where stamps are those of the wire."""
    p50_us: Annotated[float | None, fields.P50_US] = None
    p50_error_us: Annotated[float | None, fields.P50_ERROR_US] = None
    p99_us: Annotated[float | None, fields.P99_US] = None
    p99_error_us: Annotated[float | None, fields.P99_ERROR_US] = None
    p99_9_us: Annotated[float | None, fields.P99_9_US] = None
    p99_9_error_us: Annotated[float | None, fields.P99_9_ERROR_US] = None

    @classmethod
    def of(
        cls: type[Times],
        summary: LatencySummary | None,
        circumstances: Circumstances,
        counted: LatencySummary | None,
    ) -> Times:
        """The times of a summary, and the percentiles of the one whose frames were counted in bins, if there is one."""
        if summary is None:
            return cls()
        percentiles_ns = counted.percentiles_ns if counted else {}

        def error_us(percent: float) -> float | None:
            return us(circumstances.percentile_error_ns(counted, percent)) if counted else None

        return cls(
            min_us=us(summary.latency.min_ns),
            avg_us=us(summary.latency.avg_ns),
            avg_error_us=us(circumstances.error_ns(summary)),
            max_us=us(summary.latency.max_ns),
            single_error_us=circumstances.single_error_us,
            p50_us=us(percentiles_ns.get(50.0)),
            p50_error_us=error_us(50.0),
            p99_us=us(percentiles_ns.get(99.0)),
            p99_error_us=error_us(99.0),
            p99_9_us=us(percentiles_ns.get(99.9)),
            p99_9_error_us=error_us(99.9),
        )


@dataclass(frozen=True, kw_only=True)
class Jitter(Record):
    """RFC 4689 jitter; empty without two frames of a flow."""

    jitter_min_us: Annotated[float | None, fields.JITTER_MIN_US] = None
    jitter_avg_us: Annotated[float | None, retitled(fields.JITTER_AVG_US, "Jitter avg", digits=4)] = None
    jitter_avg_error_us: Annotated[float | None, fields.JITTER_AVG_ERROR_US] = None
    jitter_max_us: Annotated[float | None, fields.JITTER_MAX_US] = None

    @classmethod
    def of(cls, summary: LatencySummary | None, circumstances: Circumstances) -> Jitter:
        """The jitter of the frames of a summary."""
        found = summary.jitter if summary else None
        if found is None:
            return cls()
        return cls(
            jitter_min_us=us(found.min_ns),
            jitter_avg_us=us(found.avg_ns),
            jitter_avg_error_us=us(circumstances.difference_error_ns(found)),
            jitter_max_us=us(found.max_ns),
        )


@dataclass(frozen=True, kw_only=True)
class LatencyCells(Record):
    """Latency of some frames; all empty but the definition without samples."""

    definition: Annotated[str, fields.DEFINITION]
    times: LatencyTimes = field(default=LatencyTimes(), metadata=INLINE)
    samples: Annotated[int | None, fields.SAMPLES] = None
    jitter: Jitter = field(default=Jitter(), metadata=INLINE)
    calibrated: Annotated[str, fields.CALIBRATED] = RAW
    queues: Annotated[str | None, fields.QUEUES] = None
    """Whether a queue filled meanwhile; None where queues were not watched."""
    departure_error_ns: Annotated[float | None, fields.DEPARTURE_ERROR_NS] = None
    """Greatest delay of a frame behind its planned departure."""
    overflow_frames: int | None = field(default=None, metadata=OMITTED)
    """No column, but a finding."""


@dataclass(frozen=True, kw_only=True)
class DefinitionCells(Record):
    """Average latency in every definition."""

    fifo_us: Annotated[float | None, fields.FIFO_US]
    lifo_us: Annotated[float | None, fields.LIFO_US]
    lilo_us: Annotated[float | None, fields.LILO_US]
    filo_us: Annotated[float | None, fields.FILO_US]
    mimo_us: Annotated[float | None, fields.MIMO_US]
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US] = None
    """The same for all of them; None of a single frame."""


@dataclass(frozen=True, kw_only=True)
class VariationCells(Record):
    """Variation of the delay; all empty for less than two samples."""

    pdv_p99_us: Annotated[float | None, fields.PDV_P99_US] = None
    pdv_p99_error_us: Annotated[float | None, fields.PDV_P99_ERROR_US] = None
    pdv_p99_9_us: Annotated[float | None, fields.PDV_P99_9_US] = None
    pdv_p99_9_error_us: Annotated[float | None, fields.PDV_P99_9_ERROR_US] = None
    pdv_max_us: Annotated[float | None, fields.PDV_MAX_US] = None
    ipdv_min_us: Annotated[float | None, fields.IPDV_MIN_US] = None
    ipdv_p1_us: Annotated[float | None, fields.IPDV_P1_US] = None
    ipdv_p1_error_us: Annotated[float | None, fields.IPDV_P1_ERROR_US] = None
    ipdv_avg_us: Annotated[float | None, fields.IPDV_AVG_US] = None
    ipdv_avg_error_us: Annotated[float | None, fields.IPDV_AVG_ERROR_US] = None
    ipdv_p99_us: Annotated[float | None, fields.IPDV_P99_US] = None
    ipdv_p99_error_us: Annotated[float | None, fields.IPDV_P99_ERROR_US] = None
    ipdv_max_us: Annotated[float | None, fields.IPDV_MAX_US] = None
    ipdv_samples: Annotated[int | None, fields.IPDV_SAMPLES] = None
    rfc3550_avg_us: Annotated[float | None, fields.RFC3550_AVG_US] = None
    rfc3550_avg_error_us: Annotated[float | None, fields.RFC3550_AVG_ERROR_US] = None
    rfc3550_max_us: Annotated[float | None, fields.RFC3550_MAX_US] = None


@dataclass(frozen=True, kw_only=True)
class CalibrationCells(Record):
    """Latency beside that of the wire, for one pair of ports."""

    tx_port: Annotated[int, fields.TX_PORT]
    rx_port: Annotated[int, fields.RX_PORT]
    wire_us: Annotated[float, fields.WIRE_US]
    wire_error_us: Annotated[float, fields.WIRE_ERROR_US]
    latency_raw_us: Annotated[float, fields.LATENCY_RAW_US]
    latency_calibrated_us: Annotated[float, fields.LATENCY_CALIBRATED_US]


@dataclass(frozen=True)
class Circumstances:
    """Facts about trials that stand beside each latency of theirs."""

    queues: str | None = None
    """State of the queues of the device meanwhile."""
    departure_error_ns: float | None = None
    """How late a frame of the tester may have left, the worst of all streams; None where it is not known."""
    average_error_ns: float | None = 0.0
    """Error of the average latency, where frames depend on each other, and of stamps; None where it is not known."""
    single_error_ns: float | None = None
    """Error of the latency of a single frame, where stamps have one that is known."""
    filling: bool = False
    """A queue filled or may have filled, and lost nothing, or latency grew without one: the longer a trial, the longer
    its latencies.
    """
    resolution_ns: Fraction = Fraction(0)
    """Resolution of the time stamps. Two of them make a latency, which is wrong by less than that: of all frames in the
    same direction where they have one phase to the clock.
    """
    overflowed: bool = False
    """A queue was filled at first and full then: the average of a longer trial is nearer to the maximum."""
    begun_share: float = 0.0
    """Part of the frames, 0 to 1, that came while the device forwarded more than later: they met more others."""
    burst_share: float = 0.0
    """Part of the frames, 0 to 1, that met a burst of others, which is as long in a longer trial."""
    alone: float = 1.0
    """Part of the frames, above 0 to 1, that are no copies of others: what delays one copy may delay all of them."""
    unmet_ns: float = 0.0
    """Largest change of the average by frames of other rates, which this trial has not met at all phases."""

    @classmethod
    def of(cls, results: Sequence[TrialResult], resolution_ns: Fraction, *, of_all: bool = False) -> Circumstances:
        """The circumstances of some trials together, whose time stamps have a resolution.

        ``of_all``: they are for all copies of a frame in one row.
        """
        errors_ns = [paced.departure_error_ns for result in results for paced in result.pacing]
        known = not any(result.unstamped_departures for result in results)
        average_error_ns = max((result.latency_error_ns for result in results), default=0.0) if known else None
        single_error_ns = max((result.single_latency_error_ns for result in results), default=0.0) if known else None
        late = [result for result in results if late_frames(result)]
        return cls(
            queue_text(results),
            max(errors_ns, default=None),
            average_error_ns,
            single_error_ns or None,
            filling=any(map(_grows, results)),
            resolution_ns=resolution_ns,
            overflowed=bool(late),
            begun_share=max(map(begun_share, results), default=0.0),
            alone=min(map(part_alone, results), default=1.0) if of_all else 1.0,
            unmet_ns=max((result.unmet_ns for result in results), default=0.0),
        )

    @property
    def single_error_us(self) -> float | None:
        """The error of a single frame, as tables have it."""
        return None if self.single_error_ns is None else self.single_error_ns / NS_PER_US

    def error_ns(self, summary: LatencySummary) -> Fraction | None:
        """Error of the average of a summary; None of a single frame, and where no trial of any length has it."""
        latency = summary.latency
        if latency.count <= 1 or self.filling or self.average_error_ns is None or summary.overflow_count:
            return None
        queue_ns = latency.max_ns - latency.avg_ns if self.overflowed else Fraction(0)
        begun_ns = _without_ns(Fraction(self.begun_share), latency.min_ns, latency.avg_ns, latency.max_ns)
        own_ns = Fraction(max(self.average_error_ns, self.unmet_ns))
        sampled_ns = max(summary.average_error_ns, own_ns, queue_ns, begun_ns)
        return sampled_ns + self.resolution_ns + self.delayed_ns(latency.avg_ns - latency.min_ns)

    def delayed_ns(self, above_least_ns: Fraction) -> Fraction:
        """How much of a latency, or of a difference of latencies, late departures may be.

        A frame is stamped when it leaves: late ones change no latency but where a queue forms, by no more than they
        were late, and by no more than the queue adds to the least latency.
        """
        return min(Fraction(self.departure_error_ns or 0), max(Fraction(0), above_least_ns))

    def percentile_error_ns(self, summary: LatencySummary, percent: float) -> Fraction | None:
        """Error of a percentile; None where the frames are too few for it, and where no trial of any length has it."""
        sampled_ns = summary.percentile_errors_ns.get(percent)
        if sampled_ns is None or self.filling or self.average_error_ns is None or summary.overflow_count:
            return None
        value_ns = summary.percentiles_ns[percent]
        queue_ns = self.behind_ns(summary.percentiles_ns, percent, summary.latency.min_ns, summary.latency.max_ns)
        own_ns = Fraction(max(self.average_error_ns, self.unmet_ns, self.single_error_ns or 0))
        error_ns = max(sampled_ns, own_ns, queue_ns)
        return error_ns + self.resolution_ns + self.delayed_ns(value_ns - summary.latency.min_ns)

    def behind_ns(self, values: Percentiles, percent: float, least_ns: Fraction, longest_ns: Fraction) -> Fraction:
        """How far a percentile may be from that of frames behind a transient, a burst or the filling of a queue.

        Without a part s of the frames, whichever they are, a quantile q lies between those of q (1 - s) and of
        q (1 - s) + s.
        """
        value_ns = values[percent]
        if not self.begun_share:
            low = percent * (1 - self.burst_share)
            least_ns = max((value for known, value in values.items() if known <= low), default=least_ns)
            if not self.overflowed:
                high = low + 100 * self.burst_share
                longest_ns = min((value for known, value in values.items() if known >= high), default=longest_ns)
        return max(longest_ns - value_ns, value_ns - least_ns)

    def difference_error_ns(self, jitter: Spread | None) -> Fraction | None:
        """Error of the average of differences between neighbours; None of less than two."""
        sampled_ns = jitter.difference_error_ns if jitter else None
        if jitter is None or sampled_ns is None or self.filling:
            return None
        sampled_ns *= Fraction(1 / sqrt(self.alone))
        return max(sampled_ns, self.beside_ns(jitter, jitter.avg_ns)) + self.between_ns(jitter.avg_ns)

    def beside_ns(self, differences: Spread, average_ns: Fraction) -> Fraction:
        """How far an average of differences may be from that behind a transient or the filling of a queue.

        Frames that meet others make two of them.
        """
        unmet_ns = 2 * Fraction(self.unmet_ns)
        if not self.overflowed and not self.begun_share and not self.burst_share:
            return unmet_ns
        return max(differences.max_ns - average_ns, average_ns - differences.min_ns, unmet_ns)

    def between_ns(self, difference_ns: Fraction) -> Fraction:
        """How much of a difference of two latencies late departures and time stamps may be."""
        return 2 * self.resolution_ns + self.delayed_ns(abs(difference_ns))


def _without_ns(share: Fraction, least_ns: Fraction, average_ns: Fraction, longest_ns: Fraction) -> Fraction:
    """How far an average may be from that without a part of the frames, whose own one is between least and longest.

    The average is share * a + (1 - share) * b, and its distance from b is share * |a - b|.
    """
    by_range = share * (longest_ns - least_ns)
    if share == 1:
        return by_range
    return min(by_range, share / (1 - share) * max(longest_ns - average_ns, average_ns - least_ns))


def _grows(result: TrialResult) -> bool:
    """Whether a longer trial has, or may have, longer latencies up to no limit that this one shows."""
    if trend_of(result) in (Trend.FILLING, Trend.UNCLEAR) or grows(result):
        return True
    return late_frames(result) > 0 and not result.lost_frames


def latency_cells(
    summary: LatencySummary | None, definition: str, circumstances: Circumstances, calibrated: str = RAW
) -> LatencyCells:
    """The cells of a summary, with the circumstances in which its frames were sent."""
    if summary is None:
        return LatencyCells(definition=definition, calibrated=calibrated)
    return LatencyCells(
        definition=definition,
        times=LatencyTimes.of(summary, circumstances, summary),
        samples=summary.latency.count,
        jitter=Jitter.of(summary, circumstances),
        calibrated=calibrated,
        queues=circumstances.queues,
        departure_error_ns=circumstances.departure_error_ns,
        overflow_frames=summary.overflow_count,
    )


def definition_cells(
    found: Mapping[Definition, LatencySummary | None], circumstances: Circumstances
) -> DefinitionCells:
    """Averages in all definitions, None for one without samples, and the error that they share."""
    first_bits = found[Definition.FIFO]

    def average_us(kind: Definition) -> float | None:
        whole = found[kind]
        return us(whole.latency.avg_ns) if whole else None

    return DefinitionCells(
        fifo_us=average_us(Definition.FIFO),
        lifo_us=average_us(Definition.LIFO),
        lilo_us=average_us(Definition.LILO),
        filo_us=average_us(Definition.FILO),
        mimo_us=average_us(Definition.MIMO),
        avg_error_us=us(circumstances.error_ns(first_bits)) if first_bits else None,
    )


def variation_cells(summary: LatencySummary | None, circumstances: Circumstances) -> VariationCells:
    """The cells of jitter and delay variation of a summary."""
    if summary is None or summary.latency.count < 2:
        return VariationCells()
    ipdv, rfc3550 = summary.ipdv, summary.rfc3550
    jitter_error_ns = circumstances.difference_error_ns(summary.jitter)
    smoothed_ns = (
        None if jitter_error_ns is None else summary.smoothed_error_ns(jitter_error_ns, circumstances.resolution_ns)
    )
    rfc3550_ns = rfc3550.avg_ns if rfc3550 else Fraction(0)
    if smoothed_ns is not None and summary.jitter is not None:
        smoothed_ns = max(smoothed_ns, circumstances.beside_ns(summary.jitter, rfc3550_ns))

    def error_us(values: Percentiles, sampled: Percentiles, percent: float) -> float | None:
        above_least = values is summary.pdv_percentiles_ns
        if circumstances.filling or (above_least and summary.overflow_count):
            return None
        sampled_ns = sampled.get(percent)
        if sampled_ns is None:
            return None
        value_ns = values[percent]
        if above_least:
            behind_ns = circumstances.behind_ns(values, percent, Fraction(0), summary.pdv_max_ns)
            behind_ns = max(behind_ns, Fraction(circumstances.unmet_ns))
        else:
            behind_ns = circumstances.beside_ns(ipdv, value_ns) if ipdv else Fraction(0)
        return us(max(sampled_ns, behind_ns) + circumstances.between_ns(value_ns))

    return VariationCells(
        pdv_p99_us=us(summary.pdv_percentiles_ns.get(99.0)),
        pdv_p99_error_us=error_us(summary.pdv_percentiles_ns, summary.pdv_percentile_errors_ns, 99.0),
        pdv_p99_9_us=us(summary.pdv_percentiles_ns.get(99.9)),
        pdv_p99_9_error_us=error_us(summary.pdv_percentiles_ns, summary.pdv_percentile_errors_ns, 99.9),
        pdv_max_us=us(summary.pdv_max_ns),
        ipdv_min_us=us(ipdv.min_ns) if ipdv else None,
        ipdv_p1_us=us(summary.ipdv_percentiles_ns.get(1.0)),
        ipdv_p1_error_us=error_us(summary.ipdv_percentiles_ns, summary.ipdv_percentile_errors_ns, 1.0),
        ipdv_avg_us=us(ipdv.avg_ns) if ipdv else None,
        ipdv_avg_error_us=us(circumstances.difference_error_ns(ipdv)),
        ipdv_p99_us=us(summary.ipdv_percentiles_ns.get(99.0)),
        ipdv_p99_error_us=error_us(summary.ipdv_percentiles_ns, summary.ipdv_percentile_errors_ns, 99.0),
        ipdv_max_us=us(ipdv.max_ns) if ipdv else None,
        ipdv_samples=ipdv.count if ipdv else None,
        rfc3550_avg_us=us(rfc3550.avg_ns) if rfc3550 else None,
        rfc3550_avg_error_us=us(None if smoothed_ns is None else smoothed_ns + circumstances.between_ns(rfc3550_ns)),
        rfc3550_max_us=us(rfc3550.max_ns) if rfc3550 else None,
    )


def calibration_cells(
    bed: Bed, frame_size_bytes: FrameSize, tx_port: int, rx_port: int, average_us: float
) -> CalibrationCells:
    """The wire of one pair of ports beside the average latency there."""
    assert bed.calibration is not None
    wire = bed.calibration.wire(tx_port, rx_port, frame_size_bytes)
    return CalibrationCells(
        tx_port=tx_port,
        rx_port=rx_port,
        wire_us=wire.median_ns / NS_PER_US,
        wire_error_us=wire.median_error_ns / NS_PER_US,
        latency_raw_us=average_us,
        latency_calibrated_us=float((Fraction(average_us) * NS_PER_US - Fraction(wire.median_ns)) / NS_PER_US),
    )


@overload
def us(nanoseconds: Fraction) -> float: ...
@overload
def us(nanoseconds: None) -> None: ...
@overload
def us(nanoseconds: Fraction | None) -> float | None: ...
def us(nanoseconds: Fraction | None) -> float | None:
    """Nanoseconds as microseconds; None stays None."""
    return None if nanoseconds is None else float(nanoseconds / NS_PER_US)
