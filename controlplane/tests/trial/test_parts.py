"""Features of a trial: one class and one line in the table; what the target cannot do is refused first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.networks import parsed, switch

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.reading import Reading
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.onlooker import FaultRequest, Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.parts import table
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Interruption, Learning, TrialSpec

MS = 1_000_000
ONE_WAY = Stream("one-way", 128, Fraction(100_000), 1000, Pairs(), (1,), (2,))
SPEC = TrialSpec("parts", (ONE_WAY,), 10 * MS, Learning(wait_ns=MS), settle_ns=MS, restabilise_ns=MS)


class Diary(Part):
    """Writes down the phases, acts 2 and 7 ms after the first departure, and adds to the result what it has seen."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self.phases: list[str] = []
        self.received: list[int] = []
        diaries.append(self)

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.label == SPEC.label

    def reset(self) -> None:
        self.phases.append("reset")

    def address(self) -> str:
        self.phases.append("address")
        return ""

    def prepare(self) -> str:
        self.phases.append("prepare")
        return ""

    def begin(self, sending: Sending) -> None:
        self.phases.append("begin")

    def loaded(self, sending: Sending) -> None:
        self.phases.append("loaded")

    def started(self, sending: Sending) -> None:
        self.phases.append("started")
        self.due_ns = sending.lead_ns + 2 * MS

    def act(self, sending: Sending) -> None:
        self.phases.append("act")
        self.received.append(sending.tester.frames("expected"))
        self.due_ns = None if len(self.received) > 1 else sending.lead_ns + 7 * MS

    def ended(self, sending: Sending, reading: Reading) -> None:
        self.phases.append("ended")

    def close(self) -> None:
        self.phases.append("close")

    def add(self, result: TrialResult, reading: Reading, flows: FlowArrays) -> TrialResult:
        self.phases.append("add")
        return replace(result, answered_frames=sum(self.received))


diaries: list[Diary] = []


@pytest.fixture
def engine() -> Iterator[TrialEngine]:
    with open_measurer(parsed(switch())) as opened:
        yield opened


def test_a_feature_is_a_class_and_a_line(engine: TrialEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams that verify the learning have run as well: they are none of its own."""
    monkeypatch.setattr(table, "PARTS", (*table.PARTS, Diary))
    diaries.clear()
    result = engine.measure(SPEC)
    (diary,) = diaries
    before, running, after = ["reset", "address", "prepare"], ["begin", "loaded", "started", "act", "act"], ["ended"]
    assert diary.phases == [*before, *running, *after, "close", "add"]
    assert [round(count, -1) for count in diary.received] == [200, 700], "a frame leaves each 10 us"
    assert result.answered_frames == sum(diary.received)
    engine.measure(replace(SPEC, label="another"))
    assert len(diaries) == 1


def test_a_trial_that_cannot_be_prepared_is_closed(engine: TrialEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(Diary):
        def prepare(self) -> str:
            return "the device is asleep"

    monkeypatch.setattr(table, "PARTS", (*table.PARTS, Refusing))
    diaries.clear()
    result = engine.measure(SPEC)
    assert (result.reason, result.tx_frames, result.intended_frames) == ("the device is asleep", 0, 1000)
    assert diaries[0].phases == ["reset", "address", "close"]


def test_a_plain_trial_has_no_features_but_learning(engine: TrialEngine) -> None:
    def names(spec: TrialSpec, onlooker: Onlooker | None = None) -> list[str]:
        trial = Trial(engine.tester, spec, onlooker, lambda plan, duration_ns: pytest.fail("nothing runs here"))
        return [type(part).__name__ for part in table.parts_of(trial)]

    assert names(SPEC) == ["Learning"]
    assert names(replace(SPEC, learning=Learning(enabled=False))) == []
    watched = Onlooker(lambda sample: None, faults=FaultRequest(1, lambda faults: None))
    assert names(replace(SPEC, failures=1, watch_queues=True), watched) == [
        *("Failing", "CapturingFaults", "Learning", "Watching", "FindingTransients", "QueueWatching"),
    ]


@pytest.mark.parametrize(
    ("lacking", "asked", "message"),
    [
        ("causes_failures", {"failures": 1}, "failures of devices are not supported on sim"),
        ("causes_failures", {"interruption": Interruption(MS, MS, failures=1)}, "failures of devices are not"),
        ("resets_devices", {"interruption": Interruption(MS, MS)}, "resetting a device is not supported on sim"),
        ("captures_faults", {}, "capturing faulty frames is not supported on sim"),
    ],
)
def test_what_the_target_cannot_do_is_refused_before_anything_happens(
    lacking: str, asked: dict[str, Any], message: str, engine: TrialEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = engine.tester.target
    monkeypatch.setattr(target, "capabilities", replace(target.capabilities, **dict[str, Any]({lacking: False})))
    sent, now_ps = engine.tester.dataplane.packet_outs_sent, target.now_ps
    watched = Onlooker(lambda sample: None, faults=FaultRequest(1, lambda faults: None))
    with pytest.raises(UnsupportedError, match=message):
        engine.measure(replace(SPEC, **asked), watched)
    assert (engine.tester.dataplane.packet_outs_sent, target.now_ps) == (sent, now_ps)
