"""Faults that a person wants to look at: the first faulty frames, and the names of lost ones.

Nobody can capture a lost frame. Its number is known from the frames that did come: one behind a gap says which numbers
were missing then, and the largest number that came says which ones behind it never did. A number in a gap may still
come, late; late frames are captured, too. So each range says whether every frame in it is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from p4mesh.measurement.departures import departures
from p4mesh.tester.fault_capture import FAULTS, GAP, LATE, CapturedPacket
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan

_SEQUENCES = 1 << 32
_STAMP_BITS = 48
_UNSIGNED = ("damaged", "foreign")
"""Reasons of frames without a signature that can be trusted."""


@dataclass(frozen=True)
class FaultyFrame:
    """A captured frame."""

    reason: str
    """One of ``damaged``, ``stale``, ``misdirected``, ``flooded``, ``foreign``."""
    port: int
    """Tester port that it came to."""
    at_ns: float
    """Time from the first departure of the trial to the arrival of the first bit; negative before it."""
    sequence: int | None
    """Number that its signature has; None without a good signature."""
    flow: str
    """Flow of this trial that its signature names; empty where there is none."""
    frame: bytes
    """Bytes as they came, without FCS."""


@dataclass(frozen=True)
class LostFrames:
    """Lost frames of a flow whose numbers follow each other. Numbers begin with 0 in each trial, modulo 2^32."""

    stream: str
    tx_port: int
    rx_port: int
    part: str
    first_sequence: int
    frames: int
    late_frames: int
    """Frames of the ranges of this flow that may have come late, at most; 0: each frame of the range is lost."""

    @property
    def last_sequence(self) -> int:
        """Number of the last frame of the range."""
        return (self.first_sequence + self.frames - 1) % _SEQUENCES


@dataclass(frozen=True)
class Faults:
    """Faulty frames of a trial, and the names of lost ones."""

    frames: tuple[FaultyFrame, ...]
    lost: tuple[LostFrames, ...]
    lost_frames: int
    """All lost frames of flows with registers, named or not."""

    @property
    def named_frames(self) -> int:
        """Frames in ranges of which every frame is lost."""
        return sum(lost.frames for lost in self.lost if not lost.late_frames)


def faults_of(
    plan: Plan, records: np.ndarray[Any, Any], packets: Sequence[CapturedPacket], tick_ps: int, most: int
) -> Faults:
    """Faults of a trial from its last records and the frames that were captured; at most ``most`` tails of flows."""
    origin, _ = departures(plan, records)
    names = _flow_names(plan)
    frames = tuple(
        FaultyFrame(
            packet.kind,
            packet.port,
            _signed(packet.ticks - origin) * tick_ps / 1000,
            None if packet.kind in _UNSIGNED else packet.sequence,
            "" if packet.kind in (*_UNSIGNED, "stale") else names.get(packet.cell, ""),
            packet.frame,
        )
        for packet in packets
        if packet.kind in FAULTS
    )
    flows = [flow for flow in plan.flows if flow.expected]
    cells = [flow.cell for flow in flows]
    sent = records["flow_sequence"][[flow.sequence_cell for flow in flows]].astype(np.int64)
    lost = sent - records["frames"][cells].astype(np.int64)
    ranges = tuple(_ranges(plan, [flows[row] for row in np.flatnonzero(lost > 0)], records, packets, most))
    return Faults(frames, ranges, int(lost[lost > 0].sum()))


def _ranges(
    plan: Plan, flows: Iterable[Flow], records: np.ndarray[Any, Any], packets: Sequence[CapturedPacket], most: int
) -> Iterable[LostFrames]:
    gaps: dict[int, list[CapturedPacket]] = {}
    late: dict[int, set[int]] = {}
    for packet in packets:
        if packet.kind == GAP:
            gaps.setdefault(packet.cell, []).append(packet)
        elif packet.kind == LATE:
            late.setdefault(packet.cell, set()).add(packet.sequence)
    stream_names, tails = plan.names, 0
    for flow in flows:
        name = (stream_names[flow.stream], flow.tx_port, flow.rx_port, flow.part)
        came = late.get(flow.cell, set())
        # Late frames that were not captured: each may be one of a range.
        unknown = max(0, int(records["reordered"][flow.cell]) - len(came))
        for gap in gaps.get(flow.cell, ()):
            for first, frames in _without(gap.expected_sequence, gap.sequence, came):
                yield LostFrames(*name, first, frames, unknown)
        next_sequence = int(records["next_sequence"][flow.cell])
        tail = (int(records["flow_sequence"][flow.sequence_cell]) - next_sequence) % _SEQUENCES
        if tail and tails < most:
            tails += 1
            yield LostFrames(*name, next_sequence, tail, 0)


def _without(first: int, end: int, came: set[int]) -> Iterable[tuple[int, int]]:
    """Yield the ranges from ``first`` to before ``end`` that are left without some numbers: first number, frames."""
    length = (end - first) % _SEQUENCES
    start = 0
    for at in sorted(place for number in came if (place := (number - first) % _SEQUENCES) < length):
        if at > start:
            yield (first + start) % _SEQUENCES, at - start
        start = at + 1
    if start < length:
        yield (first + start) % _SEQUENCES, length - start


def _flow_names(plan: Plan) -> dict[int, str]:
    """Names of flows by the numbers in the signatures of their frames."""
    receivers = Counter(flow.sequence_cell for flow in plan.flows if flow.expected)
    names = {}
    for flow in plan.flows:
        to = str(flow.rx_port) if receivers[flow.sequence_cell] == 1 else "many"
        part = f" {flow.part}" if flow.part else ""
        names[flow.sequence_cell] = f"{plan.names[flow.stream]} {flow.tx_port}->{to}{part}"
    return names


def _signed(ticks: int) -> int:
    """Difference of two time stamps, which wrap, as a signed number."""
    half = 1 << (_STAMP_BITS - 1)
    return (ticks + half) % (1 << _STAMP_BITS) - half
