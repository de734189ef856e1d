"""RFC 2889 5.8: address learning rate, for one or several numbers of addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice, decimal, integer
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.record import Row
from p4mesh.methods.rfc2889.address_results import CAPACITY, AddressSearch, Iteration, LearningUnit
from p4mesh.methods.rfc2889.address_trial import FASTEST_FPS, address_parameters
from p4mesh.methods.rfc2889.addressed import (
    MAX_ADDRESSES,
    Addressed,
    AddressSearches,
    Question,
    capacity_goal,
    capacity_parameters,
    floors,
    search_goal,
    spread,
)
from p4mesh.methods.search.goal import SearchGoal
from p4mesh.methods.sweeps import sweep_loads

SECTION = "RFC 2889 5.8"
LEARNING_RATE = "learning rate"
SWEEP, SWEEP_TO_CAPACITY = "sweep", "sweep_to_capacity"
FPS, PCT = "fps", "pct"
BASE_RATE = "rate_base_fps"
_NUMBERS = (1, MAX_ADDRESSES)


def _rate_parameters(unit: str, shown: str, bounds: tuple[str, str]) -> tuple[Parameter, ...]:
    """The search of the rate in one unit, with the defaults of published reports."""
    when = f"rate_unit={unit}: "
    return (
        decimal(f"rate_initial_{unit}", "20", shown, SECTION, f"{when}first rate", bounds),
        decimal(f"rate_min_{unit}", "20", shown, SECTION, f"{when}lowest rate", bounds),
        decimal(f"rate_max_{unit}", "100", shown, SECTION, f"{when}highest rate", bounds),
        decimal(f"rate_resolution_{unit}", "20", shown, SECTION, f"{when}width at which the search stops", bounds),
    )


class AddressLearning(Addressed[LearningUnit]):
    """The highest rate of new source addresses that are all learned, with as many addresses as the device holds."""

    name = "rfc2889.address_learning"
    title = "Address learning rate"
    terms = "MAC address table, flooding"
    section = SECTION
    parameters = (
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
        choice("rate_unit", FPS, SECTION, f"search the rate in frames/s, or in % of {BASE_RATE}", (FPS, PCT)),
        decimal(BASE_RATE, "100", "frames/s", SECTION, "100 % of a learning rate", FASTEST_FPS),
        *_rate_parameters(FPS, "frames/s", FASTEST_FPS),
        *_rate_parameters(PCT, f"% of {BASE_RATE}", ("0.0001", "100")),
        boolean("rate_try_max_first", True, SECTION, "try the highest rate before the bisection"),
        *address_parameters(SECTION),
    )
    columns = (
        fields.FRAME_SIZE_BYTES,
        fields.ADDRESSES,
        fields.NUMBER,
        fields.STATE,
        fields.RATE_FPS_MIN,
        fields.RATE_FPS_MAX,
        fields.RATE_PCT_MIN,
        fields.RATE_PCT_MAX,
        fields.UPPER_FPS,
        fields.UPPER_RATE_PCT,
        fields.REPETITIONS,
        fields.ITERATIONS,
    )
    row_columns = (*Iteration.columns()[:2], retitled(fields.SEARCH, "Search of"), *Iteration.columns()[2:])
    headline = (fields.NUMBER, fields.STATE, fields.RATE_FPS_MIN, fields.RATE_FPS_MAX, fields.UPPER_FPS)
    note = (
        "Lowest and highest over searches with different address bases, whose capacities may differ; 'Fails at' is the "
        "lowest rate that failed in one of them and, above a learning rate, by more than its lost frames. Where it is "
        "empty, the device may learn faster. A FAIL has no learning rate: it fails at the last rate that was tried."
    )

    def goals(self, parameters: ParameterSet) -> Mapping[str, SearchGoal]:
        """The searches of the capacity, where it is asked for, and of the rate."""
        rates = _rate_goal(parameters)
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
        """The end of the sweep or the maximum of the search of the capacity, whichever is used and larger."""
        mode = parameters.text("addresses")
        end = 0 if mode == CAPACITY else parameters.integer("addresses_end")
        return max(end, 0 if mode == SWEEP else parameters.integer("capacity_max"))

    def iterations_expected(self, parameters: ParameterSet) -> int:
        """The length of the search of the capacity and of those of the rate."""
        goals = self.goals(parameters)
        numbers = len(_numbers(parameters, parameters.integer("addresses_end")))
        capacity = goals[CAPACITY].trials_expected if CAPACITY in goals else 0
        return capacity + numbers * goals[LEARNING_RATE].trials_expected

    def search(self, searches: AddressSearches, parameters: ParameterSet) -> LearningUnit:
        """Find the numbers of addresses, and search the rate with each of them."""
        goals = self.goals(parameters)
        found: list[AddressSearch] = []
        capacity: int | None = None

        def unit() -> LearningUnit:
            return LearningUnit(
                frame_size_bytes=searches.frame_size_bytes,
                repetition=searches.repetition,
                searches=tuple(found),
                capacity=capacity,
                base_fps=float(parameters.number(BASE_RATE)),
            )

        if CAPACITY in goals:
            rate_fps = parameters.number("capacity_rate_fps")
            found.append(searches.run(CAPACITY, goals[CAPACITY], lambda value: (int(value), rate_fps)))
            if found[0].result is None:
                return unit()
            capacity = int(found[0].result)
        for addresses in _numbers(parameters, capacity):
            rates = searches.run(LEARNING_RATE, goals[LEARNING_RATE], _at_rate(addresses))
            number = CAPACITY if addresses == capacity else "step"
            found.append(replace(rates, addresses=addresses, number=number))
            if rates.state.ends_search:
                break
        return unit()

    def table_rows(self, size: int, units: Sequence[LearningUnit]) -> list[Row]:
        """A row per number of addresses: the rate and its spread."""

        def share_pct(rate_fps: float | None) -> float | None:
            return None if rate_fps is None else 100 * rate_fps / units[0].base_fps

        rows: list[Row] = []
        for (addresses, number), searches in _by_number(units).items():
            found = spread(list(searches.values()))
            rates = {
                "rate_fps_min": found.lowest,
                "rate_fps_max": found.highest,
                "upper_fps": found.upper,
                "rate_pct_min": share_pct(found.lowest),
                "rate_pct_max": share_pct(found.highest),
                "upper_rate_pct": share_pct(found.upper),
            }
            rows.append(({"frame_size_bytes": size, "addresses": addresses, "number": number}, rates, found))
        return rows

    def findings(self, size: int, units: Sequence[LearningUnit]) -> Iterator[str]:
        """Yield bases without a capacity, capacities and rates above which nothing was tried."""
        capacities = {
            unit.repetition: search for unit in units for search in unit.searches if search.search == CAPACITY
        }
        for base, search in capacities.items():
            if search.result is None:
                why = f"no capacity was found ({search.state.value}), so no learning rate was searched"
                yield f"{size} B, base {base}: {why}"
        yield from floors(f"{size} B, capacity", capacities, "addresses")
        for (addresses, _), searches in _by_number(units).items():
            yield from floors(f"{size} B, {addresses:,} addresses", searches, "frames/s")


def _rate_goal(parameters: ParameterSet) -> SearchGoal:
    """The search of the rate in frames/s; the trials of one in percents of the base rate are the same."""
    unit = parameters.text("rate_unit")
    goal = search_goal(parameters, "rate", f"_{unit}")
    if unit == FPS:
        return goal
    scale = parameters.number(BASE_RATE) / 100
    return replace(
        goal,
        initial=goal.initial * scale,
        minimum=goal.minimum * scale,
        maximum=goal.maximum * scale,
        resolution=goal.resolution * scale,
    )


def _by_number(units: Sequence[LearningUnit]) -> dict[tuple[int, str], dict[int, AddressSearch]]:
    """The searches of the rate by number of addresses and address base."""
    found: dict[tuple[int, str], dict[int, AddressSearch]] = {}
    for unit in units:
        for search in unit.searches:
            if search.addresses is not None and search.number is not None:
                found.setdefault((search.addresses, search.number), {})[unit.repetition] = search
    return {number: found[number] for number in sorted(found)}


def _at_rate(addresses: int) -> Question:
    """The question of a search of the rate with a fixed number of addresses."""
    return lambda rate_fps: (addresses, rate_fps)


def _numbers(parameters: ParameterSet, capacity: int | None) -> tuple[int, ...]:
    """The capacity, or start, start + step, ... and the end, which is not above the capacity."""
    start, end, step = (Fraction(parameters.integer(f"addresses_{word}")) for word in ("start", "end", "step"))
    if capacity is not None and parameters.text("addresses") == CAPACITY:
        return (capacity,)
    if capacity is not None and parameters.text("addresses") == SWEEP_TO_CAPACITY:
        end = min(end, Fraction(capacity))
    return tuple(int(number) for number in sweep_loads(min(start, end), end, step))
