"""Finds the runs below a directory, and keeps what is known of each of them up to date.

A run has a key that is made from its path, and the page knows nothing but keys: no name that a browser sends becomes a
path.
"""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from pathlib import Path

from p4mesh.server.run_view import RunView
from p4mesh.store.confined import Folder, folder
from p4mesh.store.finding import Kind, find_runs


class Catalogue:
    """The runs below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs: dict[str, RunView] = {}
        self.suites: dict[str, tuple[str, ...]] = {}
        """Suites by their keys: their place below the root."""

    def refresh(self) -> bool:
        """Look at every run again; return whether something has changed."""
        found: dict[str, RunView] = {}
        suites: dict[str, tuple[str, ...]] = {}
        changed = False
        try:
            for place in find_runs(self.root):
                key = key_of(place.parts)
                if place.kind is Kind.SUITE:
                    suites[key] = place.parts
                if place.kind is not Kind.RUN:
                    continue
                suite = None if place.suite is None else key_of(place.suite)
                known = self.runs.get(key) or RunView(key, _shown(place.parts), place.parts, suite)
                found[key] = known
                with folder(self.root, place.parts) as opened:
                    changed |= known.refresh(opened)
        except OSError:
            # The root is gone: a page without runs says so.
            pass
        changed |= found.keys() != self.runs.keys() or suites != self.suites
        self.runs, self.suites = found, suites
        return changed

    def opened(self, run: RunView) -> AbstractContextManager[Folder]:
        """Open the directory of a run."""
        return folder(self.root, run.parts)

    def place(self, parts: tuple[str, ...]) -> AbstractContextManager[Folder]:
        """Open the directory of a run or of a suite."""
        return folder(self.root, parts)

    def path(self, parts: tuple[str, ...]) -> Path:
        """Where a run or a suite lies."""
        return self.root.joinpath(*parts)

    def child(self, suite: str, name: str) -> RunView | None:
        """A run of a suite by its name there."""
        parts = self.suites.get(suite)
        return None if parts is None else self.runs.get(key_of((*parts, name)))


def key_of(parts: tuple[str, ...]) -> str:
    """The key of a directory below the root."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:20]


def _shown(parts: tuple[str, ...]) -> str:
    """A path as text, also where its bytes are not valid text."""
    name = "/".join(parts) or "."
    return name.encode(errors="surrogateescape").decode(errors="replace")
