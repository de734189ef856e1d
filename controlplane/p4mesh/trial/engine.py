"""Runs one trial on any target: reset, learn, start, wait, settle, read, classify, check conservation.

The phases are those of methodology 0.3. A trial that cannot be trusted is INVALID with a reason; one that has lost a
link is ABORT, wherever that is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from p4mesh.errors import LoopOverloadError
from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import PortCounts, QueueTrend
from p4mesh.measurement.flow_arrays import flow_arrays
from p4mesh.measurement.outages import outages
from p4mesh.measurement.queue_trend import queue_trend
from p4mesh.measurement.stream_pacing import stream_pacing
from p4mesh.tester.frames import FCS_BYTES
from p4mesh.tester.group_service import GroupService
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.responders.group_messages import MAX_MESSAGE_BYTES
from p4mesh.tester.routing_service import LONGEST_PERIODIC_BYTES, RoutingService
from p4mesh.tester.station_service import StationService
from p4mesh.traffic.line_rate import frame_time_ns
from p4mesh.trial.conservation import doubt
from p4mesh.trial.joining import verify_joins
from p4mesh.trial.learning import learn, verify_learning
from p4mesh.trial.link_watch import LinkLostError, LinkWatch
from p4mesh.trial.onlooker import EndedEarlyError, Onlooker
from p4mesh.trial.resets import fail_before_trial, reset_before_trial
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.results import not_measured, trial_result
from p4mesh.trial.spec import TrialSpec
from p4mesh.trial.transmission import Observed, Transmission


class TrialEngine:
    """Measures trials with one tester."""

    def __init__(self, tester: Tester) -> None:
        self.tester = tester
        self._stations = StationService(tester.packets)
        self._groups = GroupService(tester.packets, tester.wait)
        self._routing = RoutingService(tester.packets, tester.wait, tester.target)

    def facts(self) -> tuple[str, ...]:
        """Return what the reader of results must know of the machine that measures."""
        return self.tester.target.facts()

    def measure(self, spec: TrialSpec, onlooker: Onlooker | None = None) -> TrialResult:
        """Run one trial and return its counts; ``onlooker`` watches its streams."""
        trial = _Trial(self.tester, self._stations, self._groups, self._routing, spec, onlooker)
        reason = aborted = ""
        undelivered = False
        try:
            trial.reset()
            reason = trial.prepare() or trial.announce() or trial.learn() or trial.join()
            if not reason:
                trial.transmit()
        except (LinkLostError, EndedEarlyError) as ended:
            aborted = str(ended)
        except LoopOverloadError as overload:
            capabilities = self.tester.target.capabilities
            if not capabilities.real_time or capabilities.pipes is not None:
                raise  # simulated loops and those of a chip are as fast as somebody has configured them
            # A software switch does not deliver this load, like any other that is too fast: a search goes on below it.
            reason, undelivered = f"oload_mismatch: {overload.message.partition(': ')[2]}", True
        if reason:
            refused = self._routing.refused()
            self._routing.end()
            reason = "; ".join((reason, *(routes.text for routes in refused)))
            result = not_measured(spec, Status.INVALID, reason, undelivered=undelivered)
            return replace(result, refused_routes=refused)
        return trial.result(aborted)


class _Trial:
    """The phases of one trial, in their order, and the state that they share."""

    def __init__(
        self,
        tester: Tester,
        stations: StationService,
        groups: GroupService,
        routing: RoutingService,
        spec: TrialSpec,
        onlooker: Onlooker | None,
    ) -> None:
        self._tester = tester
        self._stations = stations
        self._groups = groups
        self._routing = routing
        self._spec = spec
        self._onlooker = onlooker
        self._transmission: Transmission | None = None

    def reset(self) -> None:
        """Reset the device and let it fail; then the trial begins, at a time and with random numbers of its own."""
        target = self._tester.target
        self._tester.dataplane.ensure_connected()
        try:
            reset_before_trial(self._spec.reset, target, self._tester.wait, self._spec.label)
            fail_before_trial(self._spec.failures, target, self._tester.wait)
        finally:
            self._tester.wait(target.alignment_ns)
            target.reseed(self._tester.dataplane.packet_outs_sent, self._spec.number)

    def prepare(self) -> str:
        """Find routers, plan the streams and look at the links; return which router is silent, or an empty text."""
        spec = self._spec
        streams, unanswered = self._stations.begin(spec.streams, spec.controller_frames)
        self._spec = replace(spec, streams=streams)
        self._plan = self._tester.plan(streams, spec.histograms, spec.histogram_flows, spec.departure_error_ns)
        self._watch = LinkWatch(self._tester.target, self._plan.ports, stops=spec.stop_on_los)
        self._watch.require_links()
        return unanswered

    def announce(self) -> str:
        """Tell the routers which networks are behind the stations; return the reason of a failure, or an empty text."""
        problem = self._routing.begin(self._spec.streams, self._spec.number, self._spec.routing_event)
        self._watch.require_links()
        return problem

    def learn(self) -> str:
        """Let the device learn; return why it has not, or an empty text."""
        spec = self._spec
        learn(self._tester, spec)
        if not (spec.learning.enabled and spec.learning.verify):
            return ""
        failed = verify_learning(self._tester, spec, self._transmitted)
        self._watch.require_links()
        return f"learning not verified: {failed}" if failed else ""

    def join(self) -> str:
        """Let hosts join their groups; return which of them receives nothing, or an empty text."""
        self._groups.join(self._spec.memberships, self._spec.number)
        silent = verify_joins(self._tester, self._spec, self._transmitted)
        self._watch.require_links()
        if silent:
            self._groups.leave()
        return f"joins not verified: {silent}" if silent else ""

    def transmit(self) -> None:
        """Let the streams of the trial run, and read their counts."""
        self._transmitted(self._plan, self._spec, self._onlooker)

    def result(self, aborted: str) -> TrialResult:
        """Return the result; the streams of an aborted trial are ended, and count if they had been started."""
        observed = self._transmission.end() if self._transmission else None
        self._groups.leave()
        refused = self._routing.refused()
        lost_session = self._routing.end()
        if self._transmission is None or observed is None or self._transmission.plan is not self._plan:
            return not_measured(self._spec, Status.ABORT, aborted)
        self._tester.wait(self._spec.restabilise_ns)
        result = self._counted(observed, aborted)
        # A reset of the device ends its sessions: when they come back, traffic does.
        if lost_session and not aborted and self._spec.interruption is None:
            result = replace(result, status=Status.INVALID, reason=lost_session)
        return replace(result, answered_frames=self._stations.answered_frames, refused_routes=refused)

    def _counted(self, observed: Observed, aborted: str) -> TrialResult:
        spec, plan, reading, tick_ps = self._spec, self._plan, observed.reading, self._tester.tick_ps
        flows = flow_arrays(plan, reading)
        counts = count(plan, reading, tick_ps, per_flow=spec.per_flow, flows=flows)
        doubted = doubt(
            plan,
            reading,
            flows,
            counts,
            pauses=observed.pauses,
            tick_ps=tick_ps,
            lateness_ns=self._lateness_ns(plan),
        )
        result = trial_result(
            spec,
            Status.ABORT if aborted else Status.INVALID if doubted else Status.VALID,
            aborted or (doubted.reason if doubted else ""),
            counts,
            undelivered=not aborted and doubted is not None and doubted.undelivered,
        )
        silent = int((flows.unique[flows.expected & (flows.sent > 0)] == 0).sum()) if spec.memberships else 0
        return replace(
            result,
            ports=_with_link_losses(result.ports, observed.link_losses),
            pacing=stream_pacing(plan, self._tester.loop_uses(plan), tick_ps),
            outages=outages(plan, reading, observed.last_before, flows, tick_ps) if spec.interruption else (),
            silent_flows=silent,
            queues=self._queues(observed) if spec.watch_queues and not aborted else None,
        )

    def _queues(self, observed: Observed) -> QueueTrend | None:
        tick_ps = self._tester.tick_ps
        return queue_trend(
            self._plan,
            observed.queues,
            observed.reading.records,
            duration_ticks=self._spec.duration_ns * 1000 / tick_ps,
            tick_ps=tick_ps,
            limit=self._spec.excess_limit_ppm / 1_000_000,
        )

    def _transmitted(self, plan: Plan, spec: TrialSpec, onlooker: Onlooker | None = None) -> Reading:
        # Those that verify learning and joins as well: where they fail, theirs are the faults to look at.
        faults = self._onlooker.faults if self._onlooker else None
        self._transmission = Transmission(
            self._tester, self._stations, self._groups, self._routing, plan, spec, self._watch, onlooker, faults
        )
        self._transmission.run()
        observed = self._transmission.end()
        self._watch.require_links()
        return observed.reading

    def _lateness_ns(self, plan: Plan) -> int:
        """Return how late a departure may be."""
        lateness_ns = 2 * self._tester.round_ns(plan) + self._tester.target.capabilities.scheduling_jitter_ns
        lateness_ns += sum(self._wire_ns(frame.port, len(frame.payload)) for frame in self._spec.controller_frames)
        if self._routing.is_active:
            lateness_ns += max(self._wire_ns(port, LONGEST_PERIODIC_BYTES) for port in plan.ports)
        if self._spec.memberships:
            # The answer of a host that sends test frames, too.
            lateness_ns += max(self._wire_ns(port, MAX_MESSAGE_BYTES) for port in plan.ports)
        return lateness_ns

    def _wire_ns(self, port: int, length_bytes: int) -> int:
        """Return how long a controller's frame may hold up the test frames of its port."""
        return int(frame_time_ns(length_bytes + FCS_BYTES, self._tester.target.own_rate_bps_of[port])) + 1


def _with_link_losses(ports: tuple[PortCounts, ...], losses: Mapping[int, int]) -> tuple[PortCounts, ...]:
    if not any(losses.values()):
        return ports
    return tuple(replace(port, link_losses=losses[port.port]) for port in ports)
