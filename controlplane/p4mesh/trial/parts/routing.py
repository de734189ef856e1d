"""Announces the networks behind the stations of routed streams, and lets them change while the streams run."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.reading import Reading
from p4mesh.tester.routing_service import LONGEST_PERIODIC_BYTES, RoutingService
from p4mesh.traffic.refused_routes import RefusedRoutes
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict


class Routing(Part):
    """BGP sessions of one trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        tester = trial.tester
        self._service = RoutingService(tester.packets, tester.wait, tester.target)
        self._refused: tuple[RefusedRoutes, ...] = ()
        self._lost_session = ""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.tester.target.topology.bgp is not None and any(stream.routed for stream in trial.spec.streams)

    def prepare(self) -> str:
        spec = self.trial.spec
        return self._service.begin(spec.streams, spec.number, spec.routing_event)

    def started(self, sending: Sending) -> None:
        if (event := self.trial.spec.routing_event) is not None:
            self._service.change_after(sending.lead_ns + event.after_ns)

    def close(self) -> None:
        self._refused = self._service.refused()
        self._lost_session = self._service.end()

    def lateness_ns(self) -> int:
        """Periodic messages share the wires with the streams."""
        return self.trial.wire_ns(LONGEST_PERIODIC_BYTES, self.trial.plan.ports)

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        result = replace(result, refused_routes=self._refused)
        # A reset of the device ends its sessions: when they come back, traffic does.
        if self._lost_session and result.status is not Verdict.ABORT and self.trial.spec.interruption is None:
            return replace(result, status=Verdict.INVALID, reason=self._lost_session)
        return result

    def explain(self, result: TrialResult) -> TrialResult:
        reason = "; ".join((result.reason, *(routes.text for routes in self._refused)))
        return replace(result, reason=reason, refused_routes=self._refused)
