"""Captures the first faulty frames of a trial, and names lost ones, for somebody who wants to see them."""

from __future__ import annotations

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.faults import faults_of
from p4mesh.target.base import Target
from p4mesh.tester.reading import Reading
from p4mesh.trial.onlooker import FaultRequest
from p4mesh.trial.parts.base import Part, Sending, Trial


class CapturingFaults(Part):
    """The capture of each transmission; where learning or joins cannot be verified, theirs are the faults to see."""

    in_preparation = True

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.onlooker is not None and trial.onlooker.faults is not None

    @property
    def _request(self) -> FaultRequest:
        assert self.trial.onlooker is not None and self.trial.onlooker.faults is not None
        return self.trial.onlooker.faults

    def require(self, target: Target) -> None:
        if not target.capabilities.captures_faults:
            raise UnsupportedError(f"capturing faulty frames is not supported on {target.name}", hint="leave it out")

    def loaded(self, sending: Sending) -> None:
        sending.tester.dataplane.faults.begin(self._request.frames)

    def ended(self, sending: Sending, reading: Reading) -> None:
        capture, request = sending.tester.dataplane.faults, self._request
        packets = capture.take()
        capture.end()
        request.take(faults_of(sending.plan, reading.records, packets, sending.tester.tick_ps, request.frames))
