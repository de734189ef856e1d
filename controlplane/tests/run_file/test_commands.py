"""The commands of docs/RUN_FILES.md work, one after the other, in an empty folder; runs are planned, not measured."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import plan_file
from p4mesh.run_file.reader import load_run_file

ROOT = Path(__file__).parents[3]
CONFIGURATION = Path(__file__).parents[1] / "fixtures" / "xena" / "RFC_2889_1_switch.x2889"
PAGE = (ROOT / "docs" / "RUN_FILES.md").read_text(encoding="utf-8")
COMMANDS = [line.split() for line in re.findall(r"^p4mesh (.+)$", PAGE, re.MULTILINE)]


def test_the_commands_of_the_page_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFIGURATION, "switch.x2889")
    (tmp_path / "runs").mkdir()
    assert [words[0] for words in COMMANDS] == ["init", "run", "import-xena", "run", "runs", "doctor"]
    for words in COMMANDS:
        if words[0] == "run":
            assert plan_file(load_run_file(words[1]), RunOptions(words[1]))
        else:
            assert main(words) == 0, words
