"""Turns a finished run into an exit code and into JSON for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.results.outcome import Outcome, State
from p4mesh.store.run_directory import read_run


def exit_code(outcome: Outcome) -> int:
    """Return 0 for a test that passed or was executed, 1 for one that failed or cannot be trusted."""
    return EXIT_OK if outcome.state in (State.PASS, State.DONE) else EXIT_TEST_FAILED


def results_data(path: Path) -> dict[str, Any]:
    """Return the results of a finished run for JSON output."""
    stored = read_run(path)
    outcome = stored.results["outcome"]
    return {"run": str(path), "test": stored.config["test"], **outcome, "units": stored.results["units"]}
