"""Compares texts with golden files, and writes these anew with ``P4MESH_UPDATE_GOLDEN=1``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from p4mesh.cli.main import main

GOLDEN = Path(__file__).parents[1] / "golden"


def golden_text(path: Path, text: str) -> str:
    """Return the content of a golden file, which is ``text`` where files are written anew."""
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path.read_text() if path.exists() else f"{path} is missing"


def expect_refusal(golden: Path, arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command that must fail, and compare code and message with the golden file; it writes nothing."""
    before = sorted(place.rglob("*"))
    code = main(arguments)
    shown = capsys.readouterr()
    text = f"exit {code}\n{shown.err}"
    assert text == golden_text(golden, text)
    assert shown.out == ""
    assert code in (2, 3)
    assert "Traceback" not in shown.err
    assert sorted(place.rglob("*")) == before, "nothing is written"
