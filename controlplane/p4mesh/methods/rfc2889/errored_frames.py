"""RFC 2889 5.9: errored frames filtering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import UnsupportedError
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import BUCKET_LOSSES, bucket_ratio, loss_error_pct
from p4mesh.methods.results.metrics import early_of_flows, is_settled, uneven_frames
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import TRANSIENT
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.methods.rfc2889.errored_streams import (
    BAD_FCS,
    CLASSES,
    ONE_SIZE,
    OVERSIZE,
    UNDERSIZE,
    VALID,
    ErroredTraffic,
    about,
    class_of,
    sizes_between,
    stream_parameters,
)
from p4mesh.methods.rfc2889.port_pair import pair_of, pair_parameters
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

SECTION = "RFC 2889 5.9"
NIBBLE_INTERFACES_BPS = 100_000_000
"""Fastest ports with a nibble interface, the only ones with dribble bits and alignment errors."""
_ERRORED = "errored"
_IN_TURN = "errored_to_"
"""Part of a unit whose valid frames have several sizes; the largest one follows."""
_NIBBLE_NOTES = {
    False: "not applicable, they do not exist at 1 Gbit/s and above.",
    True: "not supported, no port of the tester sends parts of a byte.",
}
_VALID_EARLY = retitled(fields.EARLY_FRAMES, "Valid early")
_FIXED = ("frame_format", "vlan_id", "headers", "burst_frames")
"""Parameters that the test does not leave open: runts carry no IP headers, classes alternate evenly."""


@dataclass(frozen=True, kw_only=True)
class ErroredLoad(Record):
    """Counts and handling of each class of frames at one load; None where a class was not sent or not counted."""

    frame_size_bytes: Annotated[int | str, retitled(fields.FRAME_SIZE_BYTES, "Valid size")]
    load_pct: Annotated[float, retitled(fields.LOAD_PCT, "Load", digits=2)]
    state: Annotated[Verdict, fields.STATE]
    total_tx_frames: Annotated[int, fields.TOTAL_TX_FRAMES]
    total_rx_frames: Annotated[int, fields.TOTAL_RX_FRAMES]
    valid_tx_frames: Annotated[int | None, fields.VALID_TX_FRAMES]
    valid_rx_frames: Annotated[int | None, fields.VALID_RX_FRAMES]
    valid_loss_pct: Annotated[float | None, fields.VALID_LOSS_PCT]
    valid_loss_error_pct: Annotated[float | None, fields.VALID_LOSS_ERROR_PCT]
    bucket_loss_pct: Annotated[float | None, fields.BUCKET_LOSS_PCT]
    """Share of the valid frames."""
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    early_frames: Annotated[int | None, _VALID_EARLY] = field(default=None, metadata=OMITTED)
    """Valid frames that a longer trial loses; None where there is none."""
    queues: Annotated[str | None, fields.QUEUES] = field(default=None, metadata=OMITTED)
    """None where the trials tell how many valid frames a longer one loses."""
    oversize_tx_frames: Annotated[int | None, fields.OVERSIZE_TX_FRAMES]
    oversize_rx_frames: Annotated[int | None, fields.OVERSIZE_RX_FRAMES]
    undersize_tx_frames: Annotated[int | None, fields.UNDERSIZE_TX_FRAMES]
    undersize_rx_frames: Annotated[int | None, fields.UNDERSIZE_RX_FRAMES]
    bad_fcs_tx_frames: Annotated[int | None, fields.BAD_FCS_TX_FRAMES]
    bad_fcs_rx_frames: Annotated[int | None, fields.BAD_FCS_RX_FRAMES]
    oversize_handling: Annotated[str | None, fields.OVERSIZE_HANDLING]
    undersize_handling: Annotated[str | None, fields.UNDERSIZE_HANDLING]
    bad_fcs_handling: Annotated[str | None, fields.BAD_FCS_HANDLING]
    dribble_handling: Annotated[str, fields.DRIBBLE_HANDLING]
    alignment_handling: Annotated[str, fields.ALIGNMENT_HANDLING]
    reason: str


@dataclass(frozen=True, kw_only=True)
class ErroredUnit(Record):
    """The sweep of one size of valid frames, or of all of them in turn."""

    rows: tuple[ErroredLoad, ...]


class ErroredFrames(MethodOf[ErroredUnit]):
    """Valid frames, and beside them undersize and oversize frames and frames with a bad FCS, at several loads."""

    name = "rfc2889.errored_frames"
    title = "Errored frames filtering"
    terms = "oversize, undersize, CRC, FCS, dribble bits, alignment errors"
    section = SECTION
    frame_sizes_bytes = (64, 1518)
    parameters = (
        *pair_parameters("RFC 2889 5.9.2"),
        *stream_parameters(),
        *shared.sweep_parameters("RFC 2889 5.9.2"),
        *(item for item in shared.trial_parameters("RFC 2889 5.9.2") if item.name not in _FIXED),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the test."""
        return "undersize frames and frames with a bad FCS are filtered"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and ports that pad short frames."""
        sender, _ = pair_of(self.name, bed, parameters)
        shared.sweep_of(parameters)
        if sender.pads_short_frames:
            raise UnsupportedError(
                f"{self.name}: not supported on port {sender.name} of topology '{bed.topology}': "
                "it pads short frames to 64 bytes",
                hint="set pad_to_minimum: false for this tester port, where the hardware can do it",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """One unit per size of the valid frames, or one for all sizes in turn."""
        if parameters.text("stream_set") == ONE_SIZE:
            return tuple(Unit(size, _ERRORED) for size in sizes)
        return (Unit(min(sizes), f"{_IN_TURN}{max(sizes)}"),)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The length of the sweep, twice where bad FCS can be sent in a trial of its own."""
        return (2 if unit.part == _ERRORED else 1) * len(shared.sweep_of(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> ErroredUnit:
        """Sweep the load from one port to the other."""
        traffic = self._traffic(unit, bed, parameters)
        trials = {load: traffic.trials(load) for load in shared.sweep_of(parameters)}
        session.announce([spec for specs in trials.values() for spec in specs])
        remaining = sum(map(len, trials.values()))
        rows = []
        for load, specs in trials.items():
            measured = []
            for spec in specs:
                remaining -= 1
                measured.append((spec, session.measure(spec, TrialNote(load, remaining, _judge))))
            nibbles = _of_nibbles(bed, traffic.sender.rate_bps)
            rows.append(_row(traffic.shown_sizes, load, measured, f"not supported on {bed.target}", nibbles))
        return ErroredUnit(rows=tuple(rows))

    def _traffic(self, unit: Unit, bed: Bed, parameters: ParameterSet) -> ErroredTraffic:
        sizes: tuple[int, ...] = (unit.frame_size_bytes,)
        if unit.part != _ERRORED:
            largest = int(unit.part.removeprefix(_IN_TURN))
            sizes = sizes_between(unit.frame_size_bytes, largest, parameters.integer("valid_sizes"))
        return ErroredTraffic(*pair_of(self.name, bed, parameters), parameters, sizes, bed.sends_bad_fcs)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, ErroredUnit]) -> Outcome:
        """The fate of each class: undersize and bad FCS must be filtered, oversize may be (RFC 2889 5.9.4)."""
        rows = [row for unit in results.values() for row in unit.rows]
        traffic = [self._traffic(unit, bed, parameters) for unit in results]
        sender = traffic[0].sender
        sizes = [round(it.mean_bytes) for it in traffic]
        table = ErroredLoad.table(
            "errored_frames",
            "Errored frames",
            rows,
            f"{about(traffic, parameters)} Undersize frames and frames with a bad FCS must be filtered; "
            "oversize frames may be, and no loss of valid frames is a failure. Frames "
            "with a bad FCS are not valid frames; those that arrive are counted by the receiving ports, or "
            f"known by their signature. {BUCKET_LOSSES}",
            optional=(_VALID_EARLY, fields.QUEUES),
            keys=(fields.FRAME_SIZE_BYTES, fields.LOAD_PCT),
            headline=(
                fields.STATE,
                fields.OVERSIZE_HANDLING,
                fields.UNDERSIZE_HANDLING,
                fields.BAD_FCS_HANDLING,
                fields.VALID_LOSS_PCT,
            ),
        )
        return self.outcome(
            [row.state for row in rows],
            "",
            [table],
            findings=[
                f"{row.frame_size_bytes} B at {number_text(row.load_pct)} %: {row.reason}" for row in rows if row.reason
            ],
            deviations=(
                shared.duration_deviation(parameters, sizes, sender.own_rate_bps),
                "" if bed.sends_bad_fcs else f"Frames with a bad FCS: not supported on {bed.target}.",
                f"Dribble bits and alignment errors: {_NIBBLE_NOTES[sender.rate_bps <= NIBBLE_INTERFACES_BPS]}",
            ),
        )


