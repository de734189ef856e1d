"""Features of a trial: one class and one line in the table; what the target cannot do is refused first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.reading import Reading
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.link_watch import LinkLostError
from p4mesh.trial.onlooker import EndedEarlyError, FaultRequest, Look, Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.parts import table
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.parts.interruption import Interrupting
from p4mesh.trial.parts.resetting import Resetting
from p4mesh.trial.parts.routing import Routing
from p4mesh.trial.parts.stations import Stations
from p4mesh.trial.parts.watching import Watching
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import Hook, Interruption, Learning, Reset, ResetAction, TrialSpec
from p4mesh.verdict import Verdict

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


# By hand: each phase of a feature on stand-ins that write down what they are asked for.


def made_of(**values: Any) -> Any:
    return SimpleNamespace(**values)


@pytest.mark.parametrize(
    ("mac", "frames", "routed", "in_tunnel", "bgp", "wanted"),
    [
        (None, 0, False, False, None, (False, False)),
        (b"\2", 0, False, False, None, (True, False)),
        (None, 1, False, False, None, (True, False)),
        (None, 0, True, False, None, (True, False)),
        (None, 0, False, True, None, (True, False)),
        (None, 0, True, False, "bgp", (True, True)),
        (None, 0, False, False, "bgp", (False, False)),
    ],
)
def test_stations_and_sessions_are_wanted_by_what_needs_them(
    mac: bytes | None, frames: int, routed: bool, in_tunnel: bool, bgp: str | None, wanted: tuple[bool, bool]
) -> None:
    streams = [made_of(routed=False, received_in_tunnel=False), made_of(routed=routed, received_in_tunnel=in_tunnel)]
    topology = made_of(tester_ports=[made_of(station_mac=None), made_of(station_mac=mac)], bgp=bgp)
    spec = made_of(streams=streams, controller_frames=(1,) * frames)
    trial = made_of(spec=spec, tester=made_of(target=made_of(topology=topology)))
    assert (Stations.is_wanted(trial), Routing.is_wanted(trial)) == wanted


def test_frames_and_changes_of_routes_are_timed_from_the_first_departure() -> None:
    """It comes 100 ns after the request to start; what should have been earlier than the request is sent at once."""
    at: list[Any] = []
    frames = [made_of(at_ns=at_ns) for at_ns in (7, -40, -101)]
    service = made_of(send_later=lambda after_ns, frame: at.append(after_ns), change_after=at.append)
    part = made_of(trial=made_of(spec=made_of(controller_frames=frames, routing_event=None)), _service=service)
    Stations.started(part, made_of(lead_ns=100))
    assert at == [107, 60, 0]
    for event in (None, made_of(after_ns=5)):
        part.trial.spec.routing_event = event
        Routing.started(part, made_of(lead_ns=100))
    assert at == [107, 60, 0, 105]


@pytest.mark.parametrize(
    ("lost", "before", "interruption", "after"),
    [
        ("", Verdict.MEASURED, None, Verdict.MEASURED),
        ("ended", Verdict.MEASURED, None, Verdict.INVALID),
        ("ended", Verdict.ABORT, None, Verdict.ABORT),
        ("ended", Verdict.MEASURED, Interruption(1, 1), Verdict.MEASURED),
    ],
)
def test_a_session_that_ended_spoils_a_trial_unless_it_was_to_end(
    lost: str, before: Verdict, interruption: Interruption | None, after: Verdict
) -> None:
    spec = made_of(interruption=interruption)
    part, nothing = made_of(trial=made_of(spec=spec), _refused=("routes",), _lost_session=lost), made_of()
    found = Routing.add(part, not_measured(SPEC, before, "so"), nothing, nothing)
    assert (found.status, found.reason) == (after, lost if after is Verdict.INVALID else "so")
    assert found.refused_routes == ("routes",)


@pytest.mark.parametrize(("complete_at", "looks_at"), [(None, [20, 30, 40]), (30, [20, 30]), (20, [20])])
def test_looks_for_an_outage_end_with_the_streams_or_with_all_flows_back(
    complete_at: int | None, looks_at: list[int]
) -> None:
    """Every 10 ns from 20 to 50 ns: at 40 ns the next would come when the last frame has departed."""
    seen: list[int] = []

    def look(records: object) -> None:
        seen.append(sending.now_ns)
        stalls.complete = sending.now_ns == complete_at

    def wait(duration_ns: int) -> None:
        sending.now_ns += duration_ns

    stalls = made_of(complete=False, look=look)
    tester = made_of(records=lambda: None, packets=made_of(serve=lambda: None), wait=wait)
    sending = made_of(now_ns=20, end_ns=50, links=made_of(require_links=lambda: None), tester=tester)
    Interrupting._find_stalls(made_of(_interruption=Interruption(0, 10), _stalls=stalls), sending)
    assert seen == looks_at


@pytest.mark.parametrize(
    ("dark_looks", "sync_ns", "waits", "error"),
    [
        (0, 0, [5, 7], None),
        (2, 10**9, [5, 10**8, 10**8, 7], None),
        (99, 0, [5], "port 3: no link 0 s after"),
        (99, 1, [5, 10**8], r"port 3: no link 0\.1 s after"),
        (99, 2 * 10**8, [5, 10**8, 10**8], r"port 3: no link 0\.2 s after"),
    ],
)
def test_toggled_links_are_waited_for_tenth_by_tenth_of_a_second(
    dark_looks: int, sync_ns: int, waits: list[int], error: str | None
) -> None:
    """A hook beside the action is not run."""
    waited: list[int] = []
    set_up: list[bool] = []
    looks = iter([False] * dark_looks)
    target = made_of(
        set_links=lambda up: set_up.append(up),
        links=lambda: {2: made_of(up=True), 3: made_of(up=next(looks, True))},
    )
    spec = made_of(reset=Reset(ResetAction.TOGGLE_LINK, 5, sync_ns, 7, hook=Hook("false", 1)), label="x")
    part = Resetting(made_of(spec=spec, tester=made_of(target=target, wait=waited.append)))
    if error:
        with pytest.raises(LinkLostError, match=error):
            part.reset()
    else:
        part.reset()
    assert (waited, set_up) == (waits, [False, True])


@pytest.mark.parametrize(("now_ns", "shown"), [(99, []), (100, [0]), (350, [250])])
def test_an_onlooker_is_shown_the_counts_since_the_first_departure(now_ns: int, shown: list[int]) -> None:
    """Ports 1 and 2 have sent 8 frames and got 6; of these three flows with 5 were read: 100 to 700 ns, 1500 in all."""
    counts = {(1, "transmitted"): 5, (2, "transmitted"): 3, (1, "expected"): 6, (2, "flooded"): 9}
    records = np.zeros(3, dtype=[("frames", "u4"), ("latency_max", "u4"), ("latency_sum_low", "u4")])
    records["frames"], records["latency_max"], records["latency_sum_low"] = (2, 0, 3), (7, 0, 2), (9, 0, 6)
    tester = made_of(reason_counts=lambda: counts, tick_ps=100_000)
    for due, last_read, latency in ((True, None, ()), (True, records, (5, 1500.0, 700.0)), (False, None, None)):
        looks: list[Look] = []
        onlooker = Onlooker(lambda sample: None, wants_look=lambda due=due: due, take_look=looks.append)  # type: ignore[misc]
        sending = made_of(now_ns=Fraction(now_ns) + Fraction(1, 2), lead_ns=100, tester=tester, last_read=last_read)
        Watching(made_of(onlooker=onlooker)).look(sending)
        assert looks == ([Look(at, 8, 6, *latency) for at in shown] if latency is not None else [])


@pytest.mark.parametrize(("now_ns", "at"), [(99, "0.000"), (1_500_000_100, "1.500")])
def test_an_onlooker_ends_a_trial_at_a_time_since_the_first_departure(now_ns: int, at: str) -> None:
    sending = made_of(now_ns=now_ns, lead_ns=100, duration_ns=2 * 10**9)
    watching = Watching(made_of(onlooker=Onlooker(lambda sample: None, wants_end=lambda: True)))
    with pytest.raises(EndedEarlyError, match=f"ended by the user after {at} s of 2 s"):
        watching.look(sending)
