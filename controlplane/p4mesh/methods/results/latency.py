"""Latency definitions of RFC 1242, RFC 8238 and ATM Forum BTD-TEST-TM, and delay variation.

Time stamps of a frame's first bit give first in, first out (FIFO). The others follow for contiguous
frames: ``LIFO = FIFO - Sin``, ``LILO = FIFO - Sin + Sout``, ``FILO = FIFO + Sout`` and
``MIMO = min(LILO, FILO - NFOT)``, where S is the serialization time at the input or output rate.
Software stamps whole frames; the interval between such stamps is called LILO-like and is not converted. Stamps of an
egress parser are a constant before the first bit: FIFO and that constant, which is not converted either, unless wires
were measured with the same tester, so that the constant is known and calibrated rows are without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import hypot, sqrt

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.counts import LatencyStats, average_error_ns
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet, choice
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_S, serialization_ns
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.result import TrialResult


class Definition(str, Enum):
    """Which bits of a frame delimit the interval."""

    FIFO = "FIFO"
    """First in, first out: RFC 1242 for bit-forwarding (cut-through) devices."""
    LIFO = "LIFO"
    """Last in, first out: RFC 1242 for store-and-forward devices; negative for cut-through."""
    LILO = "LILO"
    """Last in, last out: RFC 4689 forwarding delay."""
    FILO = "FILO"
    """First in, last out: RFC 8238, required for data centres."""
    MIMO = "MIMO"
    """Message in, message out of a message of one frame."""


NAME_WITHOUT_DEFINITION = {
    StampKind.FIRST_BIT: Definition.FIFO.value,
    StampKind.SOFTWARE: "LILO-like",
    StampKind.PARSER: "parser to first bit",
}
"""Interval that each kind of stamps measures."""
_TAKEN = {
    StampKind.FIRST_BIT: "of the first bit",
    StampKind.SOFTWARE: "by software around whole frames",
    StampKind.PARSER: "in the egress parser, and of the first bit received",
}
_CONSTANT_UNKNOWN = (
    "The way of a frame from the egress parser to the line is part of each latency: no wire was measured."
)
_CONSTANT_KNOWN = "The way of a frame from the egress parser to the line is part of each latency, and of its wire."
_LATENCY_HINT = {
    StampKind.SOFTWARE: "leave latency_definition out, or use a target whose time stamps are those of the first bit",
    StampKind.PARSER: "measure wires with p4mesh calibrate and give --calibration, or leave latency_definition out",
}
LATENCY_DEFINITION = choice(
    "latency_definition",
    Definition.LILO.value,
    "RFC 1242 3.8, RFC 8238 2",
    "which bits of a frame delimit its latency",
    tuple(definition.value for definition in Definition),
)


def definition_of(parameters: ParameterSet) -> Definition:
    """The definition that the test prints its latency in."""
    return Definition(parameters.text(LATENCY_DEFINITION.name))


def check_definition(test: str, bed: Bed, parameters: ParameterSet) -> None:
    """Raise UnsupportedError when the time stamps of the target do not give the definition of the parameters."""
    require_definition(test, bed, definition_of(parameters))


def require_definition(test: str, bed: Bed, wanted: Definition) -> None:
    """Raise UnsupportedError when the time stamps of the target do not give a definition."""
    if not bed.defines_latency and wanted is not Definition.LILO:
        kind = bed.stamps.kind
        raise UnsupportedError(
            f"{test}: latency_definition={wanted.value} is not supported on {bed.target}: "
            f"its time stamps are {NAME_WITHOUT_DEFINITION[kind]}, taken {_TAKEN[kind]}",
            hint=_LATENCY_HINT[kind],
        )


def definition_text(bed: Bed, parameters: ParameterSet) -> str:
    """Name of the latency of this run in tables."""
    return shown_definition(bed, definition_of(parameters))


def shown_definition(bed: Bed, definition: Definition) -> str:
    """Name of latency in a definition in tables."""
    return definition.value if bed.defines_latency else NAME_WITHOUT_DEFINITION[bed.stamps.kind]


def stamps_text(bed: Bed) -> str:
    """The sentence about time stamps and their resolution that every latency table carries."""
    text = f"Time stamps {_TAKEN[bed.stamps.kind]}, resolution {number_text(bed.stamps.resolution_ns)} ns."
    if bed.stamps.kind is not StampKind.PARSER:
        return text
    return f"{text} {_CONSTANT_KNOWN if bed.defines_latency else _CONSTANT_UNKNOWN}"


def offset_ns(
    definition: Definition,
    frame_size_bytes: FrameSize,
    rate_in_bps: int,
    rate_out_bps: int | None = None,
    added_bytes: float = 0.0,
) -> Fraction:
    """The time to add to FIFO; ``rate_out_bps`` is the input rate unless given.

    Frames come back longer by ``added_bytes``.
    """
    s_in = serialization_ns(frame_size_bytes, rate_in_bps)
    nominal_out = serialization_ns(frame_size_bytes, rate_out_bps or rate_in_bps)
    s_out = nominal_out + 8 * Fraction(added_bytes) * NS_PER_S / (rate_out_bps or rate_in_bps)
    if definition is Definition.LIFO:
        return -s_in
    if definition is Definition.LILO:
        return s_out - s_in
    if definition is Definition.FILO:
        return s_out
    if definition is Definition.MIMO:
        return s_out - max(s_in, nominal_out)  # LILO, or FILO - NFOT
    return Fraction(0)


def shift_ns(
    bed: Bed,
    definition: Definition,
    frame_size_bytes: FrameSize,
    tx_port: int,
    rx_port: int,
    stats: LatencyStats | None = None,
) -> Fraction:
    """The time to add to a measured latency between two ports; 0 where stamps are not converted."""
    if not bed.defines_latency:
        return Fraction(0)
    added_bytes = stats.added_bytes if stats else 0.0
    return offset_ns(definition, frame_size_bytes, bed.rate_bps(tx_port), bed.rate_bps(rx_port), added_bytes)


@dataclass(frozen=True)
class Group:
    """Measured latency of the frames from one port to another."""

    tx_port: int
    rx_port: int
    stats: LatencyStats


def groups_of(result: TrialResult, streams: Collection[str]) -> list[Group]:
    """The latency of every flow of ``streams``, with percentiles where flows have histograms."""
    counted = [
        Group(found.tx_port, found.rx_port, found.latency)
        for found in result.histograms
        if found.stream in streams and found.tx_port is not None and found.rx_port is not None
    ]
    return counted or [
        Group(flow.tx_port, flow.rx_port, flow.latency)
        for flow in result.flows
        if flow.stream in streams and flow.latency is not None
    ]


def summary_of(
    groups: Sequence[Group], bed: Bed, frame_size_bytes: FrameSize, definition: Definition, *, calibrated: bool = False
) -> LatencySummary | None:
    """The latency of all groups together, less the latency of their wires where asked."""
    summaries = []
    for group in groups:
        shift = shift_ns(bed, definition, frame_size_bytes, group.tx_port, group.rx_port, group.stats)
        if calibrated:
            assert bed.calibration is not None
            shift -= Fraction(bed.calibration.wire(group.tx_port, group.rx_port, frame_size_bytes).median_ns)
        summary = summarise(group.stats, shift)
        if summary is not None:
            summaries.append(summary)
    return merged(summaries)


@dataclass(frozen=True)
class Spread:
    """Number, minimum, mean and maximum of values in nanoseconds."""

    count: int
    min_ns: Fraction
    avg_ns: Fraction
    max_ns: Fraction

    @property
    def average_error_ns(self) -> Fraction:
        """Error of the average with 95 % confidence, if values are independent of each other."""
        return Fraction(average_error_ns(self.count, float(self.min_ns), float(self.avg_ns), float(self.max_ns)))

    @property
    def difference_error_ns(self) -> Fraction | None:
        """The same where values are differences of neighbours, which have one frame in common; None of one value."""
        if self.count <= 1:
            return None
        # The covariance of neighbours is half the variance at most, and of others 0: the variance of a mean doubles.
        return Fraction(sqrt(2) * float(self.average_error_ns))


Percentiles = Mapping[float, Fraction]
"""Per cent to nanoseconds."""


@dataclass(frozen=True)
class LatencySummary:
    """Latency in one definition, with its variation, of the frames of one or more flows."""

    latency: Spread
    percentiles_ns: Percentiles
    """Empty without histograms."""
    percentile_errors_ns: Percentiles
    """How far the percentile of a longer trial may be, of those percentiles that have frames enough to say so."""
    jitter: Spread | None
    """RFC 4689: size of the difference between consecutive frames of a flow."""
    pdv_percentiles_ns: Percentiles
    """RFC 5481 4.2: latency above the smallest latency of the same frames."""
    pdv_percentile_errors_ns: Percentiles
    pdv_max_ns: Fraction
    ipdv: Spread | None
    """RFC 5481 4.1: signed difference to the frame sent before."""
    ipdv_percentiles_ns: Percentiles
    ipdv_percentile_errors_ns: Percentiles
    rfc3550: Spread | None
    """RFC 3550 jitter of the flows at the end of the trial; the minimum is not kept and is 0."""
    average_error_ns: Fraction
    """Error of the average, 95 % confidence."""
    overflow_count: int = 0
    """Frames that took longer than the time stamps reach, counted as the longest time they reach."""

    def smoothed_error_ns(self, jitter_error_ns: Fraction, resolution_ns: Fraction) -> Fraction | None:
        """Largest error of the mean of RFC 3550 jitter, 95 % confidence; None where flows have one difference in all.

        An estimate is the mean of differences with the weights 1/16, 15/16^2, ...: of independent ones it has 1/31 of
        their variance, with the covariance of neighbours, half of that at most, 1/16. It begins with 0, and still lacks
        (15/16)^n of the jitter after n differences, whose average has the error ``jitter_error_ns``. It is kept in 1/16
        of the ``resolution_ns``, and comes to rest within half of it.
        """
        if self.rfc3550 is None or self.jitter is None or self.jitter.count <= 1:
            return None
        flows = self.rfc3550.count
        of_one_flow_ns = float(self.jitter.average_error_ns) * sqrt(self.jitter.count / 16)
        begun_ns = float(self.jitter.avg_ns + jitter_error_ns) * (15 / 16) ** (self.jitter.count / flows)
        return Fraction(of_one_flow_ns / sqrt(flows) + begun_ns) + resolution_ns / 2


def summarise(stats: LatencyStats | None, shift: Fraction = Fraction(0)) -> LatencySummary | None:
    """Measured latency plus ``shift`` (see :func:`shift_ns`); None without samples."""
    if stats is None or not stats.count:
        return None
    low, high = Fraction(stats.min_ns), Fraction(stats.max_ns)
    raw, errors_ns = _within(stats.percentiles_ns, low, high), _fractions(stats.percentile_errors_ns)
    return LatencySummary(
        Spread(stats.count, low + shift, Fraction(stats.sum_ns) / stats.count + shift, high + shift),
        {percent: value + shift for percent, value in raw.items()},
        errors_ns,
        _spread(stats.jitter_count, stats.jitter_min_ns, stats.jitter_sum_ns, stats.jitter_max_ns),
        {percent: value - low for percent, value in raw.items()},
        errors_ns,
        high - low,
        _spread(stats.ipdv_count, stats.ipdv_min_ns, stats.ipdv_sum_ns, stats.ipdv_max_ns),
        _within(stats.ipdv_percentiles_ns, Fraction(stats.ipdv_min_ns), Fraction(stats.ipdv_max_ns)),
        _fractions(stats.ipdv_percentile_errors_ns),
        _spread(stats.rfc3550_jitter_flows, 0.0, stats.rfc3550_jitter_sum_ns, stats.rfc3550_jitter_max_ns),
        Fraction(max(stats.sampling_error_ns, stats.windows_error_ns)),
        stats.overflow_count,
    )


def merged(summaries: Sequence[LatencySummary]) -> LatencySummary | None:
    """One summary of several groups of frames: flows, ports or runs; None without a group.

    Averages are weighted with the frames. Percentiles of groups cannot be added: the result holds
    the most unfavourable of all groups, for IPDV on both sides of its median.
    """
    if not summaries:
        return None
    latency = _merged_spread([summary.latency for summary in summaries])
    assert latency is not None
    return LatencySummary(
        latency,
        _worst([summary.percentiles_ns for summary in summaries]),
        _worst([summary.percentile_errors_ns for summary in summaries]),
        _merged_spread([summary.jitter for summary in summaries]),
        _worst([summary.pdv_percentiles_ns for summary in summaries]),
        _worst([summary.pdv_percentile_errors_ns for summary in summaries]),
        max(summary.pdv_max_ns for summary in summaries),
        _merged_spread([summary.ipdv for summary in summaries]),
        _worst([summary.ipdv_percentiles_ns for summary in summaries], both_sides=True),
        _worst([summary.ipdv_percentile_errors_ns for summary in summaries]),
        _merged_spread([summary.rfc3550 for summary in summaries]),
        Fraction(hypot(*(summary.latency.count * summary.average_error_ns for summary in summaries))) / latency.count,
        sum(summary.overflow_count for summary in summaries),
    )


def _fractions(pairs: Iterable[tuple[float, float]]) -> Percentiles:
    return {percent: Fraction(value) for percent, value in pairs}


def _within(percentiles: Iterable[tuple[float, float]], low: Fraction, high: Fraction) -> dict[float, Fraction]:
    """Percentiles limited to the measured range: the middle of a bin may lie outside of it."""
    return {percent: min(max(Fraction(value), low), high) for percent, value in percentiles}


def _spread(count: int, low: float, total: float, high: float) -> Spread | None:
    return Spread(count, Fraction(low), Fraction(total) / count, Fraction(high)) if count else None


def _merged_spread(spreads: Sequence[Spread | None]) -> Spread | None:
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return None
    count = sum(spread.count for spread in known)
    total = sum((spread.avg_ns * spread.count for spread in known), Fraction(0))
    return Spread(count, min(spread.min_ns for spread in known), total / count, max(spread.max_ns for spread in known))


def _worst(groups: Sequence[Percentiles], *, both_sides: bool = False) -> Percentiles:
    """The largest value of each percentile that all groups have; below the median the smallest."""
    shared = [percent for percent in groups[0] if all(percent in group for group in groups)]
    return {
        percent: (min if both_sides and percent < 50 else max)(group[percent] for group in groups) for percent in shared
    }