def _row(
    sizes: int | str,
    load_pct: Fraction,
    measured: Sequence[tuple[TrialSpec, TrialResult]],
    unsupported: str,
    nibbles: str,
) -> ErroredLoad:
    """The counts of all trials at one load; ``nibbles`` is the handling of classes of these."""
    results = [result for _, result in measured]
    by_class = {
        class_of(stream.name): [result for spec, result in measured if _sends(spec, class_of(stream.name))]
        for spec, _ in measured
        for stream in spec.streams
    }
    sent, arrived = _frames_of(results)
    bad_fcs_handling: str | None = unsupported
    if BAD_FCS in by_class:
        arrived[BAD_FCS] = sum(_bad_fcs_received(result) for result in by_class[BAD_FCS])
        bad_fcs_handling = _handling(arrived[BAD_FCS], by_class[BAD_FCS])
    tx, rx = ({name: counted[name] if name in sent else None for name in CLASSES} for counted in (sent, arrived))
    uncounted = any(port.bad_fcs_frames is None for result in by_class.get(BAD_FCS, ()) for port in result.ports)
    if uncounted and not arrived[BAD_FCS]:
        # The tester's MACs drop frames with a bad FCS and do not report them: no received frame proves nothing.
        rx[BAD_FCS], bad_fcs_handling = None, f"sent; receiving: {unsupported}"
    early = round(sum(map(_early_frames, results)))
    lost, _ = _valid_loss(results)
    loss_pct = float(Fraction(100 * lost, sent[VALID])) if sent[VALID] else None
    error_pct = _loss_error_pct(results)
    most_lost = lost + sent[VALID] * (error_pct or 0.0) / 100 if lost else 0
    bucket_pct = 100 * bucket_ratio(most_lost, sent[VALID], len(results))
    settled = loss_pct is None or all(map(is_settled, results))
    return ErroredLoad(
        frame_size_bytes=sizes,
        load_pct=float(load_pct),
        bad_fcs_handling=bad_fcs_handling,
        state=Verdict.worst(map(_judge, results)),
        reason="; ".join(it.reason for it in results if it.reason),
        valid_tx_frames=tx[VALID],
        valid_rx_frames=rx[VALID],
        oversize_tx_frames=tx[OVERSIZE],
        oversize_rx_frames=rx[OVERSIZE],
        oversize_handling=_handling(arrived[OVERSIZE], by_class[OVERSIZE]),
        undersize_tx_frames=tx[UNDERSIZE],
        undersize_rx_frames=rx[UNDERSIZE],
        undersize_handling=_handling(arrived[UNDERSIZE], by_class[UNDERSIZE]),
        bad_fcs_tx_frames=tx[BAD_FCS],
        bad_fcs_rx_frames=rx[BAD_FCS],
        valid_loss_pct=loss_pct,
        valid_loss_error_pct=error_pct if settled else 100 - (loss_pct or 0),
        bucket_loss_pct=None if loss_pct is None else bucket_pct if settled else 100.0,
        early_frames=early or None,
        queues=None if settled else TRANSIENT,
        corrupted_frames=sum(result.corrupted_frames for result in results) or None,
        total_tx_frames=sum(sent.values()),
        total_rx_frames=sum(arrived.values()),
        dribble_handling=nibbles,
        alignment_handling=nibbles,
    )


