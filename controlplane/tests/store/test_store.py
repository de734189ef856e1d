"""The run directory: codec without loss, crash and resume, nothing overwritten."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from support.fakes import FakeMeasurer

from p4mesh.errors import RunDirectoryError
from p4mesh.layers import UDP_OVER_IPV6, Routing, ethernet, udp
from p4mesh.store.codec import canonical, decode, encode
from p4mesh.store.run_directory import RunDirectory
from p4mesh.store.run_files import StoredTrial, Timing
from p4mesh.store.stored_run import read_run
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Burst, FieldModifier, Progression, Stream, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

CONFIG: dict[str, Any] = {
    **{name: name for name in ("test", "title", "section", "version", "target")},
    **{name: [] for name in ("ports", "frame_sizes_bytes", "parameters")},
    **{name: {} for name in ("topology", "time_stamps")},
    "sizes": [64],
}
ENDS = IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1")
STREAM = Stream(
    "s",
    64,
    Fraction(10, 3),
    7,
    FullMesh(),
    (1, 2),
    (1, 2),
    burst=Burst(3),
    modifiers=(
        FieldModifier(ethernet.SOURCE, Progression(9, -2)),
        FieldModifier(udp.DESTINATION, ValueList((3, 1))),
    ),
    source_mac=bytes.fromhex("02f4bc010001"),
    frame=UDP_OVER_IPV6.extended((Routing(segments_left=1),)).in_tunnel(*ENDS).tagged(7, priority=5),
)
SPEC = TrialSpec("one", (STREAM,), 10**6)


def trial(unit: str, index: int) -> StoredTrial:
    return StoredTrial(unit, index, 10.0, Verdict.PASS, encode(SPEC), encode(FakeMeasurer().measure(SPEC)))


def timing(unit: str, index: int) -> Timing:
    return Timing(unit, index, "2026-01-01T00:00:00.000+00:00", 0.1)


def test_specifications_and_results_survive_the_codec() -> None:
    assert decode(TrialSpec, encode(SPEC)) == SPEC
    result = FakeMeasurer().measure(SPEC)
    assert decode(TrialResult, encode(result)) == result


def test_frames_are_stored_as_their_layers_with_what_is_not_usual() -> None:
    stored = encode(SPEC)["streams"][0]["frame"]["layers"]
    tag, tunnel = (
        {"kind": "vlan", "priority": 5, "vid": 7},
        {"flags": 2, "source": str(ENDS[0]), "destination": str(ENDS[1])},
    )
    routing = {"kind": "routing", "segments_left": 1}
    assert stored == ["ethernet", tag, {"kind": "ipv4", **tunnel}, "gre", "ipv6", routing, "udp"]


def test_equal_data_gives_equal_text() -> None:
    assert canonical(encode(SPEC)) == canonical(encode(decode(TrialSpec, encode(SPEC))))


def test_unknown_fields_are_not_swallowed() -> None:
    with pytest.raises(ValueError, match="TrialSpec has no field colour"):
        decode(TrialSpec, {**encode(SPEC), "colour": 1})


def test_a_trial_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    directory = RunDirectory.open(tmp_path / "run", CONFIG)
    directory.append(trial("a", 0), timing("a", 0))
    assert (tmp_path / "run" / "trials.jsonl").read_text() == trial("a", 0).line() + "\n"


def test_an_interrupted_run_resumes_with_its_trials(tmp_path: Path) -> None:
    """A crash in the middle of a line costs that line only."""
    directory = RunDirectory.open(tmp_path, CONFIG)
    directory.append(trial("a", 0), timing("a", 0))
    directory.close()
    with (tmp_path / "trials.jsonl").open("a") as file:
        file.write(trial("a", 1).line()[:40])
    resumed = RunDirectory.open(tmp_path, CONFIG)
    assert resumed.resumed
    assert resumed.stored("a") == (trial("a", 0),)
    resumed.append(trial("a", 1), timing("a", 1))
    assert (tmp_path / "trials.jsonl").read_text() == "".join(trial("a", i).line() + "\n" for i in (0, 1))


def test_a_finished_run_holds_trials_in_unit_order(tmp_path: Path) -> None:
    directory = RunDirectory.open(tmp_path, CONFIG)
    for unit, index in (("b", 0), ("a", 0), ("b", 1)):
        directory.append(trial(unit, index), timing(unit, index))
    directory.finish(["a", "b"], {"outcome": {}})
    stored = read_run(tmp_path)
    assert [(item.unit, item.index) for item in stored.trials] == [("a", 0), ("b", 0), ("b", 1)]


def test_another_run_is_never_overwritten(tmp_path: Path) -> None:
    RunDirectory.open(tmp_path, CONFIG).close()
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(RunDirectoryError, match=r"holds another run \(different sizes\)"):
        RunDirectory.open(tmp_path, {**CONFIG, "sizes": [128]})
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        RunDirectory.open(tmp_path, CONFIG)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_failure_before_the_first_trial_leaves_no_directory(tmp_path: Path) -> None:
    directory = RunDirectory.open(tmp_path / "run", CONFIG)
    with pytest.raises(RuntimeError), directory.discarded_when_nothing_was_measured():
        raise RuntimeError
    assert not (tmp_path / "run").exists()


def test_a_damaged_line_is_an_error_not_a_loss(tmp_path: Path) -> None:
    directory = RunDirectory.open(tmp_path, CONFIG)
    directory.append(trial("a", 0), timing("a", 0))
    directory.close()
    (tmp_path / "trials.jsonl").write_text("not json\n")
    with pytest.raises(RunDirectoryError, match=r"trials.jsonl:1"):
        RunDirectory.open(tmp_path, CONFIG)
