"""Checks that the counts of a trial add up, and that its tester has sent what it was to send (methodology 0.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import Counts
from p4mesh.measurement.departures import READ_ERROR_TICKS, spans
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.quantities import number_text
from p4mesh.target.base import MacCounts, Pauses
from p4mesh.tester.dataplane import PORT_REASONS
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES, STOPPING_COUNTS
from p4mesh.traffic.line_rate import NS_PER_S

_RATE_TOLERANCE = 1e-4
"""Relative difference of intended and offered load that makes a trial INVALID (methodology 0.1)."""
_WORD_BYTES = 4


@dataclass(frozen=True)
class Doubt:
    """Why the counts of a trial cannot be trusted."""

    reason: str
    undelivered: bool
    """The tester did not send all frames, or not at their rate: it says nothing about the device."""


def doubt(
    plan: Plan,
    reading: Reading,
    flows: FlowArrays,
    counts: Counts,
    *,
    pauses: Pauses,
    tick_ps: int,
    lateness_ns: int,
) -> Doubt | None:
    """First reason for doubt; None where the counts can be trusted.

    ``lateness_ns`` is how late a departure may be; it bounds the accuracy of the offered load that a short trial shows.
    """
    records = reading.records
    if lost := _lost_inside(reading):
        return Doubt(lost, undelivered=True)
    if missing := _missing(plan, records):
        return Doubt(missing, undelivered=True)
    if contradiction := _contradiction(plan, reading, flows, counts) or _of_messages(plan, reading):
        return Doubt(contradiction, undelivered=False)
    mismatch = _load_mismatch(plan, records, tick_ps, lateness_ns) or _late_loss(plan, pauses, counts)
    return Doubt(mismatch, undelivered=True) if mismatch else None


def _lost_inside(reading: Reading) -> str:
    """Names the losses on the way to the ports of the tester, or is an empty text."""
    losses = reading.losses
    if losses.drops:
        dropped = ", ".join(f"{frames} by {name}" for name, frames in sorted(losses.drops.items()))
        return f"frames were dropped inside the tester: {dropped}"
    if losses.seeds_ended != losses.seeds_injected:
        return (
            f"{losses.seeds_ended} seeds came back to the loop when the streams ended, {losses.seeds_injected} were "
            "injected: a stream without all of its seeds is slow"
        )
    return ""


def _missing(plan: Plan, records: Array) -> str:
    """Names a port that did not send all of its frames, or is an empty text."""
    for stream in plan.streams:
        for transmitter in stream.transmitters:
            cells = slice(transmitter.flow_base, transmitter.flow_base + transmitter.positions)
            sent = int(records["flow_sequence"][cells].sum())
            if sent != transmitter.frames:
                return f"tester under-delivered: port {transmitter.port} sent {sent:,} of {transmitter.frames:,} frames"
    return ""


def _contradiction(plan: Plan, reading: Reading, flows: FlowArrays, counts: Counts) -> str:
    """Names two counts that contradict each other, or is an empty text (methodology 0.6)."""
    records = reading.records
    if counts.tx_frames != counts.intended_frames:
        return f"transmit counters show {counts.tx_frames:,} frames, the flows {counts.intended_frames:,}"
    counted = reading.received("expected")
    measured = int((flows.unique + flows.duplicates).sum())
    if counted != measured:
        return f"receive counters show {counted:,} expected frames, the flows {measured:,}"
    if counts.impossible_averages:
        return (
            f"{counts.impossible_averages:,} averages of latency are shorter than the average way of a departure "
            "through the sending kernel: its stamps are not of these frames"
        )
    if (flows.unique[flows.expected] > flows.sent[flows.expected]).any():
        return "a flow has received more frames than were sent"
    for name in STOPPING_COUNTS:
        if records.dtype[name].itemsize == _WORD_BYTES and (records[name][flows.cells] == ALL_ONES).any():
            return f"a flow has {ALL_ONES:,} or more frames counted in {name}"
    for port, mac in reading.macs.items():
        wanted = sum(t.frames for s in plan.streams if s.stream.bad_fcs for t in s.transmitters if t.port == port)
        if mac.bad_fcs_sent != wanted:
            return f"port {port} sent {mac.bad_fcs_sent:,} frames with a bad FCS instead of {wanted:,}"
        if reason := _not_counted(port, mac, reading.of_ports[port]):
            return reason
    for reason in ("unknown_flow", "no_destination", "unknown_transmitter"):
        if reading.received(reason):
            return f"{reading.received(reason):,} frames were dropped by the tester: {reason}"
    return ""


def _not_counted(port: int, mac: MacCounts, counted: Mapping[str, int]) -> str:
    """Names frames that the MAC of a port has received and the program has not counted, or is an empty text.

    Frames that come between the two readings are in the program's count alone.
    """
    if mac.buffer_full:
        return f"port {port} dropped {mac.buffer_full:,} frames in front of the program ($FramesDroppedBufferFull)"
    seen = sum(counted[reason] for reason in PORT_REASONS if reason != "pause")
    if mac.good_received is not None and mac.good_received > seen:
        return (
            f"port {port} received {mac.good_received:,} good frames by its MAC ($FramesReceivedOK without PAUSE), "
            f"of which {seen:,} came to the program"
        )
    return ""


def _of_messages(plan: Plan, reading: Reading) -> str:
    """Names a contradiction in the counts of messages, or times that have wrapped, or is an empty text.

    Every message up to the newest one is complete or has been counted as damaged, but for the newest one itself. A
    message takes less than half of the range of a time to leave: 16,384 frames of 9,216 bytes take 1.2 s at 1 Gbit/s.
    """
    if reading.messages is None:
        return ""
    longest_ticks = (1 << reading.message_time_bits - 1) - 1
    for source in plan.messages:
        latency_ticks = int(reading.records["latency_max"][source.first_flow : source.last_flow + 1].max())
        if latency_ticks > longest_ticks:
            return (
                f"messages from port {source.tx_port} to port {source.rx_port} have a frame with a latency of "
                f"{number_text(latency_ticks)} ticks: the program has their times up to {number_text(longest_ticks)}"
            )
        record = reading.messages[source.number]
        newest, arrived = int(record["newest"]), int(record["arrived"])
        complete, damaged = int(record["complete"]), int(record["damaged"])
        if complete + damaged != newest + (arrived == source.frames):
            return (
                f"messages from port {source.tx_port} to port {source.rx_port} do not add up: {complete} complete, "
                f"{damaged} damaged, {newest} before the newest one"
            )
    return ""


def _load_mismatch(plan: Plan, records: Array, tick_ps: int, lateness_ns: int) -> str:
    for transmitter, wanted, span in spans(plan, records):
        # Oload / Iload is wanted / span, so what the rule allows is a share of the span.
        allowed = max(_RATE_TOLERANCE * span, (lateness_ns * 1000 + transmitter.contention_ps) / tick_ps)
        tolerance = allowed + READ_ERROR_TICKS
        if abs(span - wanted) > tolerance:
            offered = 100 * wanted / span if span else 0.0
            return (
                f"oload_mismatch: offered load is {offered:.4f} % of the intended load on port {transmitter.port} "
                f"(tolerance {100 * tolerance / wanted:.4f} %)"
            )
    return ""


def _late_loss(plan: Plan, pauses: Pauses, counts: Counts) -> str:
    """Says that losses may be the tester's, or is an empty text.

    What is due while the tester has no processor leaves at once afterwards, closer together than the load asks for. A
    device may lose as many frames by that as left late; more than these it has lost by itself.
    """
    lost, expected = counts.lost_frames, counts.expected_rx_frames
    if lost <= 0 or not pauses.late_ns:
        return ""
    frames = sum(transmitter.frames for stream in plan.streams for transmitter in stream.transmitters)
    rate_fps = sum(stream.stream.rate_fps * len(stream.transmitters) for stream in plan.streams)
    late = min(frames, int(rate_fps * pauses.late_ns / NS_PER_S) + 1)
    # Shares and not counts: a lost frame to many is missing at each of its receivers.
    if lost * frames > late * expected:
        return ""
    return (
        f"late departures: the tester stood still for up to {pauses.longest_ns / 1e6:,.1f} ms; about {late:,} frames "
        f"left late and too close together, which may be why {lost:,} were lost"
    )
