"""Loss of messages per input, and how fairly it is shared (methodology 9.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, MessageCounts, Trend
from p4mesh.methods.messages.results import damaged
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.metrics import late_frames
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_LINE_PCT = 100
"""The line of an output, which carries no more."""


@dataclass(frozen=True, kw_only=True)
class InputRow(Record):
    """One input at one load."""

    port: Annotated[int, retitled(fields.PORT, "Input", "port")]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted: Corrupted = field(metadata=INLINE)
    late_frames: Annotated[int, fields.LATE_FRAMES]
    frame_loss_ratio: Annotated[float | None, fields.FRAME_LOSS_RATIO]
    """Late frames count as lost, as a longer trial loses them."""
    messages: Annotated[int, fields.MESSAGES]
    complete_messages: Annotated[int | None, fields.COMPLETE_MESSAGES] = None
    """None where the data plane does not count messages."""
    damaged_messages_min: Annotated[int, fields.DAMAGED_MESSAGES_MIN]
    damaged_messages_max: Annotated[int, fields.DAMAGED_MESSAGES_MAX]


@dataclass(frozen=True, kw_only=True)
class LoadRow(Record):
    """All inputs at one load."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    load_pct: Annotated[float, retitled(fields.LOAD_PCT, "Load", "% of output", digits=2)]
    status: Verdict
    reason: str
    inputs: tuple[InputRow, ...]
    input_count: Annotated[int, fields.INPUT_COUNT]
    throughput_pct: Annotated[float, retitled(fields.THROUGHPUT_PCT, "Throughput", "% of output")]
    """Share of the output's line while frames were sent, or until its queue was empty where that took longer."""
    tx_frames: Annotated[int, fields.TX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    late_frames: Annotated[int, fields.LATE_FRAMES]
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    frame_loss_ratio: Annotated[float | None, fields.FRAME_LOSS_RATIO]
    message_loss_ratio_min: Annotated[float | None, fields.MESSAGE_LOSS_RATIO_MIN]
    message_loss_ratio_max: Annotated[float | None, fields.MESSAGE_LOSS_RATIO_MAX]
    conserved_loss_ratio: Annotated[float, fields.CONSERVED_LOSS_RATIO]
    """1 - 1/load: share of the frames that cannot pass the output, apart from those in its queue."""
    conserved: Annotated[bool, fields.CONSERVED]
    """Whether no more frames came out than the line of the output carries in the time of the trial."""
    queues: Annotated[str | None, fields.QUEUES]
    """Above 100 % the queue of the output fills, whatever its size."""
    misinserted_frames: Annotated[int, fields.MISINSERTED_FRAMES]
    frame_max_over_min: Annotated[float | None, fields.FRAME_MAX_OVER_MIN]
    frame_jain: Annotated[float | None, fields.FRAME_JAIN]
    message_max_over_min: Annotated[float | None, fields.MESSAGE_MAX_OVER_MIN]
    message_jain: Annotated[float | None, fields.MESSAGE_JAIN]

    @property
    def fills(self) -> bool:
        """Whether a queue takes more than leaves it, so that a trial without loss says nothing about a longer one."""
        return self.queues == Trend.FILLING.value

    @property
    def finding(self) -> str:
        """A sentence about counts that cannot be trusted, or hold for this trial alone; empty for others."""
        where = f"{self.frame_size_bytes} B at {number_text(self.load_pct)} %"
        if not self.status.trusted:
            return f"{where}: {self.status.value}: {self.reason}"
        if self.lost_frames or self.queues in (None, Trend.STEADY.value):
            return ""
        if not self.fills:
            return f"{where}: no frame was lost, but the trial is too short to tell whether a queue fills"
        kept_pct = 100 * (self.conserved_loss_ratio or 0)
        share = f"{number_text(kept_pct, 4)} % of the frames" if kept_pct else "frames"
        return f"{where}: no frame was lost, but a queue fills: it keeps {share}, which are lost as soon as it is full"


@dataclass(frozen=True, kw_only=True)
class LoadRows(Record):
    """The loads of one frame size."""

    rows: tuple[LoadRow, ...]


def ratio(part: int, whole: int) -> float | None:
    """``part`` of ``whole``, 0 to 1; None of nothing: an input that sent no frame has lost no share of them."""
    return part / whole if whole else None


def jain_index(values: Sequence[Fraction]) -> Fraction | None:
    """``(sum x)^2 / (n sum x^2)``: 1 where all are equal, 1/n where one has everything; None without loss."""
    squares = sum((value * value for value in values), Fraction(0))
    return sum(values, Fraction(0)) ** 2 / (len(values) * squares) if squares else None


def max_over_min(values: Sequence[Fraction]) -> Fraction | None:
    """The largest over the smallest value; None where the smallest is 0."""
    return max(values) / min(values) if min(values) else None


def load_row(
    trials: Sequence[tuple[TrialSpec, TrialResult]], size: int, load_pct: Fraction, slot_ns: Fraction
) -> LoadRow:
    """The losses of the trials of a load together; ``slot_ns`` is the time of a frame on the output's line."""
    each = [_Shared.of(spec, result, load_pct, slot_ns) for spec, result in trials]
    results = [result for _, result in trials]
    inputs = tuple(map(_together, zip(*(one.inputs for one in each), strict=True)))
    sent, lost, late = (
        sum(getattr(one, name) for one in inputs) for name in ("tx_frames", "lost_frames", "late_frames")
    )
    messages = sum(item.messages for item in inputs)
    frame_losses = [Fraction(item.lost_frames + item.late_frames, max(1, item.tx_frames)) for item in inputs]
    message_losses = [Fraction(item.damaged_messages_min, max(1, item.messages)) for item in inputs]
    untrusted = next((result for result in results if not result.status.trusted), results[0])
    return LoadRow(
        frame_size_bytes=size,
        load_pct=float(load_pct),
        status=untrusted.status,
        reason=untrusted.reason,
        inputs=inputs,
        input_count=len(inputs),
        throughput_pct=float(100 * (sent - lost) * slot_ns / sum(one.busy_ns for one in each)),
        tx_frames=sent,
        lost_frames=lost,
        late_frames=late,
        corrupted_frames=sum(result.corrupted_frames for result in results) or None,
        frame_loss_ratio=ratio(lost + late, sent),
        message_loss_ratio_min=ratio(sum(item.damaged_messages_min for item in inputs), messages),
        message_loss_ratio_max=ratio(_most_damaged(inputs), messages),
        conserved_loss_ratio=float(max(Fraction(0), 1 - 100 / load_pct)),
        conserved=all(one.conserved for one in each),
        queues=_queues(results, load_pct),
        misinserted_frames=sum(result.misdirected_frames for result in results),
        frame_max_over_min=_shown(max_over_min(frame_losses)),
        frame_jain=_shown(jain_index(frame_losses)),
        message_max_over_min=_shown(max_over_min(message_losses)),
        message_jain=_shown(jain_index(message_losses)),
    )


@dataclass(frozen=True)
class _Shared:
    """How the inputs shared the output in one trial."""

    inputs: tuple[InputRow, ...]
    busy_ns: Fraction
    """Time in which frames were sent, or the output was busy where that took longer."""
    conserved: bool

    @classmethod
    def of(cls, spec: TrialSpec, result: TrialResult, load_pct: Fraction, slot_ns: Fraction) -> _Shared:
        (stream,) = spec.streams
        frames, (held,) = stream.pattern.frames_together, stream.rx_ports
        by_input: dict[int, list[FlowCounts]] = {port: [] for port in stream.tx_ports}
        for flow in result.flows:
            by_input[flow.tx_port].append(flow)
        counted = {item.tx_port: item for item in result.messages}
        # An output that gets more than its line carries has a queue, whether readings saw it fill or not.
        late = sum(port.late_frames for port in result.ports if port.port == held)
        corrupted = CorruptedAtPorts(result)
        shares = _late_of_inputs(late if load_pct > _LINE_PCT else late_frames(result), by_input)
        inputs = tuple(
            _input_row(port, flows, frames, counted.get(port), shares[port], corrupted.of(flows))
            for port, flows in by_input.items()
        )
        longest_ns = stream.frame_count * NS_PER_S / stream.rate_fps + max((*stream.start_offset_ns, 0))
        arrived = [(flow.first_rx_ns, flow.last_rx_ns) for flow in result.flows if flow.rx_frames]
        carried = Fraction(0)
        if arrived:
            carried = 1 + (max(last for _, last in arrived) - min(first for first, _ in arrived)) / slot_ns
        came = sum(item.tx_frames - item.lost_frames for item in inputs)
        return cls(inputs, max(longest_ns, carried * slot_ns), came <= carried + 1)


def _together(trials: Sequence[InputRow]) -> InputRow:
    """One input in several trials."""

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in trials)

    sent, lost, late = map(total, ("tx_frames", "lost_frames", "late_frames"))
    return InputRow(
        port=trials[0].port,
        tx_frames=sent,
        lost_frames=lost,
        corrupted=sum((item.corrupted for item in trials), Corrupted()),
        late_frames=late,
        frame_loss_ratio=ratio(lost + late, sent),
        messages=total("messages"),
        complete_messages=None if trials[0].complete_messages is None else total("complete_messages"),
        damaged_messages_min=total("damaged_messages_min"),
        damaged_messages_max=total("damaged_messages_max"),
    )


