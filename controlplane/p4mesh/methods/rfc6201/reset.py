"""RFC 2544 26.6 as replaced by RFC 6201: how long a reset keeps a device from forwarding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.methods.base import Method, Session, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import Bed
from p4mesh.methods.extensions.resets import hook_of
from p4mesh.methods.mesh import Mesh, measure_throughput, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, decimal, integer, text
from p4mesh.methods.port_pairs import PARAMETERS, RFC_DURATION_S, mesh_of
from p4mesh.methods.results.outcome import Column, Outcome, State, Table
from p4mesh.methods.results.repetition import spread_of
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.results.throughput_tables import throughput_table
from p4mesh.methods.rfc5180.protocols import NO_MIX, protocol_text
from p4mesh.traffic.line_rate import NS_PER_S, frame_time_ns, l2_rate_bps, rate_at_pct
from p4mesh.trial.result import Outage, Status, TrialResult
from p4mesh.trial.spec import Interruption, TrialSpec

SECTION = "RFC 6201 4"
POWER_SECTION = "RFC 6201 4.3.1"
RESET = "reset"
POWER = "power"
TYPES = ("rp_hardware", "rp_switchover", "line_card", "os_software", "process", POWER)
THROUGHPUT, AUTO = "throughput", "auto"
FRAME_LOSS, TIME_STAMPS = "frame loss", "time stamps"
RFC_BEFORE_S = 15
NOT_RECOVERED = "not forwarding again"
NO_LOSS = "no loss"
"""All that RFC 6201 3 wants to be reported when nothing was lost."""
_AFTER_HOOK_NS = 60 * NS_PER_S
_RESOLUTION_NS = 100_000_000
"""Time for a router to find its neighbours anew."""
_MS = 1_000_000
_GIVE_COMMAND = "give the command that resets the device: --set reset_cmd=COMMAND"

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("reset_type", "Reset"),
    Column("state", "Result"),
    Column("throughput_fps", "Throughput", "frames/s", 0),
    Column("throughput_l2_mbps", "Throughput (L2)", "Mbit/s", 2),
    Column("offered_fps", "Offered", "frames/s", 0),
    Column("lost_frames_avg", "Lost avg", "frames", 1),
    Column("reset_ms_avg", "Reset time avg", "ms", 6),
    Column("method", "Method"),
    Column("reset_ms_min", "Reset time min", "ms", 6),
    Column("reset_ms_max", "Reset time max", "ms", 6),
    Column("loss_ms_avg", "By frame loss avg", "ms", 6),
    Column("stamps_ms_avg", "By time stamps avg", "ms", 6),
    Column("resolution_ms", "Resolution", "ms", 6),
    Column("trials", "Trials"),
)
_TRIAL_COLUMNS = (
    COLUMNS[0],
    Column("trial", "Trial"),
    Column("state", "Result"),
    Column("lost_frames", "Lost", "frames"),
    Column("loss_ms", "By frame loss", "ms", 6),
    Column("stamps_ms", "By time stamps", "ms", 6),
    Column("method", "Preferred"),
)


class Reset(Method):
    """Forward at the throughput rate, trigger a reset, and see for how long nothing comes through."""

    name = "rfc2544.reset"
    title = "Reset"
    section = "RFC 2544 26.6, RFC 6201"
    frame_sizes_bytes = (64,)
    parameters = (
        choice(
            "reset_type", "os_software", SECTION, "what is reset, for the report; power: off time subtracted", TYPES
        ),
        text("reset_cmd", SECTION, "command that triggers the reset; empty: the simulated device is reset"),
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
            "forwarding after the trigger; auto = twice the modelled reset time, 60 s with a command, and the off time",
            ("1", "3600000"),
            (AUTO,),
        ),
        decimal("sample_ms", "10", "ms", SECTION, "distance of the looks for the last frame before", ("0.01", "1000")),
        *PARAMETERS,
        *shared.trial_parameters("RFC 2544 26.1", RFC_DURATION_S),
        *shared.search_parameters("RFC 2544 26.1"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs, without anything to reset, and a trial that ends before the reset does."""
        mesh_of(self.name, bed, parameters)
        shared.search_of(parameters)
        reset_time_ns = _simulated(self.name, bed, parameters)[1]
        if hook_of(parameters, "reset_cmd") is None and after_ns(bed, parameters) <= reset_time_ns:
            raise ParameterError(
                f"after_ms={float(parameters.number('after_ms')):g} is over before the reset of "
                f"{float(Fraction(reset_time_ns, _MS)):g} ms",
                hint="give a longer after_ms, or leave it out",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size: the throughput of the size is a prerequisite."""
        return tuple(Unit(size, RESET) for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the throughput search, and the resets."""
        searched = shared.search_of(parameters).trials_expected if parameters.is_word("load_pct") else 0
        return searched + parameters.integer("resets")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Find the throughput unless a load is given, and reset the device in each trial."""
        mesh, size = mesh_of(self.name, bed, parameters), unit.frame_size_bytes
        found = None
        if parameters.is_word("load_pct"):
            found = measure_throughput(mesh, size, parameters, session)
            if found["result_pct"] is None:
                return _row(size, parameters, found["state"]) | {"throughput": found}
        load_pct = parameters.number("load_pct") if found is None else Fraction(found["result_pct"])
        spec = reset_spec(self.name, mesh, size, load_pct, bed, parameters)
        trials = parameters.integer("resets")
        results = [session.measure(spec, TrialNote(load_pct, trials - number - 1)) for number in range(trials)]
        fps = rate_at_pct(load_pct, size, mesh.line_rate_bps) * len(mesh.tx_ports)
        row = _measured_row(size, spec, fps, parameters, results)
        if found is not None:
            row |= {"throughput_fps": float(fps), "throughput_l2_mbps": float(l2_rate_bps(fps, size) / 1_000_000)}
        return row | {"throughput": found}

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return what RFC 6201 1.4 asks to report."""
        rows = tuple(results.values())
        kinds = {row["state"] for row in rows}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in kinds), State.DONE)
        if state is State.DONE and NOT_RECOVERED in kinds:
            state = State.FAIL
        trials = tuple({"frame_size_bytes": row["frame_size_bytes"], **one} for row in rows for one in row["each"])
        searched = [row["throughput"] for row in rows if row["throughput"]]
        return Outcome(
            state,
            f"{self.title}: {parameters.text('reset_type')}, {state.value}",
            (
                Table(
                    RESET,
                    "Reset",
                    COLUMNS,
                    tuple({column.key: row[column.key] for column in COLUMNS} for row in rows),
                    _note(bed, parameters),
                ),
                Table(
                    "reset_trials", "Reset, each trial", _TRIAL_COLUMNS, trials, "", True, ("frame_size_bytes", "trial")
                ),
                *((throughput_table(searched), *search_tables(searched)) if searched else ()),
            ),
            (),
            tuple(f"{row['frame_size_bytes']} B: {row['reason']}" for row in rows if row["reason"]),
            _deviations(bed, parameters, [unit.frame_size_bytes for unit in results]),
        )


