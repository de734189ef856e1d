"""Turns a finished run into an exit code and into JSON for other programs."""

from __future__ import annotations

from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.results.outcome import Outcome


def exit_code(outcome: Outcome) -> int:
    """The exit code: 0 for a test that met its goal or was measured without one, 1 for any other."""
    return EXIT_OK if outcome.state.good else EXIT_TEST_FAILED
