"""Loss of messages per input, and how fairly it is shared (methodology 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Annotated, NamedTuple

from p4mesh.measurement.counts import FlowCounts, MessageCounts, Transient, Trend
from p4mesh.methods.messages.results import damaged
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.metrics import early_frames, late_frames
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.repetition import sampling_error
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
    early_frames: Annotated[int | None, fields.EARLY_FRAMES] = field(default=None, metadata=OMITTED)
    frame_loss_ratio: Annotated[float | None, fields.FRAME_LOSS_RATIO] = None
    """Late and early frames count as lost, as a longer trial loses them; of all trials together."""
    frame_loss_error: Annotated[float | None, fields.FRAME_LOSS_ERROR] = None
    messages: Annotated[int, fields.MESSAGES]
    complete_messages: Annotated[int | None, fields.COMPLETE_MESSAGES] = None
    """None where the data plane does not count messages."""
    damaged_messages_min: Annotated[int, fields.DAMAGED_MESSAGES_MIN]
    damaged_messages_max: Annotated[int, fields.DAMAGED_MESSAGES_MAX]

    @property
    def missed_frames(self) -> int:
        """Frames that a longer trial does not receive, beyond those that this one has lost."""
        return self.late_frames + (self.early_frames or 0)


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
    """Share of the output's line that frames took while every input sent."""
    throughput_error_pct: Annotated[
        float | None, retitled(fields.THROUGHPUT_ERROR_PCT, "Error of throughput", "+- % of output")
    ]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    late_frames: Annotated[int, fields.LATE_FRAMES]
    early_frames: Annotated[int | None, fields.EARLY_FRAMES] = field(default=None, metadata=OMITTED)
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    frame_loss_ratio: Annotated[float | None, fields.FRAME_LOSS_RATIO]
    frame_loss_error: Annotated[float | None, fields.FRAME_LOSS_ERROR]
    message_loss_ratio_min: Annotated[float | None, fields.MESSAGE_LOSS_RATIO_MIN]
    message_loss_ratio_max: Annotated[float | None, fields.MESSAGE_LOSS_RATIO_MAX]
    message_loss_error: Annotated[float | None, fields.MESSAGE_LOSS_ERROR]
    conserved_loss_ratio: Annotated[float, fields.CONSERVED_LOSS_RATIO]
    """1 - 1/load: share of the frames that cannot pass the output, apart from those in its queue."""
    conserved: Annotated[bool, fields.CONSERVED]
    """Whether no more frames came out than the line of the output carries in the time of the trial."""
    queues: Annotated[str | None, fields.QUEUES]
    """Above 100 % the queue of the output fills, whatever its size."""
    misinserted_frames: Annotated[int, fields.MISINSERTED_FRAMES]
    frame_max_over_min: Annotated[float | None, fields.FRAME_MAX_OVER_MIN]
    frame_max_over_min_error: Annotated[float | None, fields.FRAME_MAX_OVER_MIN_ERROR]
    frame_jain: Annotated[float | None, fields.FRAME_JAIN]
    frame_jain_error: Annotated[float | None, fields.FRAME_JAIN_ERROR]
    message_max_over_min: Annotated[float | None, fields.MESSAGE_MAX_OVER_MIN]
    message_max_over_min_error: Annotated[float | None, fields.MESSAGE_MAX_OVER_MIN_ERROR]
    message_jain: Annotated[float | None, fields.MESSAGE_JAIN]
    message_jain_error: Annotated[float | None, fields.MESSAGE_JAIN_ERROR]

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
        if self.lost_frames or self.queues == Trend.STEADY.value:
            return ""
        if not self.fills:
            return f"{where}: no frame was lost, but the trial is too short to tell whether a queue fills"
        kept_pct = 100 * self.conserved_loss_ratio
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
    inputs = _inputs(each)
    sent, lost, late = (
        sum(getattr(one, name) for one in inputs) for name in ("tx_frames", "lost_frames", "late_frames")
    )
    early = sum(one.early_frames or 0 for one in inputs)
    throughput_error = _error(each, _throughput)
    message_errors = [_error(each, share) for share in (_least_damaged, _most_damaged)]
    untrusted = next((result for result in results if not result.status.trusted), results[0])
    return LoadRow(
        frame_size_bytes=size,
        load_pct=float(load_pct),
        status=untrusted.status,
        reason=untrusted.reason,
        inputs=tuple(
            replace(one, frame_loss_error=_shown(_error(each, partial(_lost_of, places=[place]))))
            for place, one in enumerate(inputs)
        ),
        input_count=len(inputs),
        throughput_pct=float(_LINE_PCT * _throughput(each).value),
        throughput_error_pct=None if throughput_error is None else float(_LINE_PCT * throughput_error),
        tx_frames=sent,
        lost_frames=lost,
        late_frames=late,
        early_frames=early or None,
        corrupted_frames=sum(result.corrupted_frames for result in results) or None,
        frame_loss_ratio=ratio(lost + late + early, sent),
        frame_loss_error=_shown(_error(each, _lost)),
        message_loss_ratio_min=float(_least_damaged(each).value),
        message_loss_ratio_max=float(_most_damaged(each).value),
        message_loss_error=None if None in message_errors else float(max(filter(None, message_errors), default=0)),
        conserved_loss_ratio=float(max(Fraction(0), 1 - 100 / load_pct)),
        conserved=all(one.conserved for one in each),
        queues=_queues(results, load_pct),
        misinserted_frames=sum(result.misdirected_frames for result in results),
        **_fairness(each),
    )


