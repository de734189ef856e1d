"""The headers of a flow: layers of a test frame, its addresses, and the fields that change from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from itertools import combinations
from math import lcm
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Frame, Layer
from p4mesh.layers.layer import BAD_CHECKSUM, Modifiable, Role, modifiable_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.header_table import HEADERS, Header
from p4mesh.otg.patterns import FieldValues, Patterns, Tag
from p4mesh.traffic.stream import FEWEST_MODIFIERS, MAX_MODIFIERS, MOST_STREAMS, FieldModifier, Progression, ValueList

Address = IPv4Address | IPv6Address


_MOST_HEADERS = 32


@dataclass(frozen=True)
class Change:
    """A field that changes from frame to frame of a stream."""

    path: str
    modifier: FieldModifier
    period: int


@dataclass(frozen=True)
class FlowHeaders:
    """Headers of a flow; addresses that are None are those of stations."""

    frame: Frame
    changes: tuple[Change, ...] = ()
    source_mac: bytes | None = None
    destination_mac: bytes | None = None
    source: Address | None = None
    destination: Address | None = None
    tags: tuple[Tag, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Read:
    """One header that was read."""

    path: str
    layer: Layer
    added: Mapping[str, tuple[str, FieldValues]]
    """Fields that change, with the names of the API."""
    stated: Mapping[str, tuple[str, int]]
    """Values that must follow from the rest, with the names of the API."""
    left_open: frozenset[str]
    """Addresses that are the tester's."""


def flow_headers(elements: Sequence[Element], *, of_devices: bool = False, parts: int = 1) -> tuple[FlowHeaders, ...]:
    """Read the list ``packet`` of a flow; an empty one is Ethernet with the addresses of stations.

    The headers are those of as many streams, whose frames leave in turn: one, where its fields change as those of a
    stream do, else as many as all that cannot change in a stream has different values; or a multiple of that and of
    ``parts``. Flows ``of_devices`` have the addresses of the devices where none are given.
    """
    whole = Patterns()
    headers = _headers(elements, whole, of_devices)
    step = lcm(_streams(elements, whole.apart, {change.path: change.period for change in headers.changes}), parts)
    if step == 1:
        return (headers,)
    return tuple(_headers(elements, Patterns(step, place), of_devices) for place in range(step))


def _streams(elements: Sequence[Element], apart: Mapping[str, int], changing: Mapping[str, int]) -> int:
    """Least number of streams in each of which the patterns ``apart`` are constant, and few others change.

    That is two at most, which every program changes; more only where streams of two do not do.
    """
    others = [period for path, period in changing.items() if path not in apart]
    for most in (FEWEST_MODIFIERS, MAX_MODIFIERS):
        counts = [
            _common([*apart.values(), *(others[place] for place in range(len(others)) if place not in places)])
            for places in combinations(range(len(others)), min(most, len(others)))
        ]
        if min(counts) <= MOST_STREAMS:
            return min(counts)
    for path, period in apart.items():
        if period > MOST_STREAMS:
            raise refusal(path, f"has {period} values, each of which needs a stream", f"{MOST_STREAMS} values")
    base = elements[0].path.rpartition("[")[0]
    names = ", ".join(dict.fromkeys(path.removeprefix(base) for path in (*apart, *changing)))
    valid = f"{MAX_MODIFIERS} fields that change in a stream, and {MOST_STREAMS} streams for the values of others"
    raise refusal(base, f"changes {names} in too many ways", valid)


def _common(periods: Sequence[int]) -> int:
    """Least common multiple; any larger number where that is above the limit."""
    found = 1
    for period in periods:
        found = lcm(found, period)
        if found > MOST_STREAMS:
            break
    return found


def _headers(elements: Sequence[Element], patterns: Patterns, of_devices: bool) -> FlowHeaders:
    if len(elements) > _MOST_HEADERS:
        raise refusal(elements[_MOST_HEADERS].path, "is one header too many", f"{_MOST_HEADERS} headers")
    read = [_read(element, patterns, of_devices) for element in elements]
    if not read:
        return FlowHeaders(Frame((Ethernet(),)))
    if not isinstance(read[0].layer, Ethernet):
        raise refusal(read[0].path, "is not the first header of a frame", "ethernet first")
    _require_what_follows(read)
    network = next((item for item in reversed(read) if isinstance(item.layer, NetworkLayer)), None)
    # The tester writes the addresses of the first and of the innermost IP header, as those of its stations.
    layers = (_without_addresses(item.layer) if item in (read[0], network) else item.layer for item in read)
    return FlowHeaders(
        Frame(tuple(layers)),
        tuple(_changes(read, patterns)),
        _address(read[0], "source"),
        _address(read[0], "destination"),
        _address(network, "source") if network else None,
        _address(network, "destination") if network else None,
        tuple(patterns.tags),
        tuple(patterns.warnings),
    )


