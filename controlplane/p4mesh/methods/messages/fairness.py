"""Loss of messages per input, and how fairly it is shared (methodology 9.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, MessageCounts, Trend
from p4mesh.methods.messages.results import damaged
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.record import Record
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
    frame_loss_ratio: Annotated[float, fields.FRAME_LOSS_RATIO]
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
    frame_loss_ratio: Annotated[float, fields.FRAME_LOSS_RATIO]
    message_loss_ratio_min: Annotated[float, fields.MESSAGE_LOSS_RATIO_MIN]
    message_loss_ratio_max: Annotated[float, fields.MESSAGE_LOSS_RATIO_MAX]
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
        where = f"{self.frame_size_bytes} B at {self.load_pct:g} %"
        if not self.status.trusted:
            return f"{where}: {self.status.value}: {self.reason}"
        if self.lost_frames or self.queues in (None, Trend.STEADY.value):
            return ""
        if not self.fills:
            return f"{where}: no frame was lost, but the trial is too short to tell whether a queue fills"
        share = f"{self.conserved_loss_ratio:.4g} of the frames" if self.conserved_loss_ratio else "frames"
        return f"{where}: no frame was lost, but a queue fills: it keeps {share}, which are lost as soon as it is full"


@dataclass(frozen=True, kw_only=True)
class LoadRows(Record):
    """The loads of one frame size."""

    rows: tuple[LoadRow, ...]


def jain_index(values: Sequence[Fraction]) -> Fraction | None:
    """``(sum x)^2 / (n sum x^2)``: 1 where all are equal, 1/n where one has everything; None without loss."""
    squares = sum((value * value for value in values), Fraction(0))
    return sum(values, Fraction(0)) ** 2 / (len(values) * squares) if squares else None


def max_over_min(values: Sequence[Fraction]) -> Fraction | None:
    """The largest over the smallest value; None where the smallest is 0."""
    return max(values) / min(values) if min(values) else None


def load_row(spec: TrialSpec, result: TrialResult, size: int, load_pct: Fraction, slot_ns: Fraction) -> LoadRow:
    """The losses of one trial; ``slot_ns`` is the time of a frame on the output's line."""
    (stream,) = spec.streams
    frames = stream.pattern.frames_together
    by_input: dict[int, list[FlowCounts]] = {port: [] for port in stream.tx_ports}
    for flow in result.flows:
        by_input[flow.tx_port].append(flow)
    counted = {item.tx_port: item for item in result.messages}
    inputs = tuple(_input_row(port, flows, frames, counted.get(port)) for port, flows in by_input.items())
    sent = sum(item.tx_frames for item in inputs)
    lost = sum(item.lost_frames for item in inputs)
    messages = sum(item.messages for item in inputs)
    length_ns = stream.frame_count * NS_PER_S / stream.rate_fps
    longest_ns = length_ns + max((*stream.start_offset_ns, 0))
    frame_losses = [Fraction(item.lost_frames, max(1, item.tx_frames)) for item in inputs]
    message_losses = [Fraction(item.damaged_messages_min, max(1, item.messages)) for item in inputs]
    arrived = [(flow.first_rx_ns, flow.last_rx_ns) for flow in result.flows if flow.rx_frames]
    carried = 1 + (max(last for _, last in arrived) - min(first for first, _ in arrived)) / slot_ns if arrived else 0
    return LoadRow(
        frame_size_bytes=size,
        load_pct=float(load_pct),
        status=result.status,
        reason=result.reason,
        inputs=inputs,
        input_count=len(inputs),
        throughput_pct=float(100 * (sent - lost) * slot_ns / max(longest_ns, carried * slot_ns)),
        tx_frames=sent,
        lost_frames=lost,
        frame_loss_ratio=lost / sent if sent else 0.0,
        message_loss_ratio_min=sum(item.damaged_messages_min for item in inputs) / messages if messages else 0.0,
        message_loss_ratio_max=sum(item.damaged_messages_max for item in inputs) / messages if messages else 0.0,
        conserved_loss_ratio=float(max(Fraction(0), 1 - 100 / load_pct)),
        conserved=sent - lost <= carried + 1,
        queues=_queues(result, load_pct),
        misinserted_frames=result.misdirected_frames,
        frame_max_over_min=_shown(max_over_min(frame_losses)),
        frame_jain=_shown(jain_index(frame_losses)),
        message_max_over_min=_shown(max_over_min(message_losses)),
        message_jain=_shown(jain_index(message_losses)),
    )


def _queues(result: TrialResult, load_pct: Fraction) -> str | None:
    if load_pct > _LINE_PCT:
        return Trend.FILLING.value
    return None if result.queues is None else result.queues.trend.value


def _input_row(port: int, flows: Sequence[FlowCounts], frames: int, counted: MessageCounts | None) -> InputRow:
    sent = sum(flow.tx_frames for flow in flows)
    messages = counted.sent if counted else sent // frames
    lost, low, high = damaged(flows, frames, messages, counted)
    return InputRow(
        port=port,
        tx_frames=sent,
        lost_frames=lost,
        frame_loss_ratio=lost / sent if sent else 0.0,
        messages=messages,
        complete_messages=counted.complete if counted else None,
        damaged_messages_min=low,
        damaged_messages_max=high,
    )


def _shown(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
