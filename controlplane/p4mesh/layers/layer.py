"""Every layer is a value whose fields are declared with their widths, in the order of the wire.

A protocol is one file: a subclass of :class:`Layer` with its fields, the numbers by which the layer in front names it,
what its lengths and checksums follow from, and the fields that may change from frame to frame. Writing, reading and
checking are made from that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar, TypeVar

from p4mesh.errors import ParameterError

AnyLayer = TypeVar("AnyLayer", bound="Layer")
_MAC_BYTES = 6
_IPV6_BITS, _CHANGING_ADDRESS_BITS = 128, 32
"""Only the lowest bits of an IPv6 address can change."""


class Numbers(Enum):
    """Registries of numbers by which a layer names the next one."""

    ETHERTYPE = "EtherType"
    IP_PROTOCOL = "IP protocol"
    UDP_PORT = "UDP port"
    PPP = "PPP protocol"
    VXLAN_GPE = "next protocol of VXLAN-GPE"
    GTPU_EXTENSION = "extension header of GTP-U"


class Role(Enum):
    """Source of a field's value when a frame is written."""

    CHOSEN = "chosen"
    """The value that the layer has."""
    NEXT = "next"
    """The number of the next layer, unless the layer has a value."""
    COMPUTED = "computed"
    """A length or checksum of the frame, unless the layer has a value, which is then wrong on purpose."""
    ADDRESS = "address"
    """The value that the layer has; without one zeros, where the data plane writes the address of a station."""


def _number_of_text(text: str) -> int:
    return int(text, 0)


def _mac_of_text(text: str) -> bytes:
    value = bytes.fromhex(text.replace(":", ""))
    if len(value) != _MAC_BYTES:
        raise ValueError(text)
    return value


BAD = "bad"
BAD_CHECKSUM = -1
"""Value of a checksum that is to be wrong in every frame, whatever the frame holds, and how it is written."""
_SPOILS = 0xFFFE


def _checksum_of_text(text: str) -> int:
    return BAD_CHECKSUM if text == BAD else int(text, 0)


def spoiled(checksum: int) -> int:
    """Make a checksum wrong: that of the same bytes and a word that is no zero in ones' complement."""
    total = (checksum ^ 0xFFFF) + _SPOILS
    return ((total & 0xFFFF) + (total >> 16)) ^ 0xFFFF


@dataclass(frozen=True)
class Wire:
    """Place of a field in the header, and its meaning."""

    width_bits: int
    role: Role
    of_number: Callable[[int], Any] = int
    """Makes the value of the bits."""
    of_text: Callable[[str], Any] = _number_of_text
    """Makes the value of what a user wrote; raises ValueError."""
    registry: Numbers | None = None
    """Registry that has the number of the next layer."""
    alone: int = 0
    """Number that stands for a next layer without one in the registry, and for none."""
    is_checksum: bool = False
    leads_on: bool = False
    """Parsers find their way by it: streams have its usual value, in all frames."""
    flag: str | None = None
    """Field of one bit that says whether this one is there; None = always. One that is not there is None."""


def bits(width_bits: int, value: int = 0, *, leads_on: bool = False) -> Any:
    """Declare a field whose value is chosen."""
    return field(default=value, metadata={"wire": Wire(width_bits, Role.CHOSEN, leads_on=leads_on)})


def computed(width_bits: int) -> Any:
    """Declare a length, which :meth:`Layer.completed` fills in."""
    return field(default=None, metadata={"wire": Wire(width_bits, Role.COMPUTED)})


def checksum_field() -> Any:
    """Declare a checksum of 16 bits, which :meth:`Layer.completed` fills in; BAD_CHECKSUM asks for a wrong one."""
    wire = Wire(16, Role.COMPUTED, of_text=_checksum_of_text, is_checksum=True)
    return field(default=None, metadata={"wire": wire})


def trailing_checksum() -> Any:
    """Declare a checksum in the layer's trailer: no bits of the header; BAD_CHECKSUM asks for a wrong one."""

    def of_text(text: str) -> int:
        if text != BAD:
            raise ValueError(text)
        return BAD_CHECKSUM

    wire = Wire(0, Role.COMPUTED, lambda _: None, of_text, is_checksum=True)
    return field(default=None, metadata={"wire": wire})


