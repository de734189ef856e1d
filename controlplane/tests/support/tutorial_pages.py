"""Tutorials as tests execute them: files are written, commands run in their order and print what the page shows."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from p4mesh.cli.main import main

ROOT = Path(__file__).parents[3]
_PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
_NEEDS_DEVICES = ("--target live", "p4mesh.mininet")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) file: (\S+)\n")
_ELIDED = "..."
_COMPILER = "p4c-bm2-ss"
_PATIENCE_S = 300
_OF_THE_SHELL = re.compile(r"[;|<>$&`*?]")


def _commands(page: Path) -> str:
    return "".join(block for _, block in _BLOCK.findall(page.read_text(encoding="utf-8")))


PAGES_ON_DEVICES = [page for page in _PAGES if any(word in _commands(page) for word in _NEEDS_DEVICES)]
"""Those with devices of this machine, which need root."""
PAGES = [page for page in _PAGES if page not in PAGES_ON_DEVICES]


def steps(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that the page shows of its output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def first_difference(shown: list[str], printed: list[str]) -> str | None:
    """The first line of the page that does not come where the page shows it; ``...`` stands for any lines."""
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


def execute(page: Path, directory: Path, here: pytest.MonkeyPatch | None = None) -> None:
    """Do what a page says in an empty directory; skips the test where its compiler is missing.

    With ``here``, commands of P4Mesh that need no shell run in this process: each process of one, and that of its
    workers, would load all of it again.
    """
    text = page.read_text(encoding="utf-8")
    if _COMPILER in text and shutil.which(_COMPILER) is None:
        pytest.skip(f"{_COMPILER} is not installed")
    binaries = directory / "bin"
    binaries.mkdir(parents=True)
    for name, words in (("p4mesh", "-m p4mesh"), ("python", "")):
        command = binaries / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        command.chmod(0o755)
    work = directory / "work"
    work.mkdir()
    if here is not None:
        here.chdir(work)
        here.setattr(os, "cpu_count", lambda: 1)
    blocks = _BLOCK.findall(text)
    assert blocks
    for kind, block in blocks:
        named = _FILE.match(block)
        if named:
            (work / named[1]).write_text(block)
            continue
        assert kind == "console", f"{page.name}: a block is a file or a console"
        for words, shown in steps(block):
            if here is not None and words.startswith("p4mesh ") and not _OF_THE_SHELL.search(words):
                code, printed, told = _run_here(words)
            else:
                code, printed, told = _run_in_shell(words, work, binaries)
            if "$?" not in words:
                assert code == 0, f"{words}\n{printed}{told}"
            missing = first_difference(shown, printed.splitlines())
            assert missing is None, f"{words}\nprints no line: {missing}\n{printed}"


def _run_here(words: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command of P4Mesh."""
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as told:
        code = main(shlex.split(words)[1:])
    return code, printed.getvalue(), told.getvalue()


def _run_in_shell(words: str, work: Path, binaries: Path) -> tuple[int, str, str]:
    """Exit code, output and errors of a line of the page, with the commands in ``binaries``."""
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", words], cwd=work, env=environment, capture_output=True, text=True, timeout=_PATIENCE_S
    )
    return done.returncode, done.stdout, done.stderr