def _read(element: Element, patterns: Patterns, of_devices: bool) -> _Read:
    with element.whole():
        kind = element.choice(*HEADERS, default="ethernet")
        header = HEADERS[kind]
        with element.element(kind).whole() as inner:
            if not header.nested:
                return _header(inner, header, patterns, of_devices)
            inner.choice(header.nested, default=header.nested)
            with inner.element(header.nested).whole() as nested:
                return _header(nested, header, patterns, of_devices)


def _header(element: Element, header: Header, patterns: Patterns, of_devices: bool) -> _Read:
    wires = dict(header.layer().wires)
    found = {
        # Addresses of IP that are left to somebody else come by DHCP.
        name: patterns.values(
            element.element(key), wires[name].width_bits, auto=not issubclass(header.layer, NetworkLayer)
        )
        for key, name in header.fields.items()
    }
    addressed = header.layer is Ethernet or issubclass(header.layer, NetworkLayer)
    left_out = {**header.left_out, **(dict.fromkeys(("source", "destination")) if of_devices and addressed else {})}
    values = {name: value.first if value else left_out.get(name, 0) for name, value in found.items()}
    stated = {
        name: (key, given)
        for key, name in header.follows.items()
        if (given := patterns.optional_constant(element, key, wires[name].width_bits)) is not None
    }
    for key in header.written:
        with element.element(key).whole() as written:
            if written.choice("auto", *(["generated"] if "checksum" in key else []), default="auto") == "generated":
                written.require("generated", "good", "bad")
                if written.text("generated") == "bad":
                    values["checksum"] = BAD_CHECKSUM
    for key, why in header.without_effect.items():
        if key in element:
            element.element(key)
            patterns.warnings.append(f"{element.at(key)} has no effect: {why}")
    for key, valid in header.fixed.items():
        if patterns.optional_constant(element, key) not in (None, valid):
            raise refusal(element.at(key), "has another value", [str(valid)])
    known = {name: wires[name].of_number(value) for name, value in values.items() if value is not None}
    try:
        layer = header.layer(**known, **header.parts(element, patterns))
    except ParameterError as error:
        raise refusal(element.path, f"cannot be made: {error.message}", [error.hint]) from None
    changing = {
        name: (key, value)
        for key, name in header.fields.items()
        if (value := found[name]) is not None and value.added is not None
    }
    return _Read(element.path, layer, changing, stated, frozenset(values.keys() - known.keys()))


def _require_what_follows(read: Sequence[_Read]) -> None:
    """Raise OtgError for the name of a next header, such as an EtherType, that is not that of what follows."""
    whole = Frame(tuple(item.layer for item in read)).completed(b"")
    for item, layer in zip(read, whole.layers, strict=True):
        for name, (key, value) in item.stated.items():
            if value != getattr(layer, name):
                raise refusal(f"{item.path}.{key}", f"is {value}, which is not what follows", str(getattr(layer, name)))


def _address(item: _Read, name: str) -> Any:
    return None if name in item.left_open else getattr(item.layer, name)


def _without_addresses(layer: Layer) -> Layer:
    return replace(layer, **{name: None for name, wire in layer.wires if wire.role is Role.ADDRESS})


def _changes(read: Sequence[_Read], patterns: Patterns) -> Iterator[Change]:
    """Yield the fields that change in a stream; others are noted as ``apart``."""
    for item in read:
        kind = type(item.layer)
        same = [other for other in read if type(other.layer) is kind]
        for name, (key, values) in item.added.items():
            path, field_ = f"{item.path}.{key}", modifiable_of(kind, name, same.index(item), len(same))
            added = _fitting(item, name, values, field_) if field_ else None
            if field_ is None or added is None:
                patterns.apart[path] = values.period
            else:
                yield Change(path, FieldModifier(field_, added), values.period)


def _fitting(item: _Read, name: str, values: FieldValues, of: Modifiable) -> Progression | ValueList | None:
    """Numbers that are added, modulo the width of the part of the field that the tester changes.

    None where other parts of the field change.
    """
    added = values.added
    assert added is not None, "only fields that change are asked for"
    width, changed = dict(item.layer.wires)[name].width_bits, of.width_bits
    steps = (0, added.step * (added.count - 1)) if isinstance(added, Progression) else added.values
    if any((values.first + step) % (1 << width) >> changed != values.first >> changed for step in steps):
        return None
    if isinstance(added, Progression):
        return added
    return ValueList(tuple(value % (1 << changed) for value in added.values))
