"""Parameters of the recirculation test, and the cases that they ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.base import Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, decimal, integer, port_number, text
from p4mesh.numerals import is_digits
from p4mesh.quantities import most_text, number_text
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.rates import VALID_RATES, Rate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import Interruption, TrialSpec

NAME = "recirculation.delta"
SECTION = "Recirculated packets on Tofino, experiment 1"
REPORT_DURATION_S = 10
STREAM = "measured"
_MOST_RATES = 20
MIN_FRAME_SIZE_BYTES, MAX_FRAME_SIZE_BYTES = 64, 9216
_LARGEST_COUNT = 1000

PARAMETERS: tuple[Parameter, ...] = (
    replace(
        text("rates", SECTION, f"rates of the traffic, separated by commas; each {VALID_RATES}"),
        default="100 Mbit/s L2, 1 Gbit/s L2",
    ),
    replace(
        text("failures", SECTION, "numbers of failures that are compared with none, separated by commas"), default="5"
    ),
    boolean("during", True, SECTION, "also let the failures begin in the middle of a trial"),
    integer("repetitions", 5, "trials", SECTION, "trials of each case", (1, 1000)),
    port_number("sender", 1, SECTION, "port that sends"),
    port_number("receiver", 2, SECTION, "port that receives"),
    shared.scaled_duration(
        "duration_ms",
        SECTION,
        f"transmission time of a trial; report {REPORT_DURATION_S} s",
        REPORT_DURATION_S,
        scaled="scaled_frames at the rate of the trial",
        longest_ms="3600000",
    ),
    integer(
        shared.SCALED_FRAMES,
        10_000,
        "frames",
        SECTION,
        "frames per trial when duration_ms is scaled",
        (10, 100_000_000),
    ),
    replace(
        decimal(
            "sample_ms",
            "0.2",
            "ms",
            SECTION,
            "distance of the looks for the last frame before a failure",
            ("0.01", "1000"),
        ),
        real_time=Fraction(10),
    ),
    *shared.FRAME_PARAMETERS,
    *shared.phase_parameters(SECTION),
)


@dataclass(frozen=True)
class Case:
    """One combination of frame size, rate and failures of a unit."""

    rate: str
    failures: int
    """-1 for the wire of the tester."""
    during: bool
    repetition: int = 0
    """From 1 where every repetition is a unit; 0 where they are trials of one."""

    @property
    def part(self) -> str:
        rate = re.sub(r"[^0-9A-Za-z.]+", "-", self.rate)
        if self.failures < 0:
            return f"{rate}, tester alone"
        if self.during:
            return f"{rate}, {self.failures} failures during traffic, {self.repetition}"
        return f"{rate}, {self.failures} failures"


def cases_of(parameters: ParameterSet) -> tuple[Case, ...]:
    """The cases of a frame size, in report order."""
    cases = []
    for rate in rates_of(parameters):
        cases.append(Case(rate, -1, during=False))
        cases += [Case(rate, failures, during=False) for failures in (0, *failures_of(parameters))]
        if parameters.flag("during"):
            cases += [
                Case(rate, failures, during=True, repetition=number)
                for failures in failures_of(parameters)
                for number in range(1, parameters.integer("repetitions") + 1)
            ]
    return tuple(cases)


def case_of(unit: Unit, parameters: ParameterSet) -> Case:
    return next(case for case in cases_of(parameters) if case.part == unit.part)


def rates_of(parameters: ParameterSet) -> tuple[str, ...]:
    """The rates as they are written; raise ParameterError for an invalid rate, or the same twice."""
    words = tuple(word.strip() for word in parameters.text("rates").split(","))
    for word in words:
        try:
            Rate.parse(word)
        except ValueError as error:
            raise ParameterError(f"--set rates: '{word[:40]}' is not valid", hint=f"rates are {error}") from None
    if len(set(words)) != len(words) or len(words) > _MOST_RATES:
        raise ParameterError("--set rates: too many, or one twice", hint=f"up to {_MOST_RATES} different rates")
    return words


def failures_of(parameters: ParameterSet) -> tuple[int, ...]:
    """The numbers of failures; raise ParameterError for an invalid number, or the same twice."""
    words = [word.strip() for word in parameters.text("failures").split(",")]
    if not all(is_digits(word) and len(word) < 5 and 0 < int(word) <= _LARGEST_COUNT for word in words):
        raise ParameterError(
            f"--set failures={parameters.text('failures')[:40]}: not valid",
            hint=f"numbers from 1 to {_LARGEST_COUNT}, such as 1,5; no failure is always measured",
        )
    counts = tuple(int(word) for word in words)
    if len(set(counts)) != len(counts):
        raise ParameterError("--set failures: a number is given twice", hint="give each number once")
    return counts


def require_failures(bed: Bed, parameters: ParameterSet) -> None:
    """Raise TopologyError or ParameterError if the devices cannot have so many failures."""
    if not bed.failures:
        raise TopologyError(
            f"{NAME} needs a device that can fail, topology '{bed.topology}' has none on target {bed.target}",
            hint="give a node of device p4 events with 'failure: 1' and so on, as topologies/p4-reroute.yaml does",
        )
    for count in failures_of(parameters):
        if count > bed.failures:
            raise ParameterError(
                f"failures={count}: topology '{bed.topology}' describes {bed.failures}",
                hint=f"at most {bed.failures}, or more events with 'failure' in the topology",
            )


def ports_of(bed: Bed, parameters: ParameterSet) -> tuple[int, int]:
    """Sender and receiver; raise ParameterError for ports that do not exist."""
    sender, receiver = (bed.require_port(name, parameters.integer(name)) for name in ("sender", "receiver"))
    if sender == receiver:
        raise ParameterError(f"{NAME}: port {sender} would send to itself", hint="name another receiver")
    return sender, receiver


def wire_of(bed: Bed, parameters: ParameterSet) -> tuple[int, int] | None:
    """Two ports that are linked to each other, of the rate of the sender; None without such a link."""
    rate_bps = bed.rate_bps(ports_of(bed, parameters)[0])
    return next((wire for wire in bed.wires if bed.rate_bps(wire[0]) == rate_bps), None)


def rate_fps(bed: Bed, parameters: ParameterSet, rate: str, size: int) -> Fraction:
    """Frames per second; raise ParameterError for a rate above the line, or without a meaning here."""
    sender = next(port for port in bed.ports if port.number == parameters.integer("sender"))
    try:
        fps = Rate.parse(rate).fps(size, sender.own_rate_bps)
    except ValueError as error:
        raise ParameterError(f"--set rates: '{rate}': {error}", hint=VALID_RATES) from None
    most = Rate.parse("100 %").fps(size, sender.own_rate_bps)
    if fps > most:
        raise ParameterError(
            f"--set rates: {rate} of {size} B frames are {number_text(fps, 9)} frames/s, above the line of port "
            f"{sender.number}",
            hint=f"at most {most_text(most)} frames/s, 100 %",
        )
    return fps


def trial_of(case: Case, size: int, bed: Bed, parameters: ParameterSet, ports: tuple[int, int]) -> TrialSpec:
    fps = rate_fps(bed, parameters, case.rate, size)
    if parameters.is_word("duration_ms"):
        frames = parameters.integer(shared.SCALED_FRAMES)
    else:
        # As many as begin within the time.
        frames = ceil(fps * shared.nanoseconds(parameters, "duration_ms") / NS_PER_S)
    duration_ns = ceil(frames * NS_PER_S / fps)
    stream = Stream(STREAM, size, fps, frames, Pairs(), (ports[0],), (ports[1],), shared.frame_of(parameters))
    spec = shared.trial_of(parameters, f"{NAME} {size} B, {case.part}", (stream,), duration_ns, per_flow=True)
    if case.failures < 0:
        return replace(spec, learning=replace(spec.learning, enabled=False))
    if not case.during:
        return replace(spec, failures=case.failures)
    sample_ns = max(shared.nanoseconds(parameters, "sample_ms"), ceil(4 * NS_PER_S / fps))
    return replace(spec, interruption=Interruption(duration_ns // 2, sample_ns, failures=case.failures))


def require_rates(bed: Bed, parameters: ParameterSet) -> None:
    """Raise ParameterError for a rate that no size can have."""
    for rate in rates_of(parameters):
        try:
            rate_fps(bed, parameters, rate, MAX_FRAME_SIZE_BYTES)
        except ParameterError:
            rate_fps(bed, parameters, rate, MIN_FRAME_SIZE_BYTES)


def duration_deviation(parameters: ParameterSet, units_fps: Sequence[float]) -> str:
    """A sentence if trials are shorter than those of the report, else an empty text."""
    if parameters.is_word("duration_ms"):
        times_s = [parameters.integer(shared.SCALED_FRAMES) / fps for fps in units_fps]
    else:
        times_s = [float(parameters.number("duration_ms")) / 1000]
    if not times_s or min(times_s) >= REPORT_DURATION_S:
        return ""
    shortest, longest = number_text(1000 * min(times_s), 4), number_text(1000 * max(times_s), 4)
    span = longest if shortest == longest else f"{shortest} to {longest}"
    return (
        f"Trial duration {span} ms instead of the {REPORT_DURATION_S} s of the report; with "
        f"--set duration_ms={1000 * REPORT_DURATION_S} a trial has as many packets as there."
    )
