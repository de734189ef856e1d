"""Verifies that hosts have joined their groups: shortened streams of the trial reach every member (RFC 3918 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from p4mesh.measurement.counted_groups import group_frames
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct
from p4mesh.traffic.patterns import Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec

_ATTEMPTS = 3
_LOAD_PCT = 1

Transmit = Callable[[Plan, TrialSpec], Reading]
"""Lets the streams of a plan run as a trial says, to their end."""


def verify_joins(tester: Tester, spec: TrialSpec, transmit: Transmit) -> str:
    """Send one frame to each group; return which member got none after the last attempt, or an empty text."""
    if spec.memberships is None or not spec.memberships.verify:
        return ""
    streams = tuple(_priming(spec.streams, tester.target.own_rate_bps_of))
    if not streams:
        return ""
    duration_ns = max(
        int(stream.frame_count * NS_PER_S / stream.rate_fps) + max((0, *stream.start_offset_ns)) for stream in streams
    )
    short = spec.only_sending(streams, duration_ns)
    plan = tester.plan(streams)
    members = {
        (port, str(group)) for part in spec.memberships.at_start() for group in part.groups for port in part.receivers
    }
    silent: list[tuple[int, str]] = []
    for attempt in range(_ATTEMPTS):
        if attempt:
            tester.wait(spec.memberships.join_wait_ns)
        silent = [place for place in _silent(plan, transmit(plan, short), _only_group(streams)) if place in members]
        if not silent:
            return ""
    port, group = silent[0]
    return (
        f"port {port} does not receive group {group}, which it has joined; "
        f"{len(silent)} of {len(members)} memberships are silent"
    )


def _silent(plan: Plan, reading: Reading, only_group: str) -> Iterator[tuple[int, str]]:
    """Yield (port, group) where a port has received nothing that it is to receive."""
    received = reading.records["frames"]
    for flow in plan.flows:
        if flow.expected and not received[flow.cell]:
            yield flow.rx_port, flow.part or only_group
    for counted in group_frames(plan, reading):
        for place, group in np.argwhere(counted.expected & (counted.received == 0)).tolist():
            yield counted.ports[place], counted.groups.destinations[group].part or only_group


def _only_group(streams: tuple[Stream, ...]) -> str:
    """Return the group of streams whose frames need not be told apart."""
    return streams[0].pattern.first_group


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
        starts = tuple(place * turn_ns for place in range(len(stream.tx_ports))) if len(stream.tx_ports) > 1 else ()
        yield replace(stream, rate_fps=rate, frame_count=count, burst=None, start_offset_ns=starts)
