"""The frames that the pipes of a chip have to pass, refused before traffic where they are too many.

A pipe passes about one frame per clock, whatever the rates of its ports: 16 ports of 100 Gbit/s are twice that
with frames of 64 bytes. Ingress sees what the ports of the pipe receive, egress what they send, and both see every
pass of the loops, which are in pipe 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from p4mesh.errors import UnsupportedError
from p4mesh.quantities import number_text
from p4mesh.target.capabilities import Pipes
from p4mesh.tester.pacing import LoopUse
from p4mesh.tester.plan import Plan
from p4mesh.traffic.line_rate import NS_PER_S, PS_PER_S, max_rate_fps
from p4mesh.traffic.stream import Stream

_LOOP_PIPE = 0
_ROUNDING = 1 + 1e-9


def require_pipe_rates(
    plan: Plan, pipes: Pipes, uses: Sequence[LoopUse], rate_bps_of: Mapping[int, int], target: str
) -> None:
    """Raise UnsupportedError when a pipe would have to pass more frames per second than it can.

    ``uses`` are those of the streams of the plan. Streams count while they send, each with its mean rate, or with its
    rate within a burst: bursts of several streams or ports may meet. A port sends and receives at most its line rate.
    Whether the device under test forwards at all is not known: the frames that it is expected to deliver count.
    """
    in_bursts = any(stream.stream.burst_frames > 1 for stream in plan.streams)
    when, less = (" while bursts are sent", "no bursts") if in_bursts else ("", "a lower load")
    passes = sum(stream.seeds * PS_PER_S / float(use.round_ps) for stream, use in zip(plan.streams, uses, strict=True))
    for gress, of_pipes in _frames_per_s(plan, pipes, rate_bps_of).items():
        for pipe, frames_per_s in sorted(of_pipes.items()):
            needed = frames_per_s + (passes if pipe == _LOOP_PIPE else 0.0)
            if needed > pipes.frames_per_s * _ROUNDING:
                raise UnsupportedError(
                    f"not supported on {target}: {gress} of pipe {pipe} would have to pass {number_text(needed)} "
                    f"frames/s{when}, it passes {number_text(pipes.frames_per_s)}",
                    hint=f"use longer frames, {less} or ports of other pipes (tester.tofino.pipe_frames_per_s)",
                )


def _frames_per_s(plan: Plan, pipes: Pipes, rate_bps_of: Mapping[int, int]) -> dict[str, dict[int, float]]:
    """Largest frame rate of each gress and pipe at any time, without the passes of the loop."""
    ports = {port: place for place, port in enumerate(plan.ports)}
    senders = [(stream, transmitter) for stream in plan.streams for transmitter in stream.transmitters]
    rows = {(transmitter.stream, transmitter.port): row for row, (_, transmitter) in enumerate(senders)}
    sent = np.zeros((len(senders), len(ports)))
    received = np.zeros_like(sent)
    begins, ends = np.zeros(len(senders)), np.zeros(len(senders))
    shortest_sent, shortest_received = dict.fromkeys(plan.ports, 0), dict.fromkeys(plan.ports, 0)
    for row, (planned, transmitter) in enumerate(senders):
        stream = planned.stream
        sent[row, ports[transmitter.port]] = _rate_fps(stream, rate_bps_of[transmitter.port])
        size = shortest_sent[transmitter.port]
        shortest_sent[transmitter.port] = min(size or stream.frame_size_bytes, stream.frame_size_bytes)
        offsets = stream.start_offset_ns or (0,) * len(stream.tx_ports)
        begins[row] = float(offsets[stream.tx_ports.index(transmitter.port)])
        ends[row] = begins[row] + float((stream.frame_count - 1) * NS_PER_S / stream.rate_fps)
    for flow in plan.flows:
        if flow.expected:
            row = rows[flow.stream, flow.tx_port]
            planned, transmitter = senders[row]
            received[row, ports[flow.rx_port]] += sent[row, ports[flow.tx_port]] / transmitter.positions
            size = planned.stream.frame_size_bytes
            shortest_received[flow.rx_port] = min(shortest_received[flow.rx_port] or size, size)
    sent_lines, received_lines = (
        np.array([float(max_rate_fps(sizes[port] or 64, rate_bps_of[port])) for port in plan.ports])
        for sizes in (shortest_sent, shortest_received)
    )
    found: dict[str, dict[int, float]] = {"ingress": {}, "egress": {}}
    # The load of a pipe rises only where a stream begins, so that its largest value is at one of these moments.
    for begin in np.unique(begins):
        active = (begins <= begin) & ((begins == begin) | (begin < ends))
        for gress, rates in (
            ("ingress", np.minimum(active @ received, received_lines)),
            ("egress", np.minimum(active @ sent, sent_lines)),
        ):
            for pipe, rate in _of_pipes(rates, plan, pipes).items():
                found[gress][pipe] = max(found[gress].get(pipe, 0.0), rate)
    return found


def _rate_fps(stream: Stream, rate_bps: int) -> float:
    """Rate of a port while it sends: within a burst nothing but the line limits it."""
    return float(stream.rate_fps if stream.burst_frames == 1 else max_rate_fps(stream.frame_size_bytes, rate_bps))


def _of_pipes(rates: np.ndarray[Any, Any], plan: Plan, pipes: Pipes) -> dict[int, float]:
    sums = dict.fromkeys({*pipes.of_port.values(), _LOOP_PIPE}, 0.0)
    for port, rate in zip(plan.ports, rates, strict=True):
        sums[pipes.of_port[port]] += float(rate)
    return sums
