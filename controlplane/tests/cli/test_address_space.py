"""``ulimit -v``: what leaves too little is one message, and what is enough is enough."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import switch
from support.processes import within

MIB = 1 << 20
RUN = ("run", "rfc2544.throughput", "--topology", "good.yaml", "--sizes", "64", "--jobs", "1")
QUICK = ("--set", "scaled_frames=50", "--set", "search_resolution_pct=20")


def limited(words: tuple[str, ...], limit_mib: int, place: Path) -> subprocess.CompletedProcess[str]:
    command = within([sys.executable, "-m", "p4mesh", *words], as_=limit_mib * MIB)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=place)


@pytest.mark.parametrize("limit_mib", [150, 200, 300, 400, 1000])
@pytest.mark.parametrize("words", [RUN, ("doctor",)], ids=["run", "doctor"])
def test_too_little_is_one_message(words: tuple[str, ...], limit_mib: int, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(switch())
    done = limited(words, limit_mib, tmp_path)
    first, hint = done.stderr.splitlines()
    assert done.returncode == 3
    assert first.startswith(f"error: 'p4mesh {words[0]}' needs ")
    assert first.endswith(f" MiB of address space, and may have {limit_mib} MiB")
    assert hint.startswith(" hint: ulimit -v unlimited")
    assert [path.name for path in tmp_path.iterdir()] == ["good.yaml"]


def test_a_command_with_a_parser_of_its_own_is_named(tmp_path: Path) -> None:
    done = limited(("switch", "--no-p4"), 150, tmp_path)
    assert done.stderr.startswith("error: 'p4mesh switch' needs 384 MiB of address space")


def test_what_is_asked_for_is_enough(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(switch())
    needed_mib = int(limited(RUN, 400, tmp_path).stderr.partition(" needs ")[2].split()[0])
    done = limited((*RUN, *QUICK, "--out", "run"), needed_mib, tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (("show", "run"), ("tests",)):
        needed_mib = int(limited(words, 150, tmp_path).stderr.partition(" needs ")[2].split()[0])
        done = limited(words, needed_mib, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
    needed_mib = int(limited(("report", "run"), 400, tmp_path).stderr.partition(" needs ")[2].split()[0])
    assert limited(("report", "run"), needed_mib, tmp_path).returncode == 0
