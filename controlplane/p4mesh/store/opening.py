"""Opens directories to write a run or a suite into."""

from __future__ import annotations

from pathlib import Path

from p4mesh.errors import RunDirectoryError
from p4mesh.store.writing import PARTIAL, storing

NEW = "name a new or an empty directory"


def open_directory(path: Path) -> None:
    """Create a directory unless it exists; raises RunDirectoryError for a file, StorageError where it cannot be."""
    has_files(path)
    with storing(path):
        path.mkdir(parents=True, exist_ok=True)


def has_files(path: Path) -> bool:
    """Whether complete files are in a directory, which need not exist; raises as :func:`open_directory` does."""
    with storing(path):
        if (path.is_symlink() and not path.exists()) or (path.exists() and not path.is_dir()):
            raise RunDirectoryError(f"--out {path}: not a directory", hint=NEW)
        return path.exists() and any(not item.name.endswith(PARTIAL) for item in path.iterdir())
