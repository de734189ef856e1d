"""Runs one trial on any target: reset, learn, start, wait, settle, read, classify, check conservation.

The phases are those of methodology 0.3. A trial that cannot be trusted is INVALID with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from p4mesh.errors import TargetError
from p4mesh.target.base import Target
from p4mesh.tester.bad_fcs import bad_fcs_rules
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.frames import FCS_BYTES, learning_frame, seed_payload
from p4mesh.tester.histogram_plan import with_histograms
from p4mesh.tester.pacing import LoopUse, loop_use
from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.plan import Limits, Plan, StreamPlan, make_plan
from p4mesh.tester.station_service import StationService
from p4mesh.tester.stations import addresses_of
from p4mesh.tester.stream_checks import require_line_rates
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.derived import with_start_skew
from p4mesh.traffic.line_rate import frame_time_ns
from p4mesh.traffic.stream import Stream
from p4mesh.trial.classify import Readings, ReasonCounts, addresses_reached, classify
from p4mesh.trial.link_watch import LinkWatch
from p4mesh.trial.resets import StallFinder, reset_before_trial, trigger
from p4mesh.trial.result import StreamPacing, TrialResult
from p4mesh.trial.spec import Interruption, TrialSpec
from p4mesh.trial.verification import verification_streams

_LAST_RUN = 255
_SETTLE_ATTEMPTS = 20
_LEARNING_ATTEMPTS = 3
_CATCH_UP_ATTEMPTS = 50
_LINK_LOOK_NS = 100_000_000
"""Distance of the looks at the links while streams run."""


@dataclass
class TrialEngine:
    """Measures trials on a target through P4Runtime. One instance owns the data plane."""

    target: Target
    contract: Contract
    dataplane: DataPlane

    def __post_init__(self) -> None:
        """Start with the first run number."""
        self._run = 0
        self._cells_used = 0
        self._packets = PacketService(self.dataplane, self.target)
        self._stations = StationService(self._packets)

    def measure(self, spec: TrialSpec) -> TrialResult:
        """Run one trial and return its counts."""
        aborted = reset_before_trial(spec.reset, self.target, self._wait, spec.label)
        self.target.align(self.dataplane.packet_outs_sent, spec.number)
        streams, unanswered = self._stations.begin(spec.streams, spec.controller_frames)
        spec = replace(spec, streams=streams)
        plan = with_histograms(self._plan(spec.streams), spec.histograms, spec.histogram_flows, self._limits)
        watch = LinkWatch(self.target, plan.ports, stops=spec.stop_on_los)
        tick_ps = self.target.tick_ps
        aborted = aborted or watch.reason()
        if aborted or unanswered:
            return classify(spec, plan, None, tick_ps, aborted=aborted, invalid=unanswered)
        self._learn(spec)
        if spec.learning.enabled and spec.learning.verify:
            failed = self._verify_learning(spec, watch)
            if failed or watch.reason():
                invalid = f"learning not verified: {failed}"
                return classify(spec, plan, None, tick_ps, aborted=watch.reason(), invalid=invalid)
        readings = self._run_streams(plan, spec, watch)
        aborted = watch.reason()
        self._wait(spec.restabilise_ns)
        lateness_ns = 2 * self._round_ns(plan) + self.target.scheduling_jitter_ns
        lateness_ns += sum(self._wire_ns(frame) for frame in spec.controller_frames)
        pacing = self._pacing(plan)
        result = classify(spec, plan, readings, tick_ps, lateness_ns=lateness_ns, aborted=aborted, pacing=pacing)
        return replace(result, answered_frames=self._stations.answered_frames)

    @property
    def _limits(self) -> Limits:
        target = self.target
        return Limits.of(
            self.contract,
            target.tick_ps,
            target.loop,
            target.name,
            bad_fcs=target.damages_fcs,
            front_loops=target.front_loops,
        )

    def _plan(self, streams: tuple[Stream, ...]) -> Plan:
        require_line_rates(streams, self.target.topology.tester_ports)
        skewed = [with_start_skew(stream, self.target.start_skew_ns_of) for stream in streams]
        return make_plan(skewed, self._limits, self.target.own_rate_bps_of)

    def _learn(self, spec: TrialSpec) -> None:
        """Send learning frames from every receiving address, at the learning rate, then wait."""
        if not spec.learning.enabled:
            return
        addresses = {
            (port, stream.template.vlan_ids, mac)
            for stream in spec.streams
            for port, mac in spec.learning.addresses
            or (
                (port, mac)
                for port in spec.learning.ports or (*stream.tx_ports, *stream.rx_ports)
                for mac in addresses_of(port, stream.addresses_per_port)
            )
        }
        gap_ns = 1_000_000_000 // spec.learning.rate_fps
        for port, vlan_ids, mac in sorted(addresses):
            for _ in range(spec.learning.frames_per_address):
                self.dataplane.send(port, learning_frame(mac, vlan_ids))
                self._wait(gap_ns)
        self._wait(spec.learning.wait_ns)

    def _verify_learning(self, spec: TrialSpec, watch: LinkWatch) -> str:
        """Send a frame to every address; return what is wrong after the last attempt, or an empty text.

        In one attempt no frame may be flooded, nor lost on its way through a router; in one of them a frame
        must reach each address, so that a device that loses frames now and then can be measured.
        """
        streams, duration_ns = verification_streams(spec.streams, self.target.own_rate_bps_of)
        if not streams:
            return ""
        plan = self._plan(streams)
        run = replace(
            spec, streams=streams, duration_ns=duration_ns, settle_ns=0, controller_frames=(), interruption=None
        )
        routed = any(stream.routed for stream in streams)
        missing = {port for stream in streams for port in stream.rx_ports}
        for attempt in range(_LEARNING_ATTEMPTS):
            if attempt:
                self._learn(spec)
            readings = self._run_streams(plan, run, watch)
            flooded = readings.received("flooded")
            lost = sum(t.frames for item in plan.streams for t in item.transmitters) - readings.received("expected")
            missing -= addresses_reached(plan, readings)
            if not (flooded or missing or (routed and lost)) or watch.reason():
                return ""
        if misdirected := readings.received("misdirected"):
            return f"{misdirected} frames came to a port with its address and were made for another one"
        if flooded:
            return f"{flooded} frames flooded"
        if routed:
            return f"{lost} frames did not arrive through the router"
        return f"no frame reached port {min(missing)}"

    def _run_streams(self, plan: Plan, spec: TrialSpec, watch: LinkWatch) -> Readings:
        """Let the streams of ``plan`` run as ``spec`` says, and read what they did."""
        self._stations.forget_answers()
        self._next_run()
        self._cells_used = max(self._cells_used, plan.cells)
        self.dataplane.configure(plan, self._run)
        self.dataplane.clear(plan.cells, self._wait_for_pass)
        self.target.set_bad_fcs(bad_fcs_rules(plan, self._run, self.contract))
        bad_fcs = self.target.bad_fcs_counts()
        before = self.dataplane.reason_counts(plan.ports)
        self.dataplane.hold(len(plan.streams), self._wait_for_pass)
        for stream in plan.streams:
            self._inject_seeds(stream)
        lead_ns = self._start_lead_ns(plan)
        self.dataplane.start(len(plan.streams), lead_ns * 1000 // self.target.tick_ps)
        round_ns = self._round_ns(plan)
        end_ns = lead_ns + spec.duration_ns + 2 * round_ns + self._longest_offset_ns(plan)
        frames = [(max(0, lead_ns + frame.at_ns), frame) for frame in spec.controller_frames]
        stalls = self._transmit(plan, spec, lead_ns, end_ns, frames, watch)
        self._await_last_departure(plan, before, watch)
        self._drain()
        self.dataplane.stop_streams()
        self._wait(2 * round_ns)
        self._drain()
        self._wait(spec.settle_ns)
        self._packets.serve()
        records = self._read_settled(plan, spec.settle_ns)
        after = self.dataplane.reason_counts(plan.ports)
        bins = self.dataplane.histogram_counts(plan.histograms, records)
        counted = {
            port: (sent - bad_fcs[port][0], received - bad_fcs[port][1])
            for port, (sent, received) in self.target.bad_fcs_counts().items()
        }
        return Readings(records, before, after, bins, counted, stalls.last_before, watch.losses())

    def _transmit(
        self,
        plan: Plan,
        spec: TrialSpec,
        lead_ns: int,
        end_ns: int,
        frames: Sequence[tuple[int, ControllerFrame]],
        watch: LinkWatch,
    ) -> StallFinder:
        """Let ``end_ns`` pass, with the trial's frames and interruption; return where flows stood still."""
        stalls = StallFinder(plan)
        interruption = spec.interruption

        def wait(duration_ns: int) -> bool:
            """Wait; return whether to go on, which a loss of link may forbid."""
            while duration_ns > 0 and not watch.reason():
                step_ns = min(duration_ns, _LINK_LOOK_NS)
                self._wait(step_ns)
                duration_ns -= step_ns
            return not watch.reason()

        if interruption is None:
            self._stations.transmission(end_ns, frames, wait)
            return stalls
        at_ns = lead_ns + interruption.after_ns
        earlier = [(due_ns, frame) for due_ns, frame in frames if due_ns <= at_ns]
        later = list(frames[len(earlier) :])
        self._stations.transmission(at_ns, earlier, wait)
        trigger(interruption, self.target, spec.label)
        at_ns += self._find_stalls(stalls, plan, interruption, end_ns - at_ns, watch)
        self._stations.transmission(end_ns - at_ns, [(max(0, due - at_ns), frame) for due, frame in later], wait)
        return stalls

    def _find_stalls(
        self, stalls: StallFinder, plan: Plan, interruption: Interruption, longest_ns: int, watch: LinkWatch
    ) -> int:
        """Look at the records until every flow has stood still, at most for ``longest_ns``; return the time taken."""
        pass_ns = self._round_ns(plan)
        taken_ns = 0

        def wait_for_pass(passes: int) -> None:
            nonlocal taken_ns
            self.target.wait(passes * pass_ns, self.dataplane.packet_outs_sent)
            taken_ns += passes * pass_ns

        while not stalls.complete and not watch.reason():
            stalls.look(self.dataplane.read(plan.cells, wait_for_pass))
            self._packets.serve()
            if taken_ns + interruption.sample_ns >= longest_ns:
                break
            self._wait(interruption.sample_ns)
            taken_ns += interruption.sample_ns
        return taken_ns

    def _read_settled(self, plan: Plan, settled_ns: int) -> np.ndarray[Any, Any]:
        """Read all records; where frames in flight are not known, wait at least twice the largest latency seen."""
        records = self.dataplane.read(plan.cells, self._wait_for_pass)
        wanted_ns = 2 * int(records["latency_max"].max()) * self.target.tick_ps // 1000
        if self.target.exact_clock or wanted_ns <= settled_ns:
            return records
        self._wait(wanted_ns - settled_ns)
        return self.dataplane.read(plan.cells, self._wait_for_pass)

    def _inject_seeds(self, stream: StreamPlan) -> None:
        """Put the seeds into the loop, evenly spread over one round where the clock allows it."""
        payload = seed_payload(stream.stream.template, stream.stream.frame_size_bytes)
        spacing_ns = self.target.loop.round_ps(stream.stream.frame_size_bytes) / stream.seeds / 1000
        for number in range(stream.seeds):
            self.dataplane.inject_seed(
                stream.index, payload, number, stream.seeds, stream.loop, stream.clock.interval_fraction_q32
            )
            if self.target.exact_clock:
                self._wait(spacing_ns)

    def _next_run(self) -> None:
        if self._run == _LAST_RUN:
            # Tags of the duplicate window repeat after this; it is cleared once in 255 runs.
            self.dataplane.clear_windows(self._cells_used, self._wait_for_pass)
            self._run = 0
        self._run += 1

    def _await_last_departure(self, plan: Plan, before: ReasonCounts, watch: LinkWatch) -> None:
        """Give a target on the wall clock, which may run late, time to catch up."""
        if self.target.exact_clock or watch.reason():
            return
        intended = sum(t.frames for stream in plan.streams for t in stream.transmitters)
        for _ in range(_CATCH_UP_ATTEMPTS):
            now = self.dataplane.reason_counts(plan.ports)
            sent = sum(now[port, "transmitted"] - before[port, "transmitted"] for port in plan.ports)
            if sent >= intended:
                return
            self._wait(self.target.scheduling_jitter_ns)

    def _drain(self) -> None:
        """Wait until no frame is in flight, in steps that grow."""
        step_ns = 100_000
        for _ in range(_SETTLE_ATTEMPTS):
            if self.target.in_flight() == 0:
                return
            self._wait(step_ns)
            step_ns *= 2
        raise TargetError(
            f"{self.target.name}: frames are still in flight {step_ns // 1_000_000} ms after the last departure",
            hint="a device of the topology may circulate frames",
        )

    def _wait(self, duration_ns: int | Fraction) -> None:
        """Let time pass, in which devices are answered."""
        if duration_ns:
            self._packets.wait(duration_ns)

    def _wait_for_pass(self, passes: int) -> None:
        """Wait as long as a lone frame needs for ``passes`` rounds of the loop."""
        duration_ns = int(passes * self.target.loop.round_ps(self.contract_record_bytes)) // 1000 + 1_000
        self.target.wait(duration_ns, self.dataplane.packet_outs_sent)

    @property
    def contract_record_bytes(self) -> int:
        """Size of a record on the recirculation port, an upper bound of a reading frame."""
        return sum(width for _, width in self.contract.record_fields)

    def _loop_uses(self, plan: Plan) -> list[LoopUse]:
        uses: dict[int, LoopUse] = {}
        for number, loop in enumerate((self.target.loop, *self.target.front_loops)):
            members = [stream for stream in plan.streams if stream.loop == number]
            sizes = [stream.stream.frame_size_bytes for stream in members]
            found = loop_use([stream.seeds for stream in members], sizes, loop, self.target.tick_ps)
            uses.update({stream.index: use for stream, use in zip(members, found, strict=True)})
        return [uses[stream.index] for stream in plan.streams]

    def _round_ns(self, plan: Plan) -> int:
        """Return the longest round of a seed, rounded up."""
        return int(max(use.round_ps for use in self._loop_uses(plan))) // 1000 + 1

    def _pacing(self, plan: Plan) -> tuple[StreamPacing, ...]:
        tick_ns = Fraction(self.target.tick_ps, 1000)
        uses = list(zip(plan.streams, self._loop_uses(plan), strict=True))
        paced = []
        for number, name in plan.names.items():
            clocks = [(stream, use) for stream, use in uses if stream.origin == number]
            stream = clocks[0][0]
            interval_ns = stream.clock.frame_interval_ticks * tick_ns
            paced.append(
                StreamPacing(
                    stream=name,
                    seeds=sum(stream.seeds for stream, _ in clocks),
                    round_ns=float(max(use.round_ps for _, use in clocks) / 1000),
                    loop_share_pct=float(100 * sum(use.port_share for _, use in clocks)),
                    interval_ns=float(interval_ns),
                    rate_step_ppm=float(stream.clock.rate_step * 10**6),
                    rate_error_ppm=float((10**9 / interval_ns / stream.stream.rate_fps - 1) * 10**6),
                    departure_error_ns=float(max(use.departure_error_ps for _, use in clocks) / 1000),
                    start_offset_error_ns=float(max(s.start_offset_error_ticks for s, _ in clocks) * tick_ns),
                )
            )
        return tuple(paced)

    def _start_lead_ns(self, plan: Plan) -> int:
        """All seeds have made their first round, and all streams are started, before it is over."""
        return max(self.target.start_lead_ns, (len(plan.streams) + 4) * self._round_ns(plan))

    def _wire_ns(self, frame: ControllerFrame) -> int:
        """Return how long a controller's frame may hold up the test frames of its port."""
        return int(frame_time_ns(len(frame.payload) + FCS_BYTES, self.target.own_rate_bps_of[frame.port])) + 1

    def _longest_offset_ns(self, plan: Plan) -> int:
        return max((offset for stream in plan.streams for offset in stream.stream.start_offset_ns), default=0)
