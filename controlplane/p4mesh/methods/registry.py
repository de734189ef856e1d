"""All tests, by name."""

from __future__ import annotations

from p4mesh.methods.base import Method
from p4mesh.methods.composition import Extension, Suite
from p4mesh.methods.extensions.clocks import ClockNote
from p4mesh.methods.extensions.iterations import Iterations
from p4mesh.methods.extensions.resets import Resets
from p4mesh.methods.messages import suite as messages
from p4mesh.methods.names import unknown
from p4mesh.methods.rfc2544 import suite as rfc2544
from p4mesh.methods.rfc2889 import suite as rfc2889
from p4mesh.methods.rfc3918 import suite as rfc3918
from p4mesh.methods.rfc5180 import suite as rfc5180

SUITES: tuple[Suite, ...] = (rfc2889.SUITE, rfc2544.SUITE, rfc5180.SUITE, rfc3918.SUITE, messages.SUITE)
EVERY_TEST: tuple[Extension, ...] = (Resets(), ClockNote(), Iterations())
"""Extensions of every test, applied around those of its suite: a trial of RFC 2544 is offered under its
conditions, then gets its reset; the note on clocks is in the report of each iteration; iterations repeat all of it."""

_SUITE_TESTS = {suite.name: suite.tests(EVERY_TEST) for suite in SUITES}
TESTS: tuple[Method, ...] = tuple(test for tests in _SUITE_TESTS.values() for test in tests)


def suites() -> dict[str, tuple[Method, ...]]:
    """Return the tests of each suite, in the order of the RFC."""
    return dict(_SUITE_TESTS)


def find_test(name: str) -> Method:
    """Return the test called ``name``; raise UnknownTestError with the nearest or all names."""
    for test in TESTS:
        if test.name == name:
            return test
    raise unknown(name)
