"""The length of a transmission and its last reading, by hand, on a tester that only counts what it is asked to do."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.target.base import Pauses
from p4mesh.tester.pacing import DepartureClock, departure_clock
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.onlooker import EndedEarlyError
from p4mesh.trial.parts.base import Part, Sending
from p4mesh.trial.transmission import Transmission

MS = 1_000_000
EVEN = departure_clock(Fraction(1000), 100, 1000)
UNEVEN = DepartureClock(10, 0, 4, 0, 1, longer_by_ticks=(0, 5), first_ticks=3)
LEAD_NS, ROUND_NS, JITTER_NS = 700, 11, 13


class CountingTester:
    """Time passes only where something waits; a tick is 1.5 ns."""

    tick_ps = 1500

    def __init__(self, real_time: bool, transmitted: list[int], latency_max_ticks: int = 0, shown_ns: int = 0) -> None:
        self.elapsed_ns = 5 * MS
        self.waited: list[int] = []
        self.done: list[str] = []
        self._transmitted = transmitted
        self._latency_max_ticks = latency_max_ticks
        capabilities = SimpleNamespace(
            real_time=real_time, drops_shown_after_ns=shown_ns, scheduling_jitter_ns=JITTER_NS
        )
        self.target = SimpleNamespace(capabilities=capabilities, take_pauses=lambda: Pauses())
        self.packets = SimpleNamespace(cancel=lambda: self.done.append("cancel"), serve=lambda: None)
        for name in ("arm", "stop", "drain"):
            setattr(self, name, lambda name=name: self.done.append(name))

    def load(self, _: Any) -> None:
        self.done.append("load")

    def start(self) -> int:
        return LEAD_NS

    def wait(self, ns: int) -> None:
        self.waited.append(ns)
        self.elapsed_ns += ns

    def frames(self, _: str) -> int:
        return self._transmitted.pop(0) if len(self._transmitted) > 1 else self._transmitted[0]

    def read(self) -> Any:
        return SimpleNamespace(records={"latency_max": np.array([1, self._latency_max_ticks])})


def transmission(tester: CountingTester, streams: list[Stream], clock: DepartureClock = EVEN, *parts: Any) -> Any:
    """A transmission of 10 ms over links that are all right, with a settle time of 1 us."""
    transmitters = [SimpleNamespace(frames=stream.frame_count) for stream in streams]
    planned = [
        SimpleNamespace(stream=stream, clock=clock, transmitters=[one])
        for stream, one in zip(streams, transmitters, strict=True)
    ]
    plan: Any = SimpleNamespace(streams=planned, round_ns=ROUND_NS)
    links: Any = SimpleNamespace(require_links=lambda: tester.done.append("links"), losses=lambda: {1: 2})
    given: Any = tester
    return Transmission(Sending(given, plan, 10 * MS, links), 1000, parts)


def stream(frames: int, rate_fps: Fraction = Fraction(1000), burst: int = 1, offset_ns: int = 0) -> Stream:
    offsets = (0, offset_ns) if offset_ns else ()
    found = Burst(burst) if burst > 1 else None
    return Stream("s", 64, rate_fps, frames, Pairs(), (1, 2), (3, 4), burst=found, start_offset_ns=offsets)


@pytest.mark.parametrize(
    ("streams", "clock", "length_ns"),
    [
        ([stream(5)], EVEN, 10 * MS),
        # The last of 13 frames at 1,000 a second leaves after 12 ms, within the burst that the trial cuts into.
        ([stream(13, burst=5)], EVEN, 12 * MS),
        ([stream(100, burst=5)], EVEN, 14 * MS),
        ([stream(100)], EVEN, 10 * MS),
        # Each stream begins where its last port does.
        ([stream(3), stream(13, burst=5, offset_ns=3 * MS)], EVEN, 15 * MS),
        ([stream(5, offset_ns=3 * MS)], EVEN, 13 * MS),
        ([stream(32, Fraction(3000), burst=9)], EVEN, 10_333_334),
        ([stream(100, Fraction(3000), burst=9)], EVEN, 12_666_667),
        # First departure at tick 3; three intervals of 10,000,000 ticks, and 5 more.
        ([stream(4)], DepartureClock(10**7, 0, 4, 0, 1, (0, 5), 3), 45_000_012),
        ([stream(4)], UNEVEN, 10 * MS),
    ],
)
def test_a_transmission_ends_with_its_last_departure(
    streams: list[Stream], clock: DepartureClock, length_ns: int
) -> None:
    """The lead, the length, and two rounds of the loop by which a departure may be late; a look each 100 ms at most."""
    tester = CountingTester(False, [0])
    found = transmission(tester, streams, clock)
    found.run()
    assert sum(tester.waited) == LEAD_NS + length_ns + 2 * ROUND_NS
    assert tester.done == ["load", "arm", "links", "links", "cancel"]


def test_links_are_looked_at_ten_times_a_second() -> None:
    tester = CountingTester(False, [0])
    found = transmission(tester, [stream(256, burst=256)])
    found.run()
    assert tester.waited == [100 * MS, 100 * MS, 55 * MS + LEAD_NS + 2 * ROUND_NS]
    assert tester.done.count("links") == 4, "and a last time at the end"


class Acting(Part):
    """Acts 4 and 6 ms after the start request, which takes half a millisecond each."""

    def __init__(self, tester: CountingTester) -> None:
        self.tester, self.due_ns = tester, 4 * MS
        self.acted_ns: list[Any] = []

    def begin(self, sending: Sending) -> None:
        self.tester.done.append("begin")

    def loaded(self, sending: Sending) -> None:
        self.tester.done.append("loaded")

    def started(self, sending: Sending) -> None:
        self.tester.done.append("started")

    def ended(self, sending: Sending, reading: Any) -> None:
        self.tester.done.append("ended")

    def act(self, sending: Sending) -> None:
        self.acted_ns.append(sending.now_ns)
        self.tester.elapsed_ns += MS // 2
        self.due_ns = 6 * MS if self.due_ns == 4 * MS else None


def test_a_feature_acts_when_it_is_due_and_its_time_counts() -> None:
    tester = CountingTester(False, [0])
    acting = Acting(tester)
    found = transmission(tester, [stream(5)], EVEN, acting)
    found.run()
    assert acting.acted_ns == [4 * MS, 6 * MS]
    assert tester.done == ["begin", "load", "loaded", "arm", "started", *6 * ["links"], "cancel"]
    assert tester.waited == [4 * MS, 3 * MS // 2, 10 * MS + LEAD_NS + 2 * ROUND_NS - 6 * MS - MS // 2]
    found.end()
    assert tester.done[-4:] == ["drain", "stop", "drain", "ended"]


@pytest.mark.parametrize(
    ("real_time", "transmitted", "waits"),
    [(True, [8, 9, 10], 2), (True, [8], 50), (True, [10], 0), (False, [8], 0)],
)
def test_a_target_of_the_wall_clock_has_time_to_catch_up(real_time: bool, transmitted: list[int], waits: int) -> None:
    """Ten frames are to leave; the wait ends with the last of them, or after 50 times the jitter."""
    tester = CountingTester(real_time, transmitted)
    transmission(tester, [stream(4), stream(6)]).run()
    assert tester.waited[1:] == [JITTER_NS] * waits


@pytest.mark.parametrize(
    ("real_time", "ticks", "shown_ns", "waits"),
    [
        # 1,000 ticks of 1.5 ns are 1.5 us: twice that is 2 us longer than the settle time.
        (True, 1000, 0, [1000, 2000]),
        (True, 333, 0, [1000]),
        (True, 1000, 4000, [4000]),
        (False, 1000, 0, [1000]),
        (False, 0, 1500, [1500]),
    ],
)
def test_the_silence_before_the_last_reading_is_twice_the_largest_latency(
    real_time: bool, ticks: int, shown_ns: int, waits: list[int]
) -> None:
    """Where frames in flight are not known; and no shorter than drops take to show."""
    tester = CountingTester(real_time, [0], ticks, shown_ns)
    found = transmission(tester, [stream(5)])
    observed = found.end()
    assert tester.waited == waits
    assert tester.done == ["drain", "stop", "drain"]
    assert (observed.link_losses, observed.pauses) == ({1: 2}, Pauses())
    assert found.end() is observed


class Ending(Part):
    """Ends the trial at its first look."""

    def __init__(self) -> None:
        self.due_ns = None

    def look(self, sending: Sending) -> None:
        raise EndedEarlyError


def test_streams_that_end_early_are_stopped_at_once() -> None:
    tester = CountingTester(True, [0])
    found = transmission(tester, [stream(5)], EVEN, Ending())
    with pytest.raises(EndedEarlyError):
        found.run()
    found.end()
    assert tester.done == ["load", "arm", "links", "cancel", "stop", "drain", "stop", "drain"]
    assert tester.waited == [1000]
