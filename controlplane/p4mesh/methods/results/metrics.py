"""Ratios derived from the integer counts of one trial (RFC 1242, RFC 2285, methodology 0.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TypeVar

from p4mesh.measurement.counts import FlowCounts, PortCounts, Trend
from p4mesh.methods.results.loss_interval import loss_error_pct
from p4mesh.traffic.line_rate import NS_PER_S, utilisation_pct
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

T = TypeVar("T", float, Fraction)
_PPM = 1_000_000
_UNEVEN = 1.2
"""How much less evenly a queue may have grown, in standard deviations of the losses, 95 % confidence: the mean of its
latency varies by 0.29 of them (a Brownian bridge), and the growth that follows from it by twice as much."""
_MOST_UNEVEN = 0.5
"""The same as a share of its growth."""
_MANY = 7
"""Lost frames for each late one where a queue was full in the first eighth of the trial."""


@dataclass(frozen=True)
class RateMetrics:
    """Rates of a trial whose streams all have the same frame size, summed over ports."""

    offered_fps: Fraction
    """Oload: frames sent per second of transmission."""
    offered_pct: Fraction
    """Oload as percent of the line rate of the transmitting ports."""
    forwarding_fps: Fraction
    """FR: correct frames received per second of transmission, without late ones."""
    forwarding_error_fps: Fraction
    """Error of FR: the output of each port that receives may have begun or ended within a frame, a transient may not
    have been seen to its end, losses that no full queue explains are a sample (95 % confidence), frames that came late
    may be copies, and a queue may have held frames that a longer trial loses."""
    forwarding_pct: Fraction
    """FR as percent of the line rate of the transmitting ports (L1)."""
    loss_pct: Fraction
    """Share of the frames that were to arrive, but did not arrive during the transmission."""
    late_frames: int
    """Received after the transmission; no rate counts them."""
    early_frames: int
    """Received at first beyond the rate of the steady part; no rate counts them."""


def missed_frames(result: TrialResult) -> int:
    """Frames that a trial of any length loses: those lost, those that a queue of the device held back, and a transient.

    A trial of any length ends with a full queue. What is in it when the transmission ends is lost in a longer one. What
    a buffer or a bucket has let through at first is let through once, however long a trial is.
    """
    return result.lost_frames + late_frames(result) + early_frames(result)


def early_frames(result: TrialResult) -> int:
    """Frames that came at first beyond the rate of the steady part; 0 without a transient."""
    return 0 if result.transient is None else result.transient.frames


def hidden_frames(result: TrialResult) -> int:
    """Frames that a rate may count wrongly: of a transient that is not seen to the frame, late copies, and frames that
    copies kept waiting: a queue that is full in a longer trial may lose the copies instead.
    """
    waiting = min(late_frames(result), result.duplicate_frames)
    return result.doubtful_frames + waiting + (0 if result.transient is None else result.transient.hidden_frames)


def uneven_frames(result: TrialResult) -> int:
    """Those of the hidden frames that no error of sampling contains."""
    return 0 if result.transient is None else result.transient.uneven_frames


def cut_frames(result: TrialResult, ports: int = 1) -> int:
    """Frames of some ports that the ends of the time of a rate may cut: that of a transient does so, too."""
    return ports * (2 if early_frames(result) else 1)


def is_settled(result: TrialResult) -> bool:
    """Whether a trial went on for long enough to tell what is forwarded for good: it may be less than it shows else."""
    return result.transient is None or result.transient.over


def rate_error(result: TrialResult, rate: T, error: T) -> T:
    """Error of a rate whose trial is long enough; of one that is not, all of it."""
    return error if is_settled(result) else max(error, rate)


def held_share(result: TrialResult) -> float:
    """Most of the frames that a queue may have held, which a longer trial loses, 0 to 1; 0 where some were missed."""
    return 0.0 if missed_frames(result) else _kept_share(result)


def _kept_share(result: TrialResult) -> float:
    """Most of the frames that stay in a queue as long as it fills, 0 to 1."""
    queues = result.queues
    return 0.0 if queues is None else held_of_excess(queues.excess_ppm + queues.error_ppm)


def trend_of(result: TrialResult) -> Trend | None:
    """The trend of the queues; None where they were not watched, or those that held frames back were full.

    Lost frames alone say nothing: chance takes frames beside a queue that fills, and so does a policer in front of it.
    A queue that is full holds more frames at the end than may have stayed in it while it was watched, also if all
    losses were by chance, by which it grew less evenly.
    """
    trend = None if result.queues is None else result.queues.trend
    if trend is not Trend.UNCLEAR or not result.lost_frames:
        return trend
    late, share = late_by_port(result), _kept_share(result)
    uneven = _UNEVEN * sqrt(result.lost_frames / max(1, len(late)))
    is_full = [
        late[one.port] > share * one.rx_frames + min(uneven, _MOST_UNEVEN * late[one.port])
        for one in result.ports
        if one.port in late
    ]
    return None if is_full and all(is_full) else trend


def grows(result: TrialResult) -> bool:
    """Whether latency grew with the time of a trial, without a queue that was seen to fill or to be full."""
    trend = None if result.queues is None else result.queues.trend
    if trend is Trend.FILLING or (result.lost_frames and late_frames(result)):
        return False
    return result.latency_growth_ns > 0 or growing_ppm(result) > 0


def growing_ppm(result: TrialResult) -> float:
    """Excess of a queue that is steady but for it, where that is certain: below what a load may have to pass."""
    queues = result.queues
    return 0.0 if queues is None or queues.trend is not Trend.STEADY else queues.excess_ppm


def held_of_excess(ppm: float) -> float:
    """Share of the frames, 0 to 1, that a queue holds where more come than leave it by so much."""
    return ppm / (_PPM + ppm)


def missed_error_pct(result: TrialResult, missed_frames: int, frames: int, unshared: int = 0) -> float | None:
    """Error of the loss of some frames of a trial in percent (95 %): all the rest where it is not long enough.

    ``unshared`` of them may be lost or not as a queue that others share with them is full.
    """
    error_pct = _sampling_error_pct(result, missed_frames, frames)
    if error_pct is None:
        return None
    error_pct = max(error_pct + 100 * (uneven_frames(result) + unshared) / frames, 100 * held_share(result))
    return rate_error(result, 100 * (1 - missed_frames / frames), error_pct)


def _sampling_error_pct(result: TrialResult, missed_frames: float, frames: float) -> float | None:
    alone = part_alone(result)
    return loss_error_pct(missed_frames * alone, frames * alone)


def part_alone(result: TrialResult) -> float:
    """Part of the expected frames that are no copies of others: copies may be lost together."""
    return min(1.0, result.tx_frames / max(1, result.expected_rx_frames))


def steady_share(result: TrialResult) -> Fraction:
    """Part of the trial that its rates are of, above 0 to 1: that behind a transient."""
    if result.transient is None or not result.transient.over:
        return Fraction(1)
    return 1 - Fraction(result.transient.ends_ns, result.duration_ns)


def begun_share(result: TrialResult) -> float:
    """Part of the frames received that came in a transient, 0 to 1: all where none tells when it was over."""
    found = result.transient
    if found is None or not found.over:
        return float(found is not None)
    early = found.frames / max(1, result.rx_frames)
    return early + (1 - early) * found.ends_ns / result.duration_ns if early else 0.0


def late_frames(result: TrialResult) -> int:
    """Frames that queues of an overloaded device held back until transmission was over; 0 without an overload."""
    return sum(late_by_port(result).values())


def late_by_port(result: TrialResult) -> dict[int, int]:
    """The late frames of each port that has some.

    Jitter makes frames late, too. They are taken for queued ones where a queue was seen to fill, or where so many
    frames were lost that it was full before the first of the readings which see no queue fill.
    """
    late = {port.port: port.late_frames for port in result.ports if port.late_frames}
    if result.lost_frames > _MANY * sum(late.values()):
        return late
    queued = {port.port: port.queued_frames for port in result.ports if port.queued_frames}
    trend = None if result.queues is None else result.queues.trend
    if trend is Trend.FILLING:
        return queued or late
    return {} if trend is Trend.STEADY or not result.lost_frames else queued


def late_of_flows(spec: TrialSpec, result: TrialResult) -> list[Fraction]:
    """Share of each flow of a result in the late frames of its port.

    A flow that waited in the queue takes longer to arrive than to depart; one that passed it by, such as that of a
    higher priority, does not.
    """
    sending_ns = {stream.name: NS_PER_S * stream.frame_count / stream.rate_fps for stream in spec.streams}
    late = late_by_port(result)
    weights = [_waited(flow, sending_ns[flow.stream]) if flow.rx_port in late else Fraction(0) for flow in result.flows]
    whole: dict[int, Fraction] = {}
    for flow, weight in zip(result.flows, weights, strict=True):
        whole[flow.rx_port] = whole.get(flow.rx_port, Fraction(0)) + weight
    return [
        weight * late[flow.rx_port] / whole[flow.rx_port] if weight else weight
        for flow, weight in zip(result.flows, weights, strict=True)
    ]


def early_of_flows(result: TrialResult) -> list[Fraction]:
    """Frames of a transient that each flow of a result has: those of its port, shared out by frames received."""
    early = {port.port: Fraction(port.early_frames, port.rx_frames) for port in result.ports if port.early_frames}
    return [flow.rx_frames * early.get(flow.rx_port, Fraction(0)) for flow in result.flows]


def _waited(flow: FlowCounts, sending_ns: Fraction) -> Fraction:
    """Frames of a flow that arrived while it took longer than to depart."""
    frames, span_ns = flow.rx_frames - flow.duplicate_frames, flow.last_rx_ns - flow.first_rx_ns
    if frames < 2 or span_ns <= 0:
        return Fraction(0)
    grown_ns = span_ns - sending_ns * (flow.tx_frames - 1) / flow.tx_frames
    return frames * max(Fraction(0), grown_ns) / span_ns


def loss_pct(result: TrialResult) -> Fraction:
    """Share of the expected frames that were lost in this trial; 0 when nothing was expected."""
    return _pct(result.lost_frames, result.expected_rx_frames)


def _pct(frames: int, expected: int) -> Fraction:
    return Fraction(100 * frames, expected) if expected else Fraction(0)


def _by_chance(result: TrialResult) -> Fraction:
    """Frames by which the losses of a trial may differ from those that a trial of any length has on the average."""
    expected = result.expected_rx_frames
    error_pct = _sampling_error_pct(result, result.lost_frames, expected) if result.lost_frames else None
    return Fraction(0) if error_pct is None else Fraction(error_pct) * expected / 100


def chance_of_port(result: TrialResult, port: PortCounts) -> Fraction:
    """Frames by which those of a port may differ from an average trial, if it loses as many as all ports."""
    if not result.lost_frames or late_frames(result) or early_frames(result):
        return Fraction(0)
    lost = result.lost_frames / result.expected_rx_frames
    expected = port.rx_frames / (1 - lost) if lost < 1 else 0.0
    error_pct = _sampling_error_pct(result, lost * expected, expected)
    return Fraction(0) if error_pct is None else Fraction(error_pct * expected / 100)


def held_by_port(result: TrialResult) -> dict[int, int]:
    """Frames to each port in queues that may not have been full at the end of a trial; empty where all were."""
    late, trend = late_by_port(result), trend_of(result)
    if trend is Trend.FILLING and result.queues is not None:
        return {port: frames for port, frames in late.items() if port in result.queues.rx_ports}
    return late if trend is Trend.UNCLEAR else {}


def unshared_frames(own: int, of_all: int) -> int:
    """Frames by which losses of some may differ once queues are full, from what queues hold of them and of all.

    A queue that fills keeps frames of all that come. A full one loses as many, and these may all be of one sender.
    """
    return max(own, of_all - own) if 0 < own < of_all else 0


def judge_loss(result: TrialResult, acceptable_pct: Fraction = Fraction(0)) -> Verdict:
    """The verdict of a throughput trial: PASS iff trusted and loss within ``acceptable_pct``.

    Untrusted trials keep their status: INVALID and ABORT are never PASS or FAIL (methodology 0.6).
    """
    if not result.status.trusted:
        return result.status
    return Verdict.PASS if loss_pct(result) <= acceptable_pct else Verdict.FAIL


def judge_missed(result: TrialResult, acceptable_pct: Fraction) -> Verdict:
    """Verdict on a trial at a load by the loss of a trial of any length: late frames of an overload count as lost."""
    if not result.status.trusted:
        return result.status
    missed = _pct(missed_frames(result), result.expected_rx_frames)
    return Verdict.PASS if missed <= acceptable_pct else Verdict.FAIL


def search_verdict(result: TrialResult, verdict: Verdict) -> Verdict:
    """The verdict for the search: a trial that was not delivered leads it to lower loads."""
    return Verdict.UNDELIVERED if verdict is Verdict.INVALID and result.undelivered else verdict


def transmission_s(spec: TrialSpec) -> Fraction:
    """Time in which the ports send: all frames over all rates.

    Every stream takes ``count / rate``, which differs between streams by less than one frame time.
    """
    frames = sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams)
    return frames / sum((stream.rate_fps * len(stream.tx_ports) for stream in spec.streams), Fraction(0))


def rate_metrics(
    spec: TrialSpec, result: TrialResult, line_rates_bps: int | Sequence[int], limit_fps: Fraction | None = None
) -> RateMetrics:
    """The rates of a trial whose streams have one frame size, of ports with one line rate or one per stream.

    All rates are counts over the transmission time, so that equal counts are equal rates, and frames sent as asked have
    exactly the rate that was asked for. FR counts duplicates once. Where frames were lost, a queue filled, or more
    arrived than the outputs can carry (``limit_fps``), it leaves out frames that came after the transmission: they come
    from queues of the device. Then an output sends from its first frame to its last one, so that FR and loss are those
    of a trial of any length, also while the queue fills. So they are without the frames of a transient.
    """
    (size,) = {stream.frame_size_bytes for stream in spec.streams}
    rates_bps = [line_rates_bps] * len(spec.streams) if isinstance(line_rates_bps, int) else line_rates_bps
    seconds = transmission_s(spec)
    received = result.rx_frames - result.duplicate_frames
    impossible = limit_fps is not None and received > limit_fps * seconds
    late = sum(port.late_frames for port in result.ports) if impossible else late_frames(result)
    early = early_frames(result)
    ends = cut_frames(result, sum(port.rx_frames > 0 for port in result.ports))
    chance = 0 if late or early else _by_chance(result)
    offered, forwarding = result.tx_frames / seconds, (received - late - early) / seconds
    line = sum(len(stream.tx_ports) * rate for stream, rate in zip(spec.streams, rates_bps, strict=True))
    return RateMetrics(
        offered,
        utilisation_pct(offered, size, line),
        forwarding,
        rate_error(
            result,
            forwarding,
            max(
                (ends + hidden_frames(result) + chance) / seconds / steady_share(result),
                forwarding * Fraction(held_share(result)),
            ),
        ),
        utilisation_pct(forwarding, size, line),
        _pct(result.lost_frames + late + early, result.expected_rx_frames),
        late,
        early,
    )
