"""Resets the device or lets its failures begin while the streams run (RFC 6201), and finds the outage of each flow."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.outages import StallFinder, outages
from p4mesh.target.base import Target
from p4mesh.tester.reading import Reading
from p4mesh.trial.hook import run_hook
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.parts.failing import require_failures
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Interruption


class Interrupting(Part):
    """One interruption; looks at the records find the last frame of each flow before it."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.interruption is not None

    @property
    def _interruption(self) -> Interruption:
        assert self.trial.spec.interruption is not None
        return self.trial.spec.interruption

    def require(self, target: Target) -> None:
        if self._interruption.failures:
            require_failures(target)
        elif not self._interruption.hook and not target.capabilities.resets_devices:
            raise UnsupportedError(
                f"resetting a device is not supported on {target.name}",
                hint="give the command that resets it: --set reset_cmd=COMMAND",
            )

    def started(self, sending: Sending) -> None:
        self._stalls = StallFinder(sending.plan)
        self.due_ns = sending.lead_ns + self._interruption.after_ns

    def act(self, sending: Sending) -> None:
        self.due_ns = None
        self._trigger(sending.tester.target)
        self._find_stalls(sending)

    def _trigger(self, target: Target) -> None:
        interruption = self._interruption
        if interruption.failures:
            target.cause_failures(interruption.failures)
        elif interruption.hook:
            run_hook(interruption.hook, self.trial.spec.label)
        else:
            target.reset_device(interruption.device, interruption.off_ns)

    def _find_stalls(self, sending: Sending) -> None:
        """Look at the records until every flow has stalled and come back, at most until the streams end."""
        every_ns = self._interruption.sample_ns
        while not self._stalls.complete:
            sending.links.require_links()
            self._stalls.look(sending.tester.records())
            sending.tester.packets.serve()
            if sending.now_ns + every_ns >= sending.end_ns:
                return
            sending.tester.wait(every_ns)

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        trial = self.trial
        found = outages(trial.plan, reading, self._stalls, flows, trial.tester.tick_ps)
        return replace(result, outages=found)
