"""The pages of docs/methodology have every clause and every test, and name only code that the product uses."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from p4mesh.methods.registry import TESTS

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "controlplane" / "p4mesh"
TEST_FILES = {path.stem for place in ("controlplane/tests", "ptf-tests") for path in (ROOT / place).rglob("test_*.py")}
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "methodology").glob("*.md")}
CLAUSES = {
    "rfc2544": [str(n) for n in range(9, 26)] + [f"11.{n}" for n in range(1, 5)] + [f"26.{n}" for n in range(1, 7)],
    "rfc2889": [f"5.{test}.{part}" for test in range(1, 11) for part in range(2, 6)],
    "rfc9004": ["5", "6.1", "6.2", "6.3", "6.4", "7"],
    "rfc6201": ["1.3", "1.4", "3", "4.1.1.1", "4.1.1.2", "4.1.2", "4.2.1", "4.2.2", "4.3.1"],
    "rfc3918": ["3", "4.1", "4.2", "4.3", "4.4.1", "4.4.2", "4.4.3", "5.1", "5.2", "6.1", "6.2", "7.1", "8.1", "8.2"],
    "rfc5695": [
        *("labels", "frame formats", "frame sizes", "time to live", "trial duration", "verification of traffic"),
        *("reporting format", "throughput", "latency", "frame loss rate", "system recovery", "reset"),
    ],
    "rfc5180": ["4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2", "7"] + [f"7.{n}" for n in range(1, 7)],
}
"""Clauses with something to do, per page, by number or title; those of RFC 2889 without the objectives 5.N.1."""


def tables(page: str) -> list[tuple[list[list[str]], set[str]]]:
    """The rows of each table of a page, as cells, and the numbers of the notes below it."""
    found: list[tuple[list[list[str]], set[str]]] = []
    for part in page.split("|---|---|---|---|\n")[1:]:
        lines = part.splitlines()
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
        below = part.partition("\nNotes:\n")[2].partition("\n## ")[0].partition("\n| clause")[0]
        rows = [row for row in rows if row[0] not in ("clause", "source")]
        found.append((rows, set(re.findall(r"^(\d+)\. ", below, re.MULTILINE))))
    return found


ROWS = [row for page in PAGES.values() for rows, _ in tables(page) for row in rows]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)`", row[1])})
TEST_NAMES = {test.name for test in TESTS}


@cache
def product() -> dict[Path, ast.Module]:
    """All product code."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def module_file(module: str) -> Path:
    """The file of a module."""
    file = importlib.import_module(module).__file__
    assert file is not None
    return Path(file)


@cache
def parts(tree: ast.Module) -> tuple[frozenset[str], frozenset[tuple[str, str]], frozenset[str]]:
    """The modules that code imports, what it takes from modules (module, name), and all names that it uses."""
    modules: set[str] = set()
    names: set[tuple[str, str]] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
    return frozenset(modules), frozenset(names), frozenset(used)


def imports(tree: ast.Module, module: str, name: str | None = None) -> bool:
    """Whether code imports a module, or a name from it, by whatever spelling."""
    package, _, last = module.rpartition(".")
    modules, names, used = parts(tree)
    whole = module in modules or (package, last) in names
    taken = any(place == module and name in (None, imported) for place, imported in names)
    return taken or (whole and (name is None or name in used))


def mentions(tree: ast.AST, name: str, but: str = "") -> bool:
    """Whether code uses a name, outside the definition ``but``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == but:
            continue
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)) or (
            isinstance(node, ast.Attribute) and node.attr == name
        ):
            return True
        if mentions(node, name, but):
            return True
    return False


def is_used(name: str) -> bool:
    """Whether product code other than its own definition uses a module or a name in it."""
    if name in TEST_NAMES:
        return True
    try:
        module, last = importlib.import_module(f"p4mesh.{name}").__name__, None
    except ModuleNotFoundError:
        above, _, last = name.rpartition(".")
        owner = importlib.import_module(f"p4mesh.{above}")
        module = owner.__name__
        # A package may hand on what one of its modules defines.
        defined = getattr(getattr(owner, last), "__module__", None) or module
        places = {module, defined} if defined.startswith("p4mesh.") else {module}
        files = {module_file(place) for place in places}
        others = [tree for file, tree in product().items() if file not in files]
        elsewhere = any(imports(tree, place, last) for tree in others for place in places)
        return elsewhere or any(mentions(product()[file], last, last) for file in files)
    own_file = module_file(module)
    return any(imports(tree, module) for file, tree in product().items() if file != own_file)


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "METHODOLOGY.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(methodology/(\w+)\.md\)", index)) == set(PAGES) >= set(CLAUSES)


def test_every_test_is_in_the_documents() -> None:
    for test in TESTS:
        assert any(f"`{test.name}`" in row[1] for row in ROWS), test.name


@pytest.mark.parametrize("title", CLAUSES)
def test_every_clause_is_in_the_documents(title: str) -> None:
    listed = [row[0] for rows, _ in tables(PAGES[title]) for row in rows]
    found = {number for clause in listed for number in re.findall(r"(?<![\d.])\d+(?:\.\d+)*", clause)}
    found.update(part for clause in listed for part in clause.split(", "))
    assert [clause for clause in CLAUSES[title] if clause not in found] == []


@pytest.mark.parametrize("title", PAGES)
def test_every_row_names_code_and_a_test_or_a_note_that_says_why_there_is_none(title: str) -> None:
    for rows, _ in tables(PAGES[title]):
        assert rows
        for clause, function, test, note in rows:
            assert ("`" in function and "`test_" in test) or note, clause


@pytest.mark.parametrize("title", PAGES)
def test_every_note_is_numbered_and_referred_to_in_order(title: str) -> None:
    for rows, notes in tables(PAGES[title]):
        referred = [number for row in rows for number in re.findall(r"\d+", row[3])]
        assert referred == [str(n) for n in range(1, len(notes) + 1)]
        assert set(referred) == notes


@pytest.mark.parametrize("name", NAMES)
def test_everything_in_the_documents_is_used_by_the_product(name: str) -> None:
    assert is_used(name)


def test_what_is_not_used_is_told() -> None:
    assert not is_used("__main__")
    assert not is_used("report.export.json_document.results_schema")
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        is_used("traffic.line_rate.no_such_function")


def test_every_test_file_in_the_documents_exists() -> None:
    for row in ROWS:
        for name in re.findall(r"`(test_[a-z_0-9]+)`", row[2]):
            assert name in TEST_FILES, name
