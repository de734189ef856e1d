"""Runs one trial on any target: learn, start, wait, settle, read, classify, check conservation.

The phases are those of methodology 0.3. A trial that cannot be trusted is INVALID with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.errors import TargetError
from p4mesh.target.base import Target
from p4mesh.target.contract import Contract
from p4mesh.traffic.stream import Stream
from p4mesh.trial.classify import Readings, ReasonCounts, classify
from p4mesh.trial.dataplane import DataPlane
from p4mesh.trial.frames import learning_frame, seed_payload
from p4mesh.trial.pacing import LoopUse, loop_use
from p4mesh.trial.plan import Limits, Plan, StreamPlan, make_plan
from p4mesh.trial.result import StreamPacing, TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.trial.stations import station
from p4mesh.trial.verification import verification_streams

_LAST_RUN = 255
_SETTLE_ATTEMPTS = 20
_LEARNING_ATTEMPTS = 3
_CATCH_UP_ATTEMPTS = 50


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

    def measure(self, spec: TrialSpec) -> TrialResult:
        """Run one trial and return its counts."""
        self.target.align(self.dataplane.packet_outs_sent)
        plan = self._plan(spec.streams, histograms=spec.histograms)
        self._learn(spec)
        if spec.learning.enabled and spec.learning.verify:
            flooded = self._verify_learning(spec)
            if flooded:
                return classify(
                    spec, plan, None, self.target.tick_ps, invalid=f"learning not verified: {flooded} frames flooded"
                )
        readings = self._run_streams(plan, spec.duration_ns, spec.settle_ns)
        self._wait(spec.restabilise_ns)
        lateness_ns = 2 * self._round_ns(plan) + self.target.scheduling_jitter_ns
        return classify(spec, plan, readings, self.target.tick_ps, lateness_ns=lateness_ns, pacing=self._pacing(plan))

    def _plan(self, streams: tuple[Stream, ...], *, histograms: bool = False) -> Plan:
        limits = Limits(
            streams=self.contract["STREAMS"],
            transmitters=self.contract["TRANSMITTERS"],
            flows=self.contract["FLOWS"],
            destinations=self.contract["DESTINATIONS"],
            receivers=self.contract["RECEIVERS"],
            modifier_values=self.contract["MODIFIER_VALUES"],
            histogram_rules=self.contract["HISTOGRAM_RULES"],
            tick_ps=self.target.tick_ps,
            loop=self.target.loop,
            target=self.target.name,
        )
        return make_plan(streams, limits, self.target.rate_bps_of, histograms=histograms)

    def _learn(self, spec: TrialSpec) -> None:
        """Send learning frames from every receiving address, at the learning rate, then wait."""
        if not spec.learning.enabled:
            return
        ports = spec.learning.ports or tuple(
            sorted({port for stream in spec.streams for port in (*stream.tx_ports, *stream.rx_ports)})
        )
        gap_ns = 1_000_000_000 // spec.learning.rate_fps
        for port in ports:
            for _ in range(spec.learning.frames_per_address):
                self.dataplane.send(port, learning_frame(station(port).mac))
                self._wait(gap_ns)
        self._wait(spec.learning.wait_ns)

    def _verify_learning(self, spec: TrialSpec) -> int:
        """Send a frame to every address; return how many were flooded after the last attempt."""
        streams, duration_ns = verification_streams(spec.streams, self.target.rate_bps_of)
        if not streams:
            return 0
        flooded = 0
        for _ in range(_LEARNING_ATTEMPTS):
            readings = self._run_streams(self._plan(streams), duration_ns, 0)
            flooded = readings.received("flooded")
            if flooded == 0:
                return 0
            self._learn(spec)
        return flooded

    def _run_streams(self, plan: Plan, duration_ns: int, settle_ns: int) -> Readings:
        self._next_run()
        self._cells_used = max(self._cells_used, plan.cells)
        self.dataplane.configure(plan, self._run)
        self.dataplane.clear(plan.cells, self._wait_for_pass)
        before = self.dataplane.reason_counts(plan.ports)
        for stream in plan.streams:
            self._inject_seeds(stream)
        lead_ns = self._start_lead_ns(plan)
        self.dataplane.start(len(plan.streams), lead_ns * 1000 // self.target.tick_ps)
        round_ns = self._round_ns(plan)
        self._wait(lead_ns + duration_ns + 2 * round_ns + self._longest_offset_ns(plan))
        self._await_last_departure(plan, before)
        self._drain()
        self.dataplane.stop_streams()
        self._wait(2 * round_ns)
        self._drain()
        self._wait(settle_ns)
        records = self.dataplane.read(plan.cells, self._wait_for_pass)
        after = self.dataplane.reason_counts(plan.ports)
        bins = self.dataplane.histogram_counts(sorted({rule.histogram for rule in plan.histograms}))
        return Readings(records, before, after, bins)

    def _inject_seeds(self, stream: StreamPlan) -> None:
        """Put the seeds into the loop, evenly spread over one round where the clock allows it."""
        payload = seed_payload(stream.stream.template, stream.stream.frame_size_bytes)
        spacing_ns = self.target.loop.round_ps(stream.stream.frame_size_bytes) / stream.seeds / 1000
        for number in range(stream.seeds):
            self.dataplane.inject_seed(stream.index, payload, number, stream.seeds)
            if self.target.exact_clock:
                self._wait(spacing_ns)

    def _next_run(self) -> None:
        if self._run == _LAST_RUN:
            # Tags of the duplicate window repeat after this; it is cleared once in 255 runs.
            self.dataplane.clear_windows(self._cells_used, self._wait_for_pass)
            self._run = 0
        self._run += 1

    def _await_last_departure(self, plan: Plan, before: ReasonCounts) -> None:
        """Give a target on the wall clock, which may run late, time to catch up."""
        if self.target.exact_clock:
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
        if duration_ns:
            self.target.wait(duration_ns, self.dataplane.packet_outs_sent)

    def _wait_for_pass(self, passes: int) -> None:
        """Wait as long as a lone frame needs for ``passes`` rounds of the loop."""
        self._wait(int(passes * self.target.loop.round_ps(self.contract_record_bytes)) // 1000 + 1_000)

    @property
    def contract_record_bytes(self) -> int:
        """Size of a record on the recirculation port, an upper bound of a reading frame."""
        return sum(width for _, width in self.contract.record_fields)

    def _loop_uses(self, plan: Plan) -> list[LoopUse]:
        sizes = [stream.stream.frame_size_bytes for stream in plan.streams]
        return loop_use([stream.seeds for stream in plan.streams], sizes, self.target.loop, self.target.tick_ps)

    def _round_ns(self, plan: Plan) -> int:
        """Return the longest round of a seed, rounded up."""
        return int(max(use.round_ps for use in self._loop_uses(plan))) // 1000 + 1

    def _pacing(self, plan: Plan) -> tuple[StreamPacing, ...]:
        tick_ns = Fraction(self.target.tick_ps, 1000)
        paced = []
        for stream, use in zip(plan.streams, self._loop_uses(plan), strict=True):
            interval_ns = stream.clock.frame_interval_ticks * tick_ns
            programmed_fps = 10**9 / interval_ns
            paced.append(
                StreamPacing(
                    stream=stream.stream.name,
                    seeds=stream.seeds,
                    round_ns=float(use.round_ps / 1000),
                    loop_share_pct=float(100 * use.port_share),
                    interval_ns=float(interval_ns),
                    rate_error_ppm=float((programmed_fps / stream.stream.rate_fps - 1) * 10**6),
                    departure_error_ns=float(use.departure_error_ps / 1000),
                )
            )
        return tuple(paced)

    def _start_lead_ns(self, plan: Plan) -> int:
        """All seeds have made their first round, and all streams are started, before it is over."""
        return max(self.target.start_lead_ns, (len(plan.streams) + 4) * self._round_ns(plan))

    def _longest_offset_ns(self, plan: Plan) -> int:
        return max((offset for stream in plan.streams for offset in stream.stream.start_offset_ns), default=0)
