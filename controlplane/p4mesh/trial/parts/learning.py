"""The learning phase of a trial (methodology 0.3 b): learning frames, and the proof that they were learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from p4mesh.measurement.flow_arrays import addresses_reached
from p4mesh.quantities import ports_text
from p4mesh.tester.frames import learning_frame
from p4mesh.tester.stations import addresses_of
from p4mesh.trial.parts.base import Part, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.trial.verification import verification_streams

_ATTEMPTS = 3


class Learning(Part):
    """Learning frames from every receiving address, at the learning rate."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._reached: set[int] = set()
        """Ports that got a frame when learning was verified."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.learning.enabled

    def prepare(self) -> str:
        self._learn()
        failed = self._unverified() if self.trial.spec.learning.verify else ""
        return f"learning not verified: {failed}" if failed else ""

    def explain(self, result: TrialResult) -> TrialResult:
        return replace(result, reached_ports=tuple(sorted(self._reached)))

    def _learn(self) -> None:
        spec, tester = self.trial.spec, self.trial.tester
        addresses = {
            (port, stream.frame.vids, mac)
            for stream in spec.streams
            for port, mac in spec.learning.addresses
            or (
                (port, mac)
                for port in spec.learning.ports or (*stream.tx_ports, *stream.rx_ports)
                for mac in addresses_of(stream, port)
            )
        }
        gap_ns = 1_000_000_000 // spec.learning.rate_fps
        for port, vids, mac in sorted(addresses):
            for _ in range(spec.learning.frames_per_address):
                tester.dataplane.send(port, learning_frame(mac, vids))
                tester.wait(gap_ns)
        tester.wait(spec.learning.wait_ns)

    def _unverified(self) -> str:
        """Send a frame to every address; return what is wrong after the last attempt, or an empty text.

        In one attempt no frame may be flooded, nor lost on its way through a router; in one of them a frame
        must reach each address, so that a device that loses frames now and then can be measured.
        """
        tester = self.trial.tester
        streams, duration_ns = verification_streams(self.trial.spec.streams, tester.target.own_rate_bps_of)
        if not streams:
            return ""
        plan = tester.plan(streams)
        routed = any(stream.routed for stream in streams)
        missing = {port for stream in streams for port in stream.rx_ports}
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._learn()
            reading = self.trial.send(plan, duration_ns)
            flooded = reading.received("flooded")
            lost = sum(t.frames for item in plan.streams for t in item.transmitters) - reading.received("expected")
            self._reached |= addresses_reached(plan, reading)
            missing -= self._reached
            if not (flooded or missing or (routed and lost)):
                return ""
        if misdirected := reading.received("misdirected"):
            return f"{misdirected} frames came to a port with its address and were made for another one"
        if flooded:
            return f"{flooded} frames flooded"
        if routed:
            where = f"; none reached port {min(missing)}" if missing else ""
            return f"{lost} frame{'s' * (lost > 1)} did not arrive through the router{where}"
        senders = {flow.tx_port for flow in plan.flows if flow.expected and flow.rx_port in missing}
        text = f"no frame reached {_named(missing)} from {_named(senders)}"
        return f"{text}; frames reached {_named(self._reached)}" if self._reached else text


def _named(ports: Collection[int]) -> str:
    return f"port{'s' if len(ports) > 1 else ''} {ports_text(sorted(ports))}"
