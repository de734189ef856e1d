"""The vectors of the controls that pace seeds: requests in, departures out, for every program of the tester.

``p4src/vectors/pacing.json`` holds them so that anything can read them. The steps of a vector are packet-outs and
waits. Slot *j* of a stream begins *j* times its interval after its start (docs/DATAPLANE.md, "A seed and its frames").
A seed departs on its first pass from then on, so a frame is late by a round of the loop at most, and by a tick for each
doubling of the number of seeds, as they round fractions. ``P4MESH_UPDATE_GOLDEN=1`` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from p4mesh.layers import PLAIN
from p4mesh.tester.contract import P4SRC
from p4mesh.tester.frames import seed_payload

FILE = P4SRC / "vectors" / "pacing.json"
GROUP = 20
"""Multicast group of stream 0; those of the others follow."""
STATION = 50
"""Entry of the destination lists of stream 0; those of the others follow."""
_Q32 = 1 << 32
_HALF = 1 << 31
_ENDLESS = _Q32 - 1
_FAR = 1 << 40
_SEED = seed_payload(PLAIN, 64).hex()
_LEAD_TICKS = 2_000
Step = dict[str, Any]
"""``wait_ticks``, or the ``kind`` of a packet-out with its other fields and its ``payload``."""


@dataclass(frozen=True)
class PacedStream:
    """A stream, as its table entry has it, and its seeds: (fraction, carry) of each."""

    interval: int
    count: int
    fraction: int = 0
    offset: int = 0
    last_slot: int = 0
    burst: int = 1
    end: int = _FAR
    """Departure at which its transmitter stops."""
    seeds: tuple[tuple[int, int], ...] = ((0, 0),)

    def params(self, group: int) -> dict[str, int]:
        """Parameters of its entry."""
        return {
            "interval_ticks": self.interval,
            "interval_fraction_q32": self.fraction,
            "departure_count": self.count,
            "start_offset_ticks": self.offset,
            "last_slot": self.last_slot,
            "burst_slots": self.burst,
            "multicast_group": group,
            "queue": 0,
        }

    def departures(self) -> list[list[int]]:
        """Times at which its frames are due behind the common start: whole ticks, and parts of 2^-32."""
        found: list[list[int]] = []
        slot = 0
        while slot < self.count and len(found) < self.end:
            if slot % (self.last_slot + 1) < self.burst:
                ticks, part = divmod(slot * (self.interval * _Q32 + self.fraction), _Q32)
                found.append([self.offset + ticks, part])
            slot += 1
        return found


@dataclass(frozen=True)
class Pace:
    """A scenario; without ``steps`` the seeds of all streams come in, and all streams start together."""

    control: str
    streams: tuple[PacedStream, ...] = ()
    near: int = 0
    """Ticks of the clock that the start is shortly before; 0 for any time."""
    round_ticks: int = 0
    """Round of the loop; 0 for any one that is shorter than 150 ticks."""
    steps: tuple[Step, ...] | None = None
    reasons: dict[str, int] = field(default_factory=dict)
    """Frames of the loop and of the controller that end, besides starting frames that are done."""
    sent: tuple[tuple[int, str], ...] = ()
    """Frames of the controller: (port, bytes)."""


def _seed(stream: int, value: int = 0, window: int = 0) -> Step:
    return {"kind": "SEED", "stream": stream, "value": value, "window": window, "payload": _SEED}


def _start(count: int, value: int = _LEAD_TICKS) -> Step:
    return {"kind": "START", "value": value, "count": count}


_FRAME = bytes(range(60)).hex()
_EVEN = PacedStream(1_000, 5)
_BOUNDARIES = {"a_quarter": 1 << 30, "half": 1 << 31, "three_quarters": 3 << 30, "the_end": 1 << 32}
SCENARIOS: dict[str, Pace] = {
    "departures_at_even_distances": Pace("DepartureClock", (_EVEN,)),
    "one_departure": Pace("DepartureClock", (PacedStream(1_000, 1),)),
    "fractions_of_ticks_add_up": Pace("DepartureClock", (PacedStream(130, 131, fraction=9 * _Q32 // 10),)),
    "seeds_share_the_fractions": Pace(
        "DepartureClock",
        (PacedStream(200, 40, _HALF, seeds=((0, 1), (_HALF, 0))),),
    ),
    "bursts_and_their_gaps": Pace("SlotCounter", (PacedStream(200, 23, last_slot=9, burst=3),)),
    "silent_slots_of_a_slow_stream": Pace("SlotCounter", (PacedStream(300, 11, last_slot=4),)),
    "silent_slots_keep_fractions": Pace("SlotCounter", (PacedStream(130, 131, 9 * _Q32 // 10, last_slot=9),)),
    "streams_with_offsets": Pace(
        "Streams", (_EVEN, PacedStream(500, 6, offset=1_700), PacedStream(1_500, 3, 1 << 30, offset=40))
    ),
    "a_stream_without_an_end_is_stopped_by_its_transmitter": Pace(
        "Streams", (PacedStream(500, _ENDLESS, end=5), PacedStream(2_000, 3))
    ),
    "a_second_start_takes_the_place_of_the_first": Pace(
        "Streams",
        (PacedStream(500, 4),),
        steps=(_start(1, 1 << 29), {"wait_ticks": 1_000}, _seed(0), {"wait_ticks": 2_000}, _start(1)),
    ),
    "a_seed_without_a_stream_ends": Pace(
        "Pacing", (_EVEN,), steps=(_seed(0), _seed(9), _start(1)), reasons={"unknown_stream": 1}
    ),
    "a_start_ends_at_a_stream_without_an_entry": Pace(
        "Pacing", (_EVEN,), steps=(_seed(0), _start(3)), reasons={"unknown_stream": 1, "request_done": -1}
    ),
    "the_longest_slots": Pace("DepartureClock", (PacedStream(1 << 30, 4),), round_ticks=1 << 27),
    **{
        f"departures_across_{name}_of_the_clock": Pace("DepartureClock", (PacedStream(700, 8),), near=ticks)
        for name, ticks in _BOUNDARIES.items()
    },
    "frames_of_the_controller_leave_as_they_are": Pace(
        "Requests",
        steps=tuple({"kind": "SEND", "port": port, "payload": _FRAME} for port in (1, 3)),
        sent=((1, _FRAME), (3, _FRAME)),
    ),
    "requests_that_ask_for_nothing": Pace(
        "Requests",
        steps=({"kind": "START", "count": 0}, {"kind": "READ", "count": 0}, {"kind": "NONE"}),
        reasons={"bad_request": 3},
    ),
}


def made() -> dict[str, Any]:
    """The content that the file must have."""
    vectors = [_vector(name, pace) for name, pace in SCENARIOS.items()]
    return {"group": GROUP, "station": STATION, "vectors": sorted(vectors, key=lambda vector: vector["near_ticks"])}


def _vector(name: str, pace: Pace) -> dict[str, Any]:
    seeds = [_seed(n, *seed) for n, stream in enumerate(pace.streams) for seed in stream.seeds]
    steps = pace.steps if pace.steps is not None else (*seeds, _start(len(pace.streams)))
    reasons = {"request_done": sum(step.get("kind") == "START" and step["count"] > 0 for step in steps)}
    for reason, count in pace.reasons.items():
        reasons[reason] = reasons.get(reason, 0) + count
    departures = [stream.departures() for stream in pace.streams]
    return {
        "name": name,
        "control": pace.control,
        "near_ticks": pace.near,
        "round_ticks": pace.round_ticks,
        "streams": [stream.params(GROUP + n) for n, stream in enumerate(pace.streams)],
        "end_departures": [stream.end for stream in pace.streams],
        "seeds": max([1, *(len(stream.seeds) for stream in pace.streams)]),
        "steps": list(steps),
        "lasts_ticks": _LEAD_TICKS + max([0, *(whole for found in departures for whole, _ in found)]),
        "departures": departures,
        "reasons": {reason: count for reason, count in reasons.items() if count},
        "sent": [{"port": port, "hex": frame} for port, frame in pace.sent],
    }


def differences_of_times(vector: dict[str, Any], found: list[list[int]], round_ticks: int) -> list[str]:
    """Places where times of frames, by stream, are further from a vector than a round; their start is not known."""
    wrong = []
    late = round_ticks + 2 + vector["seeds"].bit_length()
    starts = [times[0] - due[0][0] for times, due in zip(found, vector["departures"], strict=True) if times and due]
    for stream, (times, due) in enumerate(zip(found, vector["departures"], strict=True)):
        if len(times) != len(due):
            wrong.append(f"stream {stream}: {len(times)} frames, not {len(due)}")
            continue
        for place, (time, (whole, part)) in enumerate(zip(times, due, strict=True)):
            error = time - min(starts) - whole - part / _Q32
            if abs(error) > late:
                wrong.append(f"stream {stream}, frame {place}: {error:g} ticks off")
    return wrong


def text(content: dict[str, Any]) -> str:
    """The file: a vector on each line."""
    head = {name: value for name, value in content.items() if name != "vectors"}
    lines: Iterable[str] = (json.dumps(vector) for vector in content["vectors"])
    return json.dumps(head)[:-1] + ', "vectors": [\n' + ",\n".join(lines) + "\n]}\n"
