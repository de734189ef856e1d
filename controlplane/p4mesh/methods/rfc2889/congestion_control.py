"""RFC 2889 5.5: congestion control, head-of-line blocking and back pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.measurement.counts import FlowCounts, Trend
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, integer, shortened, text
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import BUCKET_FRAMES, loss_error_pct
from p4mesh.methods.results.metrics import (
    cut_frames,
    hidden_frames,
    late_by_port,
    missed_error_pct,
    missed_frames,
    rate_error,
    steady_share,
    transmission_s,
    unshared_frames,
)
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import queue_cells
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.numerals import is_digits
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

PORTS_PER_BLOCK = 4
_ALONE, _CONGESTED = "alone", "congested"
_YES, _NO, _INCONCLUSIVE = "yes", "no", "inconclusive"
_HUNDRED = Fraction(100)
_LONGER = 4
"""Factor by which a trial grows whose queues hold frames to the uncongested port that it does not lose."""
_ROTATE = Rotate()


@dataclass(frozen=True, kw_only=True)
class Congestion(Record):
    """Result of the two trials of one frame size; U is the uncongested port, C the congested one."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    offered_pct: Annotated[float | None, retitled(fields.OFFERED_PCT, "Offered per source", digits=3)]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    uncongested_tx_frames: Annotated[int, fields.UNCONGESTED_TX_FRAMES]
    uncongested_rx_frames: Annotated[int, fields.UNCONGESTED_RX_FRAMES]
    uncongested_loss_pct: Annotated[float | None, fields.UNCONGESTED_LOSS_PCT]
    uncongested_loss_error_pct: Annotated[float | None, fields.UNCONGESTED_LOSS_ERROR_PCT]
    uncongested_bucket_pct: Annotated[float | None, fields.UNCONGESTED_BUCKET_PCT]
    congested_tx_frames: Annotated[int, fields.CONGESTED_TX_FRAMES]
    congested_rx_frames: Annotated[int, fields.CONGESTED_RX_FRAMES]
    congested_late_frames: Annotated[int, fields.CONGESTED_LATE_FRAMES]
    congested_loss_pct: Annotated[float | None, fields.CONGESTED_LOSS_PCT]
    congested_loss_error_pct: Annotated[float | None, fields.CONGESTED_LOSS_ERROR_PCT]
    congested_bucket_pct: Annotated[float | None, fields.CONGESTED_BUCKET_PCT]
    corrupted_frames: Annotated[int | None, fields.CORRUPTED_FRAMES] = field(default=None, metadata=OMITTED)
    uncongested_fps: Annotated[float, fields.UNCONGESTED_FPS]
    congested_fps: Annotated[float, fields.CONGESTED_FPS]
    block_error_fps: Annotated[float, fields.BLOCK_ERROR_FPS]
    congested_bucket_fps: Annotated[float, fields.CONGESTED_BUCKET_FPS]
    alone_loss_pct: Annotated[float | None, fields.ALONE_LOSS_PCT]
    alone_loss_error_pct: Annotated[float | None, fields.ALONE_LOSS_ERROR_PCT]
    split_pct: Annotated[float | None, fields.SPLIT_PCT]
    steady_pct: Annotated[float | None, fields.STEADY_PCT]
    pause_frames: Annotated[int, fields.PAUSE_FRAMES]
    head_of_line_blocking: Annotated[str, fields.HEAD_OF_LINE_BLOCKING]
    back_pressure: Annotated[str, fields.BACK_PRESSURE]
    state: Annotated[Verdict, fields.STATE]
    pressure: str
    """Finding on the back pressure; empty without one."""
    skew: str
    """Finding on sources that started at different times; empty without one."""
    reason: str
    flooding: str = ""
    """Finding on frames at ports that they are not for, where they take the room of others; empty without one."""


