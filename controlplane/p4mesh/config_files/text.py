"""Reads the text of a file that describes a run, without what it takes to understand it.

What understands the file takes long to load; a missing file is answered at once.
"""

from __future__ import annotations

from pathlib import Path

from p4mesh.causes import reading_hint
from p4mesh.errors import UsageError
from p4mesh.regular_files import read_text

_MOST_BYTES = 1_000_000


def text_of(path: str | Path, what: str, failure: type[UsageError], examples: str) -> str:
    """The text of the file; raises ``failure`` where there is none; ``what`` names the kind of file."""
    try:
        return read_text(Path(path), _MOST_BYTES)
    except FileNotFoundError:
        raise failure(f"{path}: no such {what}", hint=examples) from None
    except UnicodeDecodeError:
        raise failure(f"{path}: not a text file", hint=f"a {what} is a YAML file; {examples}") from None
    except OSError as error:
        raise failure(
            f"{path}: {error.strerror}", hint=reading_hint(error.errno, f"name a YAML file; {examples}")
        ) from None
