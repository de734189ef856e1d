"""The calibration file: latencies of wires, as JSON; several measurements may be joined in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from p4mesh.causes import reading_hint
from p4mesh.errors import CalibrationError, StorageError
from p4mesh.regular_files import read_bytes
from p4mesh.store.codec import encode
from p4mesh.store.writing import write_atomically
from p4mesh.trial.calibration import Calibration, CalibrationRun, Wire

FORMAT = 1
MOST_BYTES = 100_000_000
"""Size of a calibration file, at most; the wires of 512 ports with 20 frame sizes need a tenth of this."""
_HINT = "name a file that p4mesh calibrate has written"


class _Kind(Struct):
    kind: Literal["calibration"]
    format: int


class _File(_Kind, forbid_unknown_fields=True):
    runs: Annotated[tuple[CalibrationRun, ...], Meta(min_length=1)]
    wires: Annotated[tuple[Wire, ...], Meta(min_length=1)]

    def calibration(self) -> Calibration:
        """Content of the file; raises ValueError where parts of it contradict each other."""
        places = set()
        for number, wire in enumerate(self.wires):
            where = f"at `$.wires[{number}]`"
            if wire.run >= len(self.runs):
                raise ValueError(f"there is no run {wire.run} - {where}")
            if not wire.min_ns - wire.median_error_ns <= wire.median_ns <= wire.max_ns + wire.median_error_ns:
                raise ValueError(f"the median is not between minimum and maximum - {where}")
            if wire.place in places:
                raise ValueError(f"a second wire for {wire} - {where}")
            places.add(wire.place)
        return Calibration(self.runs, self.wires)


def read_calibration(path: Path, option: str) -> Calibration:
    """Calibration in ``path``; raises CalibrationError, naming ``option``, when the file holds none."""
    try:
        text = read_bytes(path, MOST_BYTES)
    except OSError as error:
        hint = reading_hint(error.errno, _HINT)
        raise CalibrationError(f"{option} {path}: {error.strerror}", hint=hint) from None
    try:
        kind = msgspec.json.decode(text, type=_Kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CalibrationError(f"{option} {path}: not a calibration: {error}", hint=_HINT) from None
    if kind.format != FORMAT:
        raise CalibrationError(
            f"{option} {path}: format {kind.format}, this version reads {FORMAT}",
            hint="measure the wires again with this version",
        )
    try:
        file = msgspec.json.decode(text, type=_File)
        return file.calibration()
    except ValueError as error:
        raise CalibrationError(f"{option} {path}: damaged: {error}", hint=_HINT) from None


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write the file, whole or not at all."""
    text = json.dumps({"kind": "calibration", "format": FORMAT, **encode(calibration)}, indent=1) + "\n"
    try:
        write_atomically(path, text)
    except StorageError as error:
        raise CalibrationError(f"--out {error.message}", hint=error.hint) from None
