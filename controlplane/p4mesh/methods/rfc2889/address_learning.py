"""RFC 2889 5.8: address learning rate, for one or several numbers of addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods.base import UnitResult
from p4mesh.methods.outcome import Column
from p4mesh.methods.parameters import Parameter, ParameterSet, boolean, choice, decimal, integer
from p4mesh.methods.rfc2889.address_test import (
    CAPACITY,
    MAX_ADDRESSES,
    AddressSearches,
    AddressTest,
    Question,
    capacity_goal,
    capacity_parameters,
    floors,
    search_goal,
    spread,
)
from p4mesh.methods.rfc2889.address_trial import FASTEST_FPS, ROW_COLUMNS, address_parameters
from p4mesh.methods.search import SearchGoal, Verdict
from p4mesh.methods.sweeps import sweep_loads

SECTION = "RFC 2889 5.8"
LEARNING_RATE = "learning rate"
SWEEP, SWEEP_TO_CAPACITY = "sweep", "sweep_to_capacity"
_NUMBERS = (1, MAX_ADDRESSES)


class AddressLearning(AddressTest):
    """The highest rate of new source addresses that are all learned, with as many addresses as the device holds."""

    name: ClassVar[str] = "rfc2889.address_learning"
    title: ClassVar[str] = "Address learning rate"
    section: ClassVar[str] = SECTION
    parameters: ClassVar[tuple[Parameter, ...]] = (
        choice(
            "addresses",
            CAPACITY,
            SECTION,
            "numbers of addresses: the capacity, which is searched as in 5.7; those of a sweep; those of a sweep up to "
            "the capacity, and the capacity",
            (CAPACITY, SWEEP, SWEEP_TO_CAPACITY),
        ),
        integer("addresses_start", 100, "addresses", SECTION, "first number of the sweep", _NUMBERS),
        integer("addresses_end", 2048, "addresses", SECTION, "last number of the sweep", _NUMBERS),
        integer("addresses_step", 512, "addresses", SECTION, "step of the sweep", _NUMBERS),
        *capacity_parameters("capacity", SECTION),
        decimal("capacity_rate_fps", "50", "frames/s", SECTION, "rate of learning in that search", FASTEST_FPS),
        decimal("rate_initial_fps", "20", "frames/s", SECTION, "first rate", FASTEST_FPS),
        decimal("rate_min_fps", "20", "frames/s", SECTION, "lowest rate", FASTEST_FPS),
        decimal("rate_max_fps", "100", "frames/s", SECTION, "highest rate", FASTEST_FPS),
        decimal("rate_resolution_fps", "20", "frames/s", SECTION, "width at which the search stops", FASTEST_FPS),
        boolean("rate_try_max_first", True, SECTION, "try the highest rate before the bisection"),
        *address_parameters(SECTION),
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("frame_size_bytes", "Frame size", "B"),
        Column("addresses", "Addresses", "n"),
        Column("number", "n is"),
        Column("state", "Result"),
        Column("rate_fps_min", "Learning rate, lowest", "frames/s", 3),
        Column("rate_fps_max", "Learning rate, highest", "frames/s", 3),
        Column("fails_at_fps", "Fails at", "frames/s", 3),
        Column("repetitions", "Searches"),
        Column("iterations", "Iterations"),
    )
    row_columns: ClassVar[tuple[Column, ...]] = (*ROW_COLUMNS[:2], Column("search", "Search of"), *ROW_COLUMNS[2:])
    note: ClassVar[str] = (
        "Lowest and highest over searches with different address bases, whose capacities may differ. 'at least': no "
        "higher rate was tried; the search cannot end above it."
    )

    def goals(self, parameters: ParameterSet) -> Mapping[str, SearchGoal]:
        """Return the searches of the capacity, where it is asked for, and of the rate."""
        rates = search_goal(parameters, "rate", "_fps")
        mode = parameters.text("addresses")
        if mode != CAPACITY and parameters.integer("addresses_start") > parameters.integer("addresses_end"):
            start, end = (parameters.integer(f"addresses_{word}") for word in ("start", "end"))
            raise ParameterError(
                f"addresses_start={start} is above addresses_end={end}",
                hint="the sweep runs upwards: addresses_start <= addresses_end",
            )
        found = {} if mode == SWEEP else {CAPACITY: capacity_goal(parameters, "capacity")}
        return {**found, LEARNING_RATE: rates}

    def largest_number(self, parameters: ParameterSet) -> int:
        """Return the end of the sweep or the maximum of the search of the capacity, whichever is used and larger."""
        mode = parameters.text("addresses")
        end = 0 if mode == CAPACITY else parameters.integer("addresses_end")
        return max(end, 0 if mode == SWEEP else parameters.integer("capacity_max"))

    def iterations_expected(self, parameters: ParameterSet) -> int:
        """Return the length of the search of the capacity and of those of the rate."""
        goals = self.goals(parameters)
        numbers = len(_numbers(parameters, parameters.integer("addresses_end")))
        capacity = goals[CAPACITY].trials_expected if CAPACITY in goals else 0
        return capacity + numbers * goals[LEARNING_RATE].trials_expected

    def search(self, searches: AddressSearches, parameters: ParameterSet) -> UnitResult:
        """Find the numbers of addresses, and search the rate with each of them."""
        goals = self.goals(parameters)
        found: list[UnitResult] = []
        capacity: int | None = None
        if CAPACITY in goals:
            rate_fps = parameters.number("capacity_rate_fps")
            found.append(searches.run(CAPACITY, goals[CAPACITY], lambda value: (int(value), rate_fps)))
            capacity = found[0]["result"]
            if capacity is None:
                return {"searches": found, "capacity": None}
        for addresses in _numbers(parameters, capacity):
            rates = searches.run(LEARNING_RATE, goals[LEARNING_RATE], _at_rate(addresses))
            number = CAPACITY if addresses == capacity else "step"
            found.append({"addresses": addresses, "number": number, **rates})
            if rates["state"] in (Verdict.INVALID.value, Verdict.ABORT.value):
                break
        return {"searches": found, "capacity": capacity}

    def table_rows(self, size: int, units: Sequence[UnitResult]) -> list[UnitResult]:
        """Return a row per number of addresses: the rate and its spread."""
        return [
            {
                "frame_size_bytes": size,
                "addresses": addresses,
                "number": number,
                **spread(list(searches.values()), "rate_fps_min", "rate_fps_max", "fails_at_fps"),
            }
            for (addresses, number), searches in _by_number(units).items()
        ]

    def findings(self, size: int, units: Sequence[UnitResult]) -> Iterator[str]:
        """Yield bases without a capacity, capacities and rates above which nothing was tried."""
        capacities = {
            unit["repetition"]: search for unit in units for search in unit["searches"] if search["search"] == CAPACITY
        }
        for base, search in capacities.items():
            if search["result"] is None:
                why = f"no capacity was found ({search['state']}), so no learning rate was searched"
                yield f"{size} B, base {base}: {why}"
        yield from floors(f"{size} B, capacity", capacities, "addresses")
        for (addresses, _), searches in _by_number(units).items():
            yield from floors(f"{size} B, {addresses} addresses", searches, "f/s")


def _by_number(units: Sequence[UnitResult]) -> dict[tuple[int, str], dict[int, UnitResult]]:
    """Return the searches of the rate by number of addresses and address base."""
    found: dict[tuple[int, str], dict[int, UnitResult]] = {}
    for unit in units:
        for search in unit["searches"]:
            if search["search"] == LEARNING_RATE:
                found.setdefault((search["addresses"], search["number"]), {})[unit["repetition"]] = search
    return {number: found[number] for number in sorted(found)}


def _at_rate(addresses: int) -> Question:
    """Return the question of a search of the rate with a fixed number of addresses."""
    return lambda rate_fps: (addresses, rate_fps)


def _numbers(parameters: ParameterSet, capacity: int | None) -> tuple[int, ...]:
    """Return the capacity, or start, start + step, ... and the end, which is not above the capacity."""
    start, end, step = (Fraction(parameters.integer(f"addresses_{word}")) for word in ("start", "end", "step"))
    if capacity is not None and parameters.text("addresses") == CAPACITY:
        return (capacity,)
    if capacity is not None and parameters.text("addresses") == SWEEP_TO_CAPACITY:
        end = min(end, Fraction(capacity))
    return tuple(int(number) for number in sweep_loads(min(start, end), end, step))
