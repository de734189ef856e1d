"""Places of the layers of a frame in the program for v1model: the way of its parser through a seed (p4src/v1model)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    Bth,
    Ethernet,
    ExtensionHeader,
    Frame,
    Icmp,
    Icmpv6,
    IPv4,
    IPv6,
    OwnBytes,
    ServiceTag,
    Tcp,
    Udp,
    Vlan,
)
from p4mesh.layers.ipv4 import MORE_FRAGMENTS
from p4mesh.layers.layer import Layer, Modifiable, Numbers, changing_fields
from p4mesh.layers.network import NetworkLayer
from p4mesh.tester.contract import Contract
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, ValueList

WORD_BYTES = 4
_WORD_BITS = 32
_OUTER, _INNER, _OWN = "outer", "inner", "own"
_SUMMED = {"udp", "ipv4", "first_ipv4"}
"""Headers whose checksum the program makes of all that it covers. Others it keeps, or changes by its own changes."""


@dataclass(frozen=True)
class Place:
    """A header of the program, or a word in one of its stacks."""

    header: str
    word: int = 0

    @property
    def is_word(self) -> bool:
        """Whether it is in a stack of words."""
        return self.header in (_OUTER, _INNER, _OWN)


@dataclass(frozen=True)
class SeedLayout:
    """Places of all layers, the outermost first."""

    places: tuple[Place, ...]
    words: dict[str, int]
    """Length of each stack."""
    in_tunnel: bool
    """A port of UDP leads into a tunnel."""
    spoiled: str
    """Header whose wrong checksum the program writes, in capitals; empty where there is none, or the seed has it."""


@lru_cache(maxsize=256)
def layout_of(frame: Frame) -> SeedLayout:
    """Find the places of the layers of a frame that can be sent (``sendable.py``)."""
    layers = frame.layers
    places = [Place("ethernet")]
    words = {_OUTER: 0, _INNER: 0, _OWN: 0}

    def put(stack: str, layer: Layer) -> Place:
        place = Place(stack, words[stack])
        words[stack] += layer.header_bytes // WORD_BYTES
        return place

    for tag, kinds in (("outer_vlan", (Vlan,)), ("inner_vlan", (Vlan,))):
        here = layers[len(places)] if len(places) < len(layers) else None
        if not isinstance(here, kinds) or (tag == "inner_vlan" and isinstance(here, ServiceTag)):
            break
        places.append(Place(tag))
    tags_end = len(places)
    innermost = _innermost(frame)
    stack = _OUTER
    for layer in layers[tags_end:innermost]:
        if isinstance(layer, Ethernet):
            places.append(Place("inner_ethernet"))
            stack = _INNER
        elif len(places) == tags_end and isinstance(layer, NetworkLayer):
            places.append(Place(f"first_{layer.kind}"))
        elif len(places) == tags_end + 1 and places[-1].header == "first_ipv6" and isinstance(layer, ExtensionHeader):
            places.append(Place("first_extension"))
        elif len(places) == tags_end + 1 and isinstance(layer, Udp):
            places.append(Place("first_udp"))
        else:
            places.append(put(stack, layer))
    units = 0
    for layer in layers[innermost:]:
        match layer:
            case NetworkLayer() | Udp():
                places.append(Place(layer.kind))
            case Icmp() | Icmpv6():
                places.append(Place("icmp"))
            case ExtensionHeader():
                places.append(Place("extension", units))
                units += layer.header_bytes // _UNIT_BYTES
            case Tcp():
                places.append(Place("tcp"))
                words[_OWN] += len(layer.options) // WORD_BYTES
            case _:
                places.append(put(_OWN, layer))
    in_tunnel = any(isinstance(layer, Udp) for layer in layers[:innermost])
    wrong = {places[place].header for place in frame.bad_checksums} & _SUMMED
    return SeedLayout(tuple(places), words, in_tunnel, "".join(wrong).upper())


def can_be_cut(frame: Frame) -> bool:
    """Whether the program corrects all lengths and checksums of a frame that leaves shorter than its seed."""
    known = ("ethernet", "outer_vlan", "inner_vlan", "ipv4", "ipv6", "extension", "udp")
    return not frame.bad_checksums and all(place.header in known for place in layout_of(frame).places)


def _innermost(frame: Frame) -> int:
    """Place of the innermost IP layer, or behind the last header where there is none."""
    networks = [place for place, layer in enumerate(frame.layers) if isinstance(layer, NetworkLayer)]
    if networks:
        return networks[-1]
    return next(
        (place for place, layer in enumerate(frame.layers) if isinstance(layer, OwnBytes | Bth)), len(frame.layers)
    )


@dataclass(frozen=True)
class FieldPlace:
    """A field in a container to which the program adds: a field of its own, or a word."""

    constant: str
    """Name in the contract, without the beginning ``FIELD_``."""
    offset: int
    """From the constant to the code."""
    container_bits: int
    shift: int
    """Bits of the container below the field."""
    width_bits: int

    def code(self, fields: Fields) -> int:
        """Number of the field in the program."""
        return fields[f"FIELD_{self.constant}"] + self.offset


Fields = Mapping[str, int]
"""Constants of a program that say which fields it changes; see :func:`fields_of`."""
_NAMES = {"destination": "DST", "source": "SRC"}
_IN_ICMP = {"identifier": ("REST", 16), "sequence": ("REST", 0), "type": ("TYPE_CODE", 8), "code": ("TYPE_CODE", 0)}
_IN_TCP_FLAGS = {"flags": 0, "reserved": 9}
_CLASS_SHIFTS = {"dscp": 2, "ecn": 0}
_CLASS_BITS, _FLAGS_BITS = 8, 16
_UNIT_BYTES, _UNIT_BITS, _REST_BITS = 8, 64, 48
"""Lengths in an extension header; the rest of its first unit stands behind two bytes that say what follows."""
_LEADS_ON = ("routing_type", "segments_left")
"""Fields of extension headers by which parsers and checksums find their way."""


def field_place(frame: Frame, field: Modifiable, fields: Fields) -> FieldPlace | None:
    """Find where a program with these constants changes a field; None where it cannot.

    An address of the inner Ethernet header that the seed leaves to the station is written after fields have changed.
    """
    in_frame = frame.place_of(field)
    if in_frame is None:
        return None
    place, layer = layout_of(frame).places[in_frame], frame.layers[in_frame]
    of_station = place.header == "inner_ethernet" and getattr(layer, field.field) is None
    if of_station or _names_next(frame, in_frame, field):
        return None
    found = _in_words(layer, field, place, fields) if place.is_word else _in_header(layer, field, place)
    return found if found and f"FIELD_{found.constant}" in fields else None


def _names_next(frame: Frame, place: int, field: Modifiable) -> bool:
    """Whether a field of UDP says which layer follows."""
    following = frame.layers[place + 1].numbers if place + 1 < len(frame.layers) else {}
    return field.field == "destination" and isinstance(frame.layers[place], Udp) and Numbers.UDP_PORT in following


def _in_header(layer: Layer, field: Modifiable, place: Place) -> FieldPlace | None:
    header, width = place.header.upper(), field.width_bits
    match layer, field.field:
        case IPv4(), "dscp" | "ecn":
            return FieldPlace(f"{header}_DSCP_ECN", 0, _CLASS_BITS, _CLASS_SHIFTS[field.field], width)
        case IPv6(), "dscp" | "ecn":
            return FieldPlace(f"{header}_TRAFFIC_CLASS", 0, _CLASS_BITS, _CLASS_SHIFTS[field.field], width)
        case IPv6(), "ttl":
            return FieldPlace(f"{header}_HOP_LIMIT", 0, width, 0, width)
        case Vlan(), "vid":
            return FieldPlace(header, 0, width, 0, width)
        case IPv4(), "flags":
            return FieldPlace(f"{header}_FLAGS_OFFSET", 0, _FLAGS_BITS, _FLAGS_BITS - width, width)
        case Icmp() | Icmpv6(), _:
            word, shift = _IN_ICMP[field.field]
            return FieldPlace(f"ICMP_{word}", 0, 2 * _FLAGS_BITS if word == "REST" else _FLAGS_BITS, shift, width)
        case Tcp(), "flags" | "reserved":
            return FieldPlace("TCP_FLAGS", 0, _FLAGS_BITS, _IN_TCP_FLAGS[field.field], width)
        case ExtensionHeader(), _:
            return _in_extension(layer, field, place)
    name = _NAMES.get(field.field, field.field.upper())
    return FieldPlace(f"{header}_{name}", 0, width, 0, width)


def _in_extension(layer: ExtensionHeader, field: Modifiable, place: Place) -> FieldPlace | None:
    """Find a field in the first unit of the first extension header, behind what a parser needs of it."""
    begin = 0
    for name, wire in layer.wires:
        if name == field.field:
            break
        begin += wire.width_bits
    end = begin + field.width_bits
    if place.word or begin < _UNIT_BITS - _REST_BITS or end > _UNIT_BITS or field.field in _LEADS_ON:
        return None
    return FieldPlace(place.header.upper(), 0, _REST_BITS, _UNIT_BITS - end, field.width_bits)


def _in_words(layer: Layer, field: Modifiable, place: Place, fields: Fields) -> FieldPlace | None:
    if isinstance(layer, IPv4 | Tcp):
        return None  # Its checksum is a word that does not follow.
    begin, changing = 0, fields.get(f"CHANGING_{place.header.upper()}_WORDS", 0)
    for name, wire in layer.wires:
        begin += wire.width_bits
        if name == field.field:
            break
    else:
        return None
    word = place.word + (begin - 1) // _WORD_BITS
    shift = -begin % _WORD_BITS
    if word >= changing:
        return None
    return FieldPlace(f"{place.header.upper()}_WORD", word, _WORD_BITS, shift, field.width_bits)


def fields_of(contract: Contract) -> dict[str, int]:
    """List the constants of a program that say which fields it changes."""
    return {name: number for name, number in contract.constants.items() if name.startswith(("FIELD_", "CHANGING_"))}


def fields_that_change(frame: Frame, fields: Fields) -> Iterator[str]:
    """Yield the names of all fields of a frame that the program can change, for messages."""
    for kind in dict.fromkeys(type(layer) for layer in frame.layers):
        for name, _ in changing_fields(kind):
            if field_place(frame, Modifiable.of_name(f"{kind.kind}.{name}"), fields):
                yield f"{kind.kind}.{name}"


def require_field(stream: str, frame: Frame, modifier: FieldModifier, fields: Fields) -> None:
    """Raise ParameterError for a field that the program cannot change, or that would run over into another one."""
    place = field_place(frame, modifier.field, fields)
    in_frame = frame.place_of(modifier.field)
    assert in_frame is not None
    if modifier.field.field not in dict(frame.layers[in_frame].wires):
        raise ParameterError(
            f"stream '{stream}': frames have no {modifier.field.name} to change",
            hint=f"give it a first value, such as {modifier.field.layer.kind}({modifier.field.field}=1)",
        )
    if place is None:
        raise ParameterError(
            f"stream '{stream}': {modifier.field.name} cannot change from frame to frame",
            hint=f"use one of {', '.join(fields_that_change(frame, fields))}",
        )
    _require_whole_packets(stream, modifier)
    if place.shift + place.width_bits == place.container_bits:
        return
    base = int(getattr(frame.layers[in_frame], modifier.field.field) or 0)
    values = modifier.values
    match values:
        case Progression():
            ends = (0, values.step * (values.count - 1))
        case ValueList():
            ends = (min(values.values), max(values.values))
        case PseudoRandom():
            ends = (0, values.mask)
    if base + min(ends) < 0 or base + max(ends) >> place.width_bits:
        raise ParameterError(
            f"stream '{stream}': {modifier.field.name} runs over from {base}, by {min(ends)} to {max(ends)}",
            hint=f"stay in 0..{(1 << place.width_bits) - 1}: the bits above are another field",
        )


def _require_whole_packets(stream: str, modifier: FieldModifier) -> None:
    """Raise ParameterError for values that would make an IPv4 packet a fragment, which is refused in a stack, too."""
    if modifier.field.layer is not IPv4 or modifier.field.field != "flags":
        return
    match modifier.values:
        case Progression(step=step):
            bits = step
        case ValueList(values=values):
            bits = reduce(or_, values)
        case PseudoRandom(mask=mask):
            bits = mask
    if bits & MORE_FRAGMENTS:
        raise ParameterError(
            f"stream '{stream}': {modifier.field.name} would make fragments, in which receivers find no signature",
            hint="add even numbers: 2 is do not fragment, 4 is reserved",
        )


def shifted(frame: Frame, modifier: FieldModifier, fields: Fields) -> Progression | ValueList | PseudoRandom:
    """Give the values their place in the container."""
    place = field_place(frame, modifier.field, fields)
    shift = place.shift if place else 0
    values = modifier.values
    match values:
        case Progression():
            return Progression(values.count, values.step << shift)
        case ValueList():
            return ValueList(tuple(value << shift for value in values.values))
        case PseudoRandom():
            return PseudoRandom(values.seed, values.mask << shift, values.count)