@dataclass(frozen=True)
class ResetTime:
    """What one trial says; times in ns, the time without power not yet subtracted."""

    loss_ns: Fraction
    stamps_ns: Fraction | None
    """None when the last frame before or the first one after is not known."""
    method: str
    """The more accurate of the two here."""
    recovered: bool


def reset_time(spec: TrialSpec, result: TrialResult) -> ResetTime:
    """Return the longest interruption of any flow.

    By frame loss it is lost frames / rate, within one interval of the frames. By time stamps it is the
    distance of the frames around the gap, up to two intervals too much. Loss is preferred unless frames
    were lost elsewhere as well.
    """
    recovered = all(outage.tail_lost_frames == 0 for outage in result.outages)
    times = [(outage, _interval_ns(spec, outage)) for outage in result.outages]
    loss_ns = max(outage.lost_frames * interval_ns for outage, interval_ns in times)
    hit = [item for item in times if item[0].lost_frames]
    stamps = [_stamps_ns(outage) for outage, _ in hit]
    known = [value for value in stamps if value is not None]
    stamps_ns = max(known) if known and len(known) == len(stamps) else None
    elsewhere = stamps_ns is not None and any(
        loss * interval_ns > stamp + interval_ns
        for (outage, interval_ns), stamp in zip(hit, known, strict=True)
        for loss in (outage.lost_frames,)
    )
    return ResetTime(loss_ns, stamps_ns, TIME_STAMPS if elsewhere else FRAME_LOSS, recovered)


