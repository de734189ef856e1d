"""Parameters that tests of several RFCs share, each with the clause that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Authentication,
    DestinationOptions,
    Encapsulation,
    ExtensionHeader,
    Fragment,
    Frame,
    HopByHop,
    IPv6,
    Mobility,
    Routing,
)
from p4mesh.layers.notation import frame_of_text
from p4mesh.measurement.queue_trend import LEAST_TICKS
from p4mesh.methods.options.parameters import (
    Kind,
    Parameter,
    ParameterSet,
    boolean,
    choice,
    decimal,
    integer,
    percent,
    text,
)
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.methods.search.limit import LimitSearch, MlrAttributes, MlrPreset, SearchMethod
from p4mesh.methods.search.loss_verification import LossVerification
from p4mesh.methods.sweeps import sweep_loads
from p4mesh.quantities import time_text, typed_text
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.derived import staggered
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, NS_PER_US, frame_time_ns
from p4mesh.traffic.stream import MAX_BURST_FRAMES, MIN_BURST_FRAMES, Stream
from p4mesh.trial.spec import EXCESS_LIMIT_PPM, Learning, TrialSpec

RFC_2889_DURATION_S = 30
DEPARTURE_ERROR_NS = 20
"""Bound in trials that are made for the sake of their latency, where the loop has room for as many seeds."""
SCALED = "scaled"
SUSTAINED, SUSTAINED_PPM = "sustained", "sustained_ppm"
SCALED_FRAMES = "scaled_frames"
FRAME_FORMATS = {
    "ipv4": UDP_OVER_IPV4,
    "ipv6": UDP_OVER_IPV6,
    "ethernet": PLAIN,
}
HEADERS = "headers"
RECEIVED_HEADERS = "received_headers"
HOP_BY_HOP = "hop_by_hop"
EXTENSION_HEADERS: dict[str, tuple[ExtensionHeader, ...]] = {
    "none": (),
    HOP_BY_HOP: (HopByHop(),),
    "destination": (DestinationOptions(),),
    "routing": (Routing(),),
    "fragment": (Fragment(),),
    "ah": (Authentication(),),
    "esp": (Encapsulation(),),
    "mobility": (Mobility(),),
    "chain": (Routing(), DestinationOptions(), Fragment()),
}
"""Extension headers of IPv6 frames, alone and as the chain of RFC 5180 5.3; tests of RFC 2544 take the parameter."""
FRAME_PARAMETERS: tuple[Parameter, ...] = (
    choice("frame_format", "ipv4", "RFC 2544 8", "headers of the test frames", tuple(FRAME_FORMATS)),
    integer("vlan_id", 0, "", "RFC 2544 8", "802.1Q tag of the test frames; 0 = untagged", (0, 4094)),
    text(
        HEADERS,
        "RFC 2544 8",
        "stack of layers of the test frames (docs/HEADERS.md), such as mpls(label=100)/ipv4/udp; empty = frame_format",
    ),
)
AUTO = "auto"
DEPARTURE_ERROR = Parameter(
    "departure_error_ns",
    Kind.INTEGER,
    AUTO,
    "ns",
    "RFC 4689",
    "how late a frame may leave in trials whose latency is printed; seeds are added for it where the loop has room; "
    f"auto = {DEPARTURE_ERROR_NS}, and in sweeps what their rates need",
    Fraction(1),
    Fraction(1_000_000_000),
    (AUTO,),
)
_PHASES = "RFC 2544 23"
_PPM_PER_PCT = 10_000
_PAUSE_MS = ("0", "600000")
_STAGGER = "start_stagger_us"


def scaled_duration(
    name: str,
    section: str,
    summary: str,
    real_time_s: int,
    scaled: str = "scaled_frames at line rate",
    longest_ms: str = "300000",
) -> Parameter:
    """Declare a duration that is scaled in virtual time, and ``real_time_s`` seconds where time is real."""
    summary = f"{summary}; scaled = {scaled}"
    declared = decimal(name, SCALED, "ms", section, summary, ("0.1", longest_ms), (SCALED,))
    return replace(declared, real_time=Fraction(1000 * real_time_s))


def trial_parameters(
    setup: str, rfc_duration_s: int = RFC_2889_DURATION_S, real_time_s: int | None = None
) -> tuple[Parameter, ...]:
    """The parameters of every trial; ``setup`` is the clause about the set-up of the test.

    Where time is real, trials take ``real_time_s``; by default the duration of the RFC.
    """
    return (
        replace(
            boolean(
                SUSTAINED,
                True,
                setup,
                "a load that only a buffer carries, because a queue fills all the time, does not pass; otherwise it "
                "is a finding",
            ),
            real_time=False,
        ),
        integer(
            SUSTAINED_PPM,
            EXCESS_LIMIT_PPM,
            "ppm",
            setup,
            "excess at a queue that a trial must tell from none; where it cannot, a longer one follows",
            (EXCESS_LIMIT_PPM, 100_000),
        ),
        scaled_duration(
            "duration_ms",
            setup,
            f"transmission time of one trial; RFC {rfc_duration_s} s",
            real_time_s or rfc_duration_s,
        ),
        integer(
            SCALED_FRAMES,
            30_000,
            "frames",
            setup,
            "frames per port and trial at line rate when duration_ms is scaled",
            (10, 100_000_000),
        ),
        integer(
            "burst_frames",
            1,
            "frames",
            setup,
            "frames per burst at minimum gap; 1 = evenly spaced",
            (MIN_BURST_FRAMES, MAX_BURST_FRAMES),
        ),
        *FRAME_PARAMETERS,
        decimal(
            "ppm_below",
            "0",
            "ppm",
            "RFC 8239 2.2",
            "how far the highest load is below line rate",
            ("0", "10000"),
        ),
        integer(_STAGGER, 0, "us", _PHASES, "start of each port after the one before it", (0, 1_000_000)),
        integer("learning_rate_fps", 50, "frames/s", _PHASES, "rate of the learning frames", (1, 1_000_000)),
        integer("learning_frames", 1, "frames", _PHASES, "learning frames per address; 0 = no learning", (0, 100)),
        boolean("learning_verify", True, _PHASES, "verify before each trial that every address is learned"),
        decimal("learning_wait_ms", "2000", "ms", _PHASES, "silence between learning and traffic", _PAUSE_MS),
        decimal("settle_ms", "2000", "ms", _PHASES, "wait for residual frames before counters are read", _PAUSE_MS),
        decimal("restabilise_ms", "5000", "ms", _PHASES, "silence between trials", _PAUSE_MS),
    )


def sweep_parameters(setup: str) -> tuple[Parameter, ...]:
    """The parameters of the forwarding-rate sweep."""
    return (
        percent("sweep_start_pct", "10", setup, "first load of the forwarding-rate sweep"),
        percent("sweep_end_pct", "100", setup, "last load of the sweep, where FRMOL is read"),
        percent("sweep_step_pct", "10", setup, "step of the sweep"),
    )


def search_parameters(procedure: str, method: SearchMethod = SearchMethod.BISECT) -> tuple[Parameter, ...]:
    """The parameters of the throughput search; ``procedure`` is the clause about it."""
    return (
        percent("search_initial_pct", "50", procedure, "first load of the throughput search"),
        percent("search_min_pct", "0.1", procedure, "lowest load of the search"),
        percent("search_max_pct", "100", procedure, "highest load of the search"),
        percent(
            "search_resolution_pct",
            "0.1",
            procedure,
            "width at which the search stops: after a PASS, or near the minimum, which is tried last",
        ),
        boolean("search_try_max_first", True, procedure, "try the highest load before the bisection"),
        choice(
            "search_grid",
            Grid.EXACT.value,
            procedure,
            "loads of a bisection: exact, or cut to three decimals as open testers do",
            (Grid.EXACT.value, Grid.THREE_DECIMALS.value),
        ),
        choice(
            "search_method",
            method.value,
            procedure,
            "bisection, the same without trials that follow from others (guided), with loss verification, in steps, "
            "steps then bisection, or MLRsearch",
            tuple(method.value for method in SearchMethod),
        ),
        percent("search_step_pct", "10", procedure, "step of the linear searches and of combo"),
        decimal(
            "search_backoff_pct",
            "50",
            "% of bracket",
            procedure,
            "combo: how far below a load that failed the next one is, towards the highest that passed",
            ("1", "99"),
        ),
        integer("verify_trials", 2, "trials", "RFC 9004 6", "r: trials at a lossy load, bisect_verified", (1, 100)),
        integer(
            "verify_overload_frames", 1000, "frames", "RFC 9004 6", "z: more loss is not verified", (0, 1_000_000_000)
        ),
        choice(
            "mlr_goals",
            MlrPreset.CUSTOM.value,
            "RFC 9971 4.6",
            "the goal of mlr_trials and mlr_exceed_pct, or goals by name",
            tuple(preset.value for preset in MlrPreset),
        ),
        integer("mlr_trials", 2, "trials", "RFC 9971 4.6", "duration sum, in trial durations", (1, 1000)),
        decimal("mlr_initial_pct", "100", "% of duration", "RFC 9971 4.6", "shortest trial on the way", ("1", "100")),
        decimal("mlr_exceed_pct", "50", "%", "RFC 9971 4.6", "exceed ratio of the goal", ("0", "99")),
        decimal("mlr_width_pct", "0.5", "%", "RFC 9971 4.6", "relative width of the goal", ("0.01", "50")),
        decimal(
            "pass_threshold_pct", "0", "% of line rate", procedure, "a lower result is a FAIL; 0 = any", ("0", "100")
        ),
        decimal("acceptable_loss_pct", "0", "%", procedure, "loss that still passes a throughput trial", ("0", "100")),
    )


def sweep_of(parameters: ParameterSet) -> tuple[Fraction, ...]:
    """The loads of the forwarding sweep; raises ParameterError when start exceeds end."""
    start = parameters.number("sweep_start_pct")
    end = min(parameters.number("sweep_end_pct"), maximum_load_pct(parameters))
    if start > end:
        raise ParameterError(
            f"sweep_start_pct={typed_text(start)} is above sweep_end_pct={typed_text(end)}",
            hint="the sweep runs upwards: sweep_start_pct <= sweep_end_pct",
        )
    return sweep_loads(start, end, parameters.number("sweep_step_pct"))


def search_of(parameters: ParameterSet) -> LimitSearch:
    """The throughput search; raises ParameterError when its bounds contradict."""
    maximum = maximum_load_pct(parameters)
    low, first, high = (min(parameters.number(f"search_{name}_pct"), maximum) for name in ("min", "initial", "max"))
    if not low <= first <= high:
        raise ParameterError(
            f"search_min_pct={typed_text(low)}, search_initial_pct={typed_text(first)}, "
            f"search_max_pct={typed_text(high)}"
            " are out of order",
            hint="search_min_pct <= search_initial_pct <= search_max_pct",
        )
    return LimitSearch(
        SearchMethod(parameters.text("search_method")),
        SearchGoal(
            first,
            low,
            high,
            parameters.number("search_resolution_pct"),
            parameters.flag("search_try_max_first"),
            Grid(parameters.text("search_grid")),
        ),
        parameters.number("search_step_pct"),
        parameters.number("search_backoff_pct") / 100,
        LossVerification(parameters.integer("verify_trials"), parameters.integer("verify_overload_frames")),
        MlrAttributes(
            MlrPreset(parameters.text("mlr_goals")),
            parameters.integer("mlr_trials"),
            parameters.number("mlr_exceed_pct") / 100,
            parameters.number("mlr_width_pct") / 100,
            parameters.number("mlr_initial_pct") / 100,
        ),
        parameters.number("acceptable_loss_pct") / 100,
        parameters.number("pass_threshold_pct"),
        same_frames=parameters.is_word("duration_ms"),
    )


def maximum_load_pct(parameters: ParameterSet) -> Fraction:
    """The highest load of any trial, in percent of line rate."""
    return 100 - parameters.number("ppm_below") / _PPM_PER_PCT


def frame_of(parameters: ParameterSet) -> Frame:
    """Build the headers of the test frames from the parameters; raises ParameterError for a stack that is none."""
    if stack := str(parameters.values.get(HEADERS, "")):
        return frame_of_text(stack)
    frame = FRAME_FORMATS[parameters.text("frame_format")]
    if vid := parameters.integer("vlan_id"):
        frame = frame.tagged(vid)
    extensions = EXTENSION_HEADERS.get(str(parameters.values.get("extension_headers")), ())
    return frame.extended(extensions) if isinstance(frame.network, IPv6) else frame


def phase_parameters(section: str) -> tuple[Parameter, ...]:
    """Those of the parameters of every trial that are about the phases around a transmission."""
    phases = ("learning_", "settle_", "restabilise_")
    return tuple(item for item in trial_parameters(section) if item.name.startswith(phases))


def learning_of(parameters: ParameterSet) -> Learning:
    """The learning phase that precedes each trial (RFC 2544 section 23)."""
    return Learning(
        enabled=parameters.integer("learning_frames") > 0,
        rate_fps=parameters.integer("learning_rate_fps"),
        frames_per_address=parameters.integer("learning_frames"),
        wait_ns=nanoseconds(parameters, "learning_wait_ms"),
        verify=parameters.flag("learning_verify"),
    )


def trial_of(
    parameters: ParameterSet,
    label: str,
    streams: tuple[Stream, ...],
    duration_ns: int,
    *,
    learning: Learning | None = None,
    per_flow: bool = False,
    watch_queues: bool = False,
    histograms: HistogramPer | None = None,
    prints_latency: bool = False,
) -> TrialSpec:
    """A trial with the phases that ``trial_parameters`` describe around its streams.

    Where its latency is printed, departures are as exact as DEPARTURE_ERROR says.
    """
    return TrialSpec(
        label,
        # Tests whose subject is the stagger have none here, and some watch no queues.
        staggered(streams, NS_PER_US * parameters.integer(_STAGGER) if _STAGGER in parameters.values else 0),
        duration_ns,
        learning or learning_of(parameters),
        nanoseconds(parameters, "settle_ms"),
        nanoseconds(parameters, "restabilise_ms"),
        received_headers=str(parameters.values.get(RECEIVED_HEADERS, "")),
        per_flow=per_flow,
        histograms=histograms,
        watch_queues=watch_queues,
        excess_limit_ppm=parameters.integer(SUSTAINED_PPM) if SUSTAINED_PPM in parameters.values else EXCESS_LIMIT_PPM,
        departure_error_ns=departure_error_ns(parameters) if prints_latency else None,
    )


def departure_error_ns(parameters: ParameterSet, *, sweep: bool = False) -> int | None:
    """How late a frame of a trial may leave whose latency is printed; None = what the rates need."""
    if parameters.is_word(DEPARTURE_ERROR.name):
        return None if sweep else DEPARTURE_ERROR_NS
    return parameters.integer(DEPARTURE_ERROR.name)


def duration_ns_of(parameters: ParameterSet, frame_size_bytes: FrameSize, line_rate_bps: int) -> int:
    """The transmission time of a trial; scaled, it is the same for all loads of a frame size."""
    if parameters.is_word("duration_ms"):
        return ceil(parameters.integer("scaled_frames") * frame_time_ns(frame_size_bytes, line_rate_bps))
    return nanoseconds(parameters, "duration_ms")


def duration_deviation(
    parameters: ParameterSet,
    frame_sizes_bytes: Sequence[FrameSize],
    line_rate_bps: int,
    rfc_duration_s: int = RFC_2889_DURATION_S,
    clause: str = "RFC 2889 5.1.2",
) -> str:
    """The sentences about the trial duration for the report; empty when it is that of the RFC or longer."""
    durations_ns = [duration_ns_of(parameters, size, line_rate_bps) for size in frame_sizes_bytes]
    text = duration_text(durations_ns, rfc_duration_s, clause)
    if not text:
        return ""
    if parameters.flag(SUSTAINED):
        limit_ppm = parameters.integer(SUSTAINED_PPM)
        later_ticks = ceil(LEAST_TICKS * Fraction(rfc_duration_s * NS_PER_S, min(durations_ns)))
        return (
            f"{text} Queues are watched meanwhile: a load at which one of them fills by more than {limit_ppm} ppm does "
            "not pass, and a longer trial follows one that does not tell. A queue that adds less than "
            f"{LEAST_TICKS} ticks of the time stamps to the latency of a trial is not seen: in {rfc_duration_s} s it "
            f"adds up to {later_ticks:,}, and with jitter more. A bucket of B frames, such as that of a policer, "
            "delays no frame: it hides up to B/N of line rate from a trial of N frames per port."
        )
    return (
        f"{text} An overload that fills the device's buffers more slowly than this loses nothing: with a buffer of Q "
        "frames and N frames per port and trial, throughput may read up to Q/N of line rate too high. A finding names "
        "results that only a buffer carries."
    )


def duration_text(durations_ns: Sequence[int], rfc_duration_s: int, clause: str) -> str:
    """The sentence about trials shorter than those of the RFC; empty where there are none."""
    shortest, longest = min(durations_ns, default=0), max(durations_ns, default=0)
    if not durations_ns or shortest >= rfc_duration_s * NS_PER_S:
        return ""
    return f"Trial duration {time_text(shortest, longest)} instead of the {rfc_duration_s} s of {clause}."


def nanoseconds(parameters: ParameterSet, name: str) -> int:
    """A ``*_ms`` parameter in whole nanoseconds."""
    return int(parameters.number(name) * NS_PER_MS)
