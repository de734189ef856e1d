"""The headers of a flow: layers of a test frame, its addresses, and the fields that change from frame to frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Frame, IPv4, IPv6, Layer, Udp, Vlan
from p4mesh.layers.layer import Modifiable, Role, modifiable_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.patterns import FieldValues, field_values
from p4mesh.traffic.stream import MAX_MODIFIERS, FieldModifier, Progression, ValueList

Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class FlowHeaders:
    """Headers of a flow; addresses that are None are those of stations."""

    frame: Frame
    modifiers: tuple[FieldModifier, ...] = ()
    source_mac: bytes | None = None
    destination_mac: bytes | None = None
    source: Address | None = None
    destination: Address | None = None


@dataclass(frozen=True)
class _Header:
    """How the API spells a layer: its fields by their names there."""

    layer: type[Layer]
    fields: Mapping[str, str]
    """Fields of the layer that a pattern gives."""
    follows: Mapping[str, str] = field(default_factory=dict)
    """Fields that follow from the rest of the frame: a value must be that one."""
    written: Sequence[str] = ()
    """Lengths and checksums, which the tester writes."""
    fixed: Mapping[str, int] = field(default_factory=dict)
    """Fields with one valid value."""
    automatic: Sequence[str] = ()
    """Fields that are the tester's where they are left out."""
    parts: Callable[[Element], dict[str, int]] = lambda _: {}
    """Reads what is spelled in another way."""


def _ipv4_parts(element: Element) -> dict[str, int]:
    flags = [_constant(element, name, 1) for name in ("reserved", "dont_fragment", "more_fragments")]
    found = {"flags": flags[0] << 2 | flags[1] << 1 | flags[2]}
    with element.element("priority").whole() as priority:
        kind = priority.choice("raw", "tos", "dscp", default="dscp")
        if kind == "raw":
            octet = _constant(priority, "raw", 8)
        elif kind == "dscp":
            with priority.element("dscp").whole() as dscp:
                octet = _constant(dscp, "phb", 6) << 2 | _constant(dscp, "ecn", 2)
        else:
            with priority.element("tos").whole() as tos:
                octet = _constant(tos, "precedence", 3)
                for name in ("delay", "throughput", "reliability", "monetary", "unused"):
                    octet = octet << 1 | _constant(tos, name, 1)
    return found | {"dscp": octet >> 2, "ecn": octet & 3}


def _ipv6_parts(element: Element) -> dict[str, int]:
    octet = _constant(element, "traffic_class", 8)
    return {"dscp": octet >> 2, "ecn": octet & 3}


_HEADERS = {
    "ethernet": _Header(
        Ethernet,
        {"dst": "destination", "src": "source"},
        {"ether_type": "ether_type"},
        fixed={"pfc_queue": 0},
        automatic=("destination",),
    ),
    "vlan": _Header(Vlan, {"priority": "priority", "cfi": "drop_eligible", "id": "vid"}, fixed={"tpid": 0x8100}),
    "ipv4": _Header(
        IPv4,
        {
            "src": "source",
            "dst": "destination",
            "identification": "identification",
            "fragment_offset": "fragment_offset",
            "time_to_live": "ttl",
        },
        {"protocol": "protocol"},
        ("header_length", "total_length", "header_checksum"),
        {"version": 4},
        parts=_ipv4_parts,
    ),
    "ipv6": _Header(
        IPv6,
        {"src": "source", "dst": "destination", "flow_label": "flow_label", "hop_limit": "ttl"},
        {"next_header": "next_header"},
        ("payload_length",),
        {"version": 6},
        parts=_ipv6_parts,
    ),
    "udp": _Header(Udp, {"src_port": "source", "dst_port": "destination"}, written=("length", "checksum")),
}
"""A new layer is a line here."""
_LEFT_OUT = {"ttl": 64}
"""Values of fields that are not 0 where they are left out."""
_WIDEST_FIXED_BITS = 64


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


