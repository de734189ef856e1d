"""The calibration file: latencies of wires, as JSON; several measurements may be joined in one file."""

from __future__ import annotations

import json
from pathlib import Path

from p4mesh.errors import CalibrationError, StorageError
from p4mesh.regular_files import read_text
from p4mesh.store.codec import decode, encode
from p4mesh.store.writing import write_atomically
from p4mesh.trial.calibration import Calibration

FORMAT = 1
MOST_BYTES = 100_000_000
"""Size of a calibration file, at most; the wires of 512 ports with 20 frame sizes need a tenth of this."""
_KIND = "calibration"
_HINT = "name a file that p4mesh calibrate has written"


def read_calibration(path: Path, option: str) -> Calibration:
    """Calibration in ``path``; raises CalibrationError, naming ``option``, when the file holds none."""
    try:
        data = json.loads(read_text(path, MOST_BYTES))
    except OSError as error:
        raise CalibrationError(f"{option} {path}: {error.strerror}", hint=_HINT) from None
    except (ValueError, RecursionError) as error:
        raise CalibrationError(f"{option} {path}: not JSON: {error}", hint=_HINT) from None
    if not isinstance(data, dict) or data.get("kind") != _KIND:
        raise CalibrationError(f"{option} {path}: not a calibration", hint=_HINT)
    if data.get("format") != FORMAT:
        raise CalibrationError(
            f"{option} {path}: format {data.get('format')}, this version reads {FORMAT}",
            hint="measure the wires again with this version",
        )
    try:
        return decode(Calibration, {"runs": data["runs"], "wires": data["wires"]})
    except (KeyError, TypeError, ValueError):
        raise CalibrationError(f"{option} {path}: damaged: fields are missing or wrong", hint=_HINT) from None


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write the file, whole or not at all."""
    text = json.dumps({"kind": _KIND, "format": FORMAT, **encode(calibration)}, indent=1) + "\n"
    try:
        write_atomically(path, text)
    except StorageError as error:
        raise CalibrationError(f"--out {error.message}", hint="name a file you may write") from None
