"""The instrument by hand: runs, clocks, leads and waits, on a target and a data plane that write down what is asked."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.errors import InternalError, TargetError
from p4mesh.target.base import MacCounts
from p4mesh.target.loop import LoopModel
from p4mesh.tester import instrument
from p4mesh.tester.reading import CopyWindow
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.stream import Burst

ROUND_NS = 700
TICK_PS = 2000
LOOP = LoopModel(10**11, 500_000)


class Noting:
    """Takes every call down, with its arguments."""

    def __init__(self, notes: list[tuple[Any, ...]], **known: Any) -> None:
        self._notes = notes
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *values, **more: self._notes.append((name, *values, *more.values()))


class Small:
    """A plan of which only what is given is known."""

    streams: list[Any]

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    round_ns = ROUND_NS

    def start_ns(self, streams: int) -> int:
        return 1000 * streams

    def of_streams(self, names: Any) -> Any:
        return Small(**{**self.__dict__, "streams": [it for it in self.streams if it.stream.name in names]})


def planned(index: int, name: str, ports: tuple[int, ...], seeds: int = 2, burst: Burst | None = None) -> Any:
    stream = SimpleNamespace(
        name=name, burst=burst, rate_fps=Fraction(1000), frame_size_bytes=64, frame_count=10, frame=None, payload=b""
    )
    transmitters = [SimpleNamespace(port=port, id=port, skipped=port - 1) for port in ports]
    clock = SimpleNamespace(interval_fraction_q32=5)
    return SimpleNamespace(
        index=index, stream=stream, transmitters=transmitters, seeds=seeds, loop=index % 2, clock=clock
    )


def plan(cells: int = 9, messages: tuple[Any, ...] = ()) -> Any:
    streams = [planned(0, "a", (1, 2)), planned(1, "b", (2,), 4), planned(3, "c", (1,), 1, Burst(5))]
    return Small(streams=streams, cells=cells, messages=messages, ports=(1, 2), histograms=(), interarrival=())


class Bench:
    """An instrument, and the calls of its data plane and its target."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **capabilities: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.counts = {(1, "expected"): 100}
        self.waited_ns: list[Any] = []
        usual = {"checks_payload": False, "start_lead_ns": 2500, "real_time": False, "pipes": None, "loop": LOOP}
        stamps = SimpleNamespace(tick_ps=TICK_PS)
        self.target: Any = Noting(
            self.calls,
            name="t",
            capabilities=SimpleNamespace(**{**usual, **capabilities}, stamps=stamps),
            own_rate_bps_of={1: 10**9, 2: 10**8},
            mac_counts=lambda: {1: MacCounts(good_received=7)},
            wait=lambda ns, sent: self.waited_ns.append((ns, sent)),
        )
        dataplane = Noting(self.calls, packet_outs_sent=77, reason_counts=lambda ports: dict(self.counts))
        monkeypatch.setattr(instrument, "bad_fcs_rules", lambda plan, run, contract: ("bad", run))
        monkeypatch.setattr(instrument, "expected_payload", lambda plan, run, contract: ("payload", run))
        monkeypatch.setattr(instrument, "seed_payload", lambda *values, check_covers_payload: b"seed")
        contract: Any = SimpleNamespace(check_covers_payload=False, record_fields=(("cell", 4), ("frames", 8)))
        monkeypatch.setattr(instrument, "Plan", Small)
        monkeypatch.setattr(
            instrument, "Planner", lambda *known: SimpleNamespace(plan=lambda streams: plan(len(streams)))
        )
        monkeypatch.setattr(instrument, "PacketService", lambda *known: SimpleNamespace(wait=self.waited_ns.append))
        monkeypatch.setattr(instrument, "Strays", lambda dataplane: Noting([]))
        monkeypatch.setattr(instrument, "LossWatch", lambda target, dataplane: Noting(self.calls))
        self.it: Any = instrument.Tester(self.target, contract, dataplane)  # type: ignore[arg-type]

    def called(self, *names: str) -> list[tuple[Any, ...]]:
        found = [call for call in self.calls if call[0] in names]
        self.calls.clear()
        return found


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_streams_are_loaded_with_a_number_that_is_used_again_after_255_and_clean_windows(bench: Bench) -> None:
    """Windows are cleared as far as any of the runs has used cells."""
    it, wait = bench.it, bench.it._wait_for_passes
    loaded = plan(messages=(SimpleNamespace(number=0), SimpleNamespace(number=1)))
    it.load(loaded)
    assert bench.called("configure", "clear", "clear_messages", "set_bad_fcs", "expect_payload", "clear_windows") == [
        *(("configure", loaded, 1), ("clear", 9, wait), ("clear_messages", 2, wait), ("set_bad_fcs", ("bad", 1))),
    ]
    it._run = 254
    it.target.capabilities.checks_payload = True
    for cells, run, more in ((5, 255, []), (3, 1, [("clear_windows", 9, wait)]), (4, 2, [])):
        it.load(plan(cells))
        calls = bench.called("configure", "clear", "clear_messages", "expect_payload", "clear_windows")
        assert [call[:1] + call[2:] for call in calls if call[0] == "configure"] == [("configure", run)]
        assert [call for call in calls if call[0] == "clear_windows"] == more
        assert calls[-2:] == [("clear", cells, wait), ("expect_payload", ("payload", run))]


