"""Finds runs and suites below a directory. No symbolic link is followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from p4mesh.causes import reading_hint
from p4mesh.errors import RunDirectoryError
from p4mesh.store.confined import folder
from p4mesh.store.stored_run import RUN
from p4mesh.store.suite_directory import INDEX

_DEEPEST = 6
_MOST_FOLDERS = 20_000
"""Directories that are looked into: a directory of runs is expected, not a whole disk."""


class Kind(Enum):
    """Content of a directory."""

    RUN = "run"
    SUITE = "suite"
    NOTHING = "nothing"
    """Neither a run nor a suite, and no directory that may hold one."""


@dataclass(frozen=True)
class Found:
    """A directory below the root."""

    parts: tuple[str, ...]
    """Place below the root."""
    kind: Kind
    suite: tuple[str, ...] | None = None
    """Place of the suite that it lies in."""


def require_folder(folder: Path) -> None:
    """Raise RunDirectoryError for a folder that cannot be read."""
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        hint = reading_hint(error.errno, "name a directory with runs in it: p4mesh runs DIR")
        raise RunDirectoryError(f"{folder}: {error.strerror}", hint=hint) from None


def find_runs(root: Path) -> Iterator[Found]:
    """Yield every run, every suite and every directory without anything below; those that cannot be read are none."""
    waiting: list[tuple[tuple[str, ...], tuple[str, ...] | None]] = [((), None)]
    looked_at = 0
    while waiting and looked_at < _MOST_FOLDERS:
        parts, suite = waiting.pop()
        looked_at += 1
        try:
            with folder(root, parts) as opened:
                files, folders = opened.names()
        except OSError:
            continue
        if RUN in files or RUN in folders:
            yield Found(parts, Kind.RUN, suite)
            continue
        inner = [name for name in folders if not name.startswith(".")]
        if INDEX in files:
            suite = parts
            yield Found(parts, Kind.SUITE)
        elif not inner:
            yield Found(parts, Kind.NOTHING, suite)
        if len(parts) < _DEEPEST:
            waiting += [((*parts, name), suite) for name in inner]