def reset_spec(test: str, mesh: Mesh, size: int, load_pct: Fraction, bed: Bed, parameters: ParameterSet) -> TrialSpec:
    """Return the trial: forward, reset, and forward until the device must be back."""
    hook = hook_of(parameters, "reset_cmd")
    device, _ = _simulated(test, bed, parameters)
    before = before_ns(parameters, size, mesh.line_rate_bps)
    spec = trial_spec(mesh, RESET, size, load_pct, parameters, before + after_ns(bed, parameters))
    interval_ns = NS_PER_S / min(stream.rate_fps for stream in spec.streams)
    interruption = Interruption(
        before,
        max(shared.nanoseconds(parameters, "sample_ms"), ceil(4 * interval_ns)),
        hook,
        "" if hook else device,
        0 if hook else _off_ns(parameters),
    )
    return replace(spec, interruption=interruption, stop_on_los=False)


def before_ns(parameters: ParameterSet, size: int, line_rate_bps: int) -> int:
    """Return how long the device forwards before the reset."""
    if parameters.is_word("before_ms"):
        return ceil(parameters.integer("scaled_frames") * frame_time_ns(size, line_rate_bps))
    return shared.nanoseconds(parameters, "before_ms")


def after_ns(bed: Bed, parameters: ParameterSet) -> int:
    """Return how long frames are sent after the trigger."""
    if not parameters.is_word("after_ms"):
        return shared.nanoseconds(parameters, "after_ms")
    if parameters.text("reset_cmd"):
        return _AFTER_HOOK_NS + _off_ns(parameters)
    _, reset_ns = _simulated(Reset.name, bed, parameters)
    return 2 * reset_ns - _off_ns(parameters) + (_RESOLUTION_NS if _is_routed(parameters) else 0)


def _simulated(test: str, bed: Bed, parameters: ParameterSet) -> tuple[str, int]:
    """Return the simulated device that is reset, and the time that this takes with the time without power."""
    if parameters.text("reset_cmd"):
        return "", 0
    if not bed.resets_devices:
        raise UnsupportedError(f"{test}: resetting a device is not supported on {bed.target}", hint=_GIVE_COMMAND)
    known = {device: round(Fraction(str(seconds)) * NS_PER_S) for device, seconds in bed.reset_times_s}
    wanted = parameters.text("reset_device")
    if not known:
        raise TopologyError(
            f"{test} needs a device that can be reset, topology '{bed.topology}' has none",
            hint=f"give a node its reset: {{time_s: 0.3}}; or {_GIVE_COMMAND}",
        )
    if wanted not in known and (wanted or len(known) > 1):
        which = f"topology '{bed.topology}' can reset {', '.join(known)}"
        raise ParameterError(f"reset_device={wanted}: {which}", hint=f"--set reset_device={next(iter(known))}")
    device = wanted or next(iter(known))
    return device, known[device] + _off_ns(parameters)


def _off_ns(parameters: ParameterSet) -> int:
    power = parameters.text("reset_type") == POWER
    return int(parameters.number("power_off_s") * NS_PER_S) if power else 0


def _is_routed(parameters: ParameterSet) -> bool:
    return parameters.values.get("routed") is True


def _interval_ns(spec: TrialSpec, outage: Outage) -> Fraction:
    """Return the mean distance of the frames of a flow."""
    stream = next(item for item in spec.streams if outage.tx_port in item.tx_ports and outage.rx_port in item.rx_ports)
    return Fraction(stream.frame_count, outage.tx_frames) * NS_PER_S / stream.rate_fps


def _stamps_ns(outage: Outage) -> Fraction | None:
    if outage.last_before_ns is None or outage.first_after_ns is None:
        return None
    return Fraction(outage.first_after_ns - outage.last_before_ns)


def _row(size: int, parameters: ParameterSet, state: str) -> UnitResult:
    row: UnitResult = {column.key: None for column in COLUMNS}
    return row | {
        "frame_size_bytes": size,
        "reset_type": parameters.text("reset_type"),
        "state": state,
        "each": [],
        "reason": "",
    }


