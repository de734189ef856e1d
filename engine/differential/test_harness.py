"""The harness itself: it repeats scenarios, keeps its records, and notices differences."""

from __future__ import annotations

from copy import deepcopy

from harness.compare import differences, report
from harness.corpus import scenarios
from harness.expectations import Expectations, load
from harness.layout import build_frame
from harness.programs import compiled
from harness.scenario import Frame
from pytest import MonkeyPatch


def test_a_seed_gives_the_same_scenario_again() -> None:
    """Goal: a failure can be seen again. Method: generate twice, and with another seed."""
    info = compiled("match_exact").info
    first, again, other = (scenarios("match_exact", info, seed)[0] for seed in (5, 5, 6))
    assert first.digest == again.digest
    assert first.digest != other.digest


def test_expectations_survive_being_stored(monkeypatch: MonkeyPatch, tmp_path_factory: object) -> None:
    """Goal: recorded and compared outputs are the same. Method: store and load a program with every kind of step."""
    directory = tmp_path_factory.mktemp("expectations")  # type: ignore[attr-defined]
    before = load("packet_io")
    monkeypatch.setattr("harness.expectations.EXPECTATIONS", directory)
    Expectations(before.program, before.program_sha256, before.switch, before.recorded).save()
    after = load("packet_io")
    for (scenario, seen), (same_scenario, same_seen) in zip(before.recorded, after.recorded, strict=True):
        assert scenario.digest == same_scenario.digest
        assert differences(scenario, seen, same_seen) == []


def test_every_kind_of_difference_is_found() -> None:
    """Goal: the comparison can fail. Method: change one thing at a time in a recorded observation."""
    scenario, seen = load("packet_io").recorded[0]
    number = next(i for i, step in enumerate(scenario.steps) if isinstance(step, Frame) and seen.outputs[i])
    for change in ("output", "packet-in", "refused"):
        other = deepcopy(seen)
        if change == "output":
            other.outputs[number] = {}
        elif change == "packet-in":
            other.packet_ins.pop()
        else:
            other.refused[0] = "UNKNOWN"
        found = differences(scenario, seen, other)
        assert found, change
        assert f"seed {scenario.seed}" in report(scenario, found)
    scenario, seen = load("counters").recorded[0]
    other = deepcopy(seen)
    other.counters["both"][0][1] += 1
    assert differences(scenario, seen, other)


def test_a_layout_says_what_a_frame_consists_of() -> None:
    """Goal: layouts mean what their documentation says. Method: fields with one possible value."""
    import random

    frame = build_frame(random.Random(1), "4{5} 12{0xabc} 8@pool 3{7} *2-2", {"pool": [0x11]})
    assert frame[:4] == bytes.fromhex("5abc11e0")
    assert len(frame) == 6