class CongestionControl(MethodOf[Congestion]):
    """Blocks of four ports: source 1 alternates U and C, source 2 sends to C only, all at line rate."""

    name = "rfc2889.congestion_control"
    title = "Congestion control"
    terms = "head of line blocking, backpressure"
    section = "RFC 2889 5.5"
    part = "congestion"
    parameters = (
        integer("blocks", 1, "blocks", "RFC 2889 5.5.2", "blocks of four ports that run at once", (1, 128)),
        text(
            "block_ports",
            "RFC 2889 5.5.2",
            "ports of the blocks instead of the first ones: source 1 (to both), source 2, uncongested, congested; "
            "1,2,5,6;3,4,7,8 are two blocks",
        ),
        *shared.trial_parameters("RFC 2889 5.5.2"),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the test."""
        return "no frame to an uncongested port is lost"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without enough ports of one rate for the blocks, and ports that do not form blocks."""
        bed.require_ports(self.name, PORTS_PER_BLOCK * parameters.integer("blocks"))
        bed.common_rate_bps(self.name)
        _blocks(bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Source 1 alone, then both."""
        return 2

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Congestion:
        """Measure the blocks without and with congestion; every block starts at once."""
        size, rate = unit.frame_size_bytes, bed.common_rate_bps(self.name)
        blocks = _blocks(bed, parameters)
        alone = session.measure(_spec(_ALONE, size, blocks, rate, parameters), TrialNote(_HUNDRED, 1))
        longer = 1
        while True:
            spec = _spec(_CONGESTED, size, blocks, rate, parameters, longer)
            both = session.measure(spec, TrialNote(_HUNDRED, 0))
            if longer >= MOST_LENGTHENING or not _held_back(blocks, both) or not parameters.is_word("duration_ms"):
                break
            longer = min(_LONGER * longer, MOST_LENGTHENING)
        between = _crossed(bed, blocks)
        most_pct, seconds = shared.maximum_load_pct(parameters), transmission_s(spec)
        row = _row(size, blocks, alone, both, most_pct, seconds, one_way=bool(between))
        if row.head_of_line_blocking == _YES and between:
            reason = f"both flows share the way {between}: loss there is congestion of a link, not HOL blocking"
            return replace(row, head_of_line_blocking=_INCONCLUSIVE, reason=reason)
        return row

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Congestion]) -> Outcome:
        """The table of methodology 3.5; PASS iff no uncongested frame was lost at any size."""
        rows = tuple(results.values())
        table = Congestion.table(
            "congestion",
            "Congestion control",
            rows,
            "C Tx is what was offered to the congested port, 150 % of its line rate unless sources were held back by "
            "PAUSE frames. Sums over all blocks; FR is received frames per transmission time. C late: received after "
            "it, from the queue; they are in no rate and count as lost, because a longer trial loses as many more. So "
            "do late ones of the uncongested port, which U Rx contains. No loss of n frames excludes, with 95 % "
            "confidence, a loss ratio above 3/n. 'Bucket of 1,000': the least of a rate and the most of a loss that "
            "are for good, if the device forgives each source a burst of so many frames, as policers do.",
            optional=(fields.CORRUPTED_FRAMES,),
            headline=(
                fields.STATE,
                fields.UNCONGESTED_LOSS_PCT,
                fields.CONGESTED_LOSS_PCT,
                fields.CONGESTED_FPS,
                fields.HEAD_OF_LINE_BLOCKING,
                fields.BACK_PRESSURE,
            ),
        )
        blocks = len(_blocks(bed, parameters))
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.common_rate_bps(self.name))
        unused = len(bed.ports) - blocks * PORTS_PER_BLOCK
        return self.outcome(
            [row.state for row in rows],
            f"{blocks * PORTS_PER_BLOCK} ports",
            [table],
            findings=[
                f"{row.frame_size_bytes} B: {text}"
                for row in rows
                for text in (row.reason, row.flooding, row.pressure, row.skew)
                if text
            ],
            deviations=(duration, f"{unused} of {len(bed.ports)} ports are unused." if unused else ""),
        )


Block = tuple[int, int, int, int]
"""Source 1 (split), source 2, uncongested receiver, congested receiver."""


def _blocks(bed: Bed, parameters: ParameterSet) -> tuple[Block, ...]:
    """The blocks that the user names, else the first ports in their order."""
    given, count = parameters.text("block_ports"), parameters.integer("blocks")
    if not given:
        numbers: Sequence[int] = bed.port_numbers[: count * PORTS_PER_BLOCK]
        return tuple(_block(numbers[i : i + PORTS_PER_BLOCK]) for i in range(0, len(numbers), PORTS_PER_BLOCK))
    words = [block.split(",") for block in given.split(";")]
    numbers = [int(word) if is_digits(word.strip()) else 0 for block in words for word in block]
    if len(set(numbers)) < len(numbers) or not set(numbers) <= set(bed.port_numbers):
        raise ParameterError(
            f"block_ports={shortened(given)}: every port must exist and be given once",
            hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
        )
    if any(len(block) != PORTS_PER_BLOCK for block in words) or count not in (1, len(words)):
        wanted = "blocks" if count == 1 else f"{count} blocks"
        raise ParameterError(
            f"block_ports={shortened(given)}: no {wanted} of {PORTS_PER_BLOCK} ports",
            hint="source 1, source 2, uncongested, congested port, such as 1,2,5,6; a semicolon between blocks",
        )
    return tuple(_block([int(word) for word in block]) for block in words)


def _block(numbers: Sequence[int]) -> Block:
    split, steady, uncongested, congested = numbers
    return split, steady, uncongested, congested


def _late(result: TrialResult, ports: set[int]) -> int:
    """Frames that queues to some ports held back until the transmission was over, where they were overloaded."""
    return sum(frames for port, frames in late_by_port(result).items() if port in ports)


def _early(result: TrialResult, ports: set[int]) -> int:
    """Frames of a transient to some ports."""
    return sum(port.early_frames for port in result.ports if port.port in ports)


def _beyond(result: TrialResult, ports: set[int], most_frames: Fraction) -> int:
    """Late frames of ports that received more than their lines carry: PAUSE frames held back their senders."""
    received = [port for port in result.ports if port.port in ports]
    impossible = sum(port.rx_frames for port in received) > most_frames
    return sum(port.late_frames for port in received) if impossible else 0


def _crossed(bed: Bed, blocks: Sequence[Block]) -> str:
    """The devices between which frames to an uncongested port travel; empty where they stay in one."""
    device = {port.number: port.attached_to for port in bed.ports}
    ways = ((device[split], device[uncongested]) for split, _, uncongested, _ in blocks)
    return next((f"from {near} to {far}" for near, far in ways if near != far), "")


def _held_back(blocks: Sequence[Block], both: TrialResult) -> bool:
    """Whether a queue held back frames to uncongested ports and lost none of them yet: a longer trial tells."""
    places = {block[2] for block in blocks}
    return both.status.trusted and not _lost(_to(both, places)) and bool(_late(both, places))


def _spec(
    part: str, size: int, blocks: Sequence[Block], rate_bps: int, parameters: ParameterSet, longer: int = 1
) -> TrialSpec:
    """The trial of one part, ``longer`` times as long as asked."""
    duration_ns = longer * shared.duration_ns_of(parameters, size, rate_bps)
    fps = rate_at_pct(shared.maximum_load_pct(parameters), size, rate_bps)
    count = tx_frames(duration_ns, fps)
    count -= count % 2  # source 1 sends equally many frames to U and to C
    frame = shared.frame_of(parameters)
    streams = []
    for number, (split, steady, uncongested, congested) in enumerate(blocks, start=1):
        streams.append(Stream(f"split{number}", size, fps, count, _ROTATE, (split,), (uncongested, congested), frame))
        if part == _CONGESTED:
            streams.append(Stream(f"steady{number}", size, fps, count, _ROTATE, (steady,), (congested,), frame))
    return shared.trial_of(
        parameters,
        f"{part} {size} B",
        tuple(streams),
        duration_ns,
        per_flow=True,
        watch_queues=True,
    )


def _row(
    size: int,
    blocks: Sequence[Block],
    alone: TrialResult,
    both: TrialResult,
    maximum_pct: Fraction,
    seconds: Fraction,
    *,
    one_way: bool,
) -> Congestion:
    """The row of two trials; ``one_way``: frames to both ports go through one link, whose full queue loses by phase."""
    uncongested, congested = (_to(both, {block[place] for block in blocks}) for place in (2, 3))
    untrusted = next((result for result in (alone, both) if not result.status.trusted), None)
    lost_u, lost_c = _lost(uncongested), _lost(congested)
    late_u, late_c = (_late(both, {block[place] for block in blocks}) for place in (2, 3))
    line_frames = Fraction(both.intended_frames * _HUNDRED / maximum_pct, 2)
    held_c = _beyond(both, {block[3] for block in blocks}, line_frames)
    early_u, early_c = (_early(both, {block[place] for block in blocks}) for place in (2, 3))
    missed_u, missed_c = lost_u + late_u + early_u, lost_c + late_c + early_c
    blocking = _NO if missed_u == 0 else _YES if missed_frames(alone) == 0 else _INCONCLUSIVE
    state = Verdict.PASS if missed_u == 0 else Verdict.FAIL
    reason = (
        "" if blocking != _INCONCLUSIVE else "source 1 alone already loses frames: an input limit, not HOL blocking"
    )
    sources = {port for block in blocks for port in block[:2]}
    pause_frames = sum(port.pause_frames for port in both.ports if port.port in sources)
    back_pressure = _YES if (lost_c == 0 and not _fills(both)) or pause_frames else _NO
    if untrusted is both and both.status is Verdict.INVALID and pause_frames:
        # The device has held its sources back: less was offered than intended, and that is the finding.
        back_pressure, reason = _YES, f"flow control: {pause_frames} PAUSE frames to the sources; {both.reason}"
        paused = {port.port for port in both.ports if port.pause_frames}
        if missed_u == 0 and any(block[0] in paused for block in blocks):
            blocking = _INCONCLUSIVE  # frames of source 1 to the uncongested port were held back too
    elif untrusted is not None:
        blocking, state, reason = _INCONCLUSIVE, untrusted.status, untrusted.reason
        back_pressure = _INCONCLUSIVE
    intended = Fraction(both.intended_frames, 2 * len(blocks))
    received_c = _sent(congested) - lost_c - early_c - (late_c or held_c)
    # A full queue, and a look-up that collapses, leave nothing to chance.
    chance = max(
        0 if held or not lost else round((loss_error_pct(lost, _sent(flows)) or 0) * _sent(flows) / 100)
        for lost, held, flows in ((lost_u, late_u + early_u, uncongested), (lost_c, late_c + early_c, congested))
    )
    unshared = max(missed_u, missed_c) if one_way else unshared_frames(late_u, late_u + late_c)
    forgiven_u, forgiven_c = (BUCKET_FRAMES * sources * len(blocks) for sources in (1, 2))
    return Congestion(
        frame_size_bytes=size,
        offered_pct=float(maximum_pct * both.tx_frames / both.intended_frames) if both.intended_frames else None,
        tx_frames=both.tx_frames,
        split_pct=_offered_pct(both, [block[0] for block in blocks], maximum_pct, intended),
        steady_pct=_offered_pct(both, [block[1] for block in blocks], maximum_pct, intended),
        pressure=_pressure(both, lost_c, _sent(congested), pause_frames) if untrusted is None else "",
        skew=_skew(both, blocks, intended / seconds),
        flooding=f"flooding detected: {both.flooded_frames:,} frames" if both.flooded_frames else "",
        uncongested_fps=float((_sent(uncongested) - missed_u) / seconds),
        congested_fps=float(received_c / seconds),
        block_error_fps=float(
            rate_error(
                both,
                received_c / seconds,
                (cut_frames(both, len(blocks)) + hidden_frames(both) + chance + unshared)
                / seconds
                / steady_share(both),
            )
        ),
        congested_bucket_fps=float(max(0, received_c - forgiven_c) / seconds),
        alone_loss_pct=_percent(missed_frames(alone), alone.expected_rx_frames),
        alone_loss_error_pct=missed_error_pct(alone, missed_frames(alone), alone.expected_rx_frames),
        pause_frames=pause_frames,
        uncongested_tx_frames=_sent(uncongested),
        uncongested_rx_frames=_sent(uncongested) - lost_u,
        uncongested_loss_pct=_percent(missed_u, _sent(uncongested)),
        uncongested_loss_error_pct=_loss_error_pct(both, missed_u, _sent(uncongested), unshared),
        uncongested_bucket_pct=_bucket_pct(missed_u + forgiven_u, _sent(uncongested)),
        congested_tx_frames=_sent(congested),
        congested_rx_frames=_sent(congested) - lost_c,
        congested_late_frames=late_c,
        corrupted_frames=both.corrupted_frames or None,
        congested_loss_pct=_percent(missed_c, _sent(congested)),
        congested_loss_error_pct=_loss_error_pct(both, missed_c, _sent(congested), unshared),
        congested_bucket_pct=_bucket_pct(missed_c + forgiven_c, _sent(congested)),
        head_of_line_blocking=blocking,
        back_pressure=back_pressure,
        state=state,
        reason=reason,
    )


def _loss_error_pct(both: TrialResult, missed: int, sent: int, unshared: int) -> float | None:
    """Error of a loss, which is 0 to 100 %."""
    error_pct = missed_error_pct(both, missed, sent, unshared)
    return None if error_pct is None else min(error_pct, 100 * max(missed, sent - missed) / sent)


def _offered_pct(
    both: TrialResult, sources: Sequence[int], maximum_pct: Fraction, intended_frames: Fraction
) -> float | None:
    """The offered load of some of the sources, in percent of their line rate."""
    sent = _sent([flow for flow in both.flows if flow.tx_port in sources])
    return float(maximum_pct * sent / (intended_frames * len(sources))) if intended_frames else None


def _pressure(both: TrialResult, lost_c: int, offered_c: int, pause_frames: int) -> str:
    """The finding on the back pressure of a trial in which the sources sent all their frames."""
    if pause_frames and lost_c:
        return (
            f"{pause_frames} PAUSE frames came to sources that did not stop: the tester's ports do not honour them "
            "(honours_pause)"
        )
    watched = queue_cells(both)
    if not lost_c and not pause_frames and watched is not None and watched.fills:
        return f"no back pressure, but a buffer that holds the overload: {watched.sentence}"
    if offered_c and not lost_c and not pause_frames:
        return (
            f"nothing was lost at the congested port and no PAUSE frame came: a buffer that holds the overload, "
            f"{offered_c // 3} frames, looks like back pressure; a longer trial tells (scaled_frames, duration_ms)"
        )
    return ""


def _fills(result: TrialResult) -> bool:
    return result.queues is not None and result.queues.trend is Trend.FILLING


def _skew(both: TrialResult, blocks: Sequence[Block], fps: Fraction) -> str:
    """The finding on sources that started at different times; empty where they differ by less than one frame."""
    first = {flow.tx_port: flow.first_tx_ns for flow in both.flows}
    skews = [abs(first[split] - first[steady]) for split, steady, *_ in blocks if {split, steady} <= first.keys()]
    skew_ns = max(skews, default=0)
    frames = int(fps * skew_ns / NS_PER_S / 2)
    if not frames:
        return ""
    return (
        f"the sources started {number_text(skew_ns / 1000, 4)} us apart: the congested port received up to {frames:,} "
        "frames "
        "more, and a shorter overload may have hidden loss"
    )


def _to(result: TrialResult, ports: set[int]) -> list[FlowCounts]:
    return [flow for flow in result.flows if flow.rx_port in ports]


def _sent(flows: Sequence[FlowCounts]) -> int:
    return sum(flow.tx_frames for flow in flows)


def _lost(flows: Sequence[FlowCounts]) -> int:
    return sum(flow.lost_frames for flow in flows)


def _bucket_pct(part: int, whole: int) -> float | None:
    return _percent(min(part, whole), whole)


def _percent(part: int, whole: int) -> float | None:
    return float(Fraction(100 * part, whole)) if whole else None
