"""Runs that are finished, read again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from p4mesh.report.compare.differences import Measured
from p4mesh.report.publish import outcome_of
from p4mesh.store.stored_run import read_run


def measured(paths: Sequence[Path]) -> list[Measured]:
    """Runs for a comparison, with names that tell them apart.

    These are the names of their directories, longer ones where they are equal. Raises RunDirectoryError for what is no
    finished run.
    """
    stored = [read_run(path) for path in paths]
    names = [path.resolve().name for path in paths]
    unique = len(set(names)) == len(names)
    shown = names if unique else [str(path) for path in paths]
    if len(set(shown)) < len(shown):
        shown = [f"{name} ({number})" for number, name in enumerate(shown, start=1)]
    return [Measured(name, run, outcome_of(run)) for name, run in zip(shown, stored, strict=True)]
