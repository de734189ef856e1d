"""The promise of docs/ARCHITECTURE.md that files of an engine crate do not import each other in a circle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[3] / "engine"
CRATES = sorted(path.parents[1].name for path in ENGINE.glob("*/src/lib.rs"))

_COMMENT = re.compile(r"//[^\n]*")
_UNIT_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
_USE = re.compile(r"\buse ((?:crate|super|self)::[^;]*);", re.DOTALL)
_RELATIVE_PATH = re.compile(r"(?<![:\w])([a-z]\w*(?:::\w+)+)")
_PATH = re.compile(r"\b((?:crate|super)(?:::\w+)+)")


def test_the_crates_are_found() -> None:
    assert {"io", "p4runtime", "pipeline", "sim"} <= set(CRATES)


@pytest.mark.parametrize("crate", CRATES)
def test_no_files_of_a_crate_import_each_other_in_a_circle(crate: str) -> None:
    imports = imports_of(ENGINE / crate / "src")
    assert len(imports) == 1 or any(imports.values()), "no import is read"
    found = [[file.relative_to(ENGINE).as_posix() for file in circle] for circle in circles(imports)]
    assert found == []


def test_circles_are_found(tmp_path: Path) -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\npub use a::One;",
        "a.rs": "use crate::b::{self, deep::Three};",
        "b/mod.rs": "pub mod deep;",
        "b/deep.rs": "pub use super::other::Two; // use crate::b;",
        "b/other.rs": "fn f() { crate::a::one() }",
        "c.rs": "#[cfg(test)]\nmod tests {\n use crate::d::Four;\n}",
        "d.rs": "use crate::c::Five;",
        "e.rs": "mod child;\nmod brother;\nfn f() { child::run() }",
        "e/child.rs": "use super::Six;\nuse super::brother::Seven;",
        "e/brother.rs": "use super::child::Eight;",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = [[file.relative_to(tmp_path).as_posix() for file in circle] for circle in circles(imports_of(tmp_path))]
    assert found == [["e/brother.rs", "e/child.rs"], ["a.rs", "b/deep.rs", "b/other.rs"]]


def imports_of(source: Path) -> dict[Path, set[Path]]:
    """The files that each file imports from; declaring a module (``mod name;``) is no import.

    The file of a module may hold what its files share, and hands out their names: an import from there is not counted.
    One from the root of the crate is.
    """
    files = {module_of(file, source): file for file in sorted(source.rglob("*.rs"))}
    imports: dict[Path, set[Path]] = {}
    for module, file in files.items():
        children = {other[-1] for other in files if other and other[:-1] == module}
        named = {resolved(path, module, files) for path in paths(file.read_text(encoding="utf-8"), children)}
        around = {files.get(module[:depth]) for depth in range(1, len(module))}
        imports[file] = {other for other in named - around if other not in (None, file)}
    return imports


def module_of(file: Path, source: Path) -> tuple[str, ...]:
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def paths(text: str, children: set[str]) -> Iterator[list[str]]:
    """Yield the paths that start in the crate or in a module below this one: those of ``use``, and those in code."""
    text = _UNIT_TESTS.sub("", _COMMENT.sub("", text))
    for tree in _USE.findall(text):
        for leaf in leaves("".join(tree.split())):
            yield leaf.split("::")
    for path in _PATH.findall(_USE.sub("", text)):
        yield path.split("::")
    for path in _RELATIVE_PATH.findall(text):
        if path.split("::")[0] in children:
            yield ["self", *path.split("::")]


def leaves(tree: str) -> Iterator[str]:
    """Yield the paths of ``a::{b, c::{d, e}}``: a::b, a::c::d, a::c::e."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree
        return
    depth, start = 0, 0
    inside = rest[: rest.rindex("}")] + ","
    for at, character in enumerate(inside):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if inside[start:at]:
                for leaf in leaves(inside[start:at]):
                    yield head + leaf
            start = at + 1


def resolved(path: list[str], module: tuple[str, ...], files: dict[tuple[str, ...], Path]) -> Path | None:
    """The file of the innermost module that a path names, as seen from a module."""
    if path[0] == "crate":
        at: tuple[str, ...] = ()
    elif path[0] == "self":
        at = module
    else:
        at = module[: len(module) - path.count("super")]
    for name in path:
        if name in ("crate", "self", "super"):
            continue
        if (*at, name) not in files:
            break
        at = (*at, name)
    return files.get(at)


def circles(imports: dict[Path, set[Path]]) -> list[list[Path]]:
    """The groups of files that reach each other, smallest first; without circles there are none."""
    reach = {file: reachable(file, imports) for file in imports}
    groups = {tuple(sorted(other for other in reach[file] if file in reach[other])) for file in imports}
    return sorted((list(group) for group in groups if group), key=len)


def reachable(start: Path, imports: dict[Path, set[Path]]) -> set[Path]:
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        for other in imports[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found
