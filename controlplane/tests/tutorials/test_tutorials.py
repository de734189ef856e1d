"""Executes the tutorials: files are written, commands run in their order and print what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) file: (\S+)\n")
_ELIDED = "..."
_COMPILER = "p4c-bm2-ss"
_PATIENCE_S = 300


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a block, each with the lines that the page shows of its output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def first_difference(shown: list[str], printed: list[str]) -> str | None:
    """Return the first line of the page that does not come where the page shows it; ``...`` stands for any lines."""
    place, may_skip = 0, False
    for line in shown:
        if line == _ELIDED:
            may_skip = True
            continue
        start, end = line.removesuffix(_ELIDED), line.endswith(_ELIDED)
        while place < len(printed) and not (printed[place] == line or (end and printed[place].startswith(start))):
            if not may_skip:
                return line
            place += 1
        if place == len(printed):
            return line
        place, may_skip = place + 1, False
    return None if may_skip or place == len(printed) else f"end, not {printed[place]}"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if _COMPILER in text and shutil.which(_COMPILER) is None:
        pytest.skip(f"{_COMPILER} is not installed")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    command = binaries / "p4mesh"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m p4mesh.cli "$@"\n')
    command.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    blocks = _BLOCK.findall(text)
    assert blocks
    for kind, block in blocks:
        named = _FILE.match(block)
        if named:
            (work / named[1]).write_text(block)
            continue
        assert kind == "console", f"{page.name}: a block is a file or a console"
        for words, shown in steps(block):
            done = subprocess.run(
                ["/bin/sh", "-c", words], cwd=work, env=environment, capture_output=True, text=True, timeout=_PATIENCE_S
            )
            if "$?" not in words:
                assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
            missing = first_difference(shown, done.stdout.splitlines())
            assert missing is None, f"{words}\nprints no line: {missing}\n{done.stdout}"


def test_every_page_of_the_site_is_reached_from_its_start() -> None:
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^[\w/*-]+$", start, re.MULTILINE)
    reached = {path for name in listed for path in (ROOT / "docs").glob(f"{name}.md")}
    pages = {path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts}
    assert pages - reached == {ROOT / "docs" / "index.md"}


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (["a"], ["a"], None),
        (["..."], ["a", "b"], None),
        (["...", "b"], ["a", "b"], None),
        (["a"], ["a", "b"], "end, not b"),
        (["b", "..."], ["a", "b"], "b"),
        (["...", "c"], ["a", "b"], "c"),
        (["unit,..."], ["unit,trial"], None),
    ],
)
def test_a_page_that_shows_something_else_is_found(shown: list[str], printed: list[str], missing: str | None) -> None:
    assert first_difference(shown, printed) == missing