def test_counts_begin_when_streams_are_loaded(bench: Bench) -> None:
    bench.it.load(plan())
    assert bench.it.loaded.cells == 9
    bench.it.load(("stream",) * 7)
    assert bench.it.loaded.cells == 7, "streams are planned"
    bench.counts |= {(1, "expected"): 140, (2, "expected"): 5, (2, "stale"): 3}
    assert bench.it.reason_counts() == {(1, "expected"): 40, (2, "expected"): 5, (2, "stale"): 3}
    assert (bench.it.frames("expected"), bench.it.frames("stale"), bench.it.frames("foreign")) == (45, 3, 0)


def test_seeds_are_spread_over_a_round_and_streams_have_theirs_once(bench: Bench) -> None:
    it, wait = bench.it, bench.it._wait_for_passes
    it.load(plan())
    bench.called()
    it.arm()
    calls = bench.called("admit_streams", "hold", "inject_seed")
    holds = [("hold", range(2), wait), ("hold", range(3, 4), wait)]
    assert calls[:3] == [("admit_streams", [0, 1, 3]), *holds]
    seeds = [(0, n, 2, 0) for n in range(2)] + [(1, n, 4, 1) for n in range(4)] + [(3, 0, 1, 1)]
    assert calls[3:] == [("inject_seed", index, b"seed", n, count, loop, 5) for index, n, count, loop in seeds]
    round_ns = Fraction(LOOP.round_ps(64)) / 1000
    assert bench.waited_ns == [pytest.approx(float(round_ns / count)) for _, _, count, _ in seeds]
    with pytest.raises(InternalError, match="stream 'b' is armed already"):
        it.arm("b")


