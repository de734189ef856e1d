"""The vectors of the transmission controls: departures in, frames and records out, for every program of the tester.

``p4src/vectors/transmission.json`` holds them so that anything can read them. A vector has transmitters of one stream,
of which each gets a copy of every departure. What becomes of a copy follows from docs/DATAPLANE.md ("Transmitter"): it
is outside of start and stop, has no destination, or is the seed's frame with the station of its place in the list, its
flow, the sequence number of this flow, and what modifiers add. Frames are whole, without FCS; their transmit time and
the check over it are 0 in the file, as they differ from run to run. ``P4MESH_UPDATE_GOLDEN=1`` writes the file anew.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scapy.utils import checksum
from support.frames import behind_service_tag, headers_of, ip_version_of, labelled

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, DestinationOptions, Frame, Mpls, Udp
from p4mesh.layers.extension import extension_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.tester.contract import P4SRC
from p4mesh.tester.frames import seed_payload

FILE = P4SRC / "vectors" / "transmission.json"
SIGNATURE_BYTES = 18
STAMPED = slice(10, 18)
"""Transmit time and check within a signature."""
PORTS = (1, 2, 3)
PLAIN = PLAIN
_SOURCE_MAC = 0x0200_0000_0009
_SOURCE_IPV4, _IPV4 = 0xC612_0002, 0xC613_0100
_SOURCE_IPV6, _IPV6 = 0x2001_0002_0000_0000_0000_0000_0000_0009, 0x2001_0002_0000_0001_0000_0000_0000_0100
_FCS_BYTES, _UDP_BYTES = 4, 8
_UDP = 17
_FAR = 1 << 40
"""The end of a transmitter that does not stop."""
_LOW, _WORD = (1 << 32) - 1, 1 << 32
_ENTRIES = {None: (*range(40, 48), *range(60, 64)), 4: range(70, 74), 6: range(80, 84)}
"""Entries of the destination lists with stations, by the version of their addresses."""


@dataclass(frozen=True)
class Modifier:
    """A field modifier: what it adds to a field at each step."""

    letter: str
    field: str
    count: int = 1 << 32
    step: int | None = None
    values: tuple[int, ...] = ()
    seed: int = 0
    mask: int = 0

    def addend(self, departure: int) -> int:
        """Number that is added at a departure since the start of the transmitter."""
        place = departure % (len(self.values) or self.count)
        if self.values:
            return self.values[place]
        if self.step is not None:
            low = place * self.step % _WORD
            return low - _WORD if low >= _WORD // 2 else low
        return zlib.crc32(self.seed.to_bytes(4, "big") + place.to_bytes(4, "big")) & self.mask

    def entries(self, transmitter: int, first_entry: int) -> list[dict[str, Any]]:
        """The entries that the controller makes of it."""
        table = f"TesterEgress.transmission.modifier_{self.letter}"
        params = {"field_code": FIELDS[self.field], "last_step": (len(self.values) or self.count) - 1}
        if self.values:
            action, params["first_entry"] = "list_of", first_entry
        elif self.step is not None:
            action, params["step_size"] = "progression_of", self.step % _WORD
        else:
            action = "random_of"
            params |= {"seed": self.seed, "mask": self.mask}
        return [
            _entry(f"{table}.modifier", "transmitter", transmitter, f"{table}.{action}", params),
            *(
                _entry(f"{table}.list_value", "entry", first_entry + n, f"{table}.set_value", {"addend": value})
                for n, value in enumerate(self.values)
            ),
        ]


@dataclass(frozen=True)
class Transmitter:
    """A transmitter, as its table entry has it."""

    port: int
    id: int
    flow: int
    positions: int = 1
    first: int = 0
    length: int = 1
    base: int = 40
    skipped: int = 0
    end: int = _FAR
    modifiers: tuple[Modifier, ...] = ()
    is_modified: bool = True
    """False: the entries of the modifiers are there, and the transmitter does not use them."""

    def entries(self, version: int | None) -> list[dict[str, Any]]:
        """Its entry, and those of its modifiers."""
        params = {
            "first": self.first,
            "last": self.positions - 1,
            "length_entries": self.length,
            "base_entry": self.base,
            "flow": self.flow,
            "skipped": self.skipped,
            "end_departure": self.end,
            "modified": sum(1 << "ab".index(one.letter) for one in self.modifiers) if self.is_modified else 0,
            "mac": _SOURCE_MAC,
            **_address(version, _SOURCE_IPV4, _SOURCE_IPV6),
        }
        action = f"TesterEgress.transmission.source_{_NAMES[version]}"
        return [
            _entry("TesterEgress.transmission.transmitter", "transmitter", self.id, action, params),
            *(entry for n, one in enumerate(self.modifiers) for entry in one.entries(self.id, 100 + 50 * n)),
        ]


@dataclass(frozen=True)
class Scenario:
    """Transmitters of a stream, and how often a seed departs."""

    control: str
    transmitters: tuple[Transmitter, ...]
    departures: int
    frame: Frame = PLAIN
    frame_bytes: int = 64


_NAMES = {None: "ethernet", 4: "ipv4", 6: "ipv6"}
FIELDS = {
    name: number
    for number, name in enumerate(
        (
            *("ethernet_dst", "ethernet_src", "outer_vlan", "inner_vlan", "ipv4_dst", "ipv4_src"),
            *("ipv6_dst", "ipv6_src", "udp_dst", "udp_src"),
        ),
        start=1,
    )
}
"""Codes of include/codes.p4."""


def _entry(table: str, key: str, value: int, action: str, params: dict[str, int]) -> dict[str, Any]:
    return {"table": table, "match": {key: value}, "action": action, "params": params}


def _address(version: int | None, ipv4: int, ipv6: int) -> dict[str, int]:
    if version == 6:
        return {"prefix": ipv6 >> 32, "low": ipv6 & _LOW}
    return {"address": ipv4} if version == 4 else {}


def _station(entry: int) -> tuple[int, int, int, int]:
    """MAC, IPv4 and IPv6 address, and receiver tag of an entry of the destination lists."""
    return 0x0200_0000_0100 + entry, _IPV4 + entry, _IPV6 + entry, 1 + entry % 200


def stations() -> list[dict[str, Any]]:
    """The entries of all stations."""
    found = []
    for version, entries in _ENTRIES.items():
        for entry in entries:
            mac, ipv4, ipv6, tag = _station(entry)
            params = {"mac": mac, **_address(version, ipv4, ipv6), "receiver_tag": tag}
            action = f"TesterEgress.transmission.station_{_NAMES[version]}"
            found.append(_entry("TesterEgress.transmission.destination", "entry", entry, action, params))
    return found


def _one(positions: int = 1, length: int = 1, **fields: Any) -> tuple[Transmitter, ...]:
    return (Transmitter(1, 11, 100, positions, length=length, **fields),)


def _unusual(frame: Frame) -> Frame:
    return frame.changed(NetworkLayer, ttl=3, dscp=46).changed(Udp, source=7, destination=0xFFFE)


def _extended(chain: Sequence[str]) -> Frame:
    return UDP_OVER_IPV6.extended([extension_of(kind) for kind in chain])


def _of_format(frame: Frame, frame_bytes: int = 128) -> Scenario:
    base = min(_ENTRIES[ip_version_of(frame)])
    return Scenario("Parser", _one(2, 2, base=base), 2, frame, frame_bytes)


def _modified(*modifiers: Modifier, frame: Frame = PLAIN, departures: int = 4, **fields: Any) -> Scenario:
    base = min(_ENTRIES[ip_version_of(frame)])
    control = "FieldAdders" if len(modifiers) > 1 else "Modifier"
    return Scenario(control, _one(base=base, modifiers=modifiers, **fields), departures, frame, 128)


_V4, _V6 = UDP_OVER_IPV4, UDP_OVER_IPV6
_CHAINS = (
    *(("hop_by_hop",), ("destination",), ("routing",), ("fragment",), ("ah",), ("esp",), ("mobility",)),
    *(("hop_by_hop", "destination", "fragment", "mobility"), ("hop_by_hop", "routing"), ("fragment", "ah")),
    *(("destination", "hop_by_hop", "esp"), ("ah", "esp"), ("routing", "esp"), ("mobility", "fragment", "esp")),
)
_TAGGED = {"one_tag": (7,), "two_tags": (0xABC, 5)}
_LABELS = (Mpls(0xFFFFF, ttl=1), Mpls(16, traffic_class=5))
SCENARIOS: dict[str, Scenario] = {
    "one_destination": Scenario("FlowSequence", _one(), 5),
    "a_list_is_gone_through_in_turns": Scenario("ListPosition", _one(3, 3), 8),
    "a_list_may_begin_in_its_middle": Scenario("ListPosition", _one(4, 8, first=6), 9),
    "each_port_begins_at_another_place": Scenario(
        "ListPosition",
        tuple(Transmitter(port, 20 + port, 100 * port, 4, first=port, length=4, base=60) for port in PORTS),
        6,
    ),
    "sent_from_the_third_departure_on": Scenario("DepartureCount", _one(skipped=2), 5),
    "sent_until_the_third_departure": Scenario("DepartureCount", _one(end=3), 5),
    "start_and_stop_of_one_port_do_not_touch_another": Scenario(
        "DepartureCount",
        (
            Transmitter(1, 11, 100, 2, length=2, skipped=1, end=4),
            Transmitter(2, 12, 200, 2, length=2),
        ),
        6,
    ),
    "nothing_is_sent_between_stop_and_start": Scenario("DepartureCount", _one(skipped=3, end=3), 5),
    "a_place_without_a_station": Scenario("Transmission", _one(3, 4, first=1, base=46), 7),
    **{f"plain_with_{name}": _of_format(PLAIN.tagged(*ids, priority=3)) for name, ids in _TAGGED.items()},
    "ipv4": _of_format(_unusual(UDP_OVER_IPV4)),
    **{f"ipv4_with_{name}": _of_format(UDP_OVER_IPV4.tagged(*ids)) for name, ids in _TAGGED.items()},
    "ipv4_of_an_odd_size": _of_format(_V4, 127),
    "ipv6": _of_format(_unusual(UDP_OVER_IPV6)),
    **{f"ipv6_with_{name}": _of_format(UDP_OVER_IPV6.tagged(*ids)) for name, ids in _TAGGED.items()},
    "ipv6_of_an_odd_size": _of_format(_V6, 127),
    **{
        f"ipv6_with_{'_and_'.join(chain)}": _of_format(
            UDP_OVER_IPV6.extended([extension_of(kind) for kind in chain]), 160
        )
        for chain in _CHAINS
    },
    "ipv4_behind_a_label": _of_format(labelled(_unusual(_V4), _LABELS[0])),
    "ipv4_behind_tags_and_labels": _of_format(labelled(_V4.tagged(7, 8), *_LABELS)),
    "ipv6_behind_two_labels": _of_format(labelled(_unusual(_V6), *_LABELS)),
    "ipv6_with_destination_behind_a_label": _of_format(labelled(_extended(["destination"]), _LABELS[0])),
    "mac_addresses": _modified(Modifier("a", "ethernet_dst", 3, 1), Modifier("b", "ethernet_src", 2, 0x100)),
    "vlan_identifiers": _modified(
        Modifier("a", "outer_vlan", step=0x600),
        Modifier("b", "inner_vlan", step=-3),
        frame=UDP_OVER_IPV4.tagged(0xABC, 5),
    ),
    "ipv4_addresses": _modified(
        Modifier("a", "ipv4_dst", step=0x4000_0000), Modifier("b", "ipv4_src", step=-1), frame=_V4
    ),
    "ipv6_addresses": _modified(
        Modifier("a", "ipv6_dst", step=-0x100), Modifier("b", "ipv6_src", step=0x7FFF_FFFF), frame=_V6
    ),
    "ports_of_ipv4": _modified(
        Modifier("a", "udp_dst", step=0x8001), Modifier("b", "udp_src", step=-20_001), frame=_V4
    ),
    "ports_of_ipv6": _modified(
        Modifier("a", "udp_dst", step=0x8001), Modifier("b", "udp_src", step=-20_001), frame=_V6
    ),
    "ports_behind_an_extension": _modified(
        Modifier("a", "udp_src", step=1), frame=UDP_OVER_IPV6.extended((DestinationOptions(),))
    ),
    "both_modifiers_of_one_field": _modified(
        Modifier("a", "udp_dst", 2, 1), Modifier("b", "udp_dst", 3, 0x100), frame=_V4, departures=7
    ),
    "a_progression_starts_again": _modified(Modifier("a", "ethernet_dst", 3, 5), departures=7),
    "a_list_of_values": _modified(Modifier("b", "ipv4_dst", values=(5, 0, 0xFFFF_FFFF)), frame=_V4, departures=5),
    "two_lists_of_values": _modified(
        Modifier("a", "udp_dst", values=(1, 2)), Modifier("b", "udp_src", values=(9, 8, 7)), frame=_V4, departures=4
    ),
    "random_values": _modified(Modifier("a", "ipv4_src", 3, seed=0x1234, mask=0x00FF_FF00), frame=_V4, departures=5),
    "random_values_of_two_fields": _modified(
        Modifier("a", "udp_dst", seed=1, mask=0xFFFF), Modifier("b", "udp_src", seed=2, mask=0x0FFF), frame=_V6
    ),
    "a_modifier_counts_from_the_start_of_its_port": _modified(
        Modifier("a", "ethernet_dst", step=1), skipped=2, end=5, departures=6
    ),
    "an_entry_that_is_not_used_changes_nothing": _modified(
        Modifier("a", "ethernet_dst", step=1), Modifier("b", "ethernet_src", step=1), is_modified=False, departures=3
    ),
    "transmitters_have_steps_of_their_own": Scenario(
        "Modifier",
        (
            Transmitter(1, 11, 100, modifiers=(Modifier("a", "ethernet_dst", step=1),)),
            Transmitter(2, 12, 200, skipped=1, modifiers=(Modifier("a", "ethernet_dst", step=2),)),
            Transmitter(3, 13, 300),
        ),
        4,
    ),
    "ipv4_behind_a_service_tag_and_a_tag": _of_format(behind_service_tag(UDP_OVER_IPV4.tagged(5))),
}


def made() -> dict[str, Any]:
    """The content that the file must have."""
    vectors = [_vector(1 + number % 255, name, what) for number, (name, what) in enumerate(SCENARIOS.items())]
    return {"stations": stations(), "vectors": vectors}


def _vector(run: int, name: str, what: Scenario) -> dict[str, Any]:
    sequences: Counter[int] = Counter()
    frames: dict[str, list[str]] = {str(one.port): [] for one in what.transmitters}
    reasons: Counter[tuple[int, str]] = Counter()
    inside: dict[str, list[int]] = {str(one.id): [] for one in what.transmitters}
    for departure in range(what.departures):
        for one in what.transmitters:
            if not one.skipped <= departure < one.end:
                reasons[one.port, "outside_start_stop"] += 1
                continue
            inside[str(one.id)].append(departure)
            since = departure - one.skipped
            entry = one.base + (one.first + since % one.positions) % one.length
            if entry not in _ENTRIES[ip_version_of(what.frame)]:
                reasons[one.port, "no_destination"] += 1
                continue
            flow = one.flow + since % one.positions
            reasons[one.port, "transmitted"] += 1
            added = [(m.field, m.addend(since)) for m in one.modifiers] if one.is_modified else []
            signature = b"PM" + bytes([run, _station(entry)[3]]) + flow.to_bytes(2, "big")
            signature += sequences[flow].to_bytes(4, "big")
            frames[str(one.port)].append(_frame(what, entry, added, signature.ljust(SIGNATURE_BYTES, b"\0")).hex())
            sequences[flow] += 1
    return {
        "name": name,
        "control": what.control,
        "run": run,
        "departures": what.departures,
        "seed": seed_payload(what.frame, what.frame_bytes).hex(),
        "headers_bytes": len(headers_of(what.frame, what.frame_bytes)),
        "transmitters": [{"port": one.port, "id": one.id} for one in what.transmitters],
        "entries": [entry for one in what.transmitters for entry in one.entries(ip_version_of(what.frame))],
        "frames": frames,
        "departures_of_times": {key: [found[0], found[-1]] if found else [] for key, found in inside.items()},
        "flow_sequence": {str(flow): count for flow, count in sorted(sequences.items())},
        "reasons": [{"port": p, "reason": r, "frames": n} for (p, r), n in sorted(reasons.items())],
    }


def _frame(what: Scenario, entry: int, added: list[tuple[str, int]], signature: bytes) -> bytes:
    """The frame to the station of an entry, with what modifiers add to fields."""
    version = ip_version_of(what.frame)
    head = bytearray(headers_of(what.frame, what.frame_bytes))
    l3, udp = 14 + 4 * (len(what.frame.vids) + len(what.frame.all_of(Mpls))), len(head) - _UDP_BYTES
    mac, ipv4, ipv6, _ = _station(entry)
    # (first byte, bits) of the whole field; of an IPv6 address, of its low 32 bits.
    places = {"ethernet_dst": (0, 48), "ethernet_src": (6, 48), "outer_vlan": (14, 12), "inner_vlan": (18, 12)}
    places |= {"ipv4_src": (l3 + 12, 32), "ipv4_dst": (l3 + 16, 32)}
    places |= {"ipv6_src": (l3 + 20, 32), "ipv6_dst": (l3 + 36, 32), "udp_src": (udp, 16), "udp_dst": (udp + 2, 16)}
    head[0:12] = mac.to_bytes(6, "big") + _SOURCE_MAC.to_bytes(6, "big")
    if version == 4:
        head[l3 + 12 : l3 + 20] = _SOURCE_IPV4.to_bytes(4, "big") + ipv4.to_bytes(4, "big")
    elif version == 6:
        head[l3 + 8 : l3 + 40] = _SOURCE_IPV6.to_bytes(16, "big") + ipv6.to_bytes(16, "big")
    for field, addend in added:
        first, width = places[field]
        size = (width + 7) // 8
        whole = int.from_bytes(head[first : first + size], "big")
        kept = whole >> width << width
        changed = kept | (whole - kept + addend) % (1 << width)
        head[first : first + size] = changed.to_bytes(size, "big")
    payload = bytes(n & 0xFF for n in range(what.frame_bytes - _FCS_BYTES - len(head) - len(signature)))
    if version == 4:
        head[l3 + 10 : l3 + 12] = b"\0\0"
        head[l3 + 10 : l3 + 12] = checksum(bytes(head[l3 : l3 + 20])).to_bytes(2, "big")
    elif version == 6:
        # A signature with its check adds nothing to the sum.
        head[udp + 6 : udp + 8] = b"\0\0"
        length = bytes(head[udp + 4 : udp + 6])
        covered = bytes(head[l3 + 8 : l3 + 40]) + length + _UDP.to_bytes(2, "big") + bytes(head[udp:]) + payload
        head[udp + 6 : udp + 8] = (checksum(covered) or 0xFFFF).to_bytes(2, "big")
    return bytes(head) + signature + payload


def unstamped(frame: bytes, headers_bytes: int) -> bytes | None:
    """A frame that was sent with its transmit time and its check as 0; None when the check is wrong."""
    signature = frame[headers_bytes : headers_bytes + SIGNATURE_BYTES]
    if checksum(signature) != 0:
        return None
    plain = signature[: STAMPED.start] + bytes(STAMPED.stop - STAMPED.start)
    return frame[:headers_bytes] + plain + frame[headers_bytes + SIGNATURE_BYTES :]


def text(content: dict[str, Any]) -> str:
    """The file: a vector on each line."""
    head = {name: value for name, value in content.items() if name != "vectors"}
    lines: Iterable[str] = (json.dumps(vector) for vector in content["vectors"])
    return json.dumps(head)[:-1] + ', "vectors": [\n' + ",\n".join(lines) + "\n]}\n"
