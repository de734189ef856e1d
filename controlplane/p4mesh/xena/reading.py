"""Reads configuration files of Xena2889 and Valkyrie2889."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from p4mesh.errors import XenaFileError
from p4mesh.regular_files import read_bytes

MOST_BYTES = 50_000_000
SUFFIXES = (".x2889", ".v2889")
_BINARY = ".xmcfg"
VALID = f"name a file of Xena2889 or Valkyrie2889: {' or '.join(SUFFIXES)}"


def read_configuration(path: Path) -> dict[str, Any]:
    """The data of a file; raises XenaFileError for one of another kind."""
    if path.suffix.lower() == _BINARY:
        raise XenaFileError(
            f"{path}: a port configuration of XenaManager, which has no tests",
            hint=f"{VALID}; XenaManager itself can save nothing that has tests",
        )
    try:
        text = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise XenaFileError(f"{path}: {error.strerror}", hint=VALID) from None
    try:
        # UTF-8 with and without a byte order mark, UTF-16 and UTF-32.
        data = json.loads(text)
    except UnicodeDecodeError:
        raise XenaFileError(f"{path}: not text in UTF-8 or UTF-16", hint=f"{VALID}, saved as UTF-8") from None
    except RecursionError:
        raise XenaFileError(f"{path}: nested too deeply", hint=VALID) from None
    except ValueError as error:
        raise XenaFileError(f"{path}: not JSON: {error}", hint=VALID) from None
    if not isinstance(data, dict) or "PortHandler" not in data or "TestOptions" not in data:
        raise XenaFileError(f"{path}: no configuration of RFC 2889 tests", hint=VALID)
    return data
