"""Checks before a run that a tester can send its streams, and refuses those that it cannot send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import LoopOverloadError, UnsupportedError
from p4mesh.quantities import number_text
from p4mesh.target.capabilities import Architecture, Capabilities
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import HOLD_TICKS
from p4mesh.tester.halves import PASSES_PER_CELL
from p4mesh.tester.histogram import FlowName, HistogramPer
from p4mesh.tester.histogram_plan import with_finer_bins, with_histograms, with_interarrival
from p4mesh.tester.message_sources import with_messages
from p4mesh.tester.pacing import (
    LOWER_LOADS,
    LoopUse,
    finer_counts,
    loop_use,
    mean_rate_fps,
    shared_loops,
    slot_rate_fps,
)
from p4mesh.tester.parser_time import require_parser_time
from p4mesh.tester.pipe_load import require_pipe_rates
from p4mesh.tester.plan import Plan, limits_of, make_plan
from p4mesh.tester.received_fields import ReceivedBits
from p4mesh.tester.replication import require_replication
from p4mesh.tester.stream_checks import require_frame_sizes, require_line_rates, require_stamps
from p4mesh.tester.told_apart import with_told_apart
from p4mesh.topology import Topology
from p4mesh.traffic.derived import with_start_skew
from p4mesh.traffic.line_rate import NS_PER_S, PS_PER_S
from p4mesh.traffic.stream import Stream

_AMPLE_BPS = 10**18
"""Rate of a loop that no streams fill."""


class Planner:
    """Plans streams for a program on a target that declares its capabilities on a topology."""

    def __init__(
        self, contract: Contract, capabilities: Capabilities, topology: Topology, start_skew_ns_of: Mapping[int, int]
    ) -> None:
        self._contract = contract
        self._capabilities = capabilities
        self._ports = topology.tester_ports
        self._rates = {port.number: port.own_rate_bps for port in self._ports}
        self._limits = limits_of(contract, capabilities, topology.switch_of)
        self._start_skew_ns_of = start_skew_ns_of

    def plan(
        self,
        streams: Sequence[Stream],
        per: HistogramPer | None = None,
        chosen: Sequence[FlowName] = (),
        departure_error_ns: int | None = None,
        interarrival: HistogramPer | None = None,
        told_apart: Mapping[str, Sequence[ReceivedBits]] | None = None,
    ) -> Plan:
        """Plans streams, with histograms per class, stream, receive port or flow, and those of times between frames.

        With ``departure_error_ns``, streams have as many seeds as that takes, or as there is room for. Frames of the
        streams that ``told_apart`` names are counted by bits that they come with, too. Raises
        ParameterError for streams that contradict themselves or the ports, UnsupportedError where the program has no
        room for them.
        """
        require_frame_sizes(streams, self._capabilities.largest_frame_bytes, self._capabilities.target)
        require_line_rates(streams, self._ports)
        require_stamps(streams, self._capabilities.stamps.tick_ps)
        skewed = [with_start_skew(stream, self._start_skew_ns_of) for stream in streams]
        # Skews of the ports are the target's: nobody has asked for them.
        try:
            plan = replace(make_plan(skewed, self._limits, self._rates), asked=tuple(streams))
        except LoopOverloadError as overload:
            raise self._with_causes(overload, skewed) from None
        plan = self._with_loop_uses(plan)
        self._require_pipe_rates(plan)
        if departure_error_ns is not None:
            plan = self._finer(plan, departure_error_ns)
        self._require_start(plan)
        plan = with_interarrival(with_histograms(plan, per, chosen, self._limits), interarrival, self._limits)
        plan = with_finer_bins(plan, self._limits)
        return with_told_apart(with_messages(plan, self._limits), told_apart or {}, self._limits)

    def _with_causes(self, overload: LoopOverloadError, streams: Sequence[Stream]) -> LoopOverloadError:
        """The refusal of a loop that names bursts where they are its cause, and what else refuses the streams."""
        capabilities, message, hint = self._capabilities, overload.message, overload.hint
        ample = replace(capabilities.loop, rate_bps=_AMPLE_BPS, passes_per_s=None, headroom=Fraction(0))
        planned = make_plan(streams, replace(self._limits, loop=ample, other_loops=()), self._rates)
        tick_ps = capabilities.stamps.tick_ps
        means = [(mean_rate_fps(one.clock, tick_ps), one.stream.frame_size_bytes) for one in planned.streams]
        if any(one.stream.burst_frames > 1 for one in planned.streams) and self._fit_the_loops(means):
            message += ", as bursts take a pass for each frame at line rate, and in the time between them, too"
            hint = hint.replace(LOWER_LOADS, "use no bursts or slower ports")
        if capabilities.pipes is not None:
            # One pass for each slot, the fewest.
            passes_per_s = [slot_rate_fps(one.clock, tick_ps) for one in planned.streams]
            uses = [
                LoopUse(one.seeds * PS_PER_S / rate, Fraction(0), Fraction(0))
                for one, rate in zip(planned.streams, passes_per_s, strict=True)
            ]
            try:
                require_pipe_rates(planned, capabilities.pipes, uses, self._rates, capabilities.target)
            except UnsupportedError as beyond:
                message += f"; and {beyond.message.partition(': ')[2]}"
        return LoopOverloadError(message, hint=hint)

    def _fit_the_loops(self, slots: Sequence[tuple[Fraction, int]]) -> bool:
        capabilities = self._capabilities
        try:
            shared_loops(slots, (capabilities.loop, *capabilities.other_loops), capabilities.target)
        except LoopOverloadError:
            return False
        return True

    def _require_pipe_rates(self, plan: Plan) -> None:
        capabilities = self._capabilities
        if capabilities.pipes is not None:
            require_pipe_rates(plan, capabilities.pipes, plan.loop_uses, self._rates, capabilities.target)
            require_parser_time(plan, capabilities.pipes, self._rates, capabilities.target)
            loops = (capabilities.loop, *capabilities.other_loops)
            require_replication(plan, capabilities.pipes, loops, capabilities.stamps.tick_ps, capabilities.target)

    def _require_start(self, plan: Plan) -> None:
        held_ns = HOLD_TICKS * self._capabilities.stamps.tick_ps // 1000
        start_ns = plan.start_ns(len(plan.streams))
        if start_ns > held_ns:
            raise LoopOverloadError(
                f"not supported on {self._capabilities.target}: {len(plan.streams)} streams take "
                f"{number_text(start_ns / NS_PER_S)} s to start, as a round of the loop takes "
                f"{number_text(plan.round_ns / NS_PER_S)} s; they can be held for {number_text(held_ns / NS_PER_S)} s",
                hint="use fewer streams or a faster loop (tester.loop.latency_ns; on a Tofino "
                "tester.tofino.loop_latency_ns)",
            )

    def _finer(self, plan: Plan, departure_error_ns: int) -> Plan:
        """Adds seeds for smaller departure errors, unless a pipe cannot execute the passes of so many."""
        capabilities = self._capabilities
        seeds = {stream.index: stream.seeds for stream in plan.streams}
        for number, loop in enumerate((capabilities.loop, *capabilities.other_loops)):
            members = [stream for stream in plan.streams if stream.loop == number]
            counts = [stream.seeds for stream in members]
            sizes = [stream.stream.frame_size_bytes for stream in members]
            more = finer_counts(counts, sizes, loop, capabilities.stamps.tick_ps, 1000 * departure_error_ns)
            seeds.update({stream.index: count for stream, count in zip(members, more, strict=True)})
        streams = tuple(replace(stream, seeds=seeds[stream.index]) for stream in plan.streams)
        finer = self._with_loop_uses(replace(plan, streams=streams))
        try:
            self._require_pipe_rates(finer)
        except UnsupportedError:
            return plan
        return finer

    def _with_loop_uses(self, plan: Plan) -> Plan:
        capabilities = self._capabilities
        uses: dict[int, LoopUse] = {}
        for number, loop in enumerate((capabilities.loop, *capabilities.other_loops)):
            members = [stream for stream in plan.streams if stream.loop == number]
            sizes = [stream.stream.frame_size_bytes for stream in members]
            found = loop_use([stream.seeds for stream in members], sizes, loop, capabilities.stamps.tick_ps)
            uses.update({stream.index: use for stream, use in zip(members, found, strict=True)})
        return replace(plan, loop_uses=tuple(uses[stream.index] for stream in plan.streams))

    def reading_ns(self, plan: Plan, cells: Sequence[range]) -> int:
        """Time to read cells of a plan while its streams run, the ranges at the same time."""
        passes = 1 if self._capabilities.architecture is Architecture.V1MODEL else PASSES_PER_CELL
        return passes * max(map(len, cells), default=0) * plan.round_ns

    def reading_share(self, cells: Sequence[range], every_ns: int) -> float:
        """Part of the recirculation port that readings of cells take, one in ``every_ns``: 0 to 1."""
        record_bytes = sum(width for _, width in self._contract.record_fields)
        passes = 1 if self._capabilities.architecture is Architecture.V1MODEL else PASSES_PER_CELL
        busy_ps = passes * sum(map(len, cells)) * self._capabilities.loop.pass_ps(record_bytes)
        return float(busy_ps / (1000 * every_ns))
