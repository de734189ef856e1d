"""RFC 2889 5.9: errored frames filtering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import UnsupportedError
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Cell, Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, integer
from p4mesh.methods.rfc2889.port_pair import pair_of, pair_parameters
from p4mesh.methods.search import Verdict
from p4mesh.methods.sweeps import executed
from p4mesh.traffic.line_rate import rate_at_pct, tx_frames
from p4mesh.traffic.stream import FrameTemplate, PatternKind, Stream
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

SECTION = "RFC 2889 5.9"
UNDERSIZE_BYTES = 63
OVERSIZE_BYTES = 1519
NIBBLE_INTERFACES_BPS = 100_000_000
"""Fastest ports with a nibble interface, the only ones with dribble bits and alignment errors."""
VALID, UNDERSIZE, OVERSIZE, BAD_FCS = "valid", "undersize", "oversize", "bad_fcs"
_PLAIN = FrameTemplate(ip_version=None)
_NIBBLE_NOTES = {
    False: "not applicable, they do not exist at 1 Gbit/s and above.",
    True: "not supported, no port of the tester sends parts of a byte.",
}
_FIXED = ("frame_format", "vlan_id", "burst_frames")
"""Parameters that the test does not leave open: runts carry no IP headers, classes alternate evenly."""

COLUMNS = (
    Column("frame_size_bytes", "Valid size", "B"),
    Column("load_pct", "Load", "% of line", 2),
    Column("total_tx_frames", "Tx, all", "frames"),
    Column("total_rx_frames", "Rx, all", "frames"),
    Column("valid_tx_frames", "Valid Tx", "frames"),
    Column("valid_rx_frames", "Valid Rx", "frames"),
    Column("valid_loss_pct", "Valid loss", "%", 4),
    Column("oversize_tx_frames", "Oversize Tx", "frames"),
    Column("oversize_rx_frames", "Oversize Rx", "frames"),
    Column("undersize_tx_frames", "Undersize Tx", "frames"),
    Column("undersize_rx_frames", "Undersize Rx", "frames"),
    Column("bad_fcs_tx_frames", "Bad FCS Tx", "frames"),
    Column("bad_fcs_rx_frames", "Bad FCS Rx", "frames"),
    Column("oversize_verdict", "Oversize"),
    Column("undersize_verdict", "Undersize"),
    Column("bad_fcs_verdict", "Bad FCS"),
    Column("dribble_verdict", "Dribble bits"),
    Column("alignment_verdict", "Alignment"),
)


class ErroredFrames(TestMethod):
    """Valid, undersize and oversize frames together; then valid frames and such with a bad FCS. Equal shares."""

    name: ClassVar[str] = "rfc2889.errored_frames"
    title: ClassVar[str] = "Errored frames filtering"
    section: ClassVar[str] = SECTION
    frame_sizes_bytes: ClassVar[tuple[int, ...]] = (64, 1518)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *pair_parameters("RFC 2889 5.9.2"),
        integer("undersize_bytes", UNDERSIZE_BYTES, "B", "RFC 2889 5.9.3", "length of undersize frames", (36, 63)),
        integer("oversize_bytes", OVERSIZE_BYTES, "B", "RFC 2889 5.9.3", "length of oversize frames", (1519, 9216)),
        *shared.sweep_parameters("RFC 2889 5.9.2"),
        *(item for item in shared.trial_parameters("RFC 2889 5.9.2") if item.name not in _FIXED),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and ports that pad short frames."""
        sender, _ = pair_of(self.name, bed, parameters)
        shared.sweep_of(parameters)
        if sender.pads_short_frames:
            raise UnsupportedError(
                f"{self.name}: not supported on port {sender.name} of topology '{bed.topology}': "
                "it pads short frames to 64 bytes",
                hint="set pad_to_minimum: false for this tester port, where the hardware can do it",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per size of the valid frames."""
        return tuple(Unit(size, "errored") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the length of the sweep, twice where bad FCS can be sent."""
        return 2 * len(shared.sweep_of(parameters))

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Sweep the load from one port to the other."""
        loads, rate_bps = shared.sweep_of(parameters), bed.common_rate_bps(self.name)
        sender, receiver = pair_of(self.name, bed, parameters)
        rows, pair = [], (sender.number, receiver.number)
        size = unit.frame_size_bytes
        undersize_bytes, oversize_bytes = (parameters.integer(f"{name}_bytes") for name in (UNDERSIZE, OVERSIZE))
        mixes = [{VALID: size, UNDERSIZE: undersize_bytes, OVERSIZE: oversize_bytes}]
        if bed.sends_bad_fcs:
            mixes.append({VALID: size, BAD_FCS: size})
        trials = {load: [_spec(mix, load, pair, rate_bps, parameters) for mix in mixes] for load in loads}
        session.announce([spec for specs in trials.values() for spec in specs])
        for index, (load, specs) in enumerate(trials.items()):
            results = []
            for number, spec in enumerate(specs, 1):
                remaining = (len(loads) - index) * len(mixes) - number
                results.append(session.measure(spec, TrialNote(load, remaining, _judge)))
            rows.append(_row(size, load, results, f"not supported on {bed.target}") | _of_nibbles(bed, rate_bps))
        return {"rows": rows}

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return verdicts per class: undersize and bad FCS must be filtered, oversize may be (RFC 2889 5.9.4)."""
        rows = [row for unit in results.values() for row in unit["rows"]]
        statuses = {row["status"] for row in rows}
        forwarded = any("FAIL" in (row["undersize_verdict"], row["bad_fcs_verdict"]) for row in rows)
        state = next((State(name) for name in ("ABORT", "INVALID") if name in statuses), None)
        state = state or (State.FAIL if forwarded else State.PASS)
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.common_rate_bps(self.name))
        noted = (
            duration,
            "" if bed.sends_bad_fcs else f"Frames with a bad FCS: not supported on {bed.target}.",
            f"Dribble bits and alignment errors: {_NIBBLE_NOTES[bed.slowest_rate_bps <= NIBBLE_INTERFACES_BPS]}",
        )
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (
                Table(
                    "errored_frames",
                    "Errored frames",
                    COLUMNS,
                    tuple({column.key: row[column.key] for column in COLUMNS} for row in rows),
                    f"Undersize frames have {parameters.integer('undersize_bytes')} bytes, oversize frames "
                    f"{parameters.integer('oversize_bytes')}. "
                    "Undersize frames and frames with a bad FCS must be filtered; oversize frames may be: 'forwarded' "
                    "is no failure, nor is a loss of valid frames. Each load is measured with oversize and undersize "
                    "frames beside valid ones, and where the ports can send them with frames with a bad FCS beside "
                    "valid ones: counts are sums of both. Frames with a bad FCS are no valid frames; those that "
                    "arrive are counted by the receiving ports, or known by their signature.",
                    keys=("frame_size_bytes", "load_pct"),
                ),
            ),
            (),
            tuple(
                f"{row['frame_size_bytes']} B at {row['load_pct']:g} %: {row['reason']}"
                for row in rows
                if row["reason"]
            ),
            tuple(text for text in noted if text),
        )


