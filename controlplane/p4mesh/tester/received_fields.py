"""Flows whose frames are told apart by header fields that they come with: each value has cells of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

RECEIVED_FIELDS: Mapping[str, Mapping[str, int]] = {
    "ethernet": {"destination": 48, "source": 48},
    "vlan": {"priority": 3, "drop_eligible": 1, "vid": 12},
    "mpls": {"label": 20, "traffic_class": 3, "bottom": 1, "ttl": 8},
    "ipv4": {"dscp": 6, "ecn": 2, "source": 32, "destination": 32},
    "ipv6": {"dscp": 6, "ecn": 2, "flow_label": 20, "destination": 128},
}
"""Bits of the fields of each header, in the order in which actions of ``received_fields.p4`` join them."""
MOST_RANGES = 2
MOST_BITS = 12
"""Bits of the number of a frame: each flow has a cell for each number, at each of its receivers."""
_Keys = Mapping[str, tuple[int, int]]
"""Values and masks."""
_ACTIONS: Mapping[str, Sequence[tuple[str, _Keys]]] = {
    "ethernet": [("by_ethernet", {})],
    "vlan": [("by_vlan", {"has_vlan": (1, 1)})],
    "mpls": [("by_mpls", {"ether_type": (0x8847, 0xFFFF)})],
    "ipv4": [
        ("by_first_ipv4", {"has_first_ipv4": (1, 1)}),
        ("by_ipv4", {"has_first_ipv4": (0, 1), "has_ipv4": (1, 1)}),
    ],
    "ipv6": [
        ("by_first_ipv6", {"has_first_ipv6": (1, 1)}),
        ("by_ipv6", {"has_first_ipv6": (0, 1), "has_ipv6": (1, 1)}),
    ],
}
"""Actions for the outermost header of each kind, and keys of the frames that have it there."""


@dataclass(frozen=True)
class ReceivedBits:
    """Bits of a field, or of fields that follow each other, of the outermost header of a kind."""

    header: str
    first: int
    """Bits of :data:`RECEIVED_FIELDS` in front of them."""
    count: int


@dataclass(frozen=True)
class ToldApart:
    """Cells of one flow at one receiver, for each number that the bits of a frame can make, the first bits the highest.

    Frames without the header stay in the cell of the flow.
    """

    row: int
    """Row of the flow in the columns of the plan."""
    stream: int
    """Number of the stream in the trial."""
    rx_port: int
    flow: int
    """Flow number of the frames."""
    first_cell: int
    bits: tuple[ReceivedBits, ...]

    @property
    def rules_count(self) -> int:
        """Entries of the table ``received_fields``."""
        return len(_ACTIONS[self.bits[0].header])

    @property
    def cells(self) -> range:
        """One for each number."""
        return range(self.first_cell, self.first_cell + (1 << sum(it.count for it in self.bits)))

    def rules(self, room_bits: int) -> Iterator[tuple[_Keys, str, Mapping[str, int]]]:
        """Yield keys, action and parameters of the table ``received_fields``, which joins so many bits to a header."""
        (header,) = {it.header for it in self.bits}
        width, place = sum(RECEIVED_FIELDS[header].values()), sum(it.count for it in self.bits)
        params = {"first_cell": self.first_cell, "shift_a": 0, "mask_a": 0, "shift_b": 0, "mask_b": 0}
        for letter, it in zip("ab", self.bits, strict=False):
            place -= it.count
            params[f"shift_{letter}"] = width - it.first - it.count + room_bits - place
            params[f"mask_{letter}"] = ((1 << it.count) - 1) << place
        for action, keys in _ACTIONS[header]:
            yield keys, action, params
