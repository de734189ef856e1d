"""How far a run is, from its events: closed-form numbers on a clock of the test."""

from __future__ import annotations

from pathlib import Path

from p4mesh.run.events import RunStarted, TrialFinished, UnitFinished, WorkerLost
from p4mesh.run.outlook import Outlook
from p4mesh.store.live_file import LiveFile, Progress, read_live
from p4mesh.store.run_files import StoredTrial, Timing
from p4mesh.verdict import Verdict


def finished(unit: str, index: int, remaining: int, *, stored: bool = False, taken_from: str = "") -> TrialFinished:
    trial = StoredTrial(unit, index, 100.0, Verdict.PASS, {}, {}, taken_from)
    return TrialFinished(trial, None if stored else Timing(unit, index, "", 1.0), remaining)


def test_expected_trials_and_time_left_follow_from_those_that_were_measured() -> None:
    now_s = 100.0
    outlook = Outlook(lambda: now_s)
    assert outlook.progress == Progress(0, 0)
    assert outlook.note(RunStarted("test", "bed", Path(), {"a": 10, "b": 4}, None, 1))
    assert outlook.progress == Progress(0, 14)
    # Two trials come from disk and from another one: they take no time.
    outlook.note(finished("a", 0, 9, stored=True))
    outlook.note(finished("a", 1, 8, taken_from="trial 0 of c"))
    for index in range(2, 6):
        outlook.note(finished("a", index, 9 - index))
    assert outlook.progress == Progress(6, 8), "four measured trials say too little"
    now_s += 15.0
    outlook.note(finished("a", 6, 3))
    assert outlook.progress == Progress(7, 7, 7 * 15.0 / 5)
    assert outlook.note(UnitFinished("a"))
    assert outlook.progress == Progress(7, 4, 4 * 15.0 / 5)
    assert not outlook.note(WorkerLost("one", 1))
    outlook.note(UnitFinished("b"))
    assert outlook.progress == Progress(7, 0)


def test_who_watches_the_directory_reads_it(tmp_path: Path) -> None:
    file = LiveFile(tmp_path / "live.json")
    file.show(Progress(3, 4, 5.5))
    assert read_live((tmp_path / "live.json").read_bytes()).progress == Progress(3, 4, 5.5)
    for damaged in (b"", b"{", b"[]", b'{"trials": [1]}', b'{"progress": {"done": "many", "left": 1}}', b"[" * 100_000):
        assert read_live(damaged).progress is None and read_live(damaged).trials == []