@dataclass(frozen=True)
class _Shared:
    """How the inputs shared the output in one trial."""

    inputs: tuple[InputRow, ...]
    load: Fraction
    """Share of the output's line, which is 1."""
    busy_frames: Fraction
    """Frames that the output's line carries while an input sends, or until the last one came where that took longer."""
    conserved: bool
    edge_messages: int
    """Messages of each input in whose time not all inputs sent: those that begin together have none."""
    in_flight_frames: int
    """Late frames that may have been on the way when the transmission ended, and in no queue."""
    transient: Transient | None
    kept_frames: int
    """Frames that a queue may have kept of which none was lost or late: a longer trial loses as large a share."""

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
        late = late if load_pct > _LINE_PCT else late_frames(result)
        corrupted = CorruptedAtPorts(result)
        shares, early = (_shares_of_inputs(some, by_input) for some in (late, early_frames(result)))
        inputs = tuple(
            _input_row(port, flows, frames, counted.get(port), shares[port], early[port] or None, corrupted.of(flows))
            for port, flows in by_input.items()
        )
        arrived = [(flow.first_rx_ns, flow.last_rx_ns) for flow in result.flows if flow.rx_frames]
        carried = Fraction(0)
        if arrived:
            carried = 1 + (max(last for _, last in arrived) - min(first for first, _ in arrived)) / slot_ns
        came = sum(item.tx_frames - item.lost_frames for item in inputs)
        fastest_ns = min((flow.latency.min_ns for flow in result.flows if flow.latency is not None), default=0.0)
        return cls(
            inputs,
            load_pct / _LINE_PCT,
            max(stream.frame_count * NS_PER_S / stream.rate_fps / slot_ns, carried),
            came <= carried + 1,
            int(len(set(stream.start_offset_ns)) > 1),
            min(late, ceil(Fraction(fastest_ns) / slot_ns)),
            result.transient,
            0 if result.lost_frames + late else ceil(_growth(result, load_pct) * result.tx_frames),
        )


def _growth(result: TrialResult, load_pct: Fraction) -> float:
    """Share of the frames that a queue keeps above the line of the output, or may for all that its readings exclude."""
    if load_pct > _LINE_PCT:
        return float(1 - _LINE_PCT / load_pct)
    if result.queues is None:
        return 1.0
    excess = (result.queues.excess_ppm + result.queues.error_ppm) / 10**6
    return excess / (1 + excess)


