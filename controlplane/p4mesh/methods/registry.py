"""All tests, by name. A suite is loaded when one of its tests is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from p4mesh.methods.base import Method
from p4mesh.methods.composition import Extension
from p4mesh.methods.extensions.clocks import ClockNote
from p4mesh.methods.extensions.iterations import Iterations
from p4mesh.methods.extensions.load_axis import LoadAxis
from p4mesh.methods.extensions.mixes import Mixes
from p4mesh.methods.extensions.resets import Resets
from p4mesh.methods.names import NAMES, unknown

if TYPE_CHECKING:
    TESTS: tuple[Method, ...]
    """Every test, suite by suite."""

EVERY_TEST: tuple[Extension, ...] = (Resets(), ClockNote(), LoadAxis(), Mixes(), Iterations())
"""Extensions of every test, applied around those of its suite: a trial of RFC 2544 is offered under its
conditions, then gets its reset; the note on clocks and percent of a cap are in the report of each iteration;
streams of a mix are split last; iterations repeat all of it."""


def suites() -> dict[str, tuple[Method, ...]]:
    """The tests of each suite, in the order of the RFC."""
    return {name: _tests_of(name) for name in NAMES}


def find_test(name: str) -> Method:
    """The test called ``name``; raises UnknownTestError with the nearest or all names."""
    suite = name.partition(".")[0]
    for test in _tests_of(suite) if suite in NAMES else ():
        if test.name == name:
            return test
    raise unknown(name)


@cache
def _tests_of(suite: str) -> tuple[Method, ...]:
    """The tests of the suite of package ``suite``, each within its extensions."""
    tests: tuple[Method, ...] = import_module(f"p4mesh.methods.{suite}.suite").SUITE.tests(EVERY_TEST)
    return tests


def __getattr__(name: str) -> Any:
    if name == "TESTS":
        return tuple(test for tests in suites().values() for test in tests)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
