"""RFC 2889 5.7: address caching capacity."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.methods.base import UnitResult
from p4mesh.methods.outcome import Column
from p4mesh.methods.parameters import Parameter, ParameterSet, decimal, integer
from p4mesh.methods.rfc2889.address_test import AddressTest, search_goal, spread
from p4mesh.methods.rfc2889.address_trial import address_parameters
from p4mesh.methods.search import Grid, SearchGoal

SECTION = "RFC 2889 5.7"


class AddressCaching(AddressTest):
    """How many addresses the device holds without flooding or dropping a frame."""

    name: ClassVar[str] = "rfc2889.address_caching"
    title: ClassVar[str] = "Address caching capacity"
    section: ClassVar[str] = SECTION
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("addresses_initial", 100, "addresses", SECTION, "first number of addresses", (1, 8192)),
        integer("addresses_min", 100, "addresses", SECTION, "smallest number", (1, 8192)),
        integer("addresses_max", 2048, "addresses", SECTION, "largest number", (1, 8192)),
        integer("addresses_resolution", 100, "addresses", SECTION, "width at which the search stops", (1, 8192)),
        decimal("learning_rate_fps", "50", "frames/s", SECTION, "rate of learning; RFC at most 50", ("0.1", "1000000")),
        *address_parameters(SECTION),
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("frame_size_bytes", "Frame size", "B"),
        Column("state", "Result"),
        Column("capacity_min", "Capacity, lowest", "addresses"),
        Column("capacity_max", "Capacity, highest", "addresses"),
        Column("fails_at", "Fails at", "addresses"),
        Column("repetitions", "Searches"),
        Column("iterations", "Iterations"),
    )
    result_key: ClassVar[str] = "capacity_min"
    result_unit: ClassVar[str] = "addresses"
    note: ClassVar[str] = "Lowest and highest over searches with different address bases."

    def goal(self, parameters: ParameterSet) -> SearchGoal:
        """Return the search on the number of addresses."""
        resolution = parameters.number("addresses_resolution")
        return search_goal(parameters, "addresses", "", resolution, Grid.INTEGER)

    def question(self, value: Fraction, parameters: ParameterSet) -> tuple[int, Fraction]:
        """The number is searched at a fixed rate."""
        return int(value), parameters.number("learning_rate_fps")

    def row(self, size: int, results: Sequence[UnitResult], parameters: ParameterSet) -> UnitResult:
        """Return capacity and spread of one frame size."""
        return spread(results, "capacity_min", "capacity_max", "fails_at")
