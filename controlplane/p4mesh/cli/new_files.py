"""Writes files that must not exist yet."""

from __future__ import annotations

from pathlib import Path

from p4mesh.causes import file_hint
from p4mesh.errors import P4MeshError


def write_new(path: Path, text: str, error_class: type[P4MeshError]) -> None:
    """Write a file; raises ``error_class`` where it exists, or cannot be made."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise error_class(f"{path}: {error.strerror}", hint=file_hint(error.errno)) from None