def _spec(
    mix: Mapping[str, int], load_pct: Fraction, pair: tuple[int, ...], rate_bps: int, parameters: ParameterSet
) -> TrialSpec:
    size = mix[VALID]
    duration_ns = shared.duration_ns_of(parameters, size, rate_bps)
    streams = []
    for name, length in mix.items():
        fps = rate_at_pct(load_pct, length, rate_bps) / len(mix)
        count = max(1, tx_frames(duration_ns, fps))
        stream = Stream(name, length, fps, count, PatternKind.PAIRS, pair[:1], pair[1:], _PLAIN)
        streams.append(replace(stream, bad_fcs=name == BAD_FCS, may_be_filtered=name != VALID))
    label = "bad FCS" if BAD_FCS in mix else "errored frames"
    return TrialSpec(
        f"{label} {size} B {float(load_pct):.4f} %",
        tuple(streams),
        duration_ns,
        shared.learning_of(parameters),
        shared.nanoseconds(parameters, "settle_ms"),
        shared.nanoseconds(parameters, "restabilise_ms"),
        per_flow=True,
    )


def _row(size: int, load_pct: Fraction, results: Sequence[TrialResult], unsupported: str) -> UnitResult:
    mixed, *rest = results
    sent, arrived = _frames_of(mixed)
    row: dict[str, Cell] = {
        "frame_size_bytes": size,
        "load_pct": float(load_pct),
        "undersize_verdict": _verdict(arrived.get(UNDERSIZE, 0), "FAIL", mixed),
        "oversize_verdict": _verdict(arrived.get(OVERSIZE, 0), "forwarded", mixed),
        "bad_fcs_tx_frames": None,
        "bad_fcs_rx_frames": None,
        "bad_fcs_verdict": unsupported,
        "status": next((it.status for it in results if it.status is not Status.VALID), Status.VALID).value,
        "reason": "; ".join(it.reason for it in results if it.reason),
    }
    for result in rest:
        sent_beside, arrived_beside = _frames_of(result)
        received = _bad_fcs_received(result)
        row["bad_fcs_tx_frames"], row["bad_fcs_rx_frames"] = sent_beside.get(BAD_FCS), received
        row["bad_fcs_verdict"] = _verdict(received, "FAIL", result)
        if not received and any(port.bad_fcs_frames is None for port in result.ports):
            # The tester's MACs drop what was forwarded as it came, and do not tell: no frame seen is no proof.
            row["bad_fcs_rx_frames"], row["bad_fcs_verdict"] = None, f"sent; receiving: {unsupported}"
        if VALID in sent and VALID in sent_beside:
            sent[VALID] += sent_beside[VALID]
            arrived[VALID] += arrived_beside[VALID]
    for name in (VALID, UNDERSIZE, OVERSIZE):
        row[f"{name}_tx_frames"] = sent.get(name)
        row[f"{name}_rx_frames"] = arrived.get(name)
    row["valid_loss_pct"] = float(Fraction(100 * (sent[VALID] - arrived[VALID]), sent[VALID])) if sent else None
    for way in ("tx", "rx"):
        counts = [row[f"{name}_{way}_frames"] for name in (VALID, UNDERSIZE, OVERSIZE, BAD_FCS)]
        row[f"total_{way}_frames"] = sum(count for count in counts if isinstance(count, int))
    return row


