"""The instrument: ``load`` streams, ``arm``, ``start``, ``read`` at any time, ``stop``.

Each verb but ``load`` takes names of streams: they are armed, started, read and stopped while others run. Streams that
are to run side by side are loaded together. It knows how to read counts, not their meaning: a trial, or a server,
chooses the streams and their time, and interprets the counts (:mod:`p4mesh.measurement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from p4mesh.errors import InternalError, TargetError
from p4mesh.target.base import MacCounts, Target
from p4mesh.tester.bad_fcs import bad_fcs_rules
from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.expected_payload import expected_payload
from p4mesh.tester.frames import seed_payload
from p4mesh.tester.inner_losses import LossWatch
from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.plan import Plan, StreamPlan, Transmitter
from p4mesh.tester.planning import Planner
from p4mesh.tester.reading import CopyWindow, Reading, ReasonCounts
from p4mesh.tester.strays import Strays
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.stream import Stream

_LAST_RUN = 255
_SETTLED_NS = 100_000_000_000
"""Most that the network may take to be empty: no device of a topology holds a frame for so long on purpose."""
_LONGEST_STEP_NS = 50_000_000
"""Most between two looks for that: frames of BGP and BFD are on their way again and again."""


class Tester:
    """One tester on a target that runs. One instance owns the data plane."""

    def __init__(self, target: Target, contract: Contract, dataplane: DataPlane) -> None:
        self.target = target
        self.contract = contract
        self.dataplane = dataplane
        self.packets = PacketService(dataplane, target)
        """Protocols on the ports of the tester; they are served in :meth:`wait`, and not while cells are read."""
        self.elapsed_ns: int | Fraction = 0
        """Target time that has passed in this instance's waits."""
        self.plan = Planner(contract, target.capabilities, target.topology, target.start_skew_ns_of).plan
        """Plans streams; nothing is sent."""
        self._run = 0
        self._cells_used = 0
        self._plan: Plan | None = None
        self._round_ns = 0
        self._armed: set[int] = set()
        """Numbers of the clocks whose seeds circulate."""
        self._frames_before: dict[tuple[int, str], int] = {}
        self._macs_before: dict[int, MacCounts] = {}
        self._strays = Strays(dataplane)
        self._losses = LossWatch(target, dataplane)

    # Verbs

    def load(self, streams: Sequence[Stream] | Plan) -> None:
        """Install streams, or their plan by :meth:`plan`, with cleared registers; counts begin here."""
        plan = streams if isinstance(streams, Plan) else self.plan(streams)
        self._armed.clear()
        self._next_run()
        self._plan, self._round_ns = plan, plan.round_ns
        self._cells_used = max(self._cells_used, plan.cells)
        self.dataplane.configure(plan, self._run)
        self.dataplane.clear(plan.cells, self._wait_for_passes)
        if plan.messages:
            self.dataplane.clear_messages(len(plan.messages), self._wait_for_passes)
        self.target.set_bad_fcs(bad_fcs_rules(plan, self._run, self.contract))
        if self.target.capabilities.checks_payload:
            self.target.expect_payload(expected_payload(plan, self._run, self.contract))
        self._frames_before = self.dataplane.reason_counts(plan.ports)
        # Frames between two readings must not look like frames that the MAC has and the program has not.
        self._macs_before = self.target.mac_counts()
        self._losses.begin()
        self._strays.begin(plan, self._frames_before)

    def arm(self, *names: str) -> None:
        """Put the seeds of streams, by default of all, into their loops; none departs before :meth:`start`.

        It must follow soon: the clocks of armed streams are set 2^30 ticks ahead at most.
        """
        plan = self._chosen(names)
        clocks = [stream.index for stream in plan.streams]
        for stream in plan.streams:
            if stream.index in self._armed:
                raise InternalError(f"stream '{stream.stream.name}' is armed already: it would have its seeds twice")
        self.dataplane.admit_streams(clocks)
        for run in ranges_of(clocks):
            self.dataplane.hold(run, self._wait_for_passes)
        for stream in plan.streams:
            self._inject_seeds(stream)
        self._armed.update(clocks)

    def start(self, *names: str) -> int:
        """Start streams that are armed, by default all; return the time in ns from now to the first departure.

        They start together where they were loaded side by side. A stream that was stopped goes on where it was: in all
        it sends as many frames as it was loaded with.
        """
        plan = self._chosen(names)
        lead_ns = max(self.target.capabilities.start_lead_ns, self.loaded.start_ns(len(plan.streams)))
        self.target.begin_departures(self._peak_fps(self.loaded))
        for run in ranges_of([stream.index for stream in plan.streams]):
            self.dataplane.start(run, lead_ns * 1000 // self.tick_ps)
        return lead_ns

    def _peak_fps(self, plan: Plan) -> Fraction:
        """Frames per second of all ports together while they send bursts, or all the time without bursts."""
        rates = self.target.own_rate_bps_of
        return sum(
            (
                max_rate_fps(stream.stream.frame_size_bytes, rates[transmitter.port])
                if stream.stream.burst
                else stream.stream.rate_fps
                for stream in plan.streams
                for transmitter in stream.transmitters
            ),
            Fraction(0),
        )

    def read(self, *names: str) -> Reading:
        """Counts and registers of streams, by default of all, also while traffic runs.

        With names, records of cells that are none of theirs are 0. Counters of ports are always those of all streams.

        A record is one consistent copy of a cell, made in one pass: its receive registers are of one time, and its
        transmit registers are of one time a moment later, when the copy leaves for the controller. That is within one
        round of the loop after its READ_TICKS. On Tofino a copy takes three passes: low and high words of a value that
        moves may be two rounds apart. Records of one reading are copied one after the other, all within the target time
        that the reading takes: about a round for each cell and pass. Counters and histograms are read after the
        records. So a counter never decreases from one reading to the next, and sums over cells, or over records and
        counters, agree only when nothing is in flight.
        """
        plan = self._chosen(names)
        records = self._records_of_streams(plan) if names else self.records()
        macs = self.target.mac_counts()
        frames = self.reason_counts()
        bins = self.dataplane.histogram_counts(plan.histograms, records, counts_times=bool(plan.interarrival))
        messages = None
        if plan.messages:
            messages = self.dataplane.read_messages(plan.messages[-1].number + 1, self._wait_for_passes)
        return Reading(
            records,
            frames,
            bins,
            self.dataplane.interarrival_counts(plan.interarrival, records),
            messages=messages,
            message_time_bits=self.dataplane.message_time_bits,
            macs={port: counts.since(self._macs_before[port]) for port, counts in macs.items()},
            losses=self._losses.read(),
            stamps=self.target.port_stamps(),
            strays=self._strays.read(frames),
            groups=self.dataplane.group_counts(plan),
            window=self._copy_window,
            check_covers_payload=self.contract.check_covers_payload,
        )

    @property
    def _copy_window(self) -> CopyWindow:
        capabilities = self.target.capabilities
        # Where no operating system delays departures, one is late by two rounds of the loop at most.
        paced = not capabilities.real_time or capabilities.pipes is not None
        lateness_ticks = 2 * self._round_ns * 1000 // self.tick_ps if paced else None
        return CopyWindow(1 << self.contract["WINDOW_BITS"], lateness_ticks)

    def _records_of_streams(self, plan: Plan) -> np.ndarray[Any, Any]:
        wanted = ranges_of(plan.own_cells)
        read = self.records_of(wanted)
        records = np.zeros(self.loaded.cells, dtype=read.dtype)
        records[plan.own_cells] = read
        return records

    def records(self) -> np.ndarray[Any, Any]:
        """Records of all cells that the streams use, without counters and histograms."""
        return self.dataplane.read(self.loaded.cells, self._wait_for_passes)

    def records_of(self, wanted: Sequence[range]) -> np.ndarray[Any, Any]:
        """Records of some cells, in their order, each as :meth:`read` describes; ranges are read at the same time."""
        return self.dataplane.read_some(wanted, self._wait_for_passes)

    def reason_counts(self) -> ReasonCounts:
        """Frames per port and reason since the streams were loaded."""
        now = self.dataplane.reason_counts(self.loaded.ports)
        return {place: count - self._frames_before.get(place, 0) for place, count in now.items()}

    def frames(self, reason: str) -> int:
        """Frames that all ports together have counted for a reason since the streams were loaded."""
        return sum(count for place, count in self.reason_counts().items() if place[1] == reason)

    def stop(self, *names: str) -> None:
        """End streams, by default all, and wait until their seeds are gone; frames on their way are not waited for."""
        plan = self._chosen(names)
        clocks = [stream.index for stream in plan.streams]
        self._losses.end(sum(stream.seeds for stream in plan.streams if stream.index in self._armed))
        self.dataplane.stop_streams(clocks)
        self.wait(2 * self._round_ns)
        self._armed.difference_update(clocks)

    def renew(self, *names: str) -> None:
        """Let streams that are stopped send all their frames once more; their counts go on."""
        records = self.read(*names).records

        def renewed(transmitter: Transmitter, stream: Stream) -> Transmitter:
            sent = max(0, int(records["departures"][transmitter.id]) - transmitter.skipped)
            return replace(transmitter, frames=sent + stream.frame_count)

        plan = self.loaded
        chosen = {stream.index for stream in self._chosen(names).streams}
        streams = tuple(
            replace(planned, transmitters=tuple(renewed(item, planned.stream) for item in planned.transmitters))
            if planned.index in chosen
            else planned
            for planned in plan.streams
        )
        self._plan = replace(plan, streams=streams)
        self.dataplane.renew(self._plan)

    # Time

    def wait(self, duration_ns: int | Fraction) -> None:
        """Let the target's time pass, in which the protocols on the ports are served."""
        if duration_ns:
            self.packets.wait(duration_ns)
            self.elapsed_ns += duration_ns

    def drain(self) -> None:
        """Wait until no frame is known to be between the ports, in steps that grow; raise TargetError if some stay."""
        step_ns, waited_ns = 100_000, 0
        while self.target.in_flight():
            if waited_ns >= _SETTLED_NS:
                raise TargetError(
                    f"{self.target.name}: frames are still in flight {waited_ns // 10**6} ms after the last departure",
                    hint="a device of the topology may circulate frames, or need so long for one",
                )
            self.wait(step_ns)
            waited_ns += step_ns
            step_ns = min(2 * step_ns, _LONGEST_STEP_NS)

    @property
    def tick_ps(self) -> int:
        """Length of a tick of the time stamps in records."""
        return self.target.capabilities.stamps.tick_ps

    @property
    def loaded(self) -> Plan:
        """Plan of the streams that are loaded."""
        assert self._plan is not None, "streams are loaded before they are used"
        return self._plan

    def _chosen(self, names: tuple[str, ...]) -> Plan:
        return self.loaded.of_streams(names) if names else self.loaded

    def _next_run(self) -> None:
        if self._run == _LAST_RUN:
            # Tags of the duplicate window repeat after this; it is cleared once in 255 runs.
            self.dataplane.clear_windows(self._cells_used, self._wait_for_passes)
            self._run = 0
        self._run += 1

    def _inject_seeds(self, stream: StreamPlan) -> None:
        """Put the seeds into the loop, evenly spread over one round where the clock allows it."""
        sent = stream.stream
        covered = self.contract.check_covers_payload
        payload = seed_payload(sent.frame, sent.frame_size_bytes, sent.payload, check_covers_payload=covered)
        capabilities = self.target.capabilities
        spacing_ns = capabilities.loop.round_ps(stream.stream.frame_size_bytes) / stream.seeds / 1000
        for number in range(stream.seeds):
            self.dataplane.inject_seed(
                stream.index, payload, number, stream.seeds, stream.loop, stream.clock.interval_fraction_q32
            )
            if not capabilities.real_time:
                self.wait(spacing_ns)

    def _wait_for_passes(self, passes: int) -> None:
        """Wait as long as a frame of a request needs for ``passes`` rounds: a lone one, or one among seeds."""
        if self._armed:
            duration_ns = passes * self._round_ns
        else:
            record_bytes = sum(width for _, width in self.contract.record_fields)
            duration_ns = int(passes * self.target.capabilities.loop.round_ps(record_bytes)) // 1000 + 1_000
        if duration_ns:
            self.target.wait(duration_ns, self.dataplane.packet_outs_sent)
            self.elapsed_ns += duration_ns
