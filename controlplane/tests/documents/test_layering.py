"""The promises of docs/ARCHITECTURE.md about imports between packages, read from the source code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "p4mesh"
ROOT = PACKAGE.parents[1]

LAYERS = (
    *(
        "cli",
        "doctor",
        "server",
        "otg",
        "xena",
        "containerlab",
        "mininet",
        "run",
        "report",
        "store",
        "methods",
        "trial",
        "measurement",
        "tester",
        "target",
        "network",
        "switch",
        "bfruntime",
        "p4runtime",
        "topology",
    ),
    *("run_file", "traffic_file", "traffic", "layers", "config_files", "errors"),
)
"""A package imports only packages that come later."""
REFUSED = {
    "server": {
        "p4mesh.doctor",
        "p4mesh.trial",
        "p4mesh.tester",
        "p4mesh.switch",
        "p4mesh.p4runtime",
        "p4mesh.topology",
    },
    "run": {"p4mesh.switch", "p4mesh.p4runtime", "argparse"},
    "report": {"p4mesh.trial", "p4mesh.tester", "p4mesh.target", "p4mesh.switch", "p4mesh.p4runtime"},
    "store": {"p4mesh.methods", "p4mesh.tester", "p4mesh.target", "p4mesh.switch", "p4mesh.p4runtime"},
    "methods": {"p4mesh.target", "p4mesh.switch", "p4mesh.p4runtime", "p4mesh.topology"}
    | {"datetime", "pathlib", "random", "socket", "subprocess", "time"},
    "trial": {"p4mesh.switch", "p4mesh.p4runtime", "datetime", "random", "time"},
    "measurement": {"p4mesh.p4runtime", "p4mesh.switch", "p4mesh.target", "p4mesh.topology"}
    | {"datetime", "random", "subprocess", "time"},
    "tester": {"p4mesh.switch", "datetime", "random", "subprocess", "time"},
    "target": {"p4mesh.switch"},
    "network": {"p4mesh.switch", "p4mesh.traffic"},
    "switch": {"p4mesh.p4runtime", "p4mesh.topology", "p4mesh.traffic"},
    "bfruntime": {"p4mesh.topology", "p4mesh.traffic"},
    "p4runtime": {"p4mesh.topology", "p4mesh.traffic"},
    "topology": {"time"},
    "traffic_file": {"datetime", "time"},
    "traffic": {"datetime", "pathlib", "time"},
}
"""Modules that a package must not import although they lie below, or has no use for."""
ONLY_IN = {"grpc": {"p4runtime", "bfruntime", "otg"}, "snappi": {"otg"}, "finsy": {"p4runtime"}, "scapy": {"layers"}}


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The modules that a file imports or names: at its top, for type checkers, in functions, in texts."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert all(alias.name != "*" for alias in node.names), f"{path}: star import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # As "p4mesh.trial.opening:open_measurer", which importlib makes an import of.
            named = re.fullmatch(r"(p4mesh(?:\.\w+)+)(?::\w+)?", node.value)
            if named:
                yield named[1]


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def violations(package: str, path: Path) -> list[str]:
    """The imports of a file that a module of ``package`` must not have."""
    above = {f"p4mesh.{name}" for name in LAYERS[: LAYERS.index(package)]}
    foreign = {module for module, owners in ONLY_IN.items() if package not in owners}
    forbidden = above | REFUSED.get(package, set()) | foreign
    return [name for name in imported(path) if any(is_within(name, module) for module in forbidden)]


def imports_of_modules(package: Path) -> dict[str, set[str]]:
    """The modules of the package that each of them imports; also at a later time or for type checkers."""
    paths = sorted(path for path in package.rglob("*.py*") if path.suffix in (".py", ".pyi"))
    named = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in paths}
    named = {name.removesuffix(".__init__"): path for name, path in named.items()}
    found: dict[str, set[str]] = {}
    for name, path in named.items():
        # ``from a.b import c`` names a module a.b.c, or a name in the module a.b.
        reached = {other if other in named else other.rpartition(".")[0] for other in imported(path)}
        found[name] = reached.intersection(named) - {name}
    return found


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Each group of modules that reach one another."""
    reached: dict[str, set[str]] = {}
    for module in imports:
        waiting, seen = [module], set[str]()
        while waiting:
            waiting += imports[waiting.pop()] - seen
            seen.update(waiting)
        reached[module] = seen
    groups = {frozenset({other for other in seen if name in reached[other]} | {name}) for name, seen in reached.items()}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def imports_of_packages(package: Path) -> dict[str, set[str]]:
    """The packages that each package imports from, but for those that it is in or that are in it."""
    found: dict[str, set[str]] = {}
    for module, others in imports_of_modules(package).items():
        importer = _package_of(module, package)
        imported_from = {_package_of(other, package) for other in others}
        related = {name for name in imported_from if is_within(name, importer) or is_within(importer, name)}
        found.setdefault(importer, set()).update(imported_from - related)
    return found