def _of_nibbles(bed: TestBed, rate_bps: int) -> UnitResult:
    """Return the verdicts of the classes that only exist where bytes cross an interface in two halves."""
    verdict = f"not supported on {bed.target}" if rate_bps <= NIBBLE_INTERFACES_BPS else "not applicable"
    return {"dribble_verdict": verdict, "alignment_verdict": verdict}


def _frames_of(result: TrialResult) -> tuple[dict[str, int], dict[str, int]]:
    """Return the frames sent and the frames that arrived at their port, by class."""
    sent = {flow.stream: flow.tx_frames for flow in result.flows}
    return sent, {flow.stream: flow.tx_frames - flow.lost_frames for flow in result.flows}


def _bad_fcs_received(result: TrialResult) -> int:
    """Return the frames that were forwarded as they came, or with an FCS that was computed anew."""
    return sum(port.bad_fcs_frames or 0 for port in result.ports) + _frames_of(result)[1].get(BAD_FCS, 0)


def _judge(result: TrialResult) -> Verdict:
    """Judge one trial by the classes that must be filtered, for the log."""
    verdict, (sent, arrived) = executed(result), _frames_of(result)
    forwarded = arrived.get(UNDERSIZE, 0) or (BAD_FCS in sent and _bad_fcs_received(result))
    return Verdict.FAIL if verdict is Verdict.PASS and forwarded else verdict


def _verdict(arrived_frames: int, when_forwarded: str, result: TrialResult) -> str:
    if result.status is not Status.VALID:
        return str(result.status.value)
    return when_forwarded if arrived_frames else "PASS"
