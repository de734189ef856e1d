"""Opens directories to write a run or a suite into."""

from __future__ import annotations

from pathlib import Path

from p4mesh.errors import RunDirectoryError
from p4mesh.store.writing import storing

NEW = "name a new or an empty directory"


def open_directory(path: Path) -> None:
    """Create a directory unless it exists; raises RunDirectoryError for a file, StorageError where it cannot be."""
    with storing(path):
        if (path.is_symlink() and not path.exists()) or (path.exists() and not path.is_dir()):
            raise RunDirectoryError(f"--out {path}: not a directory", hint=NEW)
        path.mkdir(parents=True, exist_ok=True)
