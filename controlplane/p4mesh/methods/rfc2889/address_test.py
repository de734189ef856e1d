"""What the address tests of RFC 2889 (5.7, 5.8) have in common: one search per address base, and their spread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TestMethod, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import ParameterSet
from p4mesh.methods.rfc2889.address_trial import ROW_COLUMNS, AddressTrial, ports_of
from p4mesh.methods.search import Grid, SearchGoal, Verdict, bisect

RFC_REPETITIONS = 3
_TRIALS_PER_STEP = 2

AT_LEAST = "PASS (at least)"


class AddressTest(TestMethod):
    """A search over the number of addresses or over their rate, repeated with several address bases."""

    frame_sizes_bytes: ClassVar[tuple[int, ...]] = (64,)
    reset_between: ClassVar[str] = "wait_aging"
    columns: ClassVar[tuple[Column, ...]]
    result_key: ClassVar[str]
    """Column of the lowest result of all searches."""
    result_unit: ClassVar[str]
    note: ClassVar[str]

    @abstractmethod
    def goal(self, parameters: ParameterSet) -> SearchGoal:
        """Return the search; raise ParameterError when its bounds contradict."""

    @abstractmethod
    def question(self, value: Fraction, parameters: ParameterSet) -> tuple[int, Fraction]:
        """Return addresses and learning rate in frames/s for a value of the search."""

    @abstractmethod
    def row(self, size: int, results: Sequence[UnitResult], parameters: ParameterSet) -> UnitResult:
        """Return the row of one frame size from the searches of all address bases."""

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than three ports, and contradicting bounds."""
        ports_of(self.name, bed, parameters)
        self.goal(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size and address base."""
        repetitions = range(1, parameters.integer("repetitions") + 1)
        return tuple(Unit(size, f"base{number}") for size in sizes for number in repetitions)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return learning and test trials of a typical search."""
        return _TRIALS_PER_STEP * self.goal(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Search with one address base."""
        goal = self.goal(parameters)
        repetition = int(unit.part.removeprefix("base"))
        trial = AddressTrial(unit.frame_size_bytes, repetition, ports_of(self.name, bed, parameters), parameters)
        rows: list[UnitResult] = []

        def judge(value: Fraction) -> Verdict:
            left = _TRIALS_PER_STEP * max(0, goal.trials_expected - len(rows) - 1)
            addresses, rate_fps = self.question(value, parameters)
            verdict, row = trial.judge(addresses, rate_fps, session, left)
            rows.append(row)
            return verdict

        found = bisect(goal, judge)
        return {
            "frame_size_bytes": unit.frame_size_bytes,
            "state": found.state.value,
            "result": _plain(found.result, goal),
            "fails_at": _plain(found.failed, goal),
            "at_least": found.at_least,
            "rows": rows,
        }

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return a row per frame size with its spread over the address bases, and every iteration."""
        units = list(results.values())
        states = {result["state"] for result in units}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        sizes = dict.fromkeys(unit.frame_size_bytes for unit in results)
        rows = tuple(
            self.row(size, [item for item in units if item["frame_size_bytes"] == size], parameters) for size in sizes
        )
        iterations = tuple({column.key: row[column.key] for column in ROW_COLUMNS} for u in units for row in u["rows"])
        goal = self.goal(parameters)
        bounds = ", ".join(
            f"{word} {float(value):g}"
            for word, value in (
                ("initial", goal.initial),
                ("minimum", goal.minimum),
                ("maximum", goal.maximum),
                ("resolution", goal.resolution),
            )
        )
        name = self.name.partition(".")[2]
        log = Table(f"{name}_iterations", "Iterations", ROW_COLUMNS, iterations, f"Bisection: {bounds}.", keys=())
        searches = parameters.integer("repetitions")
        few = f"{searches} searches with different address bases instead of {RFC_REPETITIONS} or more."
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (Table(name, self.title, self.columns, rows, self.note), log),
            (),
            tuple(
                f"{row['frame_size_bytes']} B: >= {row[self.result_key]:g} {self.result_unit}; no more was tried"
                for row in rows
                if row["state"] == AT_LEAST
            )
            + tuple(
                f"{row['frame_size_bytes']} B, {row['addresses']} addresses at {row['learning_rate_fps']:g} frames/s: "
                f"{row['reason']}"
                for unit in units
                for row in unit["rows"]
                if row["reason"]
            ),
            (
                "Addresses of the device and of the tester's ports take entries too; they are not counted.",
                *((few,) if searches < RFC_REPETITIONS else ()),
            ),
        )


def spread(results: Sequence[UnitResult], lowest: str, highest: str, fails_at: str) -> UnitResult:
    """Return result and spread of all searches of one frame size, under the column keys given."""
    found = [result["result"] for result in results if result["result"] is not None]
    failed = [result["fails_at"] for result in results if result["fails_at"] is not None]
    passed = len(found) == len(results)
    open_ended = passed and any(result["at_least"] for result in results)
    states = [result["state"] for result in results if result["result"] is None]
    return {
        "frame_size_bytes": results[0]["frame_size_bytes"],
        "state": (AT_LEAST if open_ended else "PASS") if passed else states[0],
        lowest: min(found, default=None),
        highest: max(found, default=None),
        fails_at: min(failed, default=None),
        "repetitions": len(results),
        "iterations": sum(len(result["rows"]) for result in results),
    }


def search_goal(
    parameters: ParameterSet, prefix: str, suffix: str, resolution: Fraction, grid: Grid = Grid.EXACT
) -> SearchGoal:
    """Return a bisection between the parameters ``prefix_min``, ``_initial`` and ``_max``; they must be in order."""
    names = [f"{prefix}_{word}{suffix}" for word in ("min", "initial", "max")]
    low, first, high = (parameters.number(name) for name in names)
    if not low <= first <= high:
        shown = ", ".join(f"{name}={float(parameters.number(name)):g}" for name in names)
        raise ParameterError(f"{shown} are out of order", hint=" <= ".join(names))
    return replace(SearchGoal(first, low, high, resolution), grid=grid)


def _plain(value: Fraction | None, goal: SearchGoal) -> int | float | None:
    if value is None:
        return None
    return int(value) if goal.grid is Grid.INTEGER else float(value)
