"""Shared part of the address tests of RFC 2889 (5.7, 5.8): searches per address base, and their spread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, integer
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.loss_interval import LEARNS, forgiven_text
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record, Row, table_of
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.methods.rfc2889.address_findings import all_findings
from p4mesh.methods.rfc2889.address_results import AddressSearch, AddressUnit, Iteration
from p4mesh.methods.rfc2889.address_trial import RANDOM, AddressTrial, mac_base_of, ports_of
from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.verdict import Verdict

RFC_REPETITIONS = 3
MAX_ADDRESSES = 65_535
"""The counter of the addresses has 16 bits and starts at 1."""
MAX_RANDOM_ADDRESSES = 16_384
"""Random addresses are a list in the data plane, of MODIFIER_VALUES entries."""
_TRIALS_PER_STEP = 2
_LONGEST_LOG = 40

SomeUnit = TypeVar("SomeUnit", bound=AddressUnit)

Question = Callable[[Fraction], tuple[int, Fraction]]
"""Value of a search -> addresses, and learning rate in frames/s."""


class AddressSearches:
    """The searches with one address base; every iteration is a learning and a test trial."""

    def __init__(self, trial: AddressTrial, session: Session, iterations_expected: int) -> None:
        self._trial = trial
        self._session = session
        self._expected = iterations_expected
        self._done = 0
        self._monitored = False

    @property
    def frame_size_bytes(self) -> int:
        """Frame size of all iterations."""
        return self._trial.frame_size_bytes

    @property
    def repetition(self) -> int:
        """Number of the address base."""
        return self._trial.repetition

    def run(self, subject: str, goal: SearchGoal, question: Question) -> AddressSearch:
        """Search the highest value; ``question`` makes a trial of a value, ``subject`` names the searched quantity in
        results.
        """
        rows: list[Iteration] = []

        def judge(value: Fraction) -> Verdict:
            left = _TRIALS_PER_STEP * max(0, self._expected - self._done - 1)
            self._done += 1
            verdict, row = self._trial.judge(subject, *question(value), self._session, left)
            rows.append(row)
            return verdict

        found = bisect(goal, judge)
        if found.result is not None and (reason := self._unmonitored(rows, question(found.result)[1])):
            rows = [
                replace(row, verdict=Verdict.INVALID, reason=reason) if row.verdict is Verdict.PASS else row
                for row in rows
            ]
            found = replace(found, state=Verdict.INVALID)
        upper = found.failed
        if found.result is not None:
            failed = (
                step.load
                for step, row in zip(found.steps, rows, strict=True)
                if step.verdict is Verdict.FAIL and row.exceeds_table
            )
            upper = min(failed, default=None)
        return AddressSearch(
            search=subject,
            state=found.state,
            result=_plain(found.result, goal),
            upper=_plain(upper, goal),
            # No line ends these searches: the maximum is a number that somebody chose.
            at_least=found.result is not None and upper is None,
            rows=tuple(rows),
        )

    def _unmonitored(self, rows: Iterable[Iteration], rate_fps: Fraction) -> str:
        """The reason why iterations would not have seen a flood; empty where one has been seen."""
        self._monitored = self._monitored or any(row.monitor_flood_frames for row in rows)
        reason = "" if self._monitored else self._trial.unmonitored(rate_fps, self._session)
        self._monitored = not reason
        return reason


class Addressed(MethodOf[SomeUnit]):
    """Searches over the number of addresses or over their rate, repeated with several address bases."""

    frame_sizes_bytes = (64,)
    reset_between = "wait_aging"
    columns: tuple[Column, ...]
    headline: tuple[Column, ...]
    row_columns: tuple[Column, ...] = Iteration.columns()
    note: str

    @abstractmethod
    def goals(self, parameters: ParameterSet) -> Mapping[str, SearchGoal]:
        """The searches by subject; raise ParameterError when their bounds contradict."""

    @abstractmethod
    def largest_number(self, parameters: ParameterSet) -> int:
        """The largest number of addresses that any search may ask for."""

    @abstractmethod
    def iterations_expected(self, parameters: ParameterSet) -> int:
        """The typical number of iterations with one address base, for progress only."""

    @abstractmethod
    def search(self, searches: AddressSearches, parameters: ParameterSet) -> SomeUnit:
        """Run the searches with one address base."""

    @abstractmethod
    def table_rows(self, size: int, units: Sequence[SomeUnit]) -> list[Row]:
        """The rows of one frame size from the searches of all address bases."""

    @abstractmethod
    def findings(self, size: int, units: Sequence[SomeUnit]) -> Iterator[str]:
        """Yield findings on the results of one frame size."""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than three ports, contradicting bounds, and texts that are not MAC addresses."""
        ports_of(self.name, bed, parameters)
        mac_base_of(parameters)
        self.goals(parameters)
        largest = self.largest_number(parameters)
        if parameters.text("address_order") == RANDOM and largest > MAX_RANDOM_ADDRESSES:
            raise ParameterError(
                f"address_order={RANDOM}: {largest} addresses are asked for, and at most {MAX_RANDOM_ADDRESSES} can be "
                "random",
                hint="fewer addresses, or address_order=incrementing",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """One unit per frame size and address base."""
        repetitions = range(1, parameters.integer("repetitions") + 1)
        return tuple(Unit(size, f"base{number}") for size in sizes for number in repetitions)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Learning and test trials of typical searches."""
        return _TRIALS_PER_STEP * self.iterations_expected(parameters)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> SomeUnit:
        """Search with one address base."""
        repetition = int(unit.part.removeprefix("base"))
        trial = AddressTrial(unit.frame_size_bytes, repetition, ports_of(self.name, bed, parameters), bed, parameters)
        searches = AddressSearches(trial, session, self.iterations_expected(parameters))
        return self.search(searches, parameters)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, SomeUnit]) -> Outcome:
        """The results with their spread over the address bases, and every iteration."""
        units = list(results.values())
        sizes = dict.fromkeys(unit.frame_size_bytes for unit in results)
        of_size = {size: [unit for unit in units if unit.frame_size_bytes == size] for size in sizes}
        rows = [row for size, own in of_size.items() for row in self.table_rows(size, own)]
        iterations = [row for unit in units for search in unit.searches for row in search.rows]
        name = self.name.partition(".")[2]
        log = table_of(
            f"{name}_iterations",
            "Iterations",
            self.row_columns,
            [row.cells(self.row_columns) for row in iterations],
            " ".join(f"Search of the {subject}: {_bounds(goal)}." for subject, goal in self.goals(parameters).items()),
            detail=len(iterations) > _LONGEST_LOG,
            keys=(),
        )
        keys = [column for column in self.columns if column in (fields.FRAME_SIZE_BYTES, fields.ADDRESSES)]
        note = f"{self.note} {forgiven_text((row.learning_tx_frames for row in iterations), LEARNS)}"
        searches = parameters.integer("repetitions")
        few = f"{searches} searches with different address bases instead of {RFC_REPETITIONS} or more."
        pieces = "T sends in pieces and stops after the one in which a frame was flooded (fast_stop)."
        return self.outcome(
            [search.state for unit in units for search in unit.searches],
            "",
            (table_of(name, self.title, self.columns, rows, note, keys=keys, headline=self.headline), log),
            findings=(
                *_together(text for size, own in of_size.items() for text in self.findings(size, own)),
                *all_findings(units, iterations, parameters),
            ),
            deviations=(
                "Addresses of the device and of the tester's ports take entries too; they are not counted.",
                few if searches < RFC_REPETITIONS else "",
                pieces if parameters.flag("fast_stop") else "",
            ),
        )


def capacity_parameters(prefix: str, section: str) -> tuple[Parameter, ...]:
    """The parameters of the search of the number of addresses."""
    limits = (1, MAX_ADDRESSES)
    return (
        integer(f"{prefix}_initial", 100, "addresses", section, "first number of addresses", limits),
        integer(f"{prefix}_min", 100, "addresses", section, "smallest number", limits),
        integer(f"{prefix}_max", 2048, "addresses", section, "largest number", limits),
        integer(f"{prefix}_resolution", 100, "addresses", section, "width at which the search stops", limits),
        boolean(f"{prefix}_try_max_first", True, section, "try the largest number before the bisection"),
    )


def capacity_goal(parameters: ParameterSet, prefix: str) -> SearchGoal:
    """The search that ``capacity_parameters`` describe."""
    return search_goal(parameters, prefix, "", Grid.INTEGER)


def search_goal(parameters: ParameterSet, prefix: str, suffix: str, grid: Grid = Grid.EXACT) -> SearchGoal:
    """A bisection between the parameters ``prefix_min``, ``_initial`` and ``_max``; they must be in order."""
    names = [f"{prefix}_{word}{suffix}" for word in ("min", "initial", "max")]
    low, first, high = (parameters.number(name) for name in names)
    if not low <= first <= high:
        shown = ", ".join(f"{name}={typed_text(parameters.number(name))}" for name in names)
        raise ParameterError(f"{shown} are out of order", hint=" <= ".join(names))
    resolution = parameters.number(f"{prefix}_resolution{suffix}")
    return SearchGoal(first, low, high, resolution, parameters.flag(f"{prefix}_try_max_first"), grid)


@dataclass(frozen=True, kw_only=True)
class SearchSpread(Record):
    """Result and spread of searches that belong together."""

    state: Verdict
    reason: str
    lowest: float | None
    highest: float | None
    upper: float | None
    repetitions: int
    iterations: int


def spread(searches: Sequence[AddressSearch]) -> SearchSpread:
    found = [search.result for search in searches if search.result is not None]
    failed = [search.upper for search in searches if search.upper is not None]
    states = [search.state for search in searches if search.result is None]
    lowest = min(found, default=None)
    open_ended = not states and any(search.at_least for search in searches if search.result == lowest)
    return SearchSpread(
        state=Verdict.worst(states),
        reason=AT_LEAST if open_ended else "",
        lowest=lowest,
        highest=max(found, default=None),
        upper=min(failed, default=None),
        repetitions=len(searches),
        iterations=sum(len(search.rows) for search in searches),
    )


def floors(where: str, searches: Mapping[int, AddressSearch], unit: str) -> Iterator[str]:
    """Yield the results above which nothing surely failed; ``searches`` are those of all address bases."""
    bases_of: dict[tuple[float, str], list[str]] = {}
    for base, search in searches.items():
        if search.at_least and search.result is not None:
            failed = any(row.verdict is Verdict.FAIL for row in search.rows)
            why = "more failed only where frames were lost" if failed else "no more was tried"
            bases_of.setdefault((search.result, why), []).append(str(base))
    for (value, why), bases in sorted(bases_of.items()):
        word = "base" if len(bases) == 1 else "bases"
        some = "" if len(bases) == len(searches) else f", {word} {', '.join(bases)}"
        yield f"{where}{some}: >= {number_text(value)} {unit}; {why}"


def _together(texts: Iterable[str]) -> Iterator[str]:
    """Yield findings ``where: what``, those that say the same of several places as one."""
    places_of: dict[str, list[str]] = {}
    for text in texts:
        where, _, what = text.partition(": ")
        places_of.setdefault(what, []).append(where)
    for what, places in places_of.items():
        where = places[0] if len(places) == 1 else f"{places[0]} to {places[-1]} ({len(places):,} results)"
        yield f"{where}: {what}"


def _bounds(goal: SearchGoal) -> str:
    numbers = (
        ("initial", goal.initial),
        ("minimum", goal.minimum),
        ("maximum", goal.maximum),
        ("resolution", goal.resolution),
    )
    shown = ", ".join(f"{word} {number_text(value)}" for word, value in numbers)
    return f"bisection, {shown}, maximum first: {'yes' if goal.try_max_first else 'no'}"


def _plain(value: Fraction | None, goal: SearchGoal) -> int | float | None:
    if value is None:
        return None
    return int(value) if goal.grid is Grid.INTEGER else float(value)