@pytest.mark.parametrize(
    ("names", "lead_ns", "runs"), [(("a", "b", "c"), 3000, [range(2), range(3, 4)]), (("c",), 2500, [range(3, 4)])]
)
def test_streams_start_after_their_seeds_have_made_a_round(
    names: tuple[str, ...], lead_ns: int, runs: list[range], bench: Bench
) -> None:
    """A microsecond for each stream, and at least what the target needs; the peak is that of all loaded streams."""
    it = bench.it
    it.load(plan())
    bench.called()
    assert it.start(*names) == lead_ns
    peak = 3 * 1000 + max_rate_fps(64, 10**9)
    assert bench.called("start", "begin_departures") == [
        *[("begin_departures", peak)],
        *(("start", run, lead_ns * 1000 // TICK_PS) for run in runs),
    ]


def test_streams_that_are_stopped_have_two_rounds_to_end(bench: Bench) -> None:
    """Seeds of armed streams are those that end; b is not armed."""
    it = bench.it
    it.load(plan())
    it._armed = {0, 3}
    bench.called()
    bench.waited_ns.clear()
    it.stop("a", "b")
    assert bench.called("end", "stop_streams") == [("end", 2), ("stop_streams", [0, 1])]
    assert (bench.waited_ns, it._armed) == ([2 * ROUND_NS], {3})


def test_streams_that_are_renewed_send_their_frames_beyond_those_they_have_sent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 1 of stream a has made 12 departures; port 2, which left out its first one, none yet."""
    it = bench.it
    it.load(plan())
    records = np.zeros(3, dtype=[("departures", "u8")])
    records["departures"] = [0, 12, 0]
    monkeypatch.setattr(instrument.Tester, "read", lambda self, *names: SimpleNamespace(records=records))

    def changed(made: Any, **values: Any) -> Any:
        return type(made)(**{**made.__dict__, **values})

    monkeypatch.setattr(instrument, "replace", changed)
    it.renew("a")
    streams = it.loaded.streams
    assert [transmitter.frames for transmitter in streams[0].transmitters] == [22, 10]
    assert streams[1].stream.name == "b" and not hasattr(streams[1].transmitters[0], "frames")
    assert bench.called("renew") == [("renew", it.loaded)]


def test_waits_for_rounds_are_those_of_a_lone_frame_or_of_one_among_seeds(bench: Bench) -> None:
    it = bench.it
    it._plan, it._round_ns = plan(), ROUND_NS
    it._wait_for_passes(3)
    lone_ns = int(3 * LOOP.round_ps(12)) // 1000 + 1000
    assert (bench.waited_ns, it.elapsed_ns) == ([(lone_ns, 77)], lone_ns)
    it._armed = {0}
    it._wait_for_passes(3)
    assert (bench.waited_ns[1], it.elapsed_ns) == ((3 * ROUND_NS, 77), lone_ns + 3 * ROUND_NS)
    it._wait_for_passes(0)
    it.wait(0)
    assert len(bench.waited_ns) == 2
    it.wait(Fraction(5, 2))
    assert (bench.waited_ns[2], it.elapsed_ns) == (Fraction(5, 2), lone_ns + 3 * ROUND_NS + Fraction(5, 2))


def test_frames_on_their_way_are_waited_for_in_steps_that_grow(bench: Bench) -> None:
    in_flight = [True] * 11 + [False]
    bench.target.in_flight = lambda: in_flight.pop(0)
    bench.it.drain()
    assert bench.waited_ns == [min(100_000 << step, 50_000_000) for step in range(11)]
    bench.waited_ns.clear()
    bench.target.in_flight = lambda: True
    with pytest.raises(TargetError, match=r"t: frames are still in flight 1000\d\d ms after the last departure"):
        bench.it.drain()
    assert sum(bench.waited_ns[:-1]) < 100 * 10**9 <= sum(bench.waited_ns)


@pytest.mark.parametrize(
    ("capabilities", "ticks"),
    [({}, 700_000), ({"real_time": True}, None), ({"real_time": True, "pipes": 2}, 700_000)],
)
def test_departures_are_late_by_two_rounds_at_most_where_no_operating_system_delays_them(
    capabilities: dict[str, Any], ticks: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = Bench(monkeypatch, **capabilities).it
    it._round_ns, it.contract = 1000 * ROUND_NS, {"WINDOW_BITS": 3}
    assert it._copy_window == CopyWindow(8, ticks)


def test_seeds_come_without_waits_in_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, real_time=True)
    bench.it.load(plan())
    bench.waited_ns.clear()
    bench.it._inject_seeds(bench.it.loaded.streams[1])
    assert bench.waited_ns == [] and len(bench.called("inject_seed")) == 4


def test_a_reading_of_some_streams_has_their_cells_alone(bench: Bench) -> None:
    it = bench.it
    it.load(plan())
    own = Small(**{**it.loaded.__dict__, "own_cells": [1, 2, 5]})
    form = [("frames", "u4")]
    it.dataplane.read_some = lambda wanted, wait: np.array([(cell,) for part in wanted for cell in part], dtype=form)
    assert it._records_of_streams(own)["frames"].tolist() == [0, 1, 2, 0, 0, 5, 0, 0, 0]


def test_a_reading_has_the_messages_of_all_sources_and_counts_of_macs_since_it_was_loaded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, calls = bench.it, list[tuple[Any, ...]]()
    it.load(plan(messages=(SimpleNamespace(number=0), SimpleNamespace(number=4))))
    it._plan.interarrival = ("times",)
    it.contract = SimpleNamespace(check_covers_payload=True)
    monkeypatch.setattr(instrument.Tester, "_copy_window", None)
    it.target.mac_counts = lambda: {1: MacCounts(good_received=12)}
    it.dataplane = Noting(calls, reason_counts=lambda ports: {}, message_time_bits=48, read=lambda cells, wait: cells)
    found = it.read()
    assert (found.records, found.macs[1].good_received, found.check_covers_payload) == (9, 5, True)
    assert ("read_messages", 5, it._wait_for_passes) in calls
    assert ("histogram_counts", (), 9, True) in calls and ("interarrival_counts", ("times",), 9) in calls
    it._plan.messages, it._plan.interarrival = (), ()
    calls.clear()
    it.read()
    assert ("histogram_counts", (), 9, False) in calls and not [call for call in calls if call[0] == "read_messages"]