class _Estimate(NamedTuple):
    """A number, and between what that of a long trial lies whose senders begin as in these."""

    value: Fraction
    low: Fraction
    high: Fraction


def _error(trials: Sequence[_Shared], estimate: Callable[[Sequence[_Shared]], _Estimate]) -> Fraction | None:
    """Error of a share, with 95 % confidence: that of its bounds, and that of sampling where senders do not begin
    together. None of one such trial, and where a trial ended in a transient.
    """
    if any(trial.transient is not None and not trial.transient.over for trial in trials):
        return None
    value, low, high = estimate(trials)
    sampled = sampling_error(trials, lambda some: estimate(some).value)
    if sampled is None and any(trial.edge_messages for trial in trials):
        return None
    return _of_share(value, max(high - value, value - low) + (sampled or 0))


def _of_share(share: Fraction | None, error: Fraction | None) -> Fraction | None:
    """The error of a number from 0 to 1."""
    return None if share is None or error is None else min(error, max(share, 1 - share))


def _share(part: int, whole: int, edge: int, fewer: int = 0, more: int = 0) -> _Estimate:
    """Share of what was sent that is lost, with bounds: ``fewer`` or ``more`` may be.

    The ``edge`` of what was sent may have lost all or nothing, and is left out.
    """
    steady = whole - edge
    value, low, high = (
        Fraction(max(0, lost), max(1, sent))
        for lost, sent in ((part, whole), (part - fewer - edge, steady), (part + more, steady))
    )
    return _Estimate(value, min(low, value), min(high, Fraction(1)) if steady else Fraction(min(part + more, 1)))


def _lost(trials: Sequence[_Shared]) -> _Estimate:
    """Share of the frames that were lost, late or early: what was offered and is not carried for good."""
    _, low, high = _throughput(trials)
    value, load = _lost_of(trials, range(len(trials[0].inputs))).value, trials[0].load
    return _Estimate(value, 1 - high / load, 1 - low / load)


def _throughput(trials: Sequence[_Shared]) -> _Estimate:
    """Share of the output's line that frames take while every input sends: what was offered less what was lost.

    An output is no busier before and after than while all send. That says nothing of a load that it may carry, where a
    queue in front of it may have kept frames: these leave between the messages.
    """
    lost, load = _lost_of(trials, range(len(trials[0].inputs))), trials[0].load
    inputs = [one for trial in trials for one in trial.inputs]
    came = sum(one.tx_frames - one.lost_frames - (one.early_frames or 0) for one in inputs)
    busy = came / sum((trial.busy_frames for trial in trials), Fraction(0))
    if load <= 1 and any(trial.kept_frames for trial in trials):
        busy = Fraction(0)
    most = Fraction(1) if all(trial.conserved for trial in trials) else max(load, busy)
    value, low, high = (min(most, max(busy, load * (1 - one))) for one in (lost.value, lost.high, lost.low))
    return _Estimate(value, low, high)