def names_next(width_bits: int, registry: Numbers, alone: int) -> Any:
    """Declare a field that names the next layer; it is ``alone`` in front of a layer without a number, and of none."""
    return field(default=None, metadata={"wire": Wire(width_bits, Role.NEXT, registry=registry, alone=alone)})


def optional(width_bits: int, flag: str) -> Any:
    """Declare a field that is there where it has a value; ``flag`` is a computed bit in front that says so."""
    return field(default=None, metadata={"wire": Wire(width_bits, Role.CHOSEN, flag=flag)})


def mac_address() -> Any:
    """Declare a MAC address."""
    wire = Wire(8 * _MAC_BYTES, Role.ADDRESS, lambda number: number.to_bytes(_MAC_BYTES, "big"), _mac_of_text)
    return field(default=None, metadata={"wire": wire})


def ipv4_address() -> Any:
    """Declare an IPv4 address."""
    return field(default=None, metadata={"wire": Wire(32, Role.ADDRESS, IPv4Address, IPv4Address)})


def ipv6_address() -> Any:
    """Declare an IPv6 address."""
    return field(default=None, metadata={"wire": Wire(128, Role.ADDRESS, IPv6Address, IPv6Address)})


def tail(
    value: bytes, of_text: Callable[[str], bytes] = bytes.fromhex, to_text: Callable[[bytes], str] = bytes.hex
) -> Any:
    """Declare the bytes of variable length at the end of a header; :meth:`Layer.tail_bytes` says how many there are."""
    return field(default=value, metadata={"tail": of_text, "to_text": to_text})


@dataclass(frozen=True)
class Surroundings:
    """Parts of a frame from which lengths, checksums and next numbers of a layer follow."""

    outside: tuple[Layer, ...]
    """Layers in front of it, the outermost first."""
    following: Layer | None
    inside: bytes
    """Everything behind it."""


_KINDS: dict[str, type[Layer]] = {}
_NUMBERED: dict[tuple[Numbers, int], type[Layer]] = {}


