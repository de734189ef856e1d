"""From a class of a traffic file to its streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from msgspec import UNSET

from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.port_names import PortNames
from p4mesh.methods.results.latency import Definition, shift_ns
from p4mesh.methods.traffic.arrivals import arrivals_of, recorded_rate_fps
from p4mesh.methods.traffic.frames import Place, frame_of, is_range, mean_bytes, modifiers_of, sizes_of
from p4mesh.quantities import most_text, number_text
from p4mesh.traffic.arrivals import Recorded
from p4mesh.traffic.derived import (
    drifting,
    in_turn,
    mixed_in_turn,
    with_independent_phases,
    with_own_arrivals,
    with_start_skew,
)
from p4mesh.traffic.imix import MixPart, sizes_by_weight
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, NS_PER_US, PREAMBLE_BYTES, max_rate_fps, tx_frames
from p4mesh.traffic.patterns import (
    Broadcast,
    FullMesh,
    GroupRange,
    InPhase,
    MeshStreams,
    Multicast,
    Pairs,
    Pattern,
    Rotate,
    SharedAddress,
)
from p4mesh.traffic.rates import Rate, RateUnit, parse_bit_rate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.traffic_file.model import RECORDED, TrafficClass
from p4mesh.traffic_file.reader import FileRun

_UNICAST: dict[str, type[Pattern]] = {
    "mesh": FullMesh,
    "mesh_streams": MeshStreams,
    "pairs": Pairs,
    "rotate": Rotate,
    "in_phase": InPhase,
    "one_to_many": Rotate,
    "many_to_one": Rotate,
}
_MESHES = ("mesh", "mesh_streams")


@dataclass(frozen=True)
class Acceptance:
    """The criteria of a class; None where there is none."""

    loss_ratio: Fraction | None = None
    lost_frames: int | None = None
    reordered_frames: int | None = None
    duplicate_frames: int | None = None
    latency_us: Fraction | None = None
    mean_latency_us: Fraction | None = None
    jitter_us: Fraction | None = None


@dataclass(frozen=True)
class LaidClass:
    """A class of a traffic file, laid over the ports of a bed."""

    name: str
    streams: tuple[Stream, ...]
    accept: Acceptance | None
    rate_text: str
    rate_fps: Fraction
    """Rates of each sender, all sizes together."""
    mean_bytes: Fraction
    end_ns: int
    """When the last sender ends, from the start of the run."""


def lay(run: FileRun, bed: Bed, names: PortNames, name: str) -> LaidClass:
    """One class with its streams; raises TrafficFileError for requests that its ports cannot meet."""
    given = run.traffic.classes[name]
    place: Place = ("classes", name)
    senders = names.ports(given.senders, (*place, "senders"))
    if given.receivers is UNSET and given.pattern not in (*_MESHES, "broadcast", "multicast"):
        raise run.error(place, f"no receivers for pattern {given.pattern}", "name ports under receivers")
    receivers = senders if given.receivers is UNSET else names.ports(given.receivers, (*place, "receivers"))
    parts = sizes_of(run, place, given)
    if given.burst_frames > 1 and len(parts) > 1:
        raise run.error((*place, "burst_frames"), "bursts of several sizes", "give bursts one frame size")
    directions = [(senders, receivers)]
    if given.bidirectional:
        if given.pattern in _MESHES or receivers == senders:
            raise run.error((*place, "bidirectional"), "the receivers send already", "leave it out")
        directions.append((receivers, senders))
    ports = {port.number: port for port in bed.ports}
    rate_fps = _rate_fps(run, place, given, [ports[n] for one, _ in directions for n in one], parts)
    duration_s, frames = _length(run, place, given, rate_fps)
    frame = frame_of(run, place, given, parts)
    bytes_in_turn = parts[-1].frame_size_bytes if is_range(given) else mean_bytes(parts)
    line_fps = min(max_rate_fps(bytes_in_turn, ports[n].own_rate_bps) for one, _ in directions for n in one)
    clocks = sum(len(one) if given.phases == "independent" else 1 for one, _ in directions)
    arrivals = arrivals_of(run, place, given, clocks, rate_fps, line_fps, duration_s)
    streams: list[Stream] = []
    for number, (one, other) in enumerate(directions):
        stream = Stream(
            name if not number else f"{name}/back",
            parts[0].frame_size_bytes,
            rate_fps,
            frames,
            _pattern(run, place, given, names, one, other),
            one,
            other,
            frame,
            burst=Burst(given.burst_frames) if given.burst_frames > 1 else None,
            arrivals=arrivals,
            priority=given.priority,
            modifiers=modifiers_of(run, place, given),
            traffic_class=name,
        )
        for started in _started(run, place, given, stream, duration_s, number * len(senders)):
            streams += _sized(run, place, started, parts, bed)
    longest_ns = max(offset for stream in streams for offset in (*stream.start_offset_ns, 0))
    return LaidClass(
        name,
        tuple(streams),
        _acceptance(given),
        given.rate,
        rate_fps,
        mean_bytes(parts),
        longest_ns + int(duration_s * NS_PER_S),
    )


def _rate_fps(
    run: FileRun, place: Place, given: TrafficClass, senders: Sequence[Port], parts: Sequence[MixPart]
) -> Fraction:
    """The frames per second of each sender; raises TrafficFileError where a line cannot carry them."""
    where = (*place, "rate")
    size = mean_bytes(parts)
    cap = None if run.traffic.port_rate_cap is UNSET else parse_bit_rate(run.traffic.port_rate_cap)
    if given.rate == RECORDED:
        rate = Rate(recorded_rate_fps(run, place, given), RateUnit.FRAMES)
    else:
        try:
            rate = Rate.parse(given.rate)
        except ValueError as error:
            raise run.error(where, f"'{given.rate}' is not above 0", f"valid: {error}") from None
    try:
        rates = {rate.fps(size, port.own_rate_bps, cap) for port in senders}
    except ValueError as error:
        raise run.error(where, str(error), "give port_rate_cap at the top of the file") from None
    if len(rates) > 1:
        raise run.error(
            where,
            f"'{given.rate}' is not the same for senders of different line rates",
            "give the rate in frames/s or bit/s, or one class to the ports of each line rate",
        )
    (rate_fps,) = rates
    for port in senders:
        limit_fps = max_rate_fps(size, max(port.rate_bps, port.own_rate_bps), _overhead_bytes(port))
        if rate_fps > limit_fps:
            raise run.error(
                where,
                f"{number_text(rate_fps, 10)} frames/s of {number_text(size)} B are above the line rate of port "
                f"{port.number}",
                f"at most {most_text(limit_fps)} frames/s",
            )
    return rate_fps


def _overhead_bytes(port: Port) -> Fraction:
    return PREAMBLE_BYTES + Fraction(port.ifg_bits, 8)


def _length(run: FileRun, place: Place, given: TrafficClass, rate_fps: Fraction) -> tuple[Fraction, int]:
    """How long each sender sends, in seconds, and how many frames."""
    if given.frames is not UNSET:
        if given.duration_s is not UNSET:
            raise run.error((*place, "frames"), "duration_s is given as well", "keep one of the two")
        return given.frames / rate_fps, given.frames
    duration_s = run.traffic.duration_s if given.duration_s is UNSET else given.duration_s
    if duration_s is UNSET:
        raise run.error(place, "no duration", "give the class duration_s or frames, or the file duration_s")
    exact = Fraction(str(duration_s))
    frames = tx_frames(int(exact * NS_PER_S), rate_fps)
    if not frames:
        raise run.error(
            (*place, "rate"),
            f"no frame fits into {number_text(duration_s)} s at {given.rate}",
            "lengthen duration_s, raise the rate",
        )
    return exact, frames


def _pattern(
    run: FileRun,
    place: Place,
    given: TrafficClass,
    names: PortNames,
    senders: tuple[int, ...],
    receivers: tuple[int, ...],
) -> Pattern:
    where = (*place, "pattern")
    if given.pattern != "multicast" and given.groups:
        raise run.error((*place, "groups"), f"groups with pattern {given.pattern}", "use pattern: multicast")
    if given.pattern == "multicast":
        ranges = tuple(
            GroupRange(
                item.first,
                item.count,
                () if item.receivers is UNSET else names.ports(item.receivers, (*place, "groups", number, "receivers")),
            )
            for number, item in enumerate(given.groups)
        )
        return Multicast(ranges or (GroupRange(),), given.own_groups)
    if given.pattern == "broadcast":
        if set(receivers) == set(senders) and len(senders) == 1:
            raise run.error((*place, "receivers"), "only the sender receives", "name the ports that receive")
        return Broadcast()
    if given.pattern in _MESHES:
        if receivers != senders or len(senders) < 2:
            raise run.error(where, "a mesh has two or more ports that all send and receive", "leave receivers out")
        return _UNICAST[given.pattern]()
    if own := sorted(set(senders) & set(receivers)):
        raise run.error((*place, "receivers"), f"port {own[0]} would send to itself", "use mesh, or other receivers")
    if given.pattern == "pairs" and len(senders) != len(receivers):
        raise run.error(
            where, f"{len(senders)} senders and {len(receivers)} receivers cannot be paired", "name equally many"
        )
    if given.pattern == "one_to_many" and len(senders) != 1 and not given.bidirectional:
        raise run.error((*place, "senders"), f"{len(senders)} senders", "one_to_many has one; rotate has many")
    if given.pattern == "many_to_one" and len(receivers) != 1 and not given.bidirectional:
        raise run.error((*place, "receivers"), f"{len(receivers)} receivers", "many_to_one has one; rotate has many")
    return _UNICAST[given.pattern]()


def _started(
    run: FileRun, place: Place, given: TrafficClass, stream: Stream, duration_s: Fraction, first: int
) -> tuple[Stream, ...]:
    """A class with the starts of its senders, of which the first one has this number."""
    first_ns = round(Fraction(str(given.start_ms)) * NS_PER_MS)
    step_ns = round(Fraction(str(given.stagger_us)) * NS_PER_US)
    skews = {port: first_ns + place * step_ns for place, port in enumerate(stream.tx_ports)}
    stream = with_start_skew(stream, skews)
    if given.own_groups and (given.phases == "drifting" or (stream.arrivals and given.phases == "independent")):
        raise run.error(
            (*place, "phases"),
            f"{given.phases} senders with a group each",
            "use phases: in_step" if stream.arrivals else "use phases: independent",
        )
    if stream.arrivals and given.phases == "independent":
        return with_own_arrivals(stream, first)
    if given.phases == "drifting":
        return drifting(stream, None if given.frames is not UNSET else int(duration_s * NS_PER_S))
    return (with_independent_phases(stream) if given.phases == "independent" else stream,)


def _sized(run: FileRun, place: Place, stream: Stream, parts: Sequence[MixPart], bed: Bed) -> tuple[Stream, ...]:
    if len(parts) == 1:
        return (stream,)
    if run.traffic.classes[stream.traffic_class].sizes == RECORDED:
        return (_recorded(run, place, stream, bed),)
    if stream.arrivals and not is_range(run.traffic.classes[stream.traffic_class]):
        divisor = gcd(*(part.weight for part in parts))
        order = sizes_by_weight([MixPart(part.frame_size_bytes, part.weight // divisor) for part in parts])
        _require_one_shift(run, place, stream, (min(order), max(order)), bed)
        return (replace(stream, frame_size_bytes=max(order), sizes_in_turn_bytes=tuple(order)),)
    if stream.frame_count < sum(part.weight for part in parts):
        raise run.error(
            (*place, "sizes"),
            f"{stream.frame_count} frames are fewer than one of each size in its share",
            f"send {sum(part.weight for part in parts)} frames or more",
        )
    if not is_range(run.traffic.classes[stream.traffic_class]) or bed.stream_per_size:
        return mixed_in_turn(stream, parts)
    return (_in_turn(run, place, stream, [part.frame_size_bytes for part in parts], bed),)


def _recorded(run: FileRun, place: Place, stream: Stream, bed: Bed) -> Stream:
    """A stream whose frames have the sizes of a capture in its order, each before its own time to the next one."""
    sizes = run.recordings[stream.traffic_class].sizes_bytes
    if any(stream.pattern.places(stream, source).positions > 1 for source in range(len(stream.tx_ports))):
        raise run.error(
            (*place, "sizes"),
            "sizes of a capture to several receivers in turn",
            "give each sender one receiver, or the class one size",
        )
    _require_one_shift(run, place, stream, (min(sizes), max(sizes)), bed)
    first = stream.arrivals.first if isinstance(stream.arrivals, Recorded) else 0
    return replace(stream, frame_size_bytes=max(sizes), sizes_in_turn_bytes=(*sizes[first:], *sizes[:first]))


def _in_turn(run: FileRun, place: Place, stream: Stream, sizes: Sequence[int], bed: Bed) -> Stream:
    _require_one_shift(run, place, stream, sizes, bed)
    ports = [port for port in bed.ports if port.number in stream.tx_ports]
    room = min(max(port.rate_bps, port.own_rate_bps) / (8 * stream.rate_fps) - _overhead_bytes(port) for port in ports)
    return in_turn(stream, sizes, room)


def _require_one_shift(run: FileRun, place: Place, stream: Stream, sizes: Sequence[int], bed: Bed) -> None:
    """Raise TrafficFileError where the definition does not add the same to every size: a flow has one latency."""
    definition = Definition(run.traffic.latency_definition)
    for source, tx_port in enumerate(stream.tx_ports):
        for rx_port in stream.pattern.receivers(stream, source):
            shifts = {shift_ns(bed, definition, size, tx_port, rx_port) for size in (sizes[0], sizes[-1])}
            if len(shifts) > 1:
                raise run.error(
                    (*place, "sizes"),
                    f"sizes in turn from port {tx_port} to port {rx_port}: their latency {definition.value} is not the "
                    "measured one plus the same time for each size",
                    f"use latency_definition: FIFO, or {'one size' if stream.arrivals else 'a list of sizes'}",
                )


def _acceptance(given: TrafficClass) -> Acceptance | None:
    if given.accept is UNSET:
        return None
    accept = given.accept
    return Acceptance(
        _exact(accept.loss_ratio),
        None if accept.lost_frames is UNSET else accept.lost_frames,
        None if accept.reordered_frames is UNSET else accept.reordered_frames,
        None if accept.duplicate_frames is UNSET else accept.duplicate_frames,
        _exact(accept.latency_us),
        _exact(accept.mean_latency_us),
        _exact(accept.jitter_us),
    )


def _exact(value: object) -> Fraction | None:
    return None if value is UNSET else Fraction(str(value))


def indistinguishable(one: LaidClass, other: LaidClass) -> tuple[int, int] | None:
    """A pair of ports between which two classes send equal frames; None where there is none."""
    for left in one.streams:
        for right in other.streams:
            same = (left.frame, left.modifiers, left.priority) == (right.frame, right.modifiers, right.priority)
            same = same and not {*left.frame_sizes_bytes}.isdisjoint(right.frame_sizes_bytes)
            if same and (found := _addressed(left) & _addressed(right)):
                return min((sender, min(ports)) for sender, ports, _ in found)
    return None


def _addressed(stream: Stream) -> set[tuple[int, tuple[int, ...], SharedAddress | None]]:
    """The ways of the frames of a stream: sender, the ports of each destination, their common address."""
    return {
        (port, item.ports, item.shared)
        for source, port in enumerate(stream.tx_ports)
        for item in stream.pattern.flows(stream, source)
    }
