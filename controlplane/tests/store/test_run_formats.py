"""Run directories of other versions: refused with their version and the next step, word for word as in a golden table.

``P4MESH_UPDATE_GOLDEN=1`` writes it anew.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.golden import GoldenTable
from support.networks import TOPOLOGIES

from p4mesh.cli.main import main
from p4mesh.run import RunOptions, run

GOLDEN = GoldenTable("store")
OLDER = Path(__file__).parents[1] / "fixtures" / "run_of_format_5"
WRS = TOPOLOGIES / "wrs-18x1g.yaml"
RUN = ("run", "rfc2544.frame_loss", "--topology", str(WRS), "--sizes", "64", "--jobs", "1")
CHANGES: dict[str, dict[str, Any]] = {
    "format_absent": {},
    "format_older": {"format": 4},
    "format_newer": {"format": 8},
    "format_word": {"format": "three"},
    "format_boolean": {"format": True},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("formats") / "run"
    run(RunOptions("rfc2544.frame_loss", WRS, "64", out=out, jobs=1, opener="support.fakes:open_wire"))
    return out


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("command", [("show", "run"), (*RUN, "--out", "run")], ids=["show", "resume"])
def test_a_run_of_another_format_is_refused(
    name: str,
    command: tuple[str, ...],
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for path in finished.iterdir():
        (tmp_path / "run" / path.name).write_bytes(path.read_bytes())
    config = json.loads((finished / "run.json").read_text())
    del config["format"]
    (tmp_path / "run" / "run.json").write_text(json.dumps({**CHANGES[name], **config}, indent=2))
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert main(command) == 2
    shown = capsys.readouterr().err
    assert shown == GOLDEN.text(f"{name}_{command[0]}", shown)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before, "it stays as it was"


def test_this_version_reads_what_it_writes(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads((finished / "run.json").read_text())["format"] == 7
    assert main(("show", str(finished))) == 0
    assert "Frame loss rate" in capsys.readouterr().out


def test_a_finished_run_of_the_format_before_is_shown_and_not_gone_on_with(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same run of both versions has the same numbers, in a table that has got a column since."""
    assert main(("show", str(finished), "--json")) == 0
    (table, *_) = json.loads(capsys.readouterr().out)["tables"]
    assert main(("show", str(OLDER), "--json")) == 0
    (older, *_) = json.loads(capsys.readouterr().out)["tables"]
    assert table["rows"] and len(table["rows"]) == len(older["rows"])
    assert all(old.items() <= row.items() for old, row in zip(older["rows"], table["rows"], strict=True))
    out = tmp_path / "run"
    shutil.copytree(OLDER, out)
    assert main((*RUN, "--out", str(out))) == 2
    assert "this version resumes format 7" in capsys.readouterr().err