@dataclass(frozen=True)
class Layer:
    """One header. Fields that are None are filled in when a frame is written."""

    kind: ClassVar[str] = ""
    """Name in files and messages."""
    numbers: ClassVar[Mapping[Numbers, int]] = {}
    """Numbers by which layers in front of it name it."""
    in_udp_without_checksum: ClassVar[bool] = False
    """UDP in front of it has no checksum, over IPv6 neither (RFC 6935)."""
    trailer_bytes: ClassVar[int] = 0
    """Length of what stands behind the payload because of this layer."""

    def __init_subclass__(cls) -> None:
        """Enter a protocol into the registries; families of protocols have no name."""
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls
            for number in cls.numbers.items():
                # Of protocols that share a number, the first tells the others apart when it is read.
                _NUMBERED.setdefault(number, cls)

    def __post_init__(self) -> None:
        """Refuse values that do not fit into their fields."""
        for name, wire in self.wires:
            value = getattr(self, name)
            number = value if type(value) is int else _number(value)
            if number >> wire.width_bits and not (number == BAD_CHECKSUM and wire.is_checksum):
                raise ParameterError(
                    f"{self.kind}.{name}: {number} does not fit into {wire.width_bits} bits",
                    hint=f"use 0 to {(1 << wire.width_bits) - 1}",
                )

    @staticmethod
    def of_kind(kind: str) -> type[Layer]:
        """Find a protocol by its name; raises ValueError for one that there is not."""
        if kind not in _KINDS:
            raise ValueError(f"no layer '{kind}': layers are {', '.join(_KINDS)}")
        return _KINDS[kind]

    @property
    def wires(self) -> tuple[tuple[str, Wire], ...]:
        """Names of the fields and how they stand in the header, in the order of the wire, without the tail."""
        layout = _layout(type(self))
        if not layout.optional:
            return layout.wires
        return layout.wires + tuple(item for item in layout.optional if getattr(self, item[0]) is not None)

    @property
    def fixed_bytes(self) -> int:
        """Length of the header without its tail."""
        return sum(wire.width_bits for _, wire in self.wires) // 8

    @property
    def header_bytes(self) -> int:
        """Length of the header."""
        return self.fixed_bytes + len(self._tail)

    def tail_bytes(self) -> int:
        """Length of the tail, from the other fields of a header that is read; negative where they contradict."""
        return 0

    @property
    def final_destination(self) -> IPv6Address | None:
        """Address that checksums inside cover instead of the destination (RFC 8200 8.1), if any."""
        return None

    @property
    def active_destination(self) -> IPv6Address | None:
        """Destination of the IPv6 header in front while addresses of this one are left, where the list holds it."""
        return None

    def completed(self: AnyLayer, around: Surroundings) -> AnyLayer:
        """Fill in what is None: here the number of the next layer, in a protocol its lengths and checksums."""
        following = around.following.numbers if around.following else {}
        flags = {
            wire.flag: int(getattr(self, name) is not None)
            for name, wire in _layout(type(self)).optional
            if wire.flag is not None
        }
        numbers = {
            name: following.get(wire.registry, wire.alone) for name, wire in self.wires if wire.registry is not None
        }
        return self.filled(**flags, **numbers)

    def filled(self: AnyLayer, **values: int) -> AnyLayer:
        """Copy the layer with ``values`` for those of these fields that are None, spoiled ones for bad checksums."""
        changed: dict[str, int] = {}
        for name, value in values.items():
            present = getattr(self, name)
            if present is None:
                changed[name] = value
            elif present == BAD_CHECKSUM:
                changed[name] = spoiled(value)
        return replace(self, **changed) if changed else self

    def pack(self) -> bytes:
        """Write the header; fields that are None are zeros."""
        number = 0
        for name, wire in self.wires:
            value = getattr(self, name)
            number = number << wire.width_bits | (0 if value == BAD_CHECKSUM else _number(value))
        return number.to_bytes(self.fixed_bytes, "big") + self._tail

    @classmethod
    def read(cls: type[AnyLayer], data: bytes) -> AnyLayer | None:
        """Read the header that ``data`` begins with; None where it is not whole."""
        layout = _layout(cls)
        length = layout.fixed_bytes
        if len(data) < length:
            return None
        number = int.from_bytes(data[:length], "big")
        values: dict[str, Any] = {}
        for name, wire in reversed(layout.wires):
            found = number & (1 << wire.width_bits) - 1
            values[name] = None if wire.role is Role.ADDRESS and not found else wire.of_number(found)
            number >>= wire.width_bits
        for name, wire in layout.optional:
            if wire.flag is not None and values[wire.flag]:
                begin, length = length, length + wire.width_bits // 8
                values[name] = wire.of_number(int.from_bytes(data[begin:length], "big"))
        layer = cls(**values)
        more = layer.tail_bytes()
        if not 0 <= more <= len(data) - length:
            return None
        if layout.tail is None:
            return layer
        return replace(layer, **{layout.tail: data[length : length + more]})

    def trailer(self, outside: tuple[Layer, ...], inside: bytes) -> bytes:
        """Write the end of the frame, for completed layers ``outside`` and everything behind this one."""
        return b""

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        """Find the protocol behind a header that was read: the one that it names, elsewhere by what is ``inside``."""
        for name, wire in self.wires:
            if wire.registry is not None:
                return _NUMBERED.get((wire.registry, getattr(self, name)))
        return None

    @property
    def _tail(self) -> bytes:
        name = _layout(type(self)).tail
        found: bytes = getattr(self, name) if name else b""
        return found


