"""RFC 2889 5.7: address caching capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from p4mesh.methods.options.parameters import ParameterSet, decimal
from p4mesh.methods.results import fields
from p4mesh.methods.results.record import Row
from p4mesh.methods.rfc2889.address_results import CAPACITY, AddressUnit
from p4mesh.methods.rfc2889.address_trial import FASTEST_FPS, address_parameters
from p4mesh.methods.rfc2889.addressed import (
    Addressed,
    AddressSearches,
    capacity_goal,
    capacity_parameters,
    floors,
    spread,
)
from p4mesh.methods.search.goal import SearchGoal

SECTION = "RFC 2889 5.7"


class AddressCaching(Addressed[AddressUnit]):
    """How many addresses the device holds without flooding or dropping a frame."""

    name = "rfc2889.address_caching"
    title = "Address caching capacity"
    terms = "MAC address table size, flooding"
    section = SECTION
    parameters = (
        *capacity_parameters("addresses", SECTION),
        decimal("learning_rate_fps", "50", "frames/s", SECTION, "rate of learning; RFC at most 50", FASTEST_FPS),
        *address_parameters(SECTION),
    )
    columns = (
        fields.FRAME_SIZE_BYTES,
        fields.STATE,
        fields.CAPACITY_MIN,
        fields.CAPACITY_MAX,
        fields.UPPER_ADDRESSES,
        fields.REPETITIONS,
        fields.ITERATIONS,
    )
    headline = (fields.STATE, fields.CAPACITY_MIN, fields.CAPACITY_MAX, fields.UPPER_ADDRESSES)
    note = (
        "Lowest and highest over searches with different address bases; 'Fails at' is the lowest number that failed in "
        "one of them and, above a capacity, by more than its lost frames: the device holds fewer. Where it is empty, "
        "the device may hold more."
    )

    def goals(self, parameters: ParameterSet) -> Mapping[str, SearchGoal]:
        """The search of the number of addresses."""
        return {CAPACITY: capacity_goal(parameters, "addresses")}

    def largest_number(self, parameters: ParameterSet) -> int:
        """The maximum of the search."""
        return parameters.integer("addresses_max")

    def iterations_expected(self, parameters: ParameterSet) -> int:
        """The length of the one search."""
        return capacity_goal(parameters, "addresses").trials_expected

    def search(self, searches: AddressSearches, parameters: ParameterSet) -> AddressUnit:
        """Search the number at a fixed rate."""
        rate_fps = parameters.number("learning_rate_fps")
        goal = capacity_goal(parameters, "addresses")
        found = searches.run(CAPACITY, goal, lambda value: (int(value), rate_fps))
        return AddressUnit(
            frame_size_bytes=searches.frame_size_bytes, repetition=searches.repetition, searches=(found,)
        )

    def table_rows(self, size: int, units: Sequence[AddressUnit]) -> list[Row]:
        """One row: the capacity and its spread."""
        found = spread([search for unit in units for search in unit.searches])
        capacities = {"capacity_min": found.lowest, "capacity_max": found.highest, "upper_addresses": found.upper}
        return [({"frame_size_bytes": size}, capacities, found)]

    def findings(self, size: int, units: Sequence[AddressUnit]) -> Iterator[str]:
        """Yield capacities above which nothing surely failed."""
        searches = {unit.repetition: search for unit in units for search in unit.searches}
        yield from floors(f"{size} B", searches, "addresses")