def _measured_row(
    size: int, spec: TrialSpec, offered_fps: Fraction, parameters: ParameterSet, results: Sequence[TrialResult]
) -> UnitResult:
    off_ns = _off_ns(parameters)
    row = _row(size, parameters, State.DONE.value) | {
        "offered_fps": float(offered_fps),
        "trials": len(results),
    }
    untrusted = next((result for result in results if result.status is not Status.VALID), None)
    if untrusted:
        return row | {"state": untrusted.status.value, "reason": untrusted.reason}
    times = [reset_time(spec, result) for result in results]
    each = []
    for number, (time, result) in enumerate(zip(times, results, strict=True), start=1):
        stamps_ms = None if time.stamps_ns is None else float((time.stamps_ns - off_ns) / _MS)
        state = State.DONE.value if time.recovered else NOT_RECOVERED
        each.append(
            {
                "trial": number,
                "state": NO_LOSS if result.lost_frames == 0 else state,
                "lost_frames": result.lost_frames,
                "loss_ms": float(_without(time.loss_ns, off_ns) / _MS),
                "stamps_ms": stamps_ms,
                "method": time.method,
            }
        )
    row |= {"each": each, "lost_frames_avg": float(spread_of([result.lost_frames for result in results]).mean)}
    if all(result.lost_frames == 0 for result in results):
        row |= {"state": NO_LOSS}
    if not all(time.recovered for time in times):
        return row | {"state": NOT_RECOVERED, "reason": "frames were lost until the end of the trial: raise after_ms"}
    chosen = [
        time.stamps_ns if time.method == TIME_STAMPS and time.stamps_ns is not None else time.loss_ns for time in times
    ]
    spread = spread_of([_without(value, off_ns) for value in chosen])
    stamps = [time.stamps_ns - off_ns for time in times if time.stamps_ns is not None]
    return row | {
        "reset_ms_avg": float(spread.mean / _MS),
        "reset_ms_min": float(spread.minimum / _MS),
        "reset_ms_max": float(spread.maximum / _MS),
        "method": ", ".join(sorted({time.method for time in times})),
        "loss_ms_avg": float(spread_of([_without(time.loss_ns, off_ns) for time in times]).mean / _MS),
        "stamps_ms_avg": float(spread_of(stamps).mean / _MS) if stamps else None,
        "resolution_ms": float(NS_PER_S / min(stream.rate_fps for stream in spec.streams) / _MS),
    }


def _without(value_ns: Fraction, off_ns: int) -> Fraction:
    """Return a reset time without the time that the device had no power; 0 where nothing was lost."""
    return value_ns - off_ns if value_ns else value_ns


def _note(bed: Bed, parameters: ParameterSet) -> str:
    template, speed_mbps = shared.template_of(parameters), bed.ports[0].rate_bps / 1_000_000
    protocol = protocol_text(template, str(parameters.values.get("ip_mix", NO_MIX)))
    tagged = f" VLAN {template.vlan_ids[0]}" if template.vlan_ids else ""
    return (
        f"Protocol {protocol}, media Ethernet, port speed {speed_mbps:g} Mbit/s, encapsulation Ethernet{tagged}, "
        f"topology {bed.topology}. By frame loss: lost frames / rate of the flow "
        "that lost most, within one resolution. By time stamps: departure of the first frame that arrived after it "
        "less that of the last one before, up to two resolutions too long. The reset time is the more accurate one: "
        "frame loss, or time stamps where frames were lost elsewhere, too. Rates are sums over the transmitting ports."
    )


def _deviations(bed: Bed, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[str, ...]:
    shortest = min(before_ns(parameters, size, bed.common_rate_bps(Reset.name)) for size in sizes)
    texts = []
    rate_bps = bed.common_rate_bps(Reset.name)
    duration = shared.duration_deviation(parameters, sizes, rate_bps, RFC_DURATION_S, "RFC 2544 24")
    if duration and parameters.is_word("load_pct"):
        texts.append(duration)
    if shortest < RFC_BEFORE_S * NS_PER_S:
        texts.append(f"Forwarding for {shortest / _MS:.4g} ms before the reset instead of {RFC_BEFORE_S} s or more.")
    if _is_routed(parameters):
        texts.append(
            "RFC 6201 3 asks for static neighbours first; a router that has forgotten its own asks for them, "
            "and until it is answered is part of its reset time."
        )
    if parameters.text("reset_type") == POWER:
        off_s = float(parameters.number("power_off_s"))
        texts.append(f"{off_s:g} s without power are subtracted.")
        if off_s < RFC_BEFORE_S:
            texts.append(f"The device was without power for less than {RFC_BEFORE_S} s.")
    return tuple(texts)
