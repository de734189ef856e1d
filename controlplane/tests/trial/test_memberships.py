"""Trials whose hosts join groups: members get every frame, others none, and the device is left without members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.frames import FORMATS
from support.networks import parsed, switch

from p4mesh.errors import ParameterError
from p4mesh.store.codec import decode, encode
from p4mesh.traffic.memberships import MembershipChange, Memberships, Version
from p4mesh.traffic.patterns import GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.parts import memberships
from p4mesh.trial.parts.memberships import Joining
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

MS, SECOND = 1_000_000, 1_000_000_000
FIRST = {4: "225.1.1.1", 6: "ff0e::1:1"}


def measurer(keys: str = "") -> Iterator[TrialEngine]:
    with open_measurer(parsed(switch(f"snooping: {{leave_delay_ns: 1000000{keys}}}"))) as opened:
        yield opened


@pytest.fixture
def device() -> Iterator[TrialEngine]:
    yield from measurer()


def trial(version: Version, groups: tuple[GroupRange, ...], frames: int = 40, rate_fps: int = 10_000) -> TrialSpec:
    """A trial from port 1 whose members are those of ``groups``."""
    stream = Stream(
        "groups", 128, Fraction(rate_fps), frames, Multicast(groups), (1,), (2, 3), FORMATS[version.ip_version]
    )
    duration_ns = frames * SECOND // rate_fps
    memberships = Memberships(version, groups, joins_per_s=10_000)
    return TrialSpec(
        "members", (stream,), duration_ns, Learning(enabled=False), 0, 0, per_flow=True, memberships=memberships
    )


@pytest.mark.parametrize("version", list(Version))
def test_members_get_every_frame_of_their_groups_and_leave_after_the_trial(
    device: TrialEngine, version: Version
) -> None:
    first = FIRST[version.ip_version]
    second = first[:-1] + "9"
    spec = trial(version, (GroupRange(first, 2, (2, 3)), GroupRange(second, 2, (3,))))
    result = device.measure(spec)
    after = device.measure(replace(spec, memberships=None))
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.tx_frames, result.expected_rx_frames, result.lost_frames, result.flooded_frames) == (40, 60, 0, 0)
    assert {flow.rx_frames for flow in result.flows} == {10}
    assert (after.rx_frames, after.flooded_frames) == (0, 0), "the hosts have left"


def test_members_for_single_senders_get_those_alone(device: TrialEngine) -> None:
    group = (GroupRange("232.1.1.1", 1, (2, 3)),)
    spec = trial(Version.IGMPV3, group)
    assert spec.memberships is not None
    given = replace(spec, memberships=replace(spec.memberships, sources=("198.18.1.2",)))
    assert device.measure(given).lost_frames == 0


def test_a_member_that_receives_nothing_makes_the_trial_invalid() -> None:
    """Memberships end within a second here, and no querier asks for them again."""
    for device in measurer(", membership_s: 1"):
        result = device.measure(trial(Version.IGMPV2, (GroupRange("225.1.1.1", 1, (2, 3)),)))
    assert result.status is Verdict.INVALID
    assert result.reason == (
        "joins not verified: port 2 does not receive group 225.1.1.1, which it has joined; "
        "2 of 2 memberships are silent"
    )


@pytest.mark.parametrize("version", [Version.IGMPV3, Version.MLDV1])
def test_hosts_answer_the_querier_during_a_trial(version: Version) -> None:
    """The device forgets a member after 25 s; hosts answer within 10 s of a query."""
    given = trial(version, (GroupRange(FIRST[version.ip_version], 1, (2, 3)),), frames=600, rate_fps=10)
    assert given.memberships is not None
    for device in measurer(", membership_s: 25"):
        alone = device.measure(given)
        asked = replace(given.memberships, querier_port=1, query_interval_ns=8 * SECOND)
        with_querier = device.measure(replace(given, memberships=asked))
    assert alone.lost_frames > 100
    assert (with_querier.status, with_querier.lost_frames) == (Verdict.MEASURED, 0)


def test_hosts_join_and_leave_while_the_streams_run(device: TrialEngine) -> None:
    group = (GroupRange("225.1.1.1", 1, (2, 3)),)
    spec = trial(Version.IGMPV3, group, frames=100)
    assert spec.memberships is not None
    joins = replace(spec.memberships, robustness=1, change=MembershipChange(5 * MS, (3,), joins=True))
    leaves = replace(spec.memberships, robustness=1, change=MembershipChange(5 * MS, (3,), joins=False))
    joined = device.measure(replace(spec, memberships=joins))
    left = device.measure(replace(spec, memberships=leaves))
    # One frame every 100 us; the device takes a report at once, and a leave 1 ms after it.
    assert {flow.rx_port: flow.rx_frames for flow in joined.flows} == {2: 100, 3: 50}
    assert {flow.rx_port: flow.rx_frames for flow in left.flows} == {2: 100, 3: 60}
    assert [flow.tail_lost_frames for flow in left.flows if flow.rx_port == 3] == [40]
    assert (joined.flooded_frames, left.flooded_frames) == (0, 0)
    for result in (joined, left):
        stamps = {port.port: port.controller_tx_ns for port in result.ports}
        assert {port for port, stamp in stamps.items() if stamp is not None} == {3}
        reported_ns = (stamps[3] or 0) - result.first_tx_ns
        # Within one round of the loop of the time asked for.
        assert abs(reported_ns - 5 * MS) < 20_000


def test_members_at_the_start_are_those_that_do_not_join_later() -> None:
    """Ports 2 and 3 receive two groups, port 3 one more: two times two memberships and one."""
    given = Memberships(Version.IGMPV3, (GroupRange("225.1.1.1", 2, (2, 3)), GroupRange("225.9.0.1", 1, (3,))))
    joins = replace(given, change=MembershipChange(5 * MS, (3,), joins=True))
    assert (given.ports, given.count) == ((2, 3), 5)
    assert joins.at_start() == (GroupRange("225.1.1.1", 2, (2,)),)
    leaves = replace(joins, change=MembershipChange(5 * MS, (3,), joins=False))
    assert leaves.at_start() == given.at_start() == given.groups


def test_hosts_join_at_a_rate_and_by_a_protocol_that_can_say_it() -> None:
    groups = (GroupRange(),)
    for rate in (1, 1_000_000):
        assert Memberships(Version.IGMPV2, groups, joins_per_s=rate).joins_per_s == rate
    for rate in (0, 1_000_001):
        with pytest.raises(ParameterError, match=f"{rate} joins per second"):
            Memberships(Version.IGMPV2, groups, joins_per_s=rate)
    with pytest.raises(ParameterError, match="mldv1 cannot ask for single senders"):
        Memberships(Version.MLDV1, groups, ("2001:db8::1",))
    told = [(version.ip_version, version.has_records, version.older.value) for version in Version]
    assert told == [(4, False, "igmpv2"), (4, True, "igmpv2"), (6, False, "mldv1"), (6, True, "mldv1")]


def test_memberships_are_stored_with_a_trial_that_has_them() -> None:
    spec = trial(Version.MLDV2, (GroupRange("ff0e::1", 3, (2,)),))
    assert decode(TrialSpec, encode(spec)) == spec
    assert "memberships" not in encode(replace(spec, memberships=None))


def test_flows_that_were_sent_to_members_and_never_came_are_silent() -> None:
    """The first and the last of five; one was not sent, one came in part, and one is not to come."""
    columns = {"expected": [1, 1, 1, 0, 1], "sent": [1, 0, 5, 9, 9], "unique": [0, 0, 1, 0, 0]}
    flows: Any = SimpleNamespace(**{name: np.array(values) for name, values in columns.items()})
    flows.expected = flows.expected > 0
    part: Any = None
    result = not_measured(TrialSpec("s", (), 1), Verdict.MEASURED, "")
    assert Joining.add(part, result, part, flows).silent_flows == 2


@pytest.mark.parametrize(
    ("received", "waits", "reason"),
    [
        ([(1, 0, 1)], 0, ""),
        ([(0, 0, 1), (1, 0, 1)], 1, ""),
        ([(0, 0, 0), (0, 0, 0), (1, 0, 0)], 2, "port 3 does not receive group 225.1.1.9, which it has joined; {}"),
        ([(0, 0, 1)] * 3, 2, "port 2 does not receive group 225.1.1.1, which it has joined; {}"),
    ],
)
def test_members_get_three_attempts_and_the_silent_group_is_that_of_its_stream(
    received: list[tuple[int, int, int]], waits: int, reason: str
) -> None:
    """Two streams to a group each, whose frames are not told apart; the second one's flow to port 2 is not expected."""
    groups = (GroupRange("225.1.1.1", 1, (2,)), GroupRange("225.1.1.9", 1, (3,)))
    spec = trial(Version.IGMPV3, groups, rate_fps=100)
    streams = tuple(replace(spec.streams[0], pattern=Multicast((group,))) for group in groups)
    of_flows = ((0, 0, 2, True), (1, 1, 2, False), (2, 1, 3, True))
    flows = [SimpleNamespace(cell=n, stream=s, rx_port=rx, expected=due, part="") for n, s, rx, due in of_flows]
    waited: list[int] = []
    sent: list[int] = []
    readings = iter(received)

    def send(plan: Any, duration_ns: int) -> Any:
        sent.append(duration_ns)
        return SimpleNamespace(records={"frames": next(readings)}, groups=None)

    tester = SimpleNamespace(
        target=SimpleNamespace(own_rate_bps_of={1: 10**9}),
        plan=lambda streams: SimpleNamespace(flows=flows),
        wait=waited.append,
    )
    part: Any = Joining.__new__(Joining)
    part.trial = SimpleNamespace(tester=tester, spec=replace(spec, streams=streams), send=send)
    assert spec.memberships is not None
    found = part._unverified()
    assert found == reason.format("1 of 2 memberships are silent")
    assert waited == [spec.memberships.join_wait_ns] * waits
    assert sent == [10_000_000] * (waits + 1), "a frame at 100 a second"


