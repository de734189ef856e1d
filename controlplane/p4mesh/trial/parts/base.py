"""The form of a feature of a trial: a method for each phase, none of which has to do anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.target.base import Target
from p4mesh.tester.frames import FCS_BYTES
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.line_rate import frame_time_ns
from p4mesh.trial.link_watch import LinkWatch
from p4mesh.trial.onlooker import Onlooker
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec


@dataclass
class Trial:
    """State that the features of a trial share."""

    tester: Tester
    spec: TrialSpec
    onlooker: Onlooker | None
    send: Callable[[Plan, int], Reading]
    """Lets streams that only prepare the trial run for some ns, to their end."""
    plan: Plan = field(init=False)
    """Plan of the streams of the trial; known once they are addressed."""

    def wire_ns(self, length_bytes: int, ports: Sequence[int]) -> int:
        """Nanoseconds for which a frame of the controller, without FCS, may hold up the test frames of its port."""
        rates = self.tester.target.own_rate_bps_of
        return max(int(frame_time_ns(length_bytes + FCS_BYTES, rates[port])) + 1 for port in ports)


@dataclass
class Sending:
    """Streams that run, as features see them. Times are since the start request."""

    tester: Tester
    plan: Plan
    duration_ns: int
    links: LinkWatch
    lead_ns: int = 0
    """Time at which the first frame departs."""
    end_ns: int = 0
    """Time at which the last frame has departed."""
    began_ns: int | Fraction = 0
    last_read: np.ndarray[Any, Any] | None = None
    """The records that were read last while the streams ran."""

    @property
    def now_ns(self) -> int | Fraction:
        """Nanoseconds since the start request."""
        return self.tester.elapsed_ns - self.began_ns

    def read(self, cells: Sequence[range]) -> np.ndarray[Any, Any]:
        """Records of some cells, which are kept as :attr:`last_read`."""
        self.last_read = self.tester.records_of(cells)
        return self.last_read


class Part:
    """One feature of one trial; its methods are called in their order here."""

    in_preparation = False
    """Whether it takes part when streams run that only prepare the trial, too."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.due_ns: int | Fraction | None = None
        """Time at which :meth:`act` is called next while the streams run; None: never."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        """Whether the trial asks for the feature."""
        raise NotImplementedError

    def require(self, target: Target) -> None:
        """Raise UnsupportedError where the target cannot do it; nothing has happened then."""

    # Before the streams run

    def reset(self) -> None:
        """Bring the device into the state in which the trial finds it."""

    def address(self) -> str:
        """Complete the streams of the trial before they are planned; return why that fails, or an empty text."""
        return ""

    def prepare(self) -> str:
        """Prepare tester and device for the streams; return why that fails, or an empty text."""
        return ""

    # While they run

    def begin(self, sending: Sending) -> None:
        """Take note that streams will be loaded."""

    def loaded(self, sending: Sending) -> None:
        """Take note that streams are loaded; none has its seeds yet."""

    def started(self, sending: Sending) -> None:
        """Take note that the first frame departs in ``sending.lead_ns``."""

    def look(self, sending: Sending) -> None:
        """Have a look, several times a second; it must not take the target's time."""

    def act(self, sending: Sending) -> None:
        """Do what is due, and set the next time."""

    # Afterwards

    def ended(self, sending: Sending, reading: Reading) -> None:
        """Take note of the last reading of streams that have ended."""

    def close(self) -> None:
        """End what was begun, in a trial that failed, too; features are closed in reverse order."""

    def lateness_ns(self) -> int:
        """Nanoseconds by which the feature may delay a departure."""
        return 0

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        """Adds what the feature has found to the result."""
        return result

    def explain(self, result: TrialResult) -> TrialResult:
        """Adds what the feature knows to the result of a trial that could not be prepared."""
        return result
