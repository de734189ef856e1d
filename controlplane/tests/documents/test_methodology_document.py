"""docs/METHODOLOGY.md has every clause and every test, and names only functions and test files that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from p4mesh.methods.registry import TESTS

ROOT = Path(__file__).parents[3]
TEST_FILES = {path.stem for place in ("controlplane/tests", "ptf-tests") for path in (ROOT / place).rglob("test_*.py")}
DOCUMENT = (ROOT / "docs" / "METHODOLOGY.md").read_text(encoding="utf-8")
ROWS = [line.split("|") for line in DOCUMENT.splitlines() if line.startswith("| ") and "`" in line]
CLAUSES = {
    "RFC 2544": [str(n) for n in range(9, 26)] + [f"11.{n}" for n in range(1, 5)] + [f"26.{n}" for n in range(1, 7)],
    "RFC 2889": [f"5.{test}.{part}" for test in range(1, 11) for part in range(2, 6)],
    "RFC 9004": ["5", "6.1", "6.2", "6.3", "6.4", "7"],
    "RFC 6201": ["1.3", "1.4", "3", "4.1.1.1", "4.1.1.2", "4.1.2", "4.2.1", "4.2.2", "4.3.1"],
    "RFC 5180": ["4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2", "7"] + [f"7.{n}" for n in range(1, 7)],
}
"""Clauses with something to do, per section of the document; those of RFC 2889 without the objectives 5.N.1."""


def section(title: str) -> str:
    """Return the text below a heading."""
    return DOCUMENT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_test_is_in_the_document() -> None:
    for test in TESTS:
        assert f"`{test.name}`" in DOCUMENT, test.name


@pytest.mark.parametrize("title", CLAUSES)
def test_every_clause_is_in_the_document(title: str) -> None:
    listed = [line.split("|")[1] for line in section(title).splitlines() if line.startswith("| ")]
    found = {number for clause in listed for number in re.findall(r"(?<![\d.])\d+(?:\.\d+)*", clause)}
    assert [clause for clause in CLAUSES[title] if clause not in found] == []


def test_every_row_names_a_function_and_a_test_or_says_why_there_is_none() -> None:
    for line in DOCUMENT.splitlines():
        if not line.startswith("| ") or line.startswith(("| clause", "| source")):
            continue
        _, clause, function, test, deviation, _ = line.split("|")
        assert ("`" in function and "`test_" in test) or deviation.strip(), clause


def test_every_function_in_the_document_exists() -> None:
    names = {test.name for test in TESTS}
    for row in ROWS:
        for name in re.findall(r"`([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)`", row[2]):
            module, _, last = name.rpartition(".")
            if name in names:
                continue
            try:
                importlib.import_module(f"p4mesh.{name}")
            except ModuleNotFoundError:
                assert hasattr(importlib.import_module(f"p4mesh.{module}"), last), name


def test_every_test_file_in_the_document_exists() -> None:
    for row in ROWS:
        for name in re.findall(r"`(test_[a-z_0-9]+)`", row[3]):
            assert name in TEST_FILES, name
