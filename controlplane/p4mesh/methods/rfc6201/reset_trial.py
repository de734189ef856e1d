"""One trial with a reset of the device, and the time without forwarding that it shows (RFC 6201 1.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, sqrt

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.measurement.counts import Outage
from p4mesh.methods.bed import Bed
from p4mesh.methods.conditions.advertised_networks import uses_routes
from p4mesh.methods.extensions.resets import hook_of
from p4mesh.methods.mesh import Mesh, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.traffic.line_rate import NS_PER_S, frame_time_ns
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Interruption, TrialSpec

NAME = "rfc2544.reset"
RESET = "reset"
CONTROL = "control"
AUTO = "auto"
POWER = "power"
FRAME_LOSS, TIME_STAMPS = "frame loss", "time stamps"
_AFTER_HOOK_NS = 60 * NS_PER_S
_RESOLUTION_NS = 100_000_000
"""Time for a router to find its neighbours anew."""
_WAITING = Fraction(1, 100)
"""Share of the frames of an outage that may have waited in the device and come before its end."""
_GIVE_COMMAND = "give the command that resets the device: --set reset_cmd=COMMAND"


@dataclass(frozen=True)
class ResetTime:
    """Result of one trial; times in ns, the time without power not yet subtracted."""

    loss_ns: Fraction
    stamps_ns: Fraction | None
    """None when the last frame before or the first one after is not known."""
    method: str
    """The more accurate of the two here."""
    recovered: bool
    error_ns: Fraction
    """How far the loss may be off."""


def reset_time(spec: TrialSpec, result: TrialResult) -> ResetTime:
    """The longest interruption of any flow (RFC 6201 1.3).

    By frame loss it is lost frames / rate, within one interval of the frames; those lost before it, and as many behind
    it as such a share says, are left out. By time stamps it is the distance of the frames around the gap, up to two
    intervals too much; None where the last gap is another one. Loss is preferred unless frames were lost elsewhere and
    no look tells how many.
    """
    recovered = all(outage.tail_lost_frames == 0 for outage in result.outages)
    times = [(outage, _interval_ns(spec, outage)) for outage in result.outages]
    losses = [[frames * interval_ns for frames in _loss(outage, interval_ns)] for outage, interval_ns in times]
    loss_ns, error_ns = max(losses)
    hit = [item for item in times if item[0].lost_frames]
    stamps = [None if _is_elsewhere(*item) else _stamps_ns(item[0]) for item in hit]
    known = [value for value in stamps if value is not None]
    stamps_ns = max(known) if known and len(known) == len(stamps) else None
    elsewhere = stamps_ns is not None and any(
        (outage.lost_frames - outage.lost_before) * interval_ns > stamp + interval_ns
        for (outage, interval_ns), stamp in zip(hit, known, strict=True)
    )
    method = TIME_STAMPS if elsewhere else FRAME_LOSS
    least_ns = min(interval_ns for _, interval_ns in times)
    return ResetTime(loss_ns, stamps_ns, method, recovered, error_ns + _inside_ns(result, least_ns))


def reset_spec(test: str, mesh: Mesh, size: int, load_pct: Fraction, bed: Bed, parameters: ParameterSet) -> TrialSpec:
    """The trial: forward, reset, and forward until the device must be back."""
    hook = hook_of(parameters, "reset_cmd")
    device, _ = simulated_reset(test, bed, parameters)
    before = before_ns(parameters, size, mesh.line_rate_bps)
    spec = trial_spec(mesh, RESET, size, load_pct, parameters, before + after_ns(bed, parameters))
    interval_ns = NS_PER_S / min(stream.rate_fps for stream in spec.streams)
    interruption = Interruption(
        before,
        max(shared.nanoseconds(parameters, "sample_ms"), ceil(4 * interval_ns)),
        hook,
        "" if hook else device,
        0 if hook else off_time_ns(parameters),
    )
    return replace(spec, interruption=interruption, stop_on_los=False)


def before_ns(parameters: ParameterSet, size: int, line_rate_bps: int) -> int:
    """Time for which the device forwards before the reset."""
    if parameters.is_word("before_ms"):
        return ceil(parameters.integer("scaled_frames") * frame_time_ns(size, line_rate_bps))
    return shared.nanoseconds(parameters, "before_ms")


def after_ns(bed: Bed, parameters: ParameterSet) -> int:
    """Time for which frames are sent after the trigger."""
    if not parameters.is_word("after_ms"):
        return shared.nanoseconds(parameters, "after_ms")
    routes_ns = _routes_back_ns(bed, parameters)
    if parameters.text("reset_cmd"):
        return _AFTER_HOOK_NS + off_time_ns(parameters) + routes_ns
    _, reset_ns = simulated_reset(NAME, bed, parameters)
    return 2 * reset_ns - off_time_ns(parameters) + (_RESOLUTION_NS if is_routed(parameters) else 0) + routes_ns


def _routes_back_ns(bed: Bed, parameters: ParameterSet) -> int:
    """The time that a router needs to learn the routes of the frames by BGP again."""
    if not (bed.announces_routes and uses_routes(parameters)):
        return 0
    if bed.routes_back_s is None:
        raise ParameterError(
            f"after_ms={AUTO}: without BFD and with hold_time_s 0, stations do not notice that a reset has ended their "
            "sessions: nobody announces their networks again",
            hint="give tester.bgp of the topology bfd or a hold time, or give after_ms",
        )
    return int(bed.routes_back_s * NS_PER_S)


def simulated_reset(test: str, bed: Bed, parameters: ParameterSet) -> tuple[str, int]:
    """The simulated device that is reset, and the time that this takes with the time without power."""
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
    return device, known[device] + off_time_ns(parameters)


def off_time_ns(parameters: ParameterSet) -> int:
    """Time for which the device has no power."""
    power = parameters.text("reset_type") == POWER
    return int(parameters.number("power_off_s") * NS_PER_S) if power else 0


def is_routed(parameters: ParameterSet) -> bool:
    """Whether the device is a router, which forgets its neighbours."""
    return parameters.values.get("routed") is True


def _interval_ns(spec: TrialSpec, outage: Outage) -> Fraction:
    """The mean distance of the frames of a flow."""
    stream = next(item for item in spec.streams if outage.tx_port in item.tx_ports and outage.rx_port in item.rx_ports)
    return Fraction(stream.frame_count, outage.tx_frames) * NS_PER_S / stream.rate_fps


def _inside_ns(result: TrialResult, interval_ns: Fraction) -> Fraction:
    """Time for which frames may have been in the device when it was reset, and are lost, too.

    0 where latencies differ by less than the distance of two frames.
    """
    latency = result.latency
    if latency is None or latency.max_ns - latency.min_ns <= interval_ns:
        return Fraction(0)
    return Fraction(latency.max_ns)


def _between(outage: Outage, interval_ns: Fraction) -> Fraction:
    """Frames that came between the outage and the last gap; 0 where no look fell into the outage."""
    stamps_ns = _stamps_ns(outage) if outage.sent_before else None
    behind = outage.lost_frames - outage.lost_before
    return Fraction(0) if stamps_ns is None else max(Fraction(0), stamps_ns / interval_ns - behind - 1)


def _is_elsewhere(outage: Outage, interval_ns: Fraction) -> bool:
    """Whether the last gap is not that of the outage; a few frames that waited in the device may be inside of it."""
    return _between(outage, interval_ns) > max(Fraction(2), outage.lost_frames * _WAITING)


def _loss(outage: Outage, interval_ns: Fraction) -> tuple[Fraction, Fraction]:
    """Frames that the outage cost a flow, and their error: of those that chance takes behind it the number varies.

    More that are lost after the flow has come back may be of the outage, or of a queue that is full by then.
    """
    behind = outage.lost_frames - outage.lost_before
    times = _between(outage, interval_ns) / max(1, outage.sent_before - outage.lost_before)
    by_chance = min(Fraction(behind), outage.lost_before * times)
    varied = 2 * Fraction(sqrt(by_chance + times**2 * (outage.lost_before + 1)))
    return behind - by_chance, max(Fraction(1), times + varied, outage.lost_later - by_chance)


def _stamps_ns(outage: Outage) -> Fraction | None:
    if outage.last_before_ns is None or outage.first_after_ns is None:
        return None
    if outage.first_after_ns <= outage.last_before_ns:
        # The flow stood still behind the gap, as one does on the wall clock whose frames are all sent.
        return None
    return Fraction(outage.first_after_ns - outage.last_before_ns)
