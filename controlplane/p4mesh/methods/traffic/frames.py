"""The frames of a traffic class: their sizes, headers, and the fields that change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from msgspec import UNSET

from p4mesh.errors import ParameterError
from p4mesh.layers import Frame, IPv6, Modifiable, Udp
from p4mesh.layers.extension import extension_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.layers.notation import frame_of_text
from p4mesh.methods.options.shared import FRAME_FORMATS
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.tester.sendable import require_sendable
from p4mesh.traffic.imix import MixPart, mix_of
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, ValueList
from p4mesh.traffic_file.model import RECORDED, Headers, Modifier, TrafficClass
from p4mesh.traffic_file.reader import FileRun

Place = tuple[str | int, ...]
_RANGE = re.compile(r"([0-9]+)-([0-9]+)(?: step ([0-9]+))?")


def sizes_of(run: FileRun, place: Place, given: TrafficClass) -> tuple[MixPart, ...]:
    sizes = given.sizes
    if isinstance(sizes, int):
        return (MixPart(sizes, 1),)
    if isinstance(sizes, list):
        if twice := next(
            (part.bytes for part in sizes if [other.bytes for other in sizes].count(part.bytes) > 1), None
        ):
            raise run.error((*place, "sizes"), f"{twice} B is given twice", "give each size one weight")
        return tuple(MixPart(part.bytes, part.weight) for part in sizes)
    if sizes == RECORDED:
        return _recorded_sizes(run, place)
    found = _RANGE.fullmatch(sizes)
    if found is None:
        return mix_of(sizes)
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if not (SMALLEST_FRAME_BYTES <= first <= last <= LARGEST_FRAME_BYTES and step):
        raise run.error(
            (*place, "sizes"),
            f"'{sizes}' is not a range",
            f"sizes in {SMALLEST_FRAME_BYTES}..{LARGEST_FRAME_BYTES} B, upwards",
        )
    return tuple(MixPart(size, 1) for size in range(first, last + 1, step))


def _recorded_sizes(run: FileRun, place: Place) -> tuple[MixPart, ...]:
    """Sizes of the capture of a class, with how often it has each of them."""
    where, recording = (*place, "sizes"), run.recordings.get(str(place[-1]))
    if recording is None:
        raise run.error(where, "no capture has sizes", "give arrivals: {shape: replay, pcap: FILE}")
    counts = Counter(recording.sizes_bytes)
    if max(counts) > LARGEST_FRAME_BYTES:
        raise run.error(
            where,
            f"frame {recording.sizes_bytes.index(max(counts)) + 1} of the capture has {max(counts)} B",
            f"frames of at most {LARGEST_FRAME_BYTES} B: capture without segmentation offload, or give one size",
        )
    return tuple(MixPart(size, count) for size, count in sorted(counts.items()))


def is_range(given: TrafficClass) -> bool:
    """Whether a class has all sizes of a range in turn."""
    return isinstance(given.sizes, str) and _RANGE.fullmatch(given.sizes) is not None


def mean_bytes(parts: Sequence[MixPart]) -> Fraction:
    return Fraction(sum(part.weight * part.frame_size_bytes for part in parts), sum(part.weight for part in parts))


def frame_of(run: FileRun, place: Place, given: TrafficClass, parts: Sequence[MixPart]) -> Frame:
    """The headers; raises TrafficFileError where a frame is too short for them and the signature."""
    headers = given.headers
    if headers.layers is not UNSET:
        return _stack_of(run, place, given, parts)
    tags = () if given.vlan is UNSET else (given.vlan,) if isinstance(given.vlan, int) else tuple(given.vlan)
    frame = FRAME_FORMATS[headers.format].tagged(*tags, priority=given.priority)
    frame = frame.changed(NetworkLayer, ttl=headers.ttl, dscp=headers.dscp)
    frame = frame.changed(Udp, source=headers.udp_source, destination=headers.udp_destination)
    if headers.extensions:
        if not isinstance(frame.network, IPv6):
            raise run.error((*place, "headers", "extensions"), "extension headers without IPv6", "use format: ipv6")
        frame = frame.extended([extension_of(name) for name in headers.extensions])
    minimum = minimum_frame_bytes(frame)
    shortest = min(part.frame_size_bytes for part in parts)
    if shortest < minimum:
        raise run.error(
            (*place, "sizes"),
            f"{shortest} B: {headers.format} frames with {len(tags)} VLAN tags and a signature need {minimum} B",
            f"sizes of {minimum} B or more, or format: ethernet",
        )
    return frame


def _stack_of(run: FileRun, place: Place, given: TrafficClass, parts: Sequence[MixPart]) -> Frame:
    """The layers that a class has as text."""
    headers = given.headers
    assert headers.layers is not UNSET
    others = [name for name in headers.__struct_fields__ if getattr(headers, name) != getattr(Headers(), name)]
    others = [name for name in others if name != "layers"] + (["vlan"] if given.vlan is not UNSET else [])
    if others:
        raise run.error(
            (*place, "headers", "layers"), f"{', '.join(others)} beside layers", "put all headers into layers"
        )
    try:
        frame = frame_of_text(headers.layers)
        require_sendable("layers", frame)
    except ParameterError as error:
        message = error.message.removeprefix("stream 'layers': ")
        raise run.error((*place, "headers", "layers"), message, error.hint) from None
    minimum = minimum_frame_bytes(frame)
    shortest = min(part.frame_size_bytes for part in parts)
    if shortest < minimum:
        kinds = ", ".join(layer.kind for layer in frame.layers)
        raise run.error(
            (*place, "sizes"),
            f"{shortest} B: frames of {kinds} and a signature need {minimum} B",
            f"sizes of {minimum} B or more, or fewer layers",
        )
    return frame


def modifiers_of(run: FileRun, place: Place, given: TrafficClass) -> tuple[FieldModifier, ...]:
    """The fields that change from frame to frame."""
    return tuple(
        FieldModifier(
            _field(run, (*place, "modifiers", number), item), _values(run, (*place, "modifiers", number), item)
        )
        for number, item in enumerate(given.modifiers)
    )


def _field(run: FileRun, place: Place, item: Modifier) -> Modifiable:
    try:
        return Modifiable.of_name(item.field)
    except ValueError as error:
        message, _, valid = str(error).partition(": ")
        raise run.error((*place, "field"), message, valid or "the fields of docs/HEADERS.md") from None


def _values(run: FileRun, place: Place, item: Modifier) -> Progression | ValueList | PseudoRandom:
    ways = [name for name in ("count", "values", "random") if getattr(item, name) is not UNSET]
    if len(ways) != 1:
        raise run.error(place, f"{len(ways)} ways to change the field", "give one of count, values, random")
    if item.values is not UNSET:
        return ValueList(tuple(item.values))
    if item.random is not UNSET:
        return PseudoRandom(item.random.seed, item.random.mask, item.random.count)
    assert item.count is not UNSET
    return Progression(item.count, item.step)
