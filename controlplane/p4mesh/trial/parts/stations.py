"""Finds the routers of routed streams, sends the single frames that a trial asks for, and counts their answers."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.reading import Reading
from p4mesh.tester.station_service import StationService
from p4mesh.tester.stations import stations_of
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult


class Stations(Part):
    """The stations around routed streams, and frames of the controller."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        ports = trial.tester.target.topology.tester_ports
        routers = {port.number: bytes.fromhex(port.router_mac.replace(":", "")) for port in ports if port.router_mac}
        self._service = StationService(trial.tester.packets, routers, stations_of(trial.tester.target.topology))

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        spec = trial.spec
        own = any(port.station_mac for port in trial.tester.target.topology.tester_ports)
        return own or bool(spec.controller_frames) or any(it.routed or it.received_in_tunnel for it in spec.streams)

    def address(self) -> str:
        spec = self.trial.spec
        streams, unanswered = self._service.begin(spec.streams, spec.controller_frames)
        self.trial.spec = replace(spec, streams=streams)
        return unanswered

    def begin(self, sending: Sending) -> None:
        self._service.forget_answers()

    def started(self, sending: Sending) -> None:
        for frame in self.trial.spec.controller_frames:
            self._service.send_later(max(0, sending.lead_ns + frame.at_ns), frame)

    def lateness_ns(self) -> int:
        frames = self.trial.spec.controller_frames
        return sum(self.trial.wire_ns(len(frame.payload), (frame.port,)) for frame in frames)

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        return replace(result, answered_frames=self._service.answered_frames)