def _early_frames(result: TrialResult) -> Fraction:
    """Valid frames that came at first beyond the rate of the steady part."""
    shares = zip(result.flows, early_of_flows(result), strict=True)
    return sum((early for flow, early in shares if class_of(flow.stream) == VALID), Fraction(0))


def _loss_error_pct(results: Sequence[TrialResult]) -> float | None:
    """Error of the loss of valid frames, in trials that are long enough to tell it.

    It contains that of each trial, where they differ by more than chance: a bucket may have hidden all loss of one.
    """
    (lost, sent), *others = map(_valid_loss, (results, *([result] for result in results)))
    error_pct = loss_error_pct(lost, sent)
    if error_pct is None or not lost:
        return error_pct
    apart_pct = max((abs(100 * part / of - 100 * lost / sent) for part, of in others if of), default=0.0)
    # Nothing tells whether late frames have waited in a queue, which a longer trial fills as well.
    late = sum(port.late_frames for result in results for port in result.ports)
    unsure_pct = error_pct + 100 * (late + sum(map(uneven_frames, results))) / sent
    return unsure_pct if apart_pct <= error_pct else unsure_pct + apart_pct


def _valid_loss(results: Sequence[TrialResult]) -> tuple[int, int]:
    """Valid frames that a longer trial loses, of those sent."""
    sent, arrived = _frames_of(results)
    return sent[VALID] - arrived[VALID] + round(sum(map(_early_frames, results))), sent[VALID]


