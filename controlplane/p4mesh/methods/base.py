"""What every test method offers to the code that runs it, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Outcome
from p4mesh.methods.parameters import Parameter, ParameterSet
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

UnitResult = dict[str, Any]
"""Plain JSON data, so that it can cross processes and be stored."""

RFC_FRAME_SIZES_BYTES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 section 9.1."""


@dataclass(frozen=True)
class Unit:
    """A part of a test that shares no state with the others, so that parts may run in parallel."""

    frame_size_bytes: int
    part: str

    @property
    def key(self) -> str:
        """Stable name of the unit in stored results."""
        return f"{self.frame_size_bytes}B/{self.part}"


@dataclass(frozen=True)
class TrialNote:
    """What a person wants to read beside a trial."""

    load_pct: Fraction
    remaining: int
    """Trials of this unit that are expected after this one."""


class Session(Protocol):
    """The one thing that a method can do."""

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Run one trial and return its counts; the result is on disk before this returns."""
        ...


class TestMethod(ABC):
    """One test. Instances are stateless; ``run_unit`` and ``assemble`` are pure but for ``measure``."""

    __test__ = False

    name: ClassVar[str]
    title: ClassVar[str]
    section: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    frame_sizes_bytes: ClassVar[tuple[int, ...]] = RFC_FRAME_SIZES_BYTES

    @abstractmethod
    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Raise TopologyError or ParameterError when the test cannot run on this bed."""

    @abstractmethod
    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return the independent parts of the test, in report order."""

    @abstractmethod
    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical number of trials of one unit, for progress only."""

    @abstractmethod
    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure one unit and return its results as plain data."""

    @abstractmethod
    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return tables, figures and the verdict from the results of all units."""
