"""States that a parser of a Tofino takes for a frame: one clock each, which must not be more than its time on the wire.

The states are those that the compiler makes of both parsers for Tofino 2 with IPDV (``p4mesh.bfa``; the longest paths
are in its ``parser.characterize.log``): three in front of the first header, one for a header, two for IPv6, and one for
the signature; in egress four in front and none for it. Egress of the other program for Tofino 2 takes one less, the
ingress parser for Tofino 1 no more: both are reckoned alike. Egress of Tofino 1 takes one more for extension headers of
16 bytes or more, and one where it has parsed less than 65 bytes, which it reads at least. The rule of the compiler is
used: a parser serves 100 Gbit/s, and a frame occupies its bytes, 8 of preamble and 1 of gap, because a device may send
with the shortest gap there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.errors import UnsupportedError
from p4mesh.layers import Encapsulation, ExtensionHeader, Frame, IPv6, Vlan
from p4mesh.layers.extension import UNIT_BYTES
from p4mesh.target.capabilities import Pipes
from p4mesh.tester.plan import Plan
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.stream import Stream

_STATES_WITHOUT_HEADERS = 4
_TAGS_THAT_NEED_NO_PADDING = 2
_PREAMBLE_AND_GAP_BYTES = 9
_BITS = 8


def parser_states(frame: Frame) -> int:
    """States from the start to the signature, at most.

    Extension headers have one for each 8 bytes; a single one, which an encapsulation may follow, the last 16 in one.
    """
    units = sum(header.header_bytes for header in frame.extensions) // UNIT_BYTES
    in_a_chain = sum(not isinstance(header, Encapsulation) for header in frame.extensions) > 1
    states = _STATES_WITHOUT_HEADERS + (units if in_a_chain or units < 2 else units - 1)
    for layer in frame.layers:
        if not isinstance(layer, ExtensionHeader):
            states += 2 if isinstance(layer, IPv6) else 1
    return states


def egress_parser_states(frame: Frame, pipes: Pipes) -> int:
    """The same of the parser that a frame leaves by."""
    states = parser_states(frame)
    if pipes.pads_in_egress:
        states += sum(header.header_bytes for header in frame.extensions) >= 2 * UNIT_BYTES
        states += frame.network is None and len(frame.all_of(Vlan)) < _TAGS_THAT_NEED_NO_PADDING
    return states


def shortest_frame_bytes(states: int, clock_hz: int, rate_bps: int) -> int:
    """Shortest frame, FCS included, that a parser takes at so many bits per second."""
    bytes_per_clock = Fraction(rate_bps, _BITS * clock_hz)
    return -int(-states * bytes_per_clock // 1) - _PREAMBLE_AND_GAP_BYTES


def require_parser_time(plan: Plan, pipes: Pipes, rate_bps_of: Mapping[int, int], target: str) -> None:
    """Raise UnsupportedError where headers take longer to parse than the frames of a port take on its line.

    Below the line rate the parser has the time between frames, too; in a burst it has not. Frames that the device is
    expected to deliver count, at most as many as the line carries.
    """
    fastest = min(max(rate_bps_of[port] for port in plan.ports), pipes.parser_bps)
    most = {planned.stream.name: egress_parser_states(planned.stream.frame, pipes) for planned in plan.streams}
    if all(
        shortest_frame_bytes(most[planned.stream.name], pipes.frames_per_s, fastest) <= planned.stream.frame_size_bytes
        for planned in plan.streams
    ):
        return
    for does, loads in (("sends", _sent(plan, pipes, rate_bps_of)), ("receives", _received(plan, rate_bps_of))):
        for port, of_streams in sorted(loads.items()):
            rate_bps = min(rate_bps_of[port], pipes.parser_bps)
            bytes_per_clock = rate_bps / (_BITS * pipes.frames_per_s)
            busy = sum(load.line_share * load.states * bytes_per_clock / load.line_bytes for load in of_streams)
            busy /= max(1.0, sum(load.line_share for load in of_streams))
            if busy > 1:
                worst = max(of_streams, key=lambda load: load.states / load.line_bytes)
                shortest = shortest_frame_bytes(worst.states, pipes.frames_per_s, rate_bps)
                raise UnsupportedError(
                    f"not supported on {target}: port {port} {does} frames of stream '{worst.stream.name}' with "
                    f"{worst.stream.frame_size_bytes} bytes, whose headers take {worst.states} states of the parser; "
                    f"it has time for {100 / busy:.1f} % of them",
                    hint=f"use frames of {shortest} bytes or more at line rate, a lower load or fewer headers",
                )


@dataclass(frozen=True)
class _Load:
    """Frames of a stream on a port."""

    stream: Stream
    states: int
    """States of the parser on the way of its frames."""
    line_share: float
    """Share of the time of the line."""

    @property
    def line_bytes(self) -> int:
        return self.stream.frame_size_bytes + _PREAMBLE_AND_GAP_BYTES


def _sent(plan: Plan, pipes: Pipes, rate_bps_of: Mapping[int, int]) -> dict[int, list[_Load]]:
    found = defaultdict(list)
    for planned in plan.streams:
        for transmitter in planned.transmitters:
            port, stream = transmitter.port, planned.stream
            line_fps = float(max_rate_fps(stream.frame_size_bytes, rate_bps_of[port]))
            share = 1.0 if stream.burst_frames > 1 else float(stream.rate_fps) / line_fps
            found[port].append(_Load(stream, egress_parser_states(stream.frame, pipes), share))
    return found


def _received(plan: Plan, rate_bps_of: Mapping[int, int]) -> dict[int, list[_Load]]:
    senders = {(t.stream, t.port): (planned.stream, t) for planned in plan.streams for t in planned.transmitters}
    shares: dict[tuple[int, str], float] = defaultdict(float)
    for flow in plan.flows:
        if flow.expected:
            stream, transmitter = senders[flow.stream, flow.tx_port]
            line_fps = float(max_rate_fps(stream.frame_size_bytes, rate_bps_of[flow.rx_port]))
            sent_fps = line_fps if stream.burst_frames > 1 else float(stream.rate_fps)
            shares[flow.rx_port, stream.name] += sent_fps / transmitter.positions / line_fps
    streams = {planned.stream.name: planned.stream for planned in plan.streams}
    found = defaultdict(list)
    for (port, name), share in shares.items():
        found[port].append(_Load(streams[name], parser_states(streams[name].frame), share))
    return found