def _sends(spec: TrialSpec, name: str) -> bool:
    return any(class_of(stream.name) == name for stream in spec.streams)


def _of_nibbles(bed: Bed, rate_bps: int) -> str:
    """The handling of the classes that only exist where bytes cross an interface in two halves."""
    return f"not supported on {bed.target}" if rate_bps <= NIBBLE_INTERFACES_BPS else "not applicable"


def _frames_of(results: Sequence[TrialResult]) -> tuple[Counter[str], Counter[str]]:
    """The frames sent and the frames that arrived at their port, by class."""
    sent: Counter[str] = Counter()
    arrived: Counter[str] = Counter()
    for flow in (flow for result in results for flow in result.flows):
        sent[class_of(flow.stream)] += flow.tx_frames
        arrived[class_of(flow.stream)] += flow.tx_frames - flow.lost_frames
    return sent, arrived


def _bad_fcs_received(result: TrialResult) -> int:
    """The frames that were forwarded as they came, or with an FCS that was computed anew."""
    return sum(port.bad_fcs_frames or 0 for port in result.ports) + _frames_of([result])[1][BAD_FCS]


def _judge(result: TrialResult) -> Verdict:
    """The verdict on a trial: by the classes that must be filtered."""
    if not result.status.trusted:
        return result.status
    sent, arrived = _frames_of([result])
    forwarded = arrived[UNDERSIZE] or (BAD_FCS in sent and _bad_fcs_received(result))
    return Verdict.FAIL if forwarded else Verdict.PASS


def _handling(arrived_frames: int, results: Sequence[TrialResult]) -> str | None:
    """The fate of the frames of a class; None where that cannot be trusted."""
    if not all(result.status.trusted for result in results):
        return None
    return "forwarded" if arrived_frames else "filtered"
