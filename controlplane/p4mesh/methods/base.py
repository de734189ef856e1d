"""What every test method offers to the code that runs it, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Outcome
from p4mesh.methods.parameters import Parameter, ParameterSet
from p4mesh.methods.search import Verdict
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
    iteration: int = 1
    step: int = 0
    """One of the steps of the unit, counted from 1; 0 = all of them."""

    @property
    def key(self) -> str:
        """Stable name of the unit in stored results."""
        step = f"@{self.step}" if self.step else ""
        repeated = f"/{self.iteration}" if self.iteration > 1 else ""
        return f"{self.frame_size_bytes}B/{self.part}{step}{repeated}"


@dataclass(frozen=True)
class TrialNote:
    """What a person wants to read beside a trial."""

    load_pct: Fraction
    remaining: int
    """Trials of this unit that are expected after this one."""
    judge: Callable[[TrialResult], Verdict] | None = None
    """The verdict on this trial alone; None when it has none."""


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
    reset_between: ClassVar[str] = "none"
    """How the device is reset before each trial unless the user says otherwise."""

    @abstractmethod
    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Raise TopologyError or ParameterError when the test cannot run on this bed."""

    def latency_pairs(self, bed: TestBed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """Return the (transmit, receive) ports whose latency the test prints; none by default."""
        return ()

    @abstractmethod
    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return the independent parts of the test, in report order."""

    def steps(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return how many steps a unit has that do not depend on each other; 1 where it must stay whole."""
        return 1

    def join(self, unit: Unit, bed: TestBed, parameters: ParameterSet, results: Sequence[UnitResult]) -> UnitResult:
        """Return the result of a unit from those of its steps."""
        (whole,) = results
        return whole

    @abstractmethod
    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical number of trials of one unit or step, for progress only."""

    @abstractmethod
    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure one unit, or one step of it, and return its results as plain data."""

    @abstractmethod
    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return tables, figures and the verdict from the results of all units."""


class Wrapping(TestMethod):
    """A test made from another one; what a subclass does not change is that of ``inner``."""

    inner: ClassVar[TestMethod]

    def __init_subclass__(cls) -> None:
        """Take over what describes the inner test."""
        inner = cls.inner
        cls.name, cls.title, cls.section = inner.name, inner.title, inner.section
        cls.frame_sizes_bytes, cls.reset_between = inner.frame_sizes_bytes, inner.reset_between

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Raise what the inner test raises."""
        self.inner.check(bed, parameters)

    def latency_pairs(self, bed: TestBed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """Return the pairs of the inner test."""
        return self.inner.latency_pairs(bed, parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return the units of the inner test."""
        return self.inner.units(parameters, sizes)

    def steps(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the steps of the inner test."""
        return self.inner.steps(unit, parameters)

    def join(self, unit: Unit, bed: TestBed, parameters: ParameterSet, results: Sequence[UnitResult]) -> UnitResult:
        """Join as the inner test does."""
        return self.inner.join(unit, bed, parameters, results)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the number of the inner test."""
        return self.inner.trials_expected(unit, parameters)

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure a unit of the inner test."""
        return self.inner.run_unit(unit, bed, parameters, session)

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the outcome of the inner test."""
        return self.inner.assemble(bed, parameters, results)
