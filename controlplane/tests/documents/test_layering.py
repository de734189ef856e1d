"""The promises of docs/ARCHITECTURE.md about who may know whom, read from the source code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "p4mesh"
ROOT = PACKAGE.parents[1]
MAX_LINES = 400
PACKAGES = ("cli", "methods", "report", "run", "store", "target", "topology", "traffic", "trial")

FORBIDDEN = {
    "run": {"argparse", "grpc", "p4mesh.cli", "p4mesh.switch", "p4mesh.p4runtime"},
    "methods": {"time", "datetime", "random", "socket", "pathlib", "grpc", "p4mesh.target", "p4mesh.p4runtime"}
    | {"p4mesh.switch", "p4mesh.store", "p4mesh.report", "p4mesh.run", "p4mesh.cli", "p4mesh.topology"},
    "traffic": {"time", "datetime", "pathlib", "grpc", "p4mesh.target", "p4mesh.trial", "p4mesh.methods"},
    "topology": {"time", "grpc", "p4mesh.target", "p4mesh.trial", "p4mesh.methods", "p4mesh.cli"},
    "store": {"time", "datetime", "grpc", "p4mesh.target", "p4mesh.methods", "p4mesh.cli"},
    "report": {"time", "datetime", "grpc", "p4mesh.target", "p4mesh.trial", "p4mesh.cli"},
    "trial": {"p4mesh.methods", "p4mesh.cli", "p4mesh.store", "p4mesh.report"},
    "target": {"p4mesh.methods", "p4mesh.cli", "p4mesh.store", "p4mesh.report"},
    "p4runtime": {"p4mesh.methods", "p4mesh.cli", "p4mesh.trial", "p4mesh.target", "p4mesh.store"},
}


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            assert all(alias.name != "*" for alias in node.names), f"{path}: star import"
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_dependencies_point_one_way(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        for name in imported(path):
            for forbidden in FORBIDDEN[package]:
                assert name != forbidden and not name.startswith(forbidden + "."), f"{path} imports {name}"


def test_what_runs_tests_prints_nothing() -> None:
    for path in sorted((PACKAGE / "run").rglob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert not any(isinstance(call, ast.Name) and call.id == "print" for call in calls), path


def test_nothing_in_the_control_plane_sleeps_in_methods() -> None:
    for path in sorted((PACKAGE / "methods").rglob("*.py")):
        assert "sleep(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    "package", ["cli", "methods", "report", "run", "store", "topology", "traffic", "trial", "target"]
)
def test_files_have_one_reason_to_exist(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        assert len(path.read_text(encoding="utf-8").splitlines()) < MAX_LINES, path


@pytest.mark.parametrize(
    "package", ["cli", "methods", "report", "run", "store", "topology", "traffic", "trial", "target"]
)
def test_every_module_says_what_it_is_for(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_the_architecture_document_is_short_and_names_every_package() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    for package in FORBIDDEN:
        assert f"`p4mesh.{package}`" in text
