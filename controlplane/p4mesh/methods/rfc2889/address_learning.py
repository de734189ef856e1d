"""RFC 2889 5.8: address learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TestMethod, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, boolean, decimal, integer
from p4mesh.methods.rfc2889.address_trial import ROW_COLUMNS, AddressTrial, address_parameters, ports_of
from p4mesh.methods.search import SearchGoal, Verdict, bisect

SECTION = "RFC 2889 5.8"
_TRIALS_PER_STEP = 2
_FASTEST_FPS = ("0.1", "1000000")

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("state", "Result"),
    Column("addresses", "Addresses", "n"),
    Column("rate_fps", "Learning rate", "frames/s", 3),
    Column("fails_at_fps", "Fails at", "frames/s", 3),
    Column("iterations", "Iterations"),
)


class AddressLearning(TestMethod):
    """The highest rate of new source addresses that are all learned."""

    name: ClassVar[str] = "rfc2889.address_learning"
    title: ClassVar[str] = "Address learning rate"
    section: ClassVar[str] = SECTION
    frame_sizes_bytes: ClassVar[tuple[int, ...]] = (64,)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("addresses", 100, "addresses", SECTION, "number of addresses; at most the capacity", (1, 8192)),
        decimal("rate_initial_fps", "20", "frames/s", SECTION, "first rate", _FASTEST_FPS),
        decimal("rate_min_fps", "20", "frames/s", SECTION, "lowest rate", _FASTEST_FPS),
        decimal("rate_max_fps", "100", "frames/s", SECTION, "highest rate", _FASTEST_FPS),
        decimal("rate_resolution_fps", "20", "frames/s", SECTION, "width at which the search stops", _FASTEST_FPS),
        boolean("rate_try_max_first", False, SECTION, "try the highest rate before the bisection"),
        *address_parameters(SECTION),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than three ports, and contradicting bounds."""
        ports_of(self.name, bed, parameters)
        _goal(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size and repetition."""
        repetitions = range(1, parameters.integer("repetitions") + 1)
        return tuple(Unit(size, f"base{number}") for size in sizes for number in repetitions)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return learning and test trials of a typical search."""
        return _TRIALS_PER_STEP * _goal(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Search the rate with one address base."""
        goal, addresses = _goal(parameters), parameters.integer("addresses")
        repetition = int(unit.part.removeprefix("base"))
        trial = AddressTrial(unit.frame_size_bytes, repetition, ports_of(self.name, bed, parameters), parameters)
        rows: list[UnitResult] = []

        def judge(rate_fps: Fraction) -> Verdict:
            left = _TRIALS_PER_STEP * max(0, goal.trials_expected - len(rows) - 1)
            verdict, row = trial.judge(addresses, rate_fps, session, left)
            rows.append(row)
            return verdict

        found = bisect(goal, judge)
        return {
            "frame_size_bytes": unit.frame_size_bytes,
            "state": found.state.value + (" (at least)" if found.at_least else ""),
            "addresses": addresses,
            "rate_fps": None if found.result is None else float(found.result),
            "fails_at_fps": None if found.failed is None else float(found.failed),
            "iterations": len(rows),
            "rows": rows,
        }

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the rate per frame size, and every iteration; 'at least' marks a search ceiling."""
        units = list(results.values())
        states = {unit["state"].partition(" ")[0] for unit in units}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        iterations = tuple({column.key: row[column.key] for column in ROW_COLUMNS} for u in units for row in u["rows"])
        untrusted = (row for unit in units for row in unit["rows"] if row["reason"])
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (
                Table(
                    "address_learning",
                    "Address learning rate",
                    COLUMNS,
                    tuple({column.key: unit[column.key] for column in COLUMNS} for unit in units),
                    "'at least': no higher rate was tried; the search cannot end above it.",
                ),
                Table("address_learning_iterations", "Iterations", ROW_COLUMNS, iterations),
            ),
            (),
            tuple(f"{row['learning_rate_fps']:g} frames/s: {row['reason']}" for row in untrusted),
        )


def _goal(parameters: ParameterSet) -> SearchGoal:
    low, first, high = (parameters.number(f"rate_{name}_fps") for name in ("min", "initial", "max"))
    if not low <= first <= high:
        raise ParameterError(
            f"rate_min_fps={float(low):g}, rate_initial_fps={float(first):g}, rate_max_fps={float(high):g}"
            " are out of order",
            hint="rate_min_fps <= rate_initial_fps <= rate_max_fps",
        )
    resolution = parameters.number("rate_resolution_fps")
    return SearchGoal(first, low, high, resolution, parameters.flag("rate_try_max_first"))