def test_each_source_sends_a_frame_to_each_group_when_the_one_before_has() -> None:
    """128 bytes at 1 % of the slowest port, 100 Mbit/s, are 844.6 frames a second; a slower stream stays as it is."""
    pattern = Multicast((GroupRange("225.1.1.1", 3, (9,)),))
    unicast = Stream("u", 128, Fraction(1), 5, Pairs(), (1,), (2,))
    streams = tuple(Stream("m", 128, Fraction(fps), 99, pattern, (1, 4, 5), (9,)) for fps in (10_000, 500))
    first, second = memberships._priming((unicast, *streams), {1: 10**9, 4: 10**8, 5: 10**9})
    assert first.rate_fps == Fraction(10**6, 8 * (128 + 20)) and second.rate_fps == 500
    turn_ns = 3 * 8 * (128 + 20) * 1000
    assert first.start_offset_ns == (0, turn_ns, 2 * turn_ns)
    assert second.start_offset_ns == (0, 6 * MS, 12 * MS)
    assert first.frame_count == second.frame_count == 3
    sent: list[int] = []
    part: Any = Joining.__new__(Joining)
    tester = SimpleNamespace(
        target=SimpleNamespace(own_rate_bps_of={1: 10**9, 4: 10**8, 5: 10**9}),
        plan=lambda streams: SimpleNamespace(flows=()),
    )
    spec = replace(trial(Version.IGMPV3, pattern.groups), streams=streams)

    def send(plan: Any, duration_ns: int) -> Any:
        sent.append(duration_ns)
        return SimpleNamespace(records={"frames": ()}, groups=None)

    part.trial = SimpleNamespace(tester=tester, spec=spec, send=send)
    assert part._unverified() == ""
    assert sent == [18 * MS], "three sources of the slower stream, three frames each"
    part.trial.spec = replace(spec, streams=(unicast,))
    assert (part._unverified(), len(sent)) == ("", 1)


def test_groups_that_are_counted_are_silent_by_their_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Port 4 has not received the second group, and port 3 is not to receive it."""
    destinations = (SimpleNamespace(part="225.1.1.1"), SimpleNamespace(part="225.1.1.2"), SimpleNamespace(part=""))
    expected = np.array([[True, False, True], [True, True, True]])
    counted: Any = SimpleNamespace(
        groups=SimpleNamespace(stream=0, destinations=destinations),
        ports=(3, 4),
        expected=expected,
        received=np.array([[1, 0, 0], [2, 0, 1]]),
    )
    monkeypatch.setattr(memberships, "group_frames", lambda plan, reading: [counted])
    streams = trial(Version.IGMPV3, (GroupRange("225.1.1.7", 1, (3, 4)),)).streams
    reading: Any = SimpleNamespace(records={"frames": ()})
    plan: Any = SimpleNamespace(flows=())
    assert list(memberships._silent(plan, reading, streams)) == [(3, "225.1.1.7"), (4, "225.1.1.2")]
