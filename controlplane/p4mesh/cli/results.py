"""Turns a finished run into an exit code and into JSON for other programs."""

from __future__ import annotations

from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.results.outcome import Outcome, State


def exit_code(outcome: Outcome) -> int:
    """Return 0 for a test that passed or was executed, 1 for one that failed or cannot be trusted."""
    return EXIT_OK if outcome.state in (State.PASS, State.DONE) else EXIT_TEST_FAILED
