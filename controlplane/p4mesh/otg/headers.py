"""The headers of a flow: layers of a test frame, its addresses, and the fields that change from frame to frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Frame, Layer
from p4mesh.layers.layer import Modifiable, Role, modifiable_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.header_table import HEADERS, Header, optional_constant
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


def flow_headers(elements: Sequence[Element], *, of_devices: bool = False) -> FlowHeaders:
    """Read the list ``packet`` of a flow; an empty one is Ethernet with the addresses of stations.

    Flows ``of_devices`` have the addresses of the devices where none are given.
    """
    read = [_read(element, of_devices) for element in elements]
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


def _read(element: Element, of_devices: bool) -> _Read:
    with element.whole():
        kind = element.choice(*HEADERS, default="ethernet")
        header = HEADERS[kind]
        with element.element(kind).whole() as inner:
            if not header.nested:
                return _header(inner, header, of_devices)
            inner.choice(header.nested, default=header.nested)
            with inner.element(header.nested).whole() as nested:
                return _header(nested, header, of_devices)


def _header(element: Element, header: Header, of_devices: bool) -> _Read:
    wires = dict(header.layer().wires)
    found = {
        # Addresses of IP that are left to somebody else come by DHCP.
        name: field_values(
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
        if (given := optional_constant(element, key)) is not None
    }
    for key in header.written:
        with element.element(key).whole() as written:
            if written.choice("auto", "generated", default="auto") == "generated":
                written.require("generated", "good", "unspecified")
    for key, valid in header.fixed.items():
        if optional_constant(element, key) not in (None, valid):
            raise refusal(element.at(key), "has another value", [str(valid)])
    known = {name: wires[name].of_number(value) for name, value in values.items() if value is not None}
    try:
        layer = header.layer(**known, **header.parts(element))
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