def _queues(results: Sequence[TrialResult], load_pct: Fraction) -> str | None:
    if load_pct > _LINE_PCT:
        return Trend.FILLING.value
    found = {result.queues.trend for result in results if result.queues is not None}
    return next((kind.value for kind in (Trend.FILLING, Trend.UNCLEAR, Trend.STEADY) if kind in found), None)


def _late_of_inputs(late_frames: int, by_input: Mapping[int, Sequence[FlowCounts]]) -> dict[int, int]:
    """Late frames of each input, in proportion to its frames that came: the queue holds them in their order."""
    came = {port: sum(flow.rx_frames - flow.duplicate_frames for flow in flows) for port, flows in by_input.items()}
    whole = sum(came.values())
    return {port: round(Fraction(late_frames * frames, whole)) if whole else 0 for port, frames in came.items()}


def _most_damaged(inputs: Sequence[InputRow]) -> int:
    """Messages that a longer trial may damage as well: each late frame may belong to another one."""
    return sum(min(item.messages, item.damaged_messages_max + item.late_frames) for item in inputs)


def _input_row(
    port: int,
    flows: Sequence[FlowCounts],
    frames: int,
    counted: MessageCounts | None,
    late_frames: int,
    corrupted: Corrupted,
) -> InputRow:
    sent = sum(flow.tx_frames for flow in flows)
    messages = counted.sent if counted else sent // frames
    lost, low, high = damaged(flows, frames, messages, counted)
    return InputRow(
        port=port,
        tx_frames=sent,
        lost_frames=lost,
        corrupted=corrupted,
        late_frames=late_frames,
        frame_loss_ratio=ratio(lost + late_frames, sent),
        messages=messages,
        complete_messages=counted.complete if counted else None,
        damaged_messages_min=low,
        damaged_messages_max=high,
    )


def _shown(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
