"""The vectors of the transmission controls: departures in, frames and records out, for every program of the tester.

``p4src/vectors/transmission.json`` holds them so that anything can read them. A vector has transmitters of one stream,
of which each gets a copy of every departure. What becomes of a copy follows from docs/DATAPLANE.md ("Transmitter"): it
is outside of start and stop, has no destination, or is a frame with the station of its place in the list, its flow and
the sequence number of this flow. ``P4MESH_UPDATE_GOLDEN=1`` writes the file anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from p4mesh.tester.contract import P4SRC

FILE = P4SRC / "vectors" / "transmission.json"
STATIONS = {entry: (0x0200_0000_0100 + entry, 1 + entry % 200) for entry in (*range(40, 48), *range(60, 64))}
"""Address and receiver tag by entry of the destination lists; there is none at the others."""
SOURCE_MAC = 0x0200_0000_0009
PORTS = (1, 2, 3)
_FAR = 1 << 40
"""The end of a transmitter that does not stop."""


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

    def params(self) -> dict[str, int]:
        """Parameters of its action."""
        return {
            "first": self.first,
            "last": self.positions - 1,
            "length_entries": self.length,
            "base_entry": self.base,
            "flow": self.flow,
            "skipped": self.skipped,
            "end_departure": self.end,
            "modified": 0,
            "mac": SOURCE_MAC,
        }


_PAIR = Transmitter(1, 11, 100)
SCENARIOS: dict[str, tuple[str, list[Transmitter], int]] = {
    "one_destination": ("FlowSequence", [_PAIR], 5),
    "a_list_is_gone_through_in_turns": ("ListPosition", [Transmitter(1, 11, 100, 3, length=3)], 8),
    "a_list_may_begin_in_its_middle": ("ListPosition", [Transmitter(1, 11, 100, 4, first=6, length=8)], 9),
    "each_port_begins_at_another_place": (
        "ListPosition",
        [Transmitter(port, 20 + port, 100 * port, 4, first=port, length=4, base=60) for port in PORTS],
        6,
    ),
    "sent_from_the_third_departure_on": ("DepartureCount", [Transmitter(1, 11, 100, skipped=2)], 5),
    "sent_until_the_third_departure": ("DepartureCount", [Transmitter(1, 11, 100, end=3)], 5),
    "start_and_stop_of_one_port_do_not_touch_another": (
        "DepartureCount",
        [Transmitter(1, 11, 100, 2, length=2, skipped=1, end=4), Transmitter(2, 12, 200, 2, length=2)],
        6,
    ),
    "nothing_is_sent_between_stop_and_start": ("DepartureCount", [Transmitter(1, 11, 100, skipped=3, end=3)], 5),
    "a_place_without_a_station": ("Transmission", [Transmitter(1, 11, 100, 3, first=1, length=4, base=46)], 7),
}


def made() -> dict[str, Any]:
    """Return what the file must hold."""
    return {
        "source_mac": SOURCE_MAC,
        "destinations": [{"entry": e, "mac": mac, "receiver_tag": tag} for e, (mac, tag) in STATIONS.items()],
        "vectors": [_vector(number, name, *what) for number, (name, what) in enumerate(SCENARIOS.items(), start=1)],
    }


def _vector(run: int, name: str, control: str, transmitters: list[Transmitter], departures: int) -> dict[str, Any]:
    sequences: Counter[int] = Counter()
    frames: dict[str, list[dict[str, int]]] = {str(one.port): [] for one in transmitters}
    reasons: Counter[tuple[int, str]] = Counter()
    inside: dict[str, list[int]] = {str(one.id): [] for one in transmitters}
    for departure in range(departures):
        for one in transmitters:
            if not one.skipped <= departure < one.end:
                reasons[one.port, "outside_start_stop"] += 1
                continue
            inside[str(one.id)].append(departure)
            position = (departure - one.skipped) % one.positions
            station = STATIONS.get(one.base + (one.first + position) % one.length)
            if station is None:
                reasons[one.port, "no_destination"] += 1
                continue
            flow = one.flow + position
            reasons[one.port, "transmitted"] += 1
            frames[str(one.port)].append(
                {"destination_mac": station[0], "receiver_tag": station[1], "flow": flow, "sequence": sequences[flow]}
            )
            sequences[flow] += 1
    return {
        "name": name,
        "control": control,
        "run": run,
        "departures": departures,
        "transmitters": [{"port": one.port, "id": one.id, **one.params()} for one in transmitters],
        "frames": frames,
        "departures_of_times": {key: [found[0], found[-1]] if found else [] for key, found in inside.items()},
        "flow_sequence": {str(flow): count for flow, count in sorted(sequences.items())},
        "reasons": [{"port": p, "reason": r, "frames": n} for (p, r), n in sorted(reasons.items())],
    }


def text(content: dict[str, Any]) -> str:
    """Return the file: a vector on each line."""
    head = {name: value for name, value in content.items() if name != "vectors"}
    lines: Iterable[str] = (json.dumps(vector) for vector in content["vectors"])
    return json.dumps(head)[:-1] + ', "vectors": [\n' + ",\n".join(lines) + "\n]}\n"
