"""Reads the text of a run file, without what it takes to understand it: a missing file is answered at once."""

from __future__ import annotations

from pathlib import Path

from p4mesh.errors import RunFileError
from p4mesh.regular_files import read_text

MOST_BYTES = 1_000_000
EXAMPLES = "p4mesh init writes a complete example"


def read_run_text(path: str | Path) -> str:
    """Return the text of the file; raises RunFileError where there is none."""
    try:
        return read_text(Path(path), MOST_BYTES)
    except FileNotFoundError:
        raise RunFileError(f"{path}: no such run file", hint=EXAMPLES) from None
    except UnicodeDecodeError:
        raise RunFileError(f"{path}: not a text file", hint=f"a run file is a YAML file; {EXAMPLES}") from None
    except OSError as error:
        raise RunFileError(f"{path}: {error.strerror}", hint=f"name a YAML file; {EXAMPLES}") from None
