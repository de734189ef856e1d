"""Lets hosts join their groups, verifies that they receive them (RFC 3918 3), and lets them leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from p4mesh.measurement.counted_groups import group_frames
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.group_service import LONGEST_REPORT_BYTES, GroupService
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct
from p4mesh.traffic.memberships import Memberships
from p4mesh.traffic.patterns import Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult

_ATTEMPTS = 3
_LOAD_PCT = 1


class Joining(Part):
    """The members of the groups of one trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._service = GroupService(trial.tester.packets, trial.tester.wait)

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.memberships is not None

    @property
    def _memberships(self) -> Memberships:
        assert self.trial.spec.memberships is not None
        return self.trial.spec.memberships

    def prepare(self) -> str:
        self._service.join(self._memberships, self.trial.spec.number)
        silent = self._unverified() if self._memberships.verify else ""
        return f"joins not verified: {silent}" if silent else ""

    def started(self, sending: Sending) -> None:
        self._service.change_after(sending.lead_ns)

    def close(self) -> None:
        self._service.leave()

    def lateness_ns(self) -> int:
        """The answer of a host may be in front of test frames of its port."""
        return self.trial.wire_ns(LONGEST_REPORT_BYTES, self.trial.plan.ports)

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        sent = flows.expected & (flows.sent > 0)
        return replace(result, silent_flows=int((flows.unique[sent] == 0).sum()))

    def _unverified(self) -> str:
        """Send one frame to each group; return which member got none after the last attempt, or an empty text."""
        tester = self.trial.tester
        streams = tuple(_priming(self.trial.spec.streams, tester.target.own_rate_bps_of))
        if not streams:
            return ""
        duration_ns = max(
            int(stream.frame_count * NS_PER_S / stream.rate_fps) + stream.start_offset_ns[-1] for stream in streams
        )
        plan = tester.plan(streams)
        members = {
            (port, str(group))
            for part in self._memberships.at_start()
            for group in part.groups
            for port in part.receivers
        }
        silent: list[tuple[int, str]] = []
        for attempt in range(_ATTEMPTS):
            if attempt:
                tester.wait(self._memberships.join_wait_ns)
            reading = self.trial.send(plan, duration_ns)
            silent = [place for place in _silent(plan, reading, streams) if place in members]
            if not silent:
                return ""
        port, group = silent[0]
        return (
            f"port {port} does not receive group {group}, which it has joined; "
            f"{len(silent)} of {len(members)} memberships are silent"
        )


def _silent(plan: Plan, reading: Reading, streams: Sequence[Stream]) -> Iterator[tuple[int, str]]:
    """Yield (port, group) where a port has received nothing that it is to receive.

    Frames of a stream to one group need not be told apart: they are of its first.
    """
    only = [stream.pattern.first_group for stream in streams]
    received = reading.records["frames"]
    for flow in plan.flows:
        if flow.expected and not received[flow.cell]:
            yield flow.rx_port, flow.part or only[flow.stream]
    for counted in group_frames(plan, reading):
        for place, group in np.argwhere(counted.expected & (counted.received == 0)).tolist():
            yield counted.ports[place], counted.groups.destinations[group].part or only[counted.groups.stream]


def _priming(streams: tuple[Stream, ...], rate_bps_of: dict[int, int]) -> Iterator[Stream]:
    """Yield the multicast streams with one frame to each group from every source, at a load that any device carries.

    Several sources send one after the other, so that their frames do not meet.
    """
    for stream in streams:
        if not isinstance(stream.pattern, Multicast):
            continue
        rate_bps = min(rate_bps_of[port] for port in stream.tx_ports)
        rate: Fraction = min(stream.rate_fps, rate_at_pct(_LOAD_PCT, stream.frame_size_bytes, rate_bps))
        count = stream.pattern.places(stream, 0).positions
        turn_ns = round(count * NS_PER_S / rate)
        starts = tuple(place * turn_ns for place in range(len(stream.tx_ports)))
        yield replace(stream, rate_fps=rate, frame_count=count, burst=None, start_offset_ns=starts)
