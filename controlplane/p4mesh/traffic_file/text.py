"""Reads the text of a traffic file, without what it takes to understand it: a missing file is answered at once."""

from __future__ import annotations

from pathlib import Path

from p4mesh.errors import TrafficFileError
from p4mesh.regular_files import read_text

MOST_BYTES = 1_000_000
EXAMPLES = "see traffic/ for complete examples"


def read_traffic_text(path: str | Path) -> str:
    """Return the text of the file; raises TrafficFileError where there is none."""
    try:
        return read_text(Path(path), MOST_BYTES)
    except FileNotFoundError:
        raise TrafficFileError(f"{path}: no such traffic file", hint=EXAMPLES) from None
    except UnicodeDecodeError:
        raise TrafficFileError(f"{path}: not a text file", hint=f"a traffic file is a YAML file, {EXAMPLES}") from None
    except OSError as error:
        raise TrafficFileError(f"{path}: {error.strerror}", hint=f"name a YAML file, {EXAMPLES}") from None