def _lost_of(trials: Sequence[_Shared], places: Collection[int]) -> _Estimate:
    """Share of the frames of some inputs that were lost, late or early."""
    chosen = [(trial, trial.inputs[place]) for trial in trials for place in places]
    hidden = sum(trial.transient.hidden_frames for trial in trials if trial.transient is not None)
    # Nothing tells whose late and early frames were: a queue that fills takes those of all, a full one those of some.
    missed = sum(one.missed_frames for _, one in chosen)
    others = sum(one.missed_frames for trial in trials for one in trial.inputs) - missed
    return _share(
        sum(one.lost_frames + one.missed_frames for _, one in chosen),
        sum(one.tx_frames for _, one in chosen),
        sum(trial.edge_messages * one.tx_frames // max(1, one.messages) for trial, one in chosen),
        sum(trial.in_flight_frames for trial in trials) + hidden + (missed if others else 0),
        sum(trial.kept_frames for trial in trials) + hidden + others,
    )


def _least_damaged(trials: Sequence[_Shared]) -> _Estimate:
    """Share of the messages that surely lost a frame."""
    return _damaged(trials, lambda one: one.damaged_messages_min)


def _most_damaged(trials: Sequence[_Shared]) -> _Estimate:
    """Share of the messages that a longer trial may damage as well: each late or early frame may belong to another."""
    return _damaged(trials, _may_be_damaged)


def _may_be_damaged(one: InputRow) -> int:
    return min(one.messages, one.damaged_messages_max + one.missed_frames)


def _damaged(trials: Sequence[_Shared], count: Callable[[InputRow], int]) -> _Estimate:
    return _share(
        sum(count(one) for trial in trials for one in trial.inputs),
        sum(one.messages for trial in trials for one in trial.inputs),
        sum(trial.edge_messages * len(trial.inputs) for trial in trials),
        more=sum(trial.kept_frames for trial in trials),
    )


def _frame_losses(trials: Sequence[_Shared]) -> tuple[list[Fraction], list[Fraction]]:
    """Share of the frames of each input that were lost, late or early, and that were lost."""
    inputs = _inputs(trials)
    return (
        [Fraction(one.lost_frames + one.missed_frames, max(1, one.tx_frames)) for one in inputs],
        [Fraction(one.lost_frames, max(1, one.tx_frames)) for one in inputs],
    )


def _message_losses(trials: Sequence[_Shared]) -> tuple[list[Fraction], list[Fraction]]:
    """Share of the messages of each input that surely lost a frame, and that may have, or may in a longer trial."""
    inputs = _inputs(trials)
    return (
        [Fraction(one.damaged_messages_min, max(1, one.messages)) for one in inputs],
        [Fraction(_may_be_damaged(one), max(1, one.messages)) for one in inputs],
    )


def _fairness(trials: Sequence[_Shared]) -> dict[str, float | None]:
    """The cells of fairness, with their errors: those of sampling, and of late frames, whose inputs are not known."""
    found: dict[str, float | None] = {}
    for kind, losses in (("frame", _frame_losses), ("message", _message_losses)):
        for name, index in (("max_over_min", max_over_min), ("jain", jain_index)):
            value, other = map(index, losses(trials))
            error = sampling_error(trials, lambda some, index=index, losses=losses: index(losses(some)[0]))  # type: ignore[misc]
            if value is not None and other is not None and error is not None:
                error += abs(value - other)
            else:
                error = None
            found[f"{kind}_{name}"] = _shown(value)
            found[f"{kind}_{name}_error"] = _shown(error if name == "max_over_min" else _of_share(value, error))
    return found


def _inputs(trials: Sequence[_Shared]) -> tuple[InputRow, ...]:
    return tuple(map(_together, zip(*(trial.inputs for trial in trials), strict=True)))


def _together(trials: Sequence[InputRow]) -> InputRow:
    """One input in several trials."""

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in trials)

    sent, lost, late = map(total, ("tx_frames", "lost_frames", "late_frames"))
    early = sum(one.early_frames or 0 for one in trials)
    return InputRow(
        port=trials[0].port,
        tx_frames=sent,
        lost_frames=lost,
        corrupted=sum((item.corrupted for item in trials), Corrupted()),
        late_frames=late,
        early_frames=early or None,
        frame_loss_ratio=ratio(lost + late + early, sent),
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


def _shares_of_inputs(some: int, by_input: Mapping[int, Sequence[FlowCounts]]) -> dict[int, int]:
    """Late or early frames of each input, in proportion to its frames that came: a queue holds them in their order."""
    came = {port: sum(flow.rx_frames - flow.duplicate_frames for flow in flows) for port, flows in by_input.items()}
    whole = sum(came.values())
    return {port: round(Fraction(some * frames, whole)) if whole else 0 for port, frames in came.items()}


def _input_row(
    port: int,
    flows: Sequence[FlowCounts],
    frames: int,
    counted: MessageCounts | None,
    late_frames: int,
    early_frames: int | None,
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
        early_frames=early_frames,
        messages=messages,
        complete_messages=counted.complete if counted else None,
        damaged_messages_min=low,
        damaged_messages_max=high,
    )


def _shown(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
