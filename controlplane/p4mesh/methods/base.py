"""The interface of a test method, and the session and notes that it uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from p4mesh.methods.bed import Bed
from p4mesh.methods.options.goals import stated_goal
from p4mesh.methods.options.parameters import Parameter, ParameterSet
from p4mesh.methods.results.outcome import Figure, Outcome, Table
from p4mesh.methods.results.record import Record
from p4mesh.methods.results.search_findings import search_findings
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.results.searched import HasSearch
from p4mesh.traffic.imix import FrameSize, size_name
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Result = TypeVar("Result", bound=Record)
"""Result of one unit."""

RFC_FRAME_SIZES_BYTES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 section 9.1."""


@dataclass(frozen=True)
class Unit:
    """A part of a test that shares no state with the others, so that parts may run in parallel.

    It may follow another one, and then takes over trials of it (:meth:`MethodOf.follows`).
    """

    frame_size: FrameSize
    """Bytes with FCS; 0 for a part of a test that is not about one frame size."""
    part: str
    iteration: int = 1

    @property
    def frame_size_bytes(self) -> int:
        """The one frame size of a test that takes no mixes."""
        assert isinstance(self.frame_size, int)
        return self.frame_size

    @property
    def key(self) -> str:
        """Stable name of the unit in stored results."""
        repeated = f"/{self.iteration}" if self.iteration > 1 else ""
        named = size_name(self.frame_size)
        size = f"{named}/" if isinstance(named, str) else f"{named}B/" if named else ""
        return f"{size}{self.part}{repeated}"


@dataclass(frozen=True)
class TrialNote:
    """Notes on a trial for the progress line and the trial log."""

    load_pct: Fraction
    """Intended load of a sender in % of its line."""
    remaining: int
    """Trials of this unit that are expected after this one."""
    judge: Callable[[TrialResult], Verdict] | None = None
    """The verdict on this trial alone; None when it has none."""


class Session(Protocol):
    """Measures trials for a method; the method may announce the next trials."""

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Run one trial and return its counts; the result is on disk before this returns."""
        ...

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Say that the next calls of ``measure`` are for these trials, in this order; no trial builds on another one.

        The trials may be measured ahead and side by side, each on a device of its own. A method that stops
        before the last one asks for something else or ends: the rest was never measured, as far as it can tell.
        """
        ...


class MethodOf(ABC, Generic[Result]):
    """One test. Instances are stateless; ``run_unit`` and ``assemble`` are pure but for the session."""

    name: str
    title: str
    section: str
    terms: str = ""
    """Words of the RFC by which a user may look for the test, beside those of its title."""
    part: str
    """Name of its units, one per frame size; a test with other units has :meth:`units` of its own."""
    parameters: tuple[Parameter, ...]
    frame_sizes_bytes: tuple[int, ...] = RFC_FRAME_SIZES_BYTES
    reset_between: str = "none"
    """Default reset of the device before each trial."""

    def refuses_mix(self, parameters: ParameterSet) -> str:
        """Why the frames of a trial cannot have a mix of sizes; empty where they can."""
        return "frames of a trial have one size"

    def goal(self, parameters: ParameterSet) -> str:
        """The goal that PASS and FAIL judge, in words; empty where the test has none."""
        return stated_goal(parameters)

    @abstractmethod
    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Raise TopologyError or ParameterError when the test cannot run on this bed."""

    def derived(self, parameters: ParameterSet) -> ParameterSet:
        """The parameters with those that follow from others; raises ParameterError for those that contradict."""
        return parameters

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The (transmit, receive) ports whose latency the test prints; none by default."""
        return ()

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """The independent parts of the test, in report order: by default one per frame size."""
        return tuple(Unit(size, self.part) for size in sizes)

    def follows(self, unit: Unit) -> Unit | None:
        """The unit that is measured before this one, which takes over equal trials of it; None by default."""
        return None

    @abstractmethod
    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The typical number of trials of one unit, for progress only."""

    @abstractmethod
    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Result:
        """Measure one unit and return its results."""

    @abstractmethod
    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Result]) -> Outcome:
        """Tables, figures and the verdict from the results of all units."""

    def outcome(
        self,
        verdicts: Iterable[Verdict],
        about: str,
        tables: Iterable[Table],
        *,
        searched: Sequence[HasSearch] = (),
        figures: Iterable[Figure] = (),
        findings: Iterable[str] = (),
        deviations: Iterable[str] = (),
    ) -> Outcome:
        """An outcome with the worst verdict, whose summary says what was tested; empty deviations are left out.

        Tables and findings of what was ``searched`` are added: the searches behind the results.
        """
        state = Verdict.worst(verdicts)
        summary = f"{self.title}: {', '.join(filter(None, (about, state.value)))}"
        return Outcome(
            state,
            summary,
            (*tables, *search_tables(searched)),
            tuple(figures),
            (*search_findings(searched), *findings),
            tuple(filter(None, deviations)),
        )


Method = MethodOf[Any]
"""A test with any type of unit result."""