def flow_headers(elements: Sequence[Element]) -> FlowHeaders:
    """Read the list ``packet`` of a flow; an empty one is Ethernet with the addresses of stations."""
    read = [_read(element) for element in elements]
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
        _modifiers(read),
        _address(read[0], "source"),
        _address(read[0], "destination"),
        _address(network, "source") if network else None,
        _address(network, "destination") if network else None,
    )


def _constant(element: Element, key: str, width_bits: int) -> int:
    """Value of a field that cannot change; 0 where it is left out."""
    return _optional_constant(element, key, width_bits) or 0


def _optional_constant(element: Element, key: str, width_bits: int) -> int | None:
    values = field_values(element.element(key), width_bits, auto=True)
    if values and values.added is not None:
        raise refusal(element.at(key), "cannot change from frame to frame", "one value")
    return values.first if values else None


def _read(element: Element) -> _Read:
    with element.whole():
        kind = element.choice(*_HEADERS, default="ethernet")
        with element.element(kind).whole() as inner:
            return _header(inner, _HEADERS[kind])


def _header(element: Element, header: _Header) -> _Read:
    wires = dict(header.layer().wires)
    found = {
        name: field_values(element.element(key), wires[name].width_bits, auto=name in header.automatic)
        for key, name in header.fields.items()
    }
    left_open = frozenset(name for name, value in found.items() if not value and name in header.automatic)
    values = {
        name: wires[name].of_number(value.first if value else _LEFT_OUT.get(name, 0))
        for name, value in found.items()
        if name not in left_open
    }
    stated = {
        name: (key, given)
        for key, name in header.follows.items()
        if (given := _optional_constant(element, key, wires[name].width_bits)) is not None
    }
    for key in header.written:
        with element.element(key).whole() as written:
            if written.choice("auto", "generated", default="auto") == "generated":
                written.require("generated", "good", "unspecified")
    for key, valid in header.fixed.items():
        if _optional_constant(element, key, _WIDEST_FIXED_BITS) not in (None, valid):
            raise refusal(element.at(key), "has another value", str(valid))
    try:
        layer = header.layer(**values, **header.parts(element))
    except ParameterError as error:
        raise refusal(element.path, f"cannot be made: {error.message}", error.hint) from None
    changing = {
        name: (key, value)
        for key, name in header.fields.items()
        if (value := found[name]) is not None and value.added is not None
    }
    return _Read(element.path, layer, changing, stated, left_open)


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


def _modifiers(read: Sequence[_Read]) -> tuple[FieldModifier, ...]:
    found = []
    for item in read:
        kind = type(item.layer)
        same = [other for other in read if type(other.layer) is kind]
        for name, (key, values) in item.added.items():
            field_ = modifiable_of(kind, name, same.index(item), len(same))
            if field_ is None:
                raise refusal(f"{item.path}.{key}", "cannot change from frame to frame", "one value")
            found.append(FieldModifier(field_, _fitting(item, key, name, values, field_)))
    if len(found) > MAX_MODIFIERS:
        names = ", ".join(modifier.field.name for modifier in found)
        raise refusal(read[0].path.rpartition("[")[0], f"changes {names}", f"{MAX_MODIFIERS} fields that change")
    return tuple(found)


def _fitting(item: _Read, key: str, name: str, values: FieldValues, of: Modifiable) -> Progression | ValueList:
    """Numbers that are added, modulo the width of the part of the field that the tester changes."""
    added = values.added
    assert added is not None, "only fields that change are asked for"
    width, changed = dict(item.layer.wires)[name].width_bits, of.width_bits
    steps = (0, added.step * (added.count - 1)) if isinstance(added, Progression) else added.values
    if any((values.first + step) % (1 << width) >> changed != values.first >> changed for step in steps):
        raise refusal(f"{item.path}.{key}", "changes too many bits", f"changes of the last {changed} bits")
    if isinstance(added, Progression):
        return added
    return ValueList(tuple(value % (1 << changed) for value in added.values))
