"""docs/P4RUNTIME.md: each row of the matrix names tests, and all of them exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "controlplane/tests"
DOCUMENT = (ROOT / "docs/P4RUNTIME.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`([a-z0-9_/]+\.(?:py|rs))?(?:::)?([a-z0-9_]+)?`")


def rows() -> list[list[str]]:
    """The rows of the matrix: feature, section, tests."""
    table = DOCUMENT.partition("| Feature | Section | Test |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def functions_of(file: str) -> set[str]:
    path = ROOT / file if "/" in file else next(TESTS.rglob(file), TESTS / file)
    assert path.exists(), file
    if path.suffix == ".rs":
        return set(re.findall(r"fn (\w+)\(", path.read_text(encoding="utf-8")))
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def missing_tests(tests: str) -> list[str]:
    """The tests that a cell of the last column names and that do not exist; a file's name holds for the tests
    behind it.
    """
    found, known = [], set[str]()
    for file, function in _TEST.findall(tests):
        if file:
            known = functions_of(file)
        if function and function not in known:
            found.append(function)
    return found


def test_every_row_names_tests_that_exist() -> None:
    matrix = rows()
    assert len(matrix) > 40
    for feature, _, tests in matrix:
        assert _TEST.search(tests), f"{feature}: no test"
        assert missing_tests(tests) == [], feature


def test_a_test_that_is_gone_is_noticed() -> None:
    """Goal: the check can fail. Method: a name that no file has."""
    assert missing_tests("`test_p4runtime_session.py::test_capabilities`, `test_of_nothing`") == ["test_of_nothing"]


def test_documents_named_in_the_text_exist() -> None:
    for name in re.findall(r"`(?:controlplane/tests/p4runtime/)?(test_[a-z0-9_]+\.py)", DOCUMENT):
        assert any(TESTS.rglob(name)), name
    for name in re.findall(r"`(golden/[a-z0-9_/.]+)", DOCUMENT):
        assert (TESTS / name).exists(), name
