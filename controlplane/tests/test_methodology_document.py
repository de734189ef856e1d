"""docs/METHODOLOGY.md names every test, and only functions and test files that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from p4mesh.methods.registry import TESTS

HERE = Path(__file__).parent
DOCUMENT = (HERE.parents[1] / "docs" / "METHODOLOGY.md").read_text(encoding="utf-8")
ROWS = [line.split("|") for line in DOCUMENT.splitlines() if line.startswith("| ") and "`" in line]


def test_every_test_is_in_the_document() -> None:
    for test in TESTS:
        assert f"`{test.name}`" in DOCUMENT, test.name


def test_every_function_in_the_document_exists() -> None:
    for row in ROWS:
        for name in re.findall(r"`([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)`", row[2]):
            module, _, last = name.rpartition(".")
            if name.startswith(("rfc2889.", "rfc2544.")):
                importlib.import_module(f"p4mesh.methods.{name}")
                continue
            try:
                importlib.import_module(f"p4mesh.{name}")
            except ModuleNotFoundError:
                assert hasattr(importlib.import_module(f"p4mesh.{module}"), last), name


def test_every_test_file_in_the_document_exists() -> None:
    for row in ROWS:
        for name in re.findall(r"`(test_[a-z_0-9]+)`", row[3]):
            assert (HERE / f"{name}.py").exists(), name
