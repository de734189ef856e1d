"""RFC 2544 26.6 as replaced by RFC 6201: the time for which a reset keeps a device from forwarding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.conditions.protocols import NO_MIX, protocol_text
from p4mesh.methods.extensions.resets import hook_of
from p4mesh.methods.mesh import Mesh, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, command, decimal, integer, text
from p4mesh.methods.port_patterns import DURATION_CLAUSE, PARAMETERS, RFC_DURATION_S, mesh_notes, mesh_of
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.repetition import spread_of
from p4mesh.methods.results.searched import ForGood
from p4mesh.methods.results.throughput_tables import throughput_table
from p4mesh.methods.rfc6201.reset_trial import (
    AUTO,
    CONTROL,
    NAME,
    POWER,
    RESET,
    TIME_STAMPS,
    after_ns,
    before_ns,
    is_routed,
    off_time_ns,
    reset_spec,
    reset_time,
    simulated_reset,
)
from p4mesh.methods.shapes import SearchTest
from p4mesh.quantities import number_text, time_text, typed_text
from p4mesh.traffic.line_rate import NS_PER_S, l2_rate_bps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

SECTION = "RFC 6201 4"
POWER_SECTION = "RFC 6201 4.3.1"
TYPES = ("rp_hardware", "rp_switchover", "line_card", "os_software", "process", POWER)
THROUGHPUT = "throughput"
RFC_BEFORE_S = 15
NO_LOSS = "no loss"
"""The only result that RFC 6201 3 reports when nothing was lost."""
_MS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ResetTrial(Record):
    """Result of one reset; times do not include the time without power."""

    trial: Annotated[int, fields.TRIAL]
    state: Annotated[Verdict, fields.STATE]
    reason: str
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    loss_ms: Annotated[float, fields.LOSS_MS]
    stamps_ms: Annotated[float | None, fields.STAMPS_MS]
    method: Annotated[str, retitled(fields.METHOD, "Preferred")]


@dataclass(frozen=True, kw_only=True)
class ResetUnit(Record):
    """Throughput and resets of one frame size; None where the device could not be measured."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    reset_type: Annotated[str, fields.RESET_TYPE]
    state: Annotated[Verdict, fields.STATE]
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS] = None
    throughput_l2_mbps: Annotated[float | None, retitled(fields.THROUGHPUT_L2_MBPS, "Throughput (L2)")] = None
    for_good: ForGood = field(default=ForGood(), metadata=INLINE)
    offered_fps: Annotated[float | None, fields.OFFERED_FPS] = None
    lost_frames_avg: Annotated[float | None, fields.LOST_FRAMES_AVG] = None
    corrupted_frames_avg: float | None = field(default=None, metadata=OMITTED)
    reset_ms_avg: Annotated[float | None, fields.RESET_MS_AVG] = None
    method: Annotated[str | None, fields.METHOD] = None
    reset_ms_min: Annotated[float | None, fields.RESET_MS_MIN] = None
    reset_ms_max: Annotated[float | None, fields.RESET_MS_MAX] = None
    loss_ms_avg: Annotated[float | None, fields.LOSS_MS_AVG] = None
    stamps_ms_avg: Annotated[float | None, fields.STAMPS_MS_AVG] = None
    resolution_ms: Annotated[float | None, fields.RESOLUTION_MS] = None
    trials: Annotated[int | None, fields.TRIALS] = None
    each: tuple[ResetTrial, ...] = ()
    reason: str = ""
    throughput: MeshThroughput | None = None
    """None where the load was given."""
    kept: str | None = field(default=None, metadata=OMITTED)
    """Finding where the load is below the throughput."""


