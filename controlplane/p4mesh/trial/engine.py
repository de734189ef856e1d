"""Runs one trial on any target: reset, learn, start, wait, settle, read, count, check conservation.

The phases are those of methodology 0.3; what a trial may do in them beyond sending and counting is a part of its own
(:mod:`p4mesh.trial.parts`). A trial that cannot be trusted is INVALID with a reason; one that has lost a link is ABORT,
wherever that is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from p4mesh.errors import LoopOverloadError
from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import PortCounts
from p4mesh.measurement.flow_arrays import flow_arrays
from p4mesh.measurement.port_queues import PortQueue, port_queues
from p4mesh.measurement.stream_pacing import stream_pacing
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.conservation import doubt
from p4mesh.trial.link_watch import LinkLostError, LinkWatch
from p4mesh.trial.onlooker import EndedEarlyError, Onlooker
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.parts.table import parts_of
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured, trial_result
from p4mesh.trial.spec import TrialSpec
from p4mesh.trial.transmission import Observed, Transmission
from p4mesh.verdict import Verdict


class TrialEngine:
    """Measures trials with one tester."""

    def __init__(self, tester: Tester) -> None:
        self.tester = tester

    def facts(self) -> tuple[str, ...]:
        """Facts of the machine that measures, for the reader of results."""
        return self.tester.target.facts()

    def measure(self, spec: TrialSpec, onlooker: Onlooker | None = None) -> TrialResult:
        """Run one trial and return its counts; ``onlooker`` watches its streams."""
        phases = _Phases(self.tester, spec, onlooker)
        reason = aborted = ""
        undelivered = False
        try:
            phases.reset()
            reason = phases.prepare()
            if not reason:
                phases.transmit()
        except (LinkLostError, EndedEarlyError) as ended:
            aborted = str(ended)
        except LoopOverloadError as overload:
            capabilities = self.tester.target.capabilities
            if not capabilities.real_time or capabilities.pipes is not None:
                raise  # simulated loops and those of a chip are as fast as somebody has configured them
            # A software switch does not deliver this load, like any other that is too fast: a search goes on below it.
            reason, undelivered = f"oload_mismatch: {overload.message.partition(': ')[2]}", True
        if reason:
            return phases.refused(reason, undelivered=undelivered)
        return phases.result(aborted)


class _Phases:
    """The phases of one trial, in their order."""

    def __init__(self, tester: Tester, spec: TrialSpec, onlooker: Onlooker | None) -> None:
        self._tester = tester
        self._trial = Trial(tester, spec, onlooker, self._send_preparing)
        self._parts = parts_of(self._trial)
        self._transmission: Transmission | None = None
        for part in self._parts:
            part.require(tester.target)

    def reset(self) -> None:
        """Bring the device into its state; then the trial begins, at a time and with random numbers of its own."""
        target = self._tester.target
        self._tester.dataplane.ensure_connected()
        try:
            for part in self._parts:
                part.reset()
        finally:
            self._tester.wait(target.alignment_ns)
            target.reseed(self._tester.dataplane.packet_outs_sent, self._trial.spec.number)

    def prepare(self) -> str:
        """Plan the streams, look at the links and prepare the device; return why that fails, or an empty text."""
        tester, trial = self._tester, self._trial
        # Hosts of the trial before speak until here, and those of an interrupted one.
        tester.packets.detach_all()
        reasons = [part.address() for part in self._parts]
        spec = trial.spec
        trial.plan = tester.plan(
            spec.streams, spec.histograms, spec.histogram_flows, spec.departure_error_ns, spec.interarrival
        )
        self._links = LinkWatch(tester.target, trial.plan.ports, stops=spec.stop_on_los)
        self._links.require_links()
        for part in self._parts if not any(reasons) else ():
            reasons.append(part.prepare())
            self._links.require_links()
            if reasons[-1]:
                break
        return next(filter(None, reasons), "")

    def transmit(self) -> None:
        """Let the streams of the trial run, and read their counts."""
        spec = self._trial.spec
        self._transmitted(self._trial.plan, spec.duration_ns, spec.settle_ns, self._parts)

    def _send_preparing(self, plan: Plan, duration_ns: int) -> Reading:
        parts = [part for part in self._parts if part.in_preparation]
        return self._transmitted(plan, duration_ns, 0, parts).reading

    def _transmitted(self, plan: Plan, duration_ns: int, settle_ns: int, parts: Sequence[Part]) -> Observed:
        sending = Sending(self._tester, plan, duration_ns, self._links)
        self._transmission = Transmission(sending, settle_ns, parts)
        self._transmission.run()
        observed = self._transmission.end()
        self._links.require_links()
        return observed

    def refused(self, reason: str, *, undelivered: bool) -> TrialResult:
        """Result of a trial that could not be prepared."""
        self._close()
        result = not_measured(self._trial.spec, Verdict.INVALID, reason, undelivered=undelivered)
        for part in self._parts:
            result = part.explain(result)
        return result

    def result(self, aborted: str) -> TrialResult:
        """Result of the trial; streams of an aborted one are ended, and count if they had been started."""
        observed = self._transmission.end() if self._transmission else None
        self._close()
        trial = self._trial
        if self._transmission is None or observed is None or self._transmission.plan is not trial.plan:
            return not_measured(trial.spec, Verdict.ABORT, aborted)
        self._tester.wait(trial.spec.restabilise_ns)
        return self._counted(observed, aborted)

    def _close(self) -> None:
        for part in reversed(self._parts):
            part.close()

    def _counted(self, observed: Observed, aborted: str) -> TrialResult:
        tester, spec, plan, reading = self._tester, self._trial.spec, self._trial.plan, observed.reading
        flows = flow_arrays(plan, reading)
        counts = count(plan, reading, tester.tick_ps, per_flow=spec.per_flow, flows=flows)
        lateness_ns = 2 * plan.round_ns + tester.target.capabilities.scheduling_jitter_ns
        doubted = doubt(
            plan,
            reading,
            flows,
            counts,
            pauses=observed.pauses,
            tick_ps=tester.tick_ps,
            lateness_ns=lateness_ns + sum(part.lateness_ns() for part in self._parts),
        )
        result = trial_result(
            spec,
            Verdict.ABORT if aborted else Verdict.INVALID if doubted else Verdict.MEASURED,
            aborted or (doubted.reason if doubted else ""),
            counts,
            undelivered=not aborted and doubted is not None and doubted.undelivered,
        )
        result = replace(
            result,
            ports=_with_link_losses(result.ports, observed.link_losses),
            pacing=stream_pacing(plan, tester.tick_ps),
            port_queues=self._port_queues(reading),
        )
        for part in self._parts:
            result = part.add(result, reading, flows)
        return result

    def _port_queues(self, reading: Reading) -> tuple[PortQueue, ...]:
        tester = self._tester
        if tester.target.capabilities.stamps.kind is not StampKind.PARSER:
            return ()  # Departures are stamped as they leave: their clock is the port's.
        return tuple(port_queues(self._trial.plan, reading.records, tester.tick_ps))


def _with_link_losses(ports: tuple[PortCounts, ...], losses: Mapping[int, int]) -> tuple[PortCounts, ...]:
    if not any(losses.values()):
        return ports
    return tuple(replace(port, link_losses=losses[port.port]) for port in ports)
