"""The vectors of the measurement controls: frames in, records out, for every program of the tester.

``p4src/vectors/measurement.json`` holds them so that anything can read them. The frames are made here, the expected
records by :mod:`support.measurement_oracle`, and ``P4MESH_UPDATE_GOLDEN=1`` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from support.frames import FORMATS, headers_of, labelled
from support.measurement_oracle import (
    ALL_HOSTS,
    FOREIGN,
    HISTOGRAM_FIRST_CELL,
    HISTOGRAM_PORT,
    MANY,
    MESSAGES,
    PAUSE,
    TIME,
    UNKNOWN,
    Arrival,
    Newest,
    Outcome,
    Places,
    Window,
    outcome_of,
    station,
)

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6, Frame, Mpls
from p4mesh.layers.extension import extension_of
from p4mesh.tester.contract import P4SRC

FILE = P4SRC / "vectors" / "measurement.json"
PORTS = (1, 2, 3, 4)
WINDOWS: dict[str, Callable[[], Window]] = {
    "2 places": lambda: Places(2),
    "4 places": lambda: Places(4),
    "8 places": lambda: Places(8),
    "newest 64": lambda: Newest(64),
}
"""Of Tofino 2, of it with IPDV, of Tofino 1, of v1model: a vector whose outcome depends on it says for which it is."""
_SECOND = 1_000_000_000
_STEP = 2_000
"""Ticks between two frames that arrive one after the other."""


def _flow(*frames: tuple[int, int], port: int = 1, flow: int = 100) -> list[Arrival]:
    """Frames of (sequence, latency), one after the other."""
    return [
        Arrival(port, place * _STEP, flow=flow, sequence=sequence, latency=latency)
        for place, (sequence, latency) in enumerate(frames)
    ]


def _in_order(latencies: Iterable[int]) -> list[Arrival]:
    return _flow(*enumerate(latencies))


def _of_sequences(*sequences: int) -> list[Arrival]:
    return _flow(*((sequence, 1000 + 7 * place) for place, sequence in enumerate(sequences)))


_FORMAT_BYTES = 160
_CHAINS = (
    *((), ("hop_by_hop",), ("destination",), ("routing",), ("fragment",), ("ah",), ("esp",), ("mobility",)),
    *(("hop_by_hop", "destination", "fragment", "mobility"), ("hop_by_hop", "routing"), ("fragment", "ah")),
    *(("destination", "hop_by_hop", "esp"), ("ah", "esp"), ("routing", "esp"), ("mobility", "fragment", "esp")),
)
_TAGS: tuple[tuple[int, ...], ...] = ((), (7,), (7, 0xABC))
_LABELS = (Mpls(16, ttl=1), Mpls(0xFFFFF, traffic_class=7), Mpls(3))


def _of_format(place: int, headers: bytes, **fields: Any) -> Arrival:
    return Arrival(1, place * _STEP, sequence=place, headers=headers, size_bytes=_FORMAT_BYTES, **fields)


def _formats() -> list[Arrival]:
    """A frame of each format that the tester sends, one after the other."""
    frames = [
        *(FORMATS[version].tagged(*tags) for version in (None, 4, 6) for tags in _TAGS),
        *(
            UDP_OVER_IPV6.tagged(*tags).extended([extension_of(kind) for kind in chain])
            for chain in _CHAINS[1:]
            for tags in _TAGS[:2]
        ),
        *(
            labelled(FORMATS[version].tagged(*tags), *_LABELS[:count])
            for version in (4, 6)
            for tags in _TAGS
            for count in (1, 2)
        ),
    ]
    heads = [headers_of(frame, _FORMAT_BYTES) for frame in frames]
    provider = bytearray(heads[1])
    provider[12:14] = _PROVIDER_TAG
    return [_of_format(place, head) for place, head in enumerate([*heads, bytes(provider)])]


def _other_formats() -> list[Arrival]:
    """Frames in which nothing is looked for behind a header that is not understood."""
    return _changed_formats((4, 21, 1), (4, 23, 6), (6, 20, 6))


def _further_formats() -> list[Arrival]:
    """Frames with headers that the program for Tofino does not understand, and that for v1model does."""
    deep = (UDP_OVER_IPV4.tagged(3, 1, 2), labelled(UDP_OVER_IPV6, *_LABELS))
    return _changed_formats((4, 14, 0x46), (4, 12, 0x09), deep=deep)


def _changed_formats(*places: tuple[int, int, int], deep: Iterable[Frame] = ()) -> list[Arrival]:
    heads_of = {version: bytearray(headers_of(FORMATS[version], _FORMAT_BYTES)) for version in (4, 6)}
    changes = [(heads_of[version], place, value) for version, place, value in places]
    heads = []
    for head, place, value in changes:
        changed = bytearray(head)
        changed[place] = value
        heads.append(bytes(changed))
    heads += [headers_of(frame, _FORMAT_BYTES) for frame in deep]
    return [_of_format(place, head, is_recognized=False) for place, head in enumerate(heads)]


_PROVIDER_TAG = b"\x88\xa8"
_QUARTER = 1 << 30


def _eight_from(sequence: int) -> list[int]:
    """Frames for all places of a window: tags are sequence numbers modulo 2^24, and none comes twice there."""
    first = sequence + (sequence >> 12) % 0x10_0000
    return list(range(first, first + 8))


_ALL_QUARTERS = [
    sequence
    for quarter in range(4)
    for sequence in (
        *((quarter * _QUARTER + near) % (1 << 32) for near in ((0, 1) if not quarter else (-2, -1, 0, 1))),
        *_eight_from(quarter * _QUARTER + _QUARTER // 2),
    )
] + [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1]
_TO_THE_HALF = [0, *_eight_from(0x2000_0000), *_eight_from(0x5000_0000)]
_TO_THE_WRAP = [*_TO_THE_HALF, *_eight_from(0x8000_0000), *_eight_from(0xB000_0000), *_eight_from(0xE000_0000)]
_BINS = [0, 1, 62, 63, *(value for octave in range(6, 32) for value in (1 << octave, (3 << octave) // 2 + 1))]


def _messages(*frames: tuple[int, int, int], source: int = 0) -> list[Arrival]:
    """Frames of (message, position from 0, latency), one after the other."""
    first = MESSAGES[source].first_flow
    return [
        Arrival(1, place * _STEP, flow=first + position, sequence=message, latency=latency)
        for place, (message, position, latency) in enumerate(frames)
    ]


def _whole(*messages: int, latency: int = 1000) -> list[tuple[int, int, int]]:
    return [(number, place, latency + 37 * (number % 8) + 5 * place) for number in messages for place in range(4)]


_OF_EVERY_REASON: list[tuple[int, dict[str, Any]]] = [
    (1, {}),
    (1, {"destination": station(2)}),
    (2, {"destination": station(2), "tag": 3}),
    (2, {"run": 0}),
    (3, {"is_damaged": True}),
    (3, {"is_damaged": True, "run": 0}),
    (4, {"ether_type": FOREIGN}),
    (4, {"ether_type": PAUSE}),
    (1, {"destination": UNKNOWN}),
    (1, {"destination": station(2), "run": 0}),
]

NOT_OF_V1MODEL = "frames_of_further_formats"
"""Vector that v1model does not follow: it finds these signatures."""
SCENARIOS: dict[str, tuple[str, list[Arrival]]] = {
    "frames_in_order": ("FlowMeasurement", _of_sequences(0, 1, 2, 3, 4)),
    "gaps_are_no_reordering": ("FlowMeasurement", _of_sequences(0, 1, 5, 6, 9)),
    "late_frames_are_reordered": ("FlowMeasurement", _of_sequences(0, 3, 1, 2, 4)),
    "a_flow_that_begins_with_a_gap": ("FlowMeasurement", _of_sequences(2, 3, 0)),
    "copies_are_duplicates": ("FlowMeasurement", _of_sequences(0, 0, 1, 1, 1, 2, 3, 3)),
    "copies_behind_later_frames": ("FlowMeasurement", _of_sequences(0, 1, 2, 3, 1, 4, 5, 6, 7, 2, 8, 9, 0, 10)),
    "copies_at_the_edge_of_a_large_window": (
        "FlowMeasurement",
        _of_sequences(*range(70), 6, 5, 68, *range(80, 90), 72, 72, 26, 25, 200, 137, 136, 136, 137),
    ),
    "sequence_numbers_over_the_whole_range": ("FlowMeasurement", _of_sequences(*_ALL_QUARTERS)),
    "late_frames_around_the_wrap": (
        "FlowMeasurement",
        _of_sequences(*_TO_THE_WRAP, 0xFFFF_FFFE, 1, 0xFFFF_FFFF, 0, 2),
    ),
    "late_frames_around_the_half": (
        "FlowMeasurement",
        _of_sequences(*_TO_THE_HALF, 0x7FFF_FFFE, 0x8000_0001, 0x7FFF_FFFF, 0x8000_0000),
    ),
    "latency_and_jitter": ("FlowMeasurement", _in_order((900, 400, 950, 100, 800, 120, 120, 777, 300))),
    "equal_latencies_have_jitter_0": ("FlowMeasurement", _in_order((500, 500, 500))),
    "one_frame_has_no_jitter": ("FlowMeasurement", _in_order((500,))),
    "variation_of_late_and_duplicate_frames": (
        "FlowMeasurement",
        _flow((0, 900), (1, 400), (2, 950), (4, 100), (3, 800), (5, 120), (5, 120), (6, 777), (7, 300)),
    ),
    "sums_beyond_32_bits": (
        "FlowMeasurement",
        _in_order((4_200_000_000, 10_000_000, 4_100_000_000, 3_000_000_000, 20_000_000, 30_000_000)),
    ),
    "latency_beyond_32_bits_saturates": ("FlowMeasurement", _in_order((1000, 1 << 32, (1 << 40) + 5, (1 << 32) - 1))),
    "negative_latency_is_beyond_32_bits": ("FlowMeasurement", _in_order((1000, TIME - 1))),
    "bins_of_all_octaves": ("Histograms", _in_order(_BINS)),
    "the_largest_latency_has_the_last_bin": ("Histograms", _in_order((0xFFFF_FFFF, 1 << 33))),
    "flows_apart": (
        "FlowMeasurement",
        [
            Arrival(1 + place % 3, place * _STEP, flow=100 + place % 3, sequence=place // 3, latency=100 + 13 * place)
            for place in range(12)
        ],
    ),
    "frames_to_many_have_cells_of_their_port": (
        "Reception",
        [
            Arrival(port, place * _STEP, flow=120, sequence=place // 2, destination=ALL_HOSTS)
            for place, port in enumerate((1, 2) * 3)
        ],
    ),
    "every_reason": (
        "Classification",
        [Arrival(port, place * _STEP, **fields) for place, (port, fields) in enumerate(_OF_EVERY_REASON)],
    ),
    "the_shortest_distance_of_starts": (
        "ArrivalSpacing",
        [
            Arrival(port, at, ether_type=FOREIGN)
            for port, at in ((3, 0), (4, 500), (3, 40_000), (3, 50_000), (3, 80_000), (4, 90_500))
        ],
    ),
    "frames_of_all_kinds_have_distances": (
        "ArrivalSpacing",
        [Arrival(3, 0), Arrival(3, 7_000, ether_type=PAUSE), Arrival(3, 12_500, run=0), Arrival(3, 30_000, sequence=1)],
    ),
    "one_frame_has_no_distance": ("ArrivalSpacing", [Arrival(3, 0)]),
    "whole_messages": ("Messages", _messages(*_whole(0, 1, 2))),
    "a_frame_of_a_message_is_lost": ("Messages", _messages(*_whole(0), *_whole(1)[:2], *_whole(2))),
    "the_last_message_is_not_whole": ("Messages", _messages(*_whole(0, 1)[:7])),
    "whole_messages_are_lost": ("Messages", _messages(*_whole(2, 3, 7))),
    "messages_of_one_frame": ("Messages", _messages((0, 0, 900), (1, 0, 400), (4, 0, 700), (5, 0, 100), source=1)),
    "frames_of_a_message_change_places": (
        "Messages",
        # Departures are in order, 100 ticks apart.
        _messages(
            *(
                (number, position, 10_000 + _STEP * place - 100 * position)
                for number, order in enumerate(((2, 0, 3, 1), (3, 2, 1, 0)))
                for place, position in enumerate(order)
            )
        ),
    ),
    "a_frame_of_a_message_that_is_over": (
        "Messages",
        _messages(*_whole(0)[:3], *_whole(1)[:2], _whole(0)[3], *_whole(1)[2:], *_whole(2)),
    ),
    "copies_complete_no_message": (
        "Messages",
        _messages(*_whole(0)[:3], *_whole(0)[1:3], *_whole(1), *_whole(1)[3:], *_whole(2)),
    ),
    "sums_of_messages_beyond_32_bits": ("Messages", _messages(*_whole(0, 1, 2, latency=3_500_000_000))),
    "numbers_of_messages_wrap": ("Messages", _messages(*_whole(0x7000_0000, 0xE000_0000, 0xFFFF_FFFF, 0))),
    "messages_of_sources_between_each_other": (
        "Messages",
        [
            Arrival(1, place * _STEP, flow=flow, sequence=message, latency=1000 + 11 * place)
            for place, (flow, message) in enumerate(
                (flow, message) for message in (0, 1, 3) for flow in (220, 200, 221, 210, 201, 222, 202, 203)
            )
        ],
    ),
    "frames_of_all_formats": ("Parser", _formats()),
    "frames_of_other_formats": ("Parser", _other_formats()),
    NOT_OF_V1MODEL: ("Parser", _further_formats()),
}


def made() -> dict[str, Any]:
    """The content that the file must have."""
    vectors = []
    for number, (name, (control, frames)) in enumerate(SCENARIOS.items(), start=1):
        moved = [_later(frame, number * _SECOND) for frame in frames]
        outcomes = {window: _expected(moved, number, make) for window, make in WINDOWS.items()}
        one, *others = outcomes
        differ = any(outcomes[other] != outcomes[one] for other in others)
        for window in outcomes if differ else [one]:
            vectors.append(
                {
                    "name": f"{name}_window_{window.replace(' ', '_')}" if differ else name,
                    "control": control,
                    "window": window if differ else None,
                    "run": number,
                    "frames": [
                        {"port": frame.port, "arrival_ticks": frame.at, "hex": frame.bytes(number).hex()}
                        for frame in moved
                    ],
                    **outcomes[window],
                }
            )
    return {
        "receivers": [
            *(
                {"port": port, "destination_mac": station(port), "flow_offset": 0, "receiver_tag": port}
                for port in PORTS
            ),
            *(
                {"port": port, "destination_mac": mac, "flow_offset": offset, "receiver_tag": 0}
                for mac, offset in MANY.items()
                for port in PORTS
            ),
        ],
        "histogram": {"port": HISTOGRAM_PORT, "first_cell": HISTOGRAM_FIRST_CELL},
        "messages": [
            {"source": source.number, "first_flow": source.first_flow, "frames": source.frames} for source in MESSAGES
        ],
        "vectors": vectors,
    }


def _later(frame: Arrival, ticks: int) -> Arrival:
    return Arrival(**{**frame.__dict__, "at": frame.at + ticks})


def _expected(frames: list[Arrival], run: int, window: Callable[[], Window]) -> dict[str, Any]:
    found = outcome_of(frames, run, window)
    return {
        "records": {str(cell): flow.record() for cell, flow in sorted(found.flows.items())},
        "spacing_min_inverted": {str(port): found.spacing(port) for port in PORTS if found.spacing(port)},
        "reasons": [
            {"port": port, "reason": reason, "frames": count} for (port, reason), count in sorted(found.reasons.items())
        ],
        **_of_messages(found),
        "latency_histogram": {str(cell): count for cell, count in sorted(found.bins.items())},
        **{
            f"ipdv_{half}": {str(place): count for place, count in sorted(bins.items())}
            for half, bins in found.ipdv_bins.items()
            if bins
        },
    }


def _of_messages(found: Outcome) -> dict[str, Any]:
    records = {str(cells.source.number): cells.record() for cells in found.messages if cells.came}
    return {"messages": records} if records else {}


def message_record(record: Any) -> dict[str, int]:
    """A record of a source as vectors have it: times where messages are complete, the smallest as it is."""
    found = {name: int(record[name]) for name in ("newest", "arrived", "complete", "damaged")}
    for name in ("fifo", "lilo", "filo") if found["complete"] else ():
        found[f"{name}_min"] = (1 << 64) - 1 - int(record[f"{name}_min_inverted"])
        found |= {f"{name}_{which}": int(record[f"{name}_{which}"]) for which in ("max", "sum")}
    return found


def text(content: dict[str, Any]) -> str:
    """The file: one line per vector part, so that a change is seen."""
    return json.dumps(content, indent=1) + "\n"
