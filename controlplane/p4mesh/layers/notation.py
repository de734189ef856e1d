"""Stacks of layers as text: ``vlan(vid=7)/ipv4(dscp=46)/udp``, the outermost first; Ethernet in front may be left out.

Values are numbers (also ``0x1f``), addresses, bytes in hex, and for segments a list of addresses with spaces.
"""

from __future__ import annotations

import re
from dataclasses import Field, fields
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.frame import Frame
from p4mesh.layers.layer import BAD, BAD_CHECKSUM, Layer, Numbers, Role, Wire

_LAYER = re.compile(r"\s*(?P<kind>[a-z0-9_]+)\s*(\((?P<values>[^()]*)\))?\s*")
_SOME_BYTES = "01020304"
_EXAMPLE = "such as vlan(vid=7)/ipv4(dscp=46)/udp"


def frame_of_text(text: str) -> Frame:
    """Read a stack; raises ParameterError for a layer, a field or a value that there is not."""
    layers = [kind(**values) for kind, values in stated(text)]
    if not isinstance(layers[0], Ethernet):
        layers.insert(0, Ethernet())
    return Frame(tuple(layers))


def stated(text: str) -> list[tuple[type[Layer], dict[str, Any]]]:
    """Read the layers of a stack, each with the fields that stand there; raises ParameterError as the frame does."""
    return [_layer(part) for part in re.split(r"/(?![^(]*\))", text)]


def text_of_frame(frame: Frame) -> str:
    """Write a stack as :func:`frame_of_text` reads it, without the kinds' usual values."""
    return "/".join(_text(layer) for layer in frame.layers)


def _layer(part: str) -> tuple[type[Layer], dict[str, Any]]:
    found = _LAYER.fullmatch(part)
    if found is None:
        raise ParameterError(f"'{part}' is no layer", hint=f"layers with / between them, {_EXAMPLE}")
    try:
        kind = Layer.of_kind(found["kind"])
    except ValueError as error:
        raise ParameterError(str(error).partition(":")[0], hint=str(error).partition(": ")[2]) from None
    readers = {
        item.name: item.metadata["wire"].of_text if "wire" in item.metadata else item.metadata["tail"]
        for item in fields(kind)
    }
    values: dict[str, Any] = {}
    for pair in filter(None, (pair.strip() for pair in (found["values"] or "").split(","))):
        name, equals, value = (word.strip() for word in pair.partition("="))
        if name not in readers:
            raise ParameterError(f"{kind.kind} has no field '{name}'", hint=f"fields are {', '.join(_given(kind))}")
        if not equals:
            raise ParameterError(f"{kind.kind}.{name} has no value", hint=f"write {name}={_usual(kind, name)}")
        if name in values:
            raise ParameterError(f"{kind.kind}.{name} is given twice", hint="give each field once")
        try:
            values[name] = readers[name](value)
        except ValueError:
            raise ParameterError(
                f"{kind.kind}.{name}={value}: not valid", hint=f"a value such as {name}={_usual(kind, name)}"
            ) from None
    return kind, values


def _given(kind: type[Layer]) -> list[str]:
    """Name the fields that a user may give: lengths follow from the frame, and of checksums that they are bad."""
    wires = {item.name: item.metadata.get("wire") for item in fields(kind)}
    return [name for name, wire in wires.items() if wire is None or _may_be_given(wire)]


def _may_be_given(wire: Wire) -> bool:
    # Numbers of other registries always name a layer, which follows.
    names_a_payload = wire.registry in (Numbers.ETHERTYPE, Numbers.IP_PROTOCOL, Numbers.UDP_PORT)
    return wire.is_checksum or (
        wire.role is not Role.COMPUTED and not wire.leads_on and (wire.role is not Role.NEXT or names_a_payload)
    )


def _usual(kind: type[Layer], name: str) -> str:
    """Write a value that the field may have."""
    item = next(item for item in fields(kind) if item.name == name)
    if item.default == b"":
        return _SOME_BYTES
    if "wire" in item.metadata and item.metadata["wire"].is_checksum:
        return BAD
    return value_text(item, item.metadata["wire"].of_number(1) if item.default is None else item.default)


def _text(layer: Layer) -> str:
    given = [
        f"{item.name}={value_text(item, value)}"
        for item in fields(layer)
        if (value := getattr(layer, item.name)) not in (item.default, None)
    ]
    return layer.kind + (f"({', '.join(given)})" if given else "")


def value_text(item: Field[Any], value: Any) -> str:
    """Write the value of a field of a layer as it is read."""
    if value == BAD_CHECKSUM:
        return BAD
    if isinstance(value, bytes):
        to_text = item.metadata.get("to_text")
        return str(to_text(value)) if to_text else value.hex(":")
    return str(value)