def _package_of(module: str, package: Path) -> str:
    return module if package.parent.joinpath(*module.split(".")).is_dir() else module.rpartition(".")[0]


def modules(package: str) -> list[Path]:
    """The files of a package, or of a module with that name."""
    return sorted((PACKAGE / package).rglob("*.py")) or [PACKAGE / f"{package}.py"]


def test_what_runs_tests_prints_nothing() -> None:
    for path in modules("run"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert not any(isinstance(call, ast.Name) and call.id == "print" for call in calls), path


def test_every_package_has_a_layer() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= set(LAYERS)
    assert all(modules(name)[0].exists() for name in LAYERS)


@pytest.mark.parametrize("package", LAYERS)
def test_dependencies_point_one_way(package: str) -> None:
    found = {str(path): names for path in modules(package) if (names := violations(package, path))}
    assert not found


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("target", "from p4mesh.trial.engine import TrialEngine"),
        ("target", "import p4mesh.tester.contract"),
        ("target", "from p4mesh import tester"),
        ("target", "if TYPE_CHECKING:\n    from p4mesh.tester.plan import Plan"),
        ("tester", "def deferred():\n    from p4mesh.trial.spec import TrialSpec"),
        ("tester", "from p4mesh.measurement.counting import count"),
        ("measurement", "from p4mesh.trial.spec import TrialSpec"),
        ("p4runtime", "OPENER = 'p4mesh.target.sim:SimTarget'"),
        ("methods", "from p4mesh.target.table import TARGETS"),
        ("trial", "import grpc"),
    ],
)
def test_an_import_against_the_direction_is_found(package: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert len(violations(package, path)) == 1


def test_an_import_in_the_direction_is_none(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('"""As p4mesh.run does."""\nfrom p4mesh.tester.plan import Plan\nfrom p4mesh.target import base\n')
    assert violations("trial", path) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(imports_of_modules(PACKAGE)) == []


def test_a_circle_of_modules_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p4mesh"
    (package / "parts").mkdir(parents=True)
    texts = {
        "__init__": "",
        "alone": "import json\nfrom p4mesh.first import Thing",
        "first": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p4mesh.parts import second",
        "parts/__init__": "",
        "parts/second": "def deferred():\n    from p4mesh.third import Thing",
        "third": "OPENER = 'p4mesh.first:Thing'",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    assert circles(imports_of_modules(package)) == [["p4mesh.first", "p4mesh.parts.second", "p4mesh.third"]]


def test_no_packages_import_each_other_in_a_circle() -> None:
    assert circles(imports_of_packages(PACKAGE)) == []


def test_a_circle_of_packages_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p4mesh"
    texts = {
        "one/__init__": "",
        "one/above": "from p4mesh.two.base import Thing",
        "one/base": "import json",
        "two/__init__": "",
        "two/above": "from p4mesh.one.base import Thing",
        "two/base": "from p4mesh.two.inner.thing import Thing",
        "two/inner/__init__": "",
        "two/inner/thing": "from p4mesh.two import base",
    }
    for name, text in texts.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert circles(imports_of_packages(package)) == [["p4mesh.one", "p4mesh.two"]]


def test_nothing_in_the_control_plane_sleeps_in_methods() -> None:
    for path in modules("methods"):
        assert "sleep(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_says_what_it_is_for(package: str) -> None:
    for path in modules(package):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_the_architecture_document_is_short_and_names_every_package() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    for package in LAYERS:
        assert f"`p4mesh.{package}`" in text
