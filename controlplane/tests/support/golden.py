"""Compares texts with golden ones, and writes these anew with ``P4MESH_UPDATE_GOLDEN=1`` (in one process).

Small texts stand in tables, one table per test module: ``=== NAME`` and the text of the case below it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from p4mesh.cli.main import main

GOLDEN = Path(__file__).parents[1] / "golden"
_HEADING = re.compile(r"^=== (\w+)\n", re.MULTILINE)


class GoldenTable:
    """The texts of many cases in one file; every text ends a line."""

    def __init__(self, name: str) -> None:
        self._path = GOLDEN / f"{name}.txt"

    def cases(self) -> dict[str, str]:
        """Every text by the name of its case."""
        if not self._path.exists():
            return {}
        _, *parts = _HEADING.split(self._path.read_text())
        return dict(zip(parts[::2], parts[1::2], strict=True))

    def text(self, case: str, found: str) -> str:
        """The golden text of a case, which is ``found`` where texts are written anew."""
        if os.environ.get("P4MESH_UPDATE_GOLDEN"):
            cases = self.cases() | {case: found}
            self._path.write_text("".join(f"=== {name}\n{cases[name]}" for name in sorted(cases)))
        return self.cases().get(case, f"{self._path.name} has no case {case}")

    def expect_refusal(
        self, case: str, arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Run a command that must fail, and compare code and message with the golden text; it writes nothing."""
        before = sorted(place.rglob("*"))
        code = main(arguments)
        shown = capsys.readouterr()
        text = f"exit {code}\n{shown.err}"
        assert text == self.text(case, text)
        assert shown.out == ""
        assert code in (2, 3)
        assert "Traceback" not in shown.err
        assert sorted(place.rglob("*")) == before, "nothing is written"


def golden_text(path: Path, text: str) -> str:
    """The content of a golden file, which is ``text`` where files are written anew."""
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        path.write_text(text)
    return path.read_text() if path.exists() else f"{path} is missing"
