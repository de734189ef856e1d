"""Latency of messages and of their positions.

The data plane measures every complete message between the first bits of its frames, from the departure of its first and
last frame to its first and last arrival. With the serialization of the last frame on both lines:

    FIFO = as measured   LILO = as measured - Sin + Sout   FILO = as measured + Sout
    FIT = (n - 1) slots + Sin, NFOT = FIT x Rin / Rout     MIMO = LILO where Rin <= Rout, else FILO - NFOT

A target whose program does not count messages has the flows of their positions alone. Frames of a message leave back to
back, so that its times follow from those of its first and its last frame: a message with a lost first or last frame is
left out of the times that need it, and the losses of the positions bound the number of damaged messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, MessageCounts, MessageTime
from p4mesh.methods.bed import Bed
from p4mesh.methods.messages.parameters import slot_ns
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import Spread, merged, summarise
from p4mesh.methods.results.latency_cells import CALIBRATED, RAW, Circumstances, us
from p4mesh.methods.results.metrics import early_of_flows, is_settled
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.traffic.line_rate import NS_PER_S, NS_PER_US, serialization_ns
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict


@dataclass(frozen=True)
class Measured:
    """The measured messages of a trial: their flows, and the lines that they pass."""

    frame_size_bytes: int
    frames: int
    tx_port: int
    rx_port: int
    rate_in_bps: int
    rate_out_bps: int
    slot_ns: Fraction
    flows: tuple[FlowCounts, ...]
    counted: MessageCounts | None = None
    """None where the data plane does not count messages."""

    @classmethod
    def of(
        cls, result: TrialResult, stream: str, bed: Bed, ports: tuple[int, int], frame_size_bytes: int, frames: int
    ) -> Measured:
        """The messages of a stream from one port to another; a trial that was not sent has no flows."""
        flows = tuple(flow for flow in result.flows if flow.stream == stream)
        tx_port, rx_port = ports
        return cls(
            frame_size_bytes,
            frames,
            tx_port,
            rx_port,
            bed.rate_bps(tx_port),
            bed.rate_bps(rx_port),
            slot_ns(bed, tx_port, frame_size_bytes),
            flows,
            next((item for item in result.messages if item.stream == stream), None),
        )

    def times(self) -> MessageTimes | None:
        """The times of the messages; None where no message has come with its first and its last frame."""
        if not self.flows:
            return None
        s_in = serialization_ns(self.frame_size_bytes, self.rate_in_bps)
        latency = self.part(self.frames).latency
        added = Fraction(latency.added_bytes if latency else 0) * 8 * NS_PER_S / self.rate_out_bps
        s_out = serialization_ns(self.frame_size_bytes, self.rate_out_bps) + added
        behind = (self.frames - 1) * self.slot_ns
        if self.counted is None:
            first, last = _fifo([self.part(1)]), _fifo([self.part(self.frames)])
            whole = None if last is None else _shifted(last, behind)
        else:
            first, last, whole = map(_spread, (self.counted.fifo, self.counted.lilo, self.counted.filo))
        if first is None or last is None or whole is None:
            return None
        lilo, filo = _shifted(last, s_out - s_in), _shifted(whole, s_out)
        nfot = (behind + s_in) * self.rate_in_bps / self.rate_out_bps
        mimo = lilo if self.rate_in_bps <= self.rate_out_bps else _shifted(filo, -nfot)
        return MessageTimes(first, lilo, filo, mimo)

    def part(self, position: int) -> FlowCounts:
        return next(flow for flow in self.flows if flow.part == str(position))


def _fifo(flows: Sequence[FlowCounts]) -> Spread | None:
    summaries = [summary for flow in flows if (summary := summarise(flow.latency)) is not None]
    whole = merged(summaries)
    return whole.latency if whole else None


def _spread(time: MessageTime | None) -> Spread | None:
    if time is None:
        return None
    low, total, high = (round(1000 * value) for value in (time.min_ns, time.sum_ns, time.max_ns))
    return Spread(time.count, Fraction(low, 1000), Fraction(total, 1000 * time.count), Fraction(high, 1000))


def _shifted(spread: Spread, shift: Fraction) -> Spread:
    return Spread(spread.count, spread.min_ns + shift, spread.avg_ns + shift, spread.max_ns + shift)


@dataclass(frozen=True)
class MessageTimes:
    """Times of messages in nanoseconds."""

    fifo: Spread
    lilo: Spread
    filo: Spread
    mimo: Spread

    def less(self, wire_ns: Fraction) -> MessageTimes:
        """The times less the latency of a wire."""
        return MessageTimes(*(_shifted(item, -wire_ns) for item in (self.fifo, self.lilo, self.filo, self.mimo)))


@dataclass(frozen=True, kw_only=True)
class TimesRow(Record):
    """Times of the messages of a trial; the cells are empty where no message has come."""

    fifo_us_min: Annotated[float | None, fields.FIFO_US_MIN] = None
    fifo_us_avg: Annotated[float | None, fields.FIFO_US_AVG] = None
    fifo_us_max: Annotated[float | None, fields.FIFO_US_MAX] = None
    lilo_us_min: Annotated[float | None, fields.LILO_US_MIN] = None
    lilo_us_avg: Annotated[float | None, fields.LILO_US_AVG] = None
    lilo_us_max: Annotated[float | None, fields.LILO_US_MAX] = None
    filo_us_min: Annotated[float | None, fields.FILO_US_MIN] = None
    filo_us_avg: Annotated[float | None, fields.FILO_US_AVG] = None
    filo_us_max: Annotated[float | None, fields.FILO_US_MAX] = None
    mimo_us_min: Annotated[float | None, fields.MIMO_US_MIN] = None
    mimo_us_avg: Annotated[float | None, fields.MIMO_US_AVG] = None
    mimo_us_max: Annotated[float | None, fields.MIMO_US_MAX] = None
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US] = None
    """Largest of the four averages; None of a single message, and where times grow with the length of a trial."""
    dif_pct: Annotated[float | None, fields.DIF_PCT] = None
    """100 (MIMO - FIFO) / FIFO, of the averages."""
    dif_error_pct: Annotated[float | None, fields.DIF_ERROR_PCT] = None
    calibrated: Annotated[str, fields.CALIBRATED]


@dataclass(frozen=True, kw_only=True)
class PositionRow(Record):
    """FIFO latency of the frames of a class of positions."""

    position: Annotated[str, fields.POSITION]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted: Corrupted = field(metadata=INLINE)
    min_us: Annotated[float | None, retitled(fields.MIN_US, "FIFO min")]
    avg_us: Annotated[float | None, fields.AVG_US]
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US]
    max_us: Annotated[float | None, fields.MAX_US]


@dataclass(frozen=True, kw_only=True)
class MessageRow(Record):
    """The measured messages of one trial."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    part: Annotated[str, retitled(fields.PART, "Trial")]
    load_pct: Annotated[float, retitled(fields.LOAD_PCT, "Load", "%", digits=2)]
    status: Verdict
    reason: str
    messages: Annotated[int, fields.MESSAGES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    early_frames: Annotated[int | None, fields.EARLY_FRAMES] = field(default=None, metadata=OMITTED)
    """Received at first beyond the rate of the rest: a longer trial loses as many of each share of them."""
    queues: Annotated[str | None, fields.QUEUES] = field(default=None, metadata=OMITTED)
    """None where a longer trial loses as many of its frames, and its times are as long."""
    corrupted: Corrupted = field(metadata=INLINE)
    complete_messages: Annotated[int | None, fields.COMPLETE_MESSAGES] = None
    """None where the data plane does not count messages."""
    damaged_messages_min: Annotated[int, fields.DAMAGED_MESSAGES_MIN]
    damaged_messages_max: Annotated[int, fields.DAMAGED_MESSAGES_MAX]
    departure_error_ns: Annotated[float | None, fields.DEPARTURE_ERROR_NS]
    times: tuple[TimesRow, ...]
    positions: tuple[PositionRow, ...]


@dataclass(frozen=True, kw_only=True)
class MessageRows(Record):
    """The trials of one unit."""

    rows: tuple[MessageRow, ...]
    flooded_frames: int = field(default=0)


def message_row(
    measured: Measured,
    result: TrialResult,
    part: str,
    load_pct: Fraction,
    wire_ns: Fraction | None,
    resolution_ns: Fraction,
) -> MessageRow:
    """The row of the measured messages of a trial; ``wire_ns`` is the latency of the tester itself."""
    times = measured.times()
    circumstances = Circumstances.of([result], resolution_ns)
    rows = [_times_row(times, RAW, circumstances)]
    if wire_ns is not None:
        rows.append(_times_row(times.less(wire_ns) if times else None, CALIBRATED, circumstances))
    sent = measured.part(1).tx_frames if measured.flows else 0
    corrupted = CorruptedAtPorts(result)
    lost, low, high = damaged(measured.flows, measured.frames, sent, measured.counted)
    return MessageRow(
        frame_size_bytes=measured.frame_size_bytes,
        part=part,
        load_pct=float(load_pct),
        status=result.status,
        reason=result.reason,
        messages=sent,
        lost_frames=lost,
        early_frames=_early_frames(result, measured),
        queues=circumstances.queues if circumstances.filling or not is_settled(result) else None,
        corrupted=corrupted.of(measured.flows),
        complete_messages=measured.counted.complete if measured.counted else None,
        damaged_messages_min=low,
        damaged_messages_max=high,
        departure_error_ns=circumstances.departure_error_ns,
        times=tuple(rows),
        positions=_position_rows(measured, corrupted, circumstances),
    )


def _early_frames(result: TrialResult, measured: Measured) -> int | None:
    shares = zip(result.flows, early_of_flows(result), strict=True)
    return round(sum(early for flow, early in shares if flow in measured.flows)) or None


def damaged(
    flows: Sequence[FlowCounts], frames: int, sent: int, counted: MessageCounts | None = None
) -> tuple[int, int, int]:
    """The lost frames, and the least and the largest number of the messages ``sent`` that they can belong to.

    Both are the number of damaged messages where the data plane has ``counted`` them. Otherwise, least: the losses of
    the position that lost most, or as many messages as the lost frames fill; largest: each lost frame belongs to
    another message.
    """
    lost = [flow.lost_frames for flow in flows]
    if counted is not None:
        return sum(lost), counted.damaged, counted.damaged
    widths = [width_of(flow.part) for flow in flows]
    fewest = max((-(-count // width) for count, width in zip(lost, widths, strict=True)), default=0)
    least = min(max(fewest, -(-sum(lost) // frames)), sent)
    return sum(lost), least, min(sum(lost), sent)


def width_of(part: str) -> int:
    """How many positions a class of positions has."""
    first, last = _bounds(part)
    return last - first + 1


def _times_row(times: MessageTimes | None, calibrated: str, circumstances: Circumstances) -> TimesRow:
    if times is None:
        return TimesRow(calibrated=calibrated)
    spreads = (times.fifo, times.lilo, times.filo, times.mimo)
    errors_ns = [error_ns for spread in spreads if (error_ns := _error_ns(spread, circumstances)) is not None]
    error_us = us(max(errors_ns, default=None))
    cells = {
        f"{name}_us_{which}": us(getattr(spread, f"{which}_ns"))
        for name, spread in zip(("fifo", "lilo", "filo", "mimo"), spreads, strict=True)
        for which in ("min", "avg", "max")
    }
    fifo = times.fifo.avg_ns
    row = replace(TimesRow(calibrated=calibrated, **cells), avg_error_us=error_us)
    if not fifo:
        return row
    part = times.mimo.avg_ns / fifo
    error = None if error_us is None else float(100 * NS_PER_US * Fraction(error_us) * (1 + abs(part)) / abs(fifo))
    return replace(row, dif_pct=float(100 * (part - 1)), dif_error_pct=error)


def _position_rows(
    measured: Measured, corrupted: CorruptedAtPorts, circumstances: Circumstances
) -> tuple[PositionRow, ...]:
    """The classes of positions, and those of the report that join several: 2..n-1 and 3..n-2."""
    flows = {_bounds(flow.part): [flow] for flow in measured.flows}
    alone = dict(flows)
    for first, last in ((2, measured.frames - 1), (3, measured.frames - 2)):
        if alone and first < last and (first, last) not in alone:
            flows[first, last] = [flow for (low, high), (flow,) in alone.items() if first <= low and high <= last]
    return tuple(_position_row(bounds, flows[bounds], corrupted, circumstances) for bounds in sorted(flows))


def _bounds(part: str) -> tuple[int, int]:
    first, _, last = part.partition("..")
    return int(first), int(last or first)


def _position_row(
    bounds: tuple[int, int], flows: Sequence[FlowCounts], corrupted: CorruptedAtPorts, circumstances: Circumstances
) -> PositionRow:
    first, last = bounds
    spread = _fifo(flows)
    return PositionRow(
        position=str(first) if first == last else f"{first}..{last}",
        tx_frames=sum(flow.tx_frames for flow in flows),
        rx_frames=sum(flow.rx_frames - flow.duplicate_frames for flow in flows),
        lost_frames=sum(flow.lost_frames for flow in flows),
        corrupted=corrupted.of(flows),
        min_us=us(spread.min_ns) if spread else None,
        avg_us=us(spread.avg_ns) if spread else None,
        avg_error_us=us(_error_ns(spread, circumstances)) if spread else None,
        max_us=us(spread.max_ns) if spread else None,
    )


def _error_ns(times: Spread, circumstances: Circumstances) -> Fraction | None:
    """Error of an average of times of messages; None of a single one, and where those of a longer trial are longer."""
    if times.count < 2 or circumstances.filling:
        return None
    queue_ns = times.max_ns - times.avg_ns if circumstances.overflowed else Fraction(0)
    sampled_ns = max(times.average_error_ns, queue_ns)
    return sampled_ns + circumstances.resolution_ns + circumstances.delayed_ns(times.avg_ns - times.min_ns)