class Reset(SearchTest[ResetUnit]):
    """Forward at the throughput rate, trigger a reset, and measure for how long nothing comes through."""

    name = NAME
    title = "Reset"
    terms = "reboot, restart, power interruption"
    section = "RFC 2544 26.6, RFC 6201"
    part = RESET
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    frame_sizes_bytes = (64,)
    parameters = (
        choice(
            "reset_type", "os_software", SECTION, "what is reset, for the report; power: off time subtracted", TYPES
        ),
        command("reset_cmd", SECTION, "command that triggers the reset; empty: the simulated device is reset"),
        text("reset_device", SECTION, "simulated device that is reset; empty: the only one with 'reset'"),
        decimal("power_off_s", "15", "s", POWER_SECTION, "time without power; RFC at least 15 s", ("0", "3600")),
        integer("resets", 3, "trials", SECTION, "trials, averaged", (1, 1000)),
        decimal(
            "load_pct",
            THROUGHPUT,
            "% of line rate",
            SECTION,
            "load of the trials; throughput = searched first",
            ("0.0001", "100"),
            (THROUGHPUT,),
        ),
        shared.scaled_duration(
            "before_ms",
            SECTION,
            f"forwarding before the reset; RFC at least {RFC_BEFORE_S} s",
            RFC_BEFORE_S,
            longest_ms="3600000",
        ),
        decimal(
            "after_ms",
            AUTO,
            "ms",
            SECTION,
            "forwarding after the trigger; auto = twice the modelled reset time, 60 s with a command, the off time, "
            "and the time in which BGP brings back routes that frames need",
            ("1", "3600000"),
            (AUTO,),
        ),
        decimal("sample_ms", "10", "ms", SECTION, "distance of the looks for the last frame before", ("0.01", "1000")),
        *PARAMETERS,
        *shared.trial_parameters("RFC 2544 26.1", RFC_DURATION_S),
        *shared.search_parameters("RFC 2544 26.1"),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the test, and the threshold of the throughput where there is one."""
        return ", ".join(filter(None, ("the device recovers from every reset", super().goal(parameters))))

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return mesh_of(self.name, bed, parameters)

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs, without anything to reset, and a trial that ends before the reset does."""
        super().check(bed, parameters)
        reset_time_ns = simulated_reset(self.name, bed, parameters)[1]
        if hook_of(parameters, "reset_cmd") is None and after_ns(bed, parameters) <= reset_time_ns:
            raise ParameterError(
                f"after_ms={typed_text(parameters.number('after_ms'))} is over before the reset of "
                f"{number_text(Fraction(reset_time_ns, _MS))} ms",
                hint="give a longer after_ms, or leave it out",
            )

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The resets, and the search where the load is not given."""
        searched = shared.search_of(parameters).trials_expected if parameters.is_word("load_pct") else 0
        return searched + parameters.integer("resets")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> ResetUnit:
        """Find the throughput unless a load is given, and reset the device in each trial."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        reset_type = parameters.text("reset_type")
        found = None
        if parameters.is_word("load_pct"):
            found = measure_throughput(mesh, size, parameters, session)
            if found.search.throughput_pct is None:
                state = found.search.state
                return ResetUnit(frame_size_bytes=size, reset_type=reset_type, state=state, throughput=found)
            load_pct = Fraction(found.search.throughput_pct)
        else:
            load_pct = parameters.number("load_pct")

        def spec_at(load: Fraction) -> TrialSpec:
            return reset_spec(self.name, mesh, size, load, bed, parameters)

        trials = parameters.integer("resets")
        first = session.measure(spec_at(load_pct), TrialNote(load_pct, trials - 1))
        kept_pct: Fraction | None = load_pct
        if found and first.status.trusted and not reset_time(spec_at(load_pct), first).recovered:
            kept_pct = _kept_load(spec_at, load_pct, parameters, session)
        offered_pct = load_pct if kept_pct is None else kept_pct
        spec, results = spec_at(offered_pct), [first] if offered_pct == load_pct else []
        while len(results) < trials:
            results.append(session.measure(spec, TrialNote(offered_pct, trials - len(results) - 1)))
        fps, offered_fps = (mesh.offered_fps(load, size) for load in (load_pct, offered_pct))
        row = ResetUnit(
            frame_size_bytes=size,
            reset_type=reset_type,
            state=Verdict.PASS,
            throughput_fps=None if found is None else float(fps),
            throughput_l2_mbps=None if found is None else float(l2_rate_bps(fps, size) / 1_000_000),
            for_good=ForGood() if found is None else found.search.for_good,
            offered_fps=float(offered_fps),
            trials=len(results),
            throughput=found,
            kept=None if offered_pct == load_pct else _kept_text(load_pct, offered_pct, spec),
        )
        return _measured(row, spec, parameters, results)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, ResetUnit]) -> Outcome:
        """The report that RFC 6201 1.4 asks for."""
        rows = tuple(results.values())
        searched = [row.throughput for row in rows if row.throughput]
        table = ResetUnit.table(
            RESET,
            "Reset",
            rows,
            _note(bed, parameters),
            headline=(fields.STATE, fields.RESET_MS_AVG, fields.RESET_MS_MAX, fields.RESOLUTION_MS),
        )
        each = ResetTrial.table(
            "reset_trials",
            "Reset, each trial",
            [(row, one) for row in rows for one in row.each],
            columns=(fields.FRAME_SIZE_BYTES, *ResetTrial.columns(), fields.RESOLUTION_MS),
            detail=True,
            keys=(fields.FRAME_SIZE_BYTES, fields.TRIAL),
        )
        return self.outcome(
            (*(row.state for row in rows), *(found.search.verdict for found in searched)),
            parameters.text("reset_type"),
            (table, each, *([throughput_table(searched)] if searched else [])),
            searched=searched,
            findings=(
                *(f"{row.frame_size_bytes} B: {row.kept}" for row in rows if row.kept),
                *(f"{row.frame_size_bytes} B: {row.reason}" for row in rows if not row.state.good and row.reason),
            ),
            deviations=self._deviations(bed, parameters, results),
        )

    def _deviations(self, bed: Bed, parameters: ParameterSet, units: Iterable[Unit]) -> Iterator[str]:
        mesh = self.mesh(bed, parameters)
        shortest_ns = min(before_ns(parameters, unit.frame_size_bytes, mesh.line_rate_bps) for unit in units)
        yield from mesh_notes(self.name, bed, parameters)
        if parameters.is_word("load_pct"):
            yield self.short_trials(bed, parameters, units)
        if shortest_ns < RFC_BEFORE_S * NS_PER_S:
            yield f"Forwarding for {time_text(shortest_ns)} before the reset instead of {RFC_BEFORE_S} s or more."
        if is_routed(parameters):
            yield (
                "RFC 6201 3 asks for static neighbours first; a router that has forgotten its own asks for them, "
                "and until it is answered is part of its reset time."
            )
        if parameters.text("reset_type") == POWER:
            off_s = float(parameters.number("power_off_s"))
            yield f"{number_text(off_s)} s without power are subtracted."
            if off_s < RFC_BEFORE_S:
                yield f"The device was without power for less than {RFC_BEFORE_S} s."