@dataclass(frozen=True)
class Modifiable:
    """A field that the data plane can change from frame to frame; what is added counts modulo its width."""

    name: str
    """Name in files and, in capitals, in the contract of the data plane."""
    layer: type[Layer]
    field: str
    """Name of the field in the layer."""
    place: int = -1
    """Place among several layers of this protocol in a frame, from the outermost; -1 = the innermost."""
    low_bits: int | None = None
    """Bits that change, the lowest ones; None = all."""

    def __post_init__(self) -> None:
        """Enter a field that has a name of its own into the registry."""
        if "." not in self.name:
            _MODIFIABLE[self.name] = self

    def is_of(self, layer: Layer) -> bool:
        """Whether a layer counts for ``place``: by a name of the field's own those of related protocols do, too."""
        return isinstance(layer, self.layer) if self.name in _MODIFIABLE else type(layer) is self.layer

    @property
    def width_bits(self) -> int:
        """Bits modulo which what is added counts."""
        return self.low_bits or dict(changing_fields(self.layer))[self.field].width_bits

    @staticmethod
    def of_name(name: str) -> Modifiable:
        """Find a field by its own name, or as ``layer.field`` or ``layer[place].field``; raises ValueError for others.

        Lengths, checksums and numbers of the next layer follow from the frame: they are no fields that can change.
        """
        if name in _MODIFIABLE:
            return _MODIFIABLE[name]
        found = _FIELD_OF_LAYER.fullmatch(name)
        if found is None:
            raise ValueError(f"no field '{name}' can change: use {', '.join(_MODIFIABLE)} or layer.field")
        layer = Layer.of_kind(found["kind"])
        possible = {name: wire.width_bits for name, wire in changing_fields(layer)}
        if found["field"] not in possible:
            raise ValueError(f"{layer.kind} has no field '{found['field']}' that can change: {', '.join(possible)}")
        place = -1 if found["place"] is None else int(found["place"])
        low_bits = _CHANGING_ADDRESS_BITS if possible[found["field"]] == _IPV6_BITS else None
        return Modifiable(name, layer, found["field"], place, low_bits)


_MODIFIABLE: dict[str, Modifiable] = {}
_FIELD_OF_LAYER = re.compile(r"(?P<kind>[a-z0-9_]+)(\[(?P<place>[0-9])\])?\.(?P<field>[a-z0-9_]+)")


def changing_fields(kind: type[Layer]) -> tuple[tuple[str, Wire], ...]:
    """List the fields of a protocol that can change from frame to frame, and how they stand in its header."""
    layout = _layout(kind)
    return tuple(
        (name, wire)
        for name, wire in (*layout.wires, *layout.optional)
        if (wire.role in (Role.CHOSEN, Role.ADDRESS) and not wire.leads_on) or wire.registry is Numbers.UDP_PORT
    )


def modifiable_of(layer: type[Layer], field_name: str, place: int, layers: int) -> Modifiable | None:
    """Find what changes a field of layer ``place`` of ``layers`` of one protocol; None where nothing does."""
    wanted = [(layer, field_name, place), (layer, field_name, place - layers)]
    alone = [it for it in _MODIFIABLE.values() if not it.layer.__subclasses__()]
    named = next((it for it in alone if (it.layer, it.field, it.place) in wanted), None)
    if named is None and field_name in dict(changing_fields(layer)):
        return Modifiable.of_name(f"{layer.kind}[{place}].{field_name}")
    return named


def modifiable_names() -> tuple[str, ...]:
    """List the fields that can change from frame to frame, in the order of the layers."""
    return tuple(_MODIFIABLE)


def all_layers() -> Iterator[type[Layer]]:
    """Yield every protocol."""
    yield from _KINDS.values()


@dataclass(frozen=True)
class Layout:
    """The fields of a header."""

    wires: tuple[tuple[str, Wire], ...]
    """Fields that are always there, in the order of the wire."""
    optional: tuple[tuple[str, Wire], ...]
    """Fields behind them that are there where they have a value, each of whole bytes."""
    tail: str | None
    """Name of the field of variable length, if any."""
    fixed_bytes: int
    """Length of ``wires``."""


_LAYOUTS: dict[type[Layer], Layout] = {}


def _layout(kind: type[Layer]) -> Layout:
    if kind not in _LAYOUTS:
        wires = tuple((item.name, item.metadata["wire"]) for item in fields(kind) if "wire" in item.metadata)
        always = tuple(item for item in wires if item[1].flag is None)
        optional_ones = tuple(item for item in wires if item[1].flag is not None)
        tails = [item.name for item in fields(kind) if "tail" in item.metadata]
        length = sum(wire.width_bits for _, wire in always) // 8
        _LAYOUTS[kind] = Layout(always, optional_ones, tails[0] if tails else None, length)
    return _LAYOUTS[kind]


def _number(value: Any) -> int:
    if value is None:
        return 0
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)
