"""Checks before a run that a tester can send its streams, and refuses those that it cannot send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from p4mesh.errors import UnsupportedError
from p4mesh.target.capabilities import Architecture, Capabilities
from p4mesh.tester.contract import Contract
from p4mesh.tester.halves import PASSES_PER_CELL
from p4mesh.tester.histogram import FlowName, HistogramPer
from p4mesh.tester.histogram_plan import with_histograms, with_interarrival
from p4mesh.tester.message_sources import with_messages
from p4mesh.tester.pacing import LoopUse, finer_counts, loop_use
from p4mesh.tester.parser_time import require_parser_time
from p4mesh.tester.pipe_load import require_pipe_rates
from p4mesh.tester.plan import Plan, limits_of, make_plan
from p4mesh.tester.replication import require_replication
from p4mesh.tester.stream_checks import require_frame_sizes, require_line_rates, require_stamps
from p4mesh.topology import Topology
from p4mesh.traffic.derived import with_start_skew
from p4mesh.traffic.stream import Stream


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
    ) -> Plan:
        """Plans streams, with histograms per class, stream, receive port or flow, and those of times between frames.

        With ``departure_error_ns``, streams have as many seeds as that takes, or as there is room for. Raises
        ParameterError for streams that contradict themselves or the ports, UnsupportedError where the program has no
        room for them.
        """
        require_frame_sizes(streams, self._capabilities.largest_frame_bytes, self._capabilities.target)
        require_line_rates(streams, self._ports)
        require_stamps(streams, self._capabilities.stamps.tick_ps)
        skewed = [with_start_skew(stream, self._start_skew_ns_of) for stream in streams]
        # Skews of the ports are the target's: nobody has asked for them.
        plan = replace(make_plan(skewed, self._limits, self._rates), asked=tuple(streams))
        plan = self._with_loop_uses(plan)
        self._require_pipe_rates(plan)
        if departure_error_ns is not None:
            plan = self._finer(plan, departure_error_ns)
        plan = with_interarrival(with_histograms(plan, per, chosen, self._limits), interarrival, self._limits)
        return with_messages(plan, self._limits)

    def _require_pipe_rates(self, plan: Plan) -> None:
        capabilities = self._capabilities
        if capabilities.pipes is not None:
            require_pipe_rates(plan, capabilities.pipes, plan.loop_uses, self._rates, capabilities.target)
            require_parser_time(plan, capabilities.pipes, self._rates, capabilities.target)
            loops = (capabilities.loop, *capabilities.other_loops)
            require_replication(plan, capabilities.pipes, loops, capabilities.stamps.tick_ps, capabilities.target)

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