def _kept_load(
    spec_at: Callable[[Fraction], TrialSpec], load_pct: Fraction, parameters: ParameterSet, session: Session
) -> Fraction | None:
    """The highest load tried that the device keeps up without a reset for as long as the trial with one.

    A search has shorter trials: a buffer, or the burst that a policer allows, may carry its result a little above what
    the device sustains, and a trial with a reset would then lose frames until its end. None where no load was kept up.
    """
    goal = shared.search_of(parameters).goal
    step = goal.resolution
    while load_pct > goal.minimum:
        spec = spec_at(load_pct)
        control = replace(spec, label=f"{CONTROL} {spec.label}", interruption=None)
        result = session.measure(control, TrialNote(load_pct, parameters.integer("resets")))
        if result.status.trusted and not result.lost_frames:
            return load_pct
        load_pct, step = load_pct - step, 2 * step
    return None


def _kept_text(throughput_pct: Fraction, offered_pct: Fraction, spec: TrialSpec) -> str:
    return (
        f"at the throughput, {number_text(throughput_pct)} %, the device loses frames in trials of "
        f"{time_text(spec.duration_ns)} without a reset, too; it was reset at {number_text(offered_pct)} %"
    )


def _measured(row: ResetUnit, spec: TrialSpec, parameters: ParameterSet, results: Sequence[TrialResult]) -> ResetUnit:
    """The row with loss and reset times of the trials, or the reason why there are none."""
    off_ns = off_time_ns(parameters)
    untrusted = next((result for result in results if not result.status.trusted), None)
    if untrusted:
        return replace(row, state=untrusted.status, reason=untrusted.reason)
    times = [reset_time(spec, result) for result in results]
    each = []
    for number, (time, result) in enumerate(zip(times, results, strict=True), start=1):
        each.append(
            ResetTrial(
                trial=number,
                state=Verdict.PASS if time.recovered else Verdict.FAIL,
                reason="" if result.lost_frames else NO_LOSS,
                lost_frames=result.lost_frames,
                corrupted_frames=result.corrupted_frames or None,
                loss_ms=float(_without(time.loss_ns, off_ns) / _MS),
                stamps_ms=None if time.stamps_ns is None else float((time.stamps_ns - off_ns) / _MS),
                method=time.method,
            )
        )
    lost_frames = [result.lost_frames for result in results]
    row = replace(
        row,
        reason="" if any(lost_frames) else NO_LOSS,
        lost_frames_avg=float(spread_of(lost_frames).mean),
        corrupted_frames_avg=sum(result.corrupted_frames for result in results) / len(results) or None,
        each=tuple(each),
    )
    if not all(time.recovered for time in times):
        reason = "frames were lost until the end of the trial: raise after_ms"
        return replace(row, state=Verdict.FAIL, reason=reason)
    chosen = [
        time.stamps_ns if time.method == TIME_STAMPS and time.stamps_ns is not None else time.loss_ns for time in times
    ]
    spread = spread_of([_without(value, off_ns) for value in chosen])
    stamps = [time.stamps_ns - off_ns for time in times if time.stamps_ns is not None]
    interval_ns = NS_PER_S / min(stream.rate_fps for stream in spec.streams)
    return replace(
        row,
        reset_ms_avg=float(spread.mean / _MS),
        method=", ".join(sorted({time.method for time in times})),
        reset_ms_min=float(spread.minimum / _MS),
        reset_ms_max=float(spread.maximum / _MS),
        loss_ms_avg=float(spread_of([_without(time.loss_ns, off_ns) for time in times]).mean / _MS),
        stamps_ms_avg=float(spread_of(stamps).mean / _MS) if stamps else None,
        resolution_ms=float(max(interval_ns, *(time.error_ns for time in times)) / _MS),
    )


def _without(value_ns: Fraction, off_ns: int) -> Fraction:
    """A reset time without the time that the device had no power; 0 where nothing was lost."""
    return value_ns - off_ns if value_ns else value_ns


def _note(bed: Bed, parameters: ParameterSet) -> str:
    frame, speed_mbps = shared.frame_of(parameters), bed.ports[0].rate_bps / 1_000_000
    protocol = protocol_text(frame, str(parameters.values.get("ip_mix", NO_MIX)))
    tagged = f" VLAN {frame.vids[0]}" if frame.vids else ""
    return (
        f"Protocol {protocol}, media Ethernet, port speed {number_text(speed_mbps)} Mbit/s, encapsulation "
        f"Ethernet{tagged}, "
        f"topology {bed.topology}. By frame loss: lost frames / rate of the flow "
        "that lost most, without those that it loses by chance, within one resolution, which is the distance of two "
        "frames and what such losses and frames inside the device leave unsure. By time stamps: departure of the first "
        "frame that arrived after it "
        "less that of the last one before, up to two resolutions too long. The reset time is the more accurate one: "
        "frame loss, or time stamps where frames were lost elsewhere, too. Rates are sums over the transmitting ports."
    )
