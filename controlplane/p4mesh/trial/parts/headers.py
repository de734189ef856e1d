"""Compares headers of received frames with those that the device is to make (RFC 5695 "Traffic Verification")."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.errors import UnsupportedError
from p4mesh.layers import Ethernet, Frame
from p4mesh.layers.notation import stated, text_of_frame
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.target.base import Target
from p4mesh.tester.reading import Reading
from p4mesh.tester.sendable import MAGIC
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

COMPARED_FRAMES = 64
"""Frames of a trial, the first ones that arrive in order: each goes through the channel to the controller."""


class ComparingHeaders(Part):
    """A trial whose first frames have other headers is INVALID: the device does not do what is measured."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self._difference = ""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return bool(trial.spec.received_headers)

    def require(self, target: Target) -> None:
        if not target.capabilities.captures_faults:
            raise UnsupportedError(
                f"comparing headers of received frames is not supported on {target.name}",
                hint="leave received_headers out",
            )
        if self.trial.onlooker is not None and self.trial.onlooker.faults is not None:
            raise UnsupportedError(
                "received_headers beside --capture: the program captures one kind of frames at a time",
                hint="leave one of the two out",
            )

    def loaded(self, sending: Sending) -> None:
        sending.tester.dataplane.faults.begin(COMPARED_FRAMES, ("expected",))

    def ended(self, sending: Sending, reading: Reading) -> None:
        capture = sending.tester.dataplane.faults
        for packet in capture.take():
            if not self._difference and not has_headers(packet.frame, self.trial.spec.received_headers):
                found = text_of_frame(Frame(Frame.read(packet.frame)[0].layers[1:]))
                self._difference = f"port {packet.port} received {found}, not {self.trial.spec.received_headers}"
        capture.end()

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        if self._difference and result.status is Verdict.MEASURED:
            return replace(result, status=Verdict.INVALID, reason=f"headers: {self._difference}")
        return result


def has_headers(data: bytes, headers: str) -> bool:
    """Whether a frame has these layers and no others in front of a signature, with the values that are given."""
    expected = stated(headers)
    frame, payload = Frame.read(data)
    layers = frame.layers if expected[0][0] is Ethernet else frame.layers[1:]
    if [type(layer) for layer in layers] != [kind for kind, _ in expected] or not payload.startswith(MAGIC):
        return False
    return all(
        getattr(layer, name) == value
        for layer, (_, values) in zip(layers, expected, strict=True)
        for name, value in values.items()
    )
