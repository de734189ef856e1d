"""A changed run directory is refused with file and line; a crash is no damage.

Every file of a finished run, and of one that was interrupted, is damaged in every way below. Each time ``p4mesh show``
and the command that resumes the run must say so with exit code 2, or the run must end with the bytes of the whole one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.networks import TOPOLOGIES
from support.runs import WALL_CLOCK

from p4mesh.cli.main import main
from p4mesh.errors import RunDirectoryError
from p4mesh.run import Event, RunOptions, TrialFinished, run

WRS = TOPOLOGIES / "wrs-18x1g.yaml"
FINISHED = ("run.json", "trials.jsonl", "timing.jsonl", "results.json", "sums.json")
INTERRUPTED = ("run.json", "trials.jsonl", "timing.jsonl")


def options(out: Path) -> RunOptions:
    return RunOptions("rfc2544.frame_loss", WRS, "64,128", out=out, jobs=1, opener="support.fakes:open_wire")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("damage") / "finished"
    run(options(out))
    return out


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("damage") / "interrupted"
    seen = 0

    def stop(event: Event) -> None:
        nonlocal seen
        seen += isinstance(event, TrialFinished)
        if seen == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(options(out), stop)
    return out


def halves(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


def zeros(path: Path) -> None:
    path.write_bytes(bytes(len(path.read_bytes())))


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe" + path.read_bytes())


def other_digit(path: Path) -> None:
    """Change the last digit of the file, as a bad disk would."""
    data = bytearray(path.read_bytes())
    place = max(index for index, byte in enumerate(data) if chr(byte).isdigit())
    data[place] = ord("1") if data[place] != ord("1") else ord("2")
    path.write_bytes(bytes(data))


def bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(bytes(data))


def twice(path: Path) -> None:
    path.write_bytes(2 * path.read_bytes())


def a_list(path: Path) -> None:
    path.write_text("[1, 2]\n")


def a_number(path: Path) -> None:
    path.write_text("17\n")


def deep(path: Path) -> None:
    path.write_text("[" * 100_000 + "]" * 100_000 + "\n")


def not_a_number(path: Path) -> None:
    path.write_text('{"format": NaN}\n')


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def words_for_numbers(path: Path) -> None:
    path.write_text(path.read_text().replace(": 0", ': "0"').replace(":0", ':"0"'))


WAYS: tuple[Callable[[Path], None], ...] = (
    *(halves, empty, delete, zeros, no_text, other_digit, bit, twice),
    *(a_list, a_number, deep, not_a_number, a_directory, a_pipe, words_for_numbers),
)


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in directory.iterdir()
        if path.name not in WALL_CLOCK and not path.name.endswith(".partial")
    }


def copy(directory: Path, place: Path) -> Path:
    return Path(shutil.copytree(directory, place / "run"))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", FINISHED)
def test_a_damaged_finished_run_is_refused(
    name: str,
    way: Callable[[Path], None],
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory = copy(finished, tmp_path)
    before = (directory / name).read_bytes()
    way(directory / name)
    if (directory / name).is_file() and (directory / name).read_bytes() == before:
        pytest.skip("this way leaves the file as it is")
    code = main(["show", str(directory)])
    shown = capsys.readouterr().err
    if code == 0:
        assert name == "timing.jsonl" and way in (twice,), "only timings may be there twice"
        return
    assert code == 2, shown
    assert "internal error" not in shown and "Traceback" not in shown
    assert str(directory) in shown.splitlines()[0]
    assert len(shown.splitlines()) == 2, "a message and a hint"
    if name == "results.json" and way is delete:
        return
    with pytest.raises(RunDirectoryError):
        run(options(directory))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_damaged_interrupted_run_is_refused_or_finishes_with_the_same_bytes(
    name: str, way: Callable[[Path], None], finished: Path, interrupted: Path, tmp_path: Path
) -> None:
    directory = copy(interrupted, tmp_path)
    way(directory / name)
    try:
        run(options(directory))
    except RunDirectoryError as refusal:
        assert str(directory) in refusal.message
        return
    assert files(directory) == files(finished)


def edited(directory: Path, change: Callable[[dict[str, Any]], object], line: int = 1) -> None:
    """Change one line of the journal, and nothing else."""
    path = directory / "trials.jsonl"
    lines = path.read_text().splitlines()
    data = json.loads(lines[line])
    change(data)
    lines[line] = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n")


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "verdict": (lambda data: data.update(verdict="GOOD"), """'verdict' is "GOOD\""""),
    "index": (lambda data: data.update(trial=-1), "'trial' is -1"),
    "load": (lambda data: data.update(load_pct="full"), """'load_pct' is "full\""""),
    "no_result": (lambda data: data.pop("result") and None, "'result' is missing"),
    "count": (lambda data: data["result"].update(rx_frames=-5), "'rx_frames' is -5"),
    "contradiction": (lambda data: data["result"].update(rx_frames=5), "is not what was measured: its checksum in "),
    "unit": (lambda data: data.update(unit="64B/other"), "timing.jsonl has no line for trial 1 of 64B/other"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_line_that_cannot_be_believed_is_named(name: str, finished: Path, tmp_path: Path) -> None:
    directory = copy(finished, tmp_path)
    change, message = CHANGES[name]
    edited(directory, change)
    with pytest.raises(RunDirectoryError) as raised:
        run(options(directory))
    assert raised.value.message.startswith(f"{directory / 'trials.jsonl'}:2: ")
    assert message in raised.value.message


def test_a_missing_and_a_repeated_trial_are_named(finished: Path, tmp_path: Path) -> None:
    directory = copy(finished, tmp_path)
    lines = (directory / "trials.jsonl").read_text().splitlines(keepends=True)
    (directory / "trials.jsonl").write_text("".join([*lines[1:]]))
    with pytest.raises(RunDirectoryError, match="trial 0 of 64B/frame_loss is missing"):
        run(options(directory))
    (directory / "trials.jsonl").write_text("".join([*lines, lines[0]]))
    with pytest.raises(RunDirectoryError, match=rf"trials.jsonl:{len(lines) + 1}: .* is there twice"):
        run(options(directory))


def test_what_a_crash_leaves_is_no_damage(interrupted: Path, finished: Path, tmp_path: Path) -> None:
    """A half line, a timing without its trial, and a file that was being written."""
    directory = copy(interrupted, tmp_path)
    trials = (directory / "trials.jsonl").read_text().splitlines(keepends=True)
    (directory / "trials.jsonl").write_text("".join(trials[:-1]) + trials[-1][:50])
    (directory / ".0123456789abcdef.partial").write_text("{")
    run(options(directory))
    assert not list(directory.glob(".*.partial"))
    assert files(directory) == files(finished)
    assert len((directory / "timing.jsonl").read_text().splitlines()) == len(
        (directory / "trials.jsonl").read_text().splitlines()
    )


def test_a_run_that_was_cut_while_it_was_created_begins_again(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".0123456789abcdef.partial").write_text('{"format"')
    run(options(tmp_path / "run"))
    assert files(tmp_path / "run") == files(finished)
