"""RFC 2889 5.8: address learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from p4mesh.methods.base import UnitResult
from p4mesh.methods.outcome import Column
from p4mesh.methods.parameters import Parameter, ParameterSet, boolean, decimal, integer
from p4mesh.methods.rfc2889.address_test import AddressTest, search_goal, spread
from p4mesh.methods.rfc2889.address_trial import address_parameters
from p4mesh.methods.search import SearchGoal

SECTION = "RFC 2889 5.8"
_FASTEST_FPS = ("0.1", "1000000")


class AddressLearning(AddressTest):
    """The highest rate of new source addresses that are all learned."""

    name: ClassVar[str] = "rfc2889.address_learning"
    title: ClassVar[str] = "Address learning rate"
    section: ClassVar[str] = SECTION
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("addresses", 100, "addresses", SECTION, "number of addresses; at most the capacity", (1, 8192)),
        decimal("rate_initial_fps", "20", "frames/s", SECTION, "first rate", _FASTEST_FPS),
        decimal("rate_min_fps", "20", "frames/s", SECTION, "lowest rate", _FASTEST_FPS),
        decimal("rate_max_fps", "100", "frames/s", SECTION, "highest rate", _FASTEST_FPS),
        decimal("rate_resolution_fps", "20", "frames/s", SECTION, "width at which the search stops", _FASTEST_FPS),
        boolean("rate_try_max_first", False, SECTION, "try the highest rate before the bisection"),
        *address_parameters(SECTION),
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("frame_size_bytes", "Frame size", "B"),
        Column("state", "Result"),
        Column("addresses", "Addresses", "n"),
        Column("rate_fps_min", "Learning rate, lowest", "frames/s", 3),
        Column("rate_fps_max", "Learning rate, highest", "frames/s", 3),
        Column("fails_at_fps", "Fails at", "frames/s", 3),
        Column("repetitions", "Searches"),
        Column("iterations", "Iterations"),
    )
    result_key: ClassVar[str] = "rate_fps_min"
    result_unit: ClassVar[str] = "f/s"
    note: ClassVar[str] = (
        "Lowest and highest over searches with different address bases. 'at least': no higher rate was tried; the "
        "search cannot end above it."
    )

    def goal(self, parameters: ParameterSet) -> SearchGoal:
        """Return the search on the rate."""
        goal = search_goal(parameters, "rate", "_fps", parameters.number("rate_resolution_fps"))
        return replace(goal, try_max_first=parameters.flag("rate_try_max_first"))

    def question(self, value: Fraction, parameters: ParameterSet) -> tuple[int, Fraction]:
        """The rate is searched with a fixed number of addresses."""
        return parameters.integer("addresses"), value

    def row(self, size: int, results: Sequence[UnitResult], parameters: ParameterSet) -> UnitResult:
        """Return rate and spread of one frame size."""
        found = spread(results, "rate_fps_min", "rate_fps_max", "fails_at_fps")
        return found | {"addresses": parameters.integer("addresses")}
