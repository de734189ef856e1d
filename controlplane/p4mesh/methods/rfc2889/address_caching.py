"""RFC 2889 5.7: address caching capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TestMethod, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, decimal, integer
from p4mesh.methods.rfc2889.address_trial import ROW_COLUMNS, AddressTrial, address_parameters, ports_of
from p4mesh.methods.search import Grid, SearchGoal, Verdict, bisect

SECTION = "RFC 2889 5.7"
_TRIALS_PER_STEP = 2

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("state", "Result"),
    Column("capacity_min", "Capacity, lowest", "addresses"),
    Column("capacity_max", "Capacity, highest", "addresses"),
    Column("fails_at", "Fails at", "addresses"),
    Column("repetitions", "Searches"),
    Column("iterations", "Iterations"),
)


class AddressCaching(TestMethod):
    """How many addresses the device holds without flooding or dropping a frame."""

    name: ClassVar[str] = "rfc2889.address_caching"
    title: ClassVar[str] = "Address caching capacity"
    section: ClassVar[str] = SECTION
    frame_sizes_bytes: ClassVar[tuple[int, ...]] = (64,)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("addresses_initial", 100, "addresses", SECTION, "first number of addresses", (1, 8192)),
        integer("addresses_min", 100, "addresses", SECTION, "smallest number", (1, 8192)),
        integer("addresses_max", 2048, "addresses", SECTION, "largest number", (1, 8192)),
        integer("addresses_resolution", 100, "addresses", SECTION, "width at which the search stops", (1, 8192)),
        decimal("learning_rate_fps", "50", "frames/s", SECTION, "rate of learning; RFC at most 50", ("0.1", "1000000")),
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
        """Search the capacity with one address base."""
        goal, rate_fps = _goal(parameters), parameters.number("learning_rate_fps")
        repetition = int(unit.part.removeprefix("base"))
        trial = AddressTrial(unit.frame_size_bytes, repetition, ports_of(self.name, bed, parameters), parameters)
        rows: list[UnitResult] = []

        def judge(addresses: Fraction) -> Verdict:
            left = _TRIALS_PER_STEP * max(0, goal.trials_expected - len(rows) - 1)
            verdict, row = trial.judge(int(addresses), rate_fps, session, left)
            rows.append(row)
            return verdict

        found = bisect(goal, judge)
        return {
            "frame_size_bytes": unit.frame_size_bytes,
            "state": found.state.value,
            "capacity": None if found.result is None else int(found.result),
            "fails_at": None if found.failed is None else int(found.failed),
            "at_least": found.at_least,
            "rows": rows,
        }

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return capacity per frame size with its spread over the address bases, and every iteration."""
        states = {result["state"] for result in results.values()}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        sizes = dict.fromkeys(unit.frame_size_bytes for unit in results)
        rows = tuple(_row(size, [r for unit, r in results.items() if unit.frame_size_bytes == size]) for size in sizes)
        iterations = tuple(
            {column.key: row[column.key] for column in ROW_COLUMNS} for r in results.values() for row in r["rows"]
        )
        untrusted = (row for r in results.values() for row in r["rows"] if row["reason"])
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (
                Table("address_caching", "Address caching capacity", COLUMNS, rows),
                Table("address_caching_iterations", "Iterations", ROW_COLUMNS, iterations),
            ),
            (),
            tuple(f"{row['frame_size_bytes']} B, {row['addresses']} addresses: {row['reason']}" for row in untrusted),
            ("Addresses of the device and of the tester's ports take entries too; they are not counted.",),
        )


def _goal(parameters: ParameterSet) -> SearchGoal:
    low, first, high = (Fraction(parameters.integer(f"addresses_{name}")) for name in ("min", "initial", "max"))
    if not low <= first <= high:
        raise ParameterError(
            f"addresses_min={low}, addresses_initial={first}, addresses_max={high} are out of order",
            hint="addresses_min <= addresses_initial <= addresses_max",
        )
    return SearchGoal(first, low, high, Fraction(parameters.integer("addresses_resolution")), grid=Grid.INTEGER)


def _row(size: int, results: Sequence[UnitResult]) -> UnitResult:
    found = [result["capacity"] for result in results if result["capacity"] is not None]
    failed = [result["fails_at"] for result in results if result["fails_at"] is not None]
    passed = len(found) == len(results)
    open_ended = passed and any(result["at_least"] for result in results)
    states = [result["state"] for result in results if result["capacity"] is None]
    return {
        "frame_size_bytes": size,
        "state": ("PASS (at least)" if open_ended else "PASS") if passed else states[0],
        "capacity_min": min(found, default=None),
        "capacity_max": max(found, default=None),
        "fails_at": min(failed, default=None),
        "repetitions": len(results),
        "iterations": sum(len(result["rows"]) for result in results),
    }
