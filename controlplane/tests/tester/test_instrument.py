"""The instrument on ``sim``: its verbs, and readings while traffic runs.

Method: a full mesh of four ports through a switch that forwards everything, once in silence and once with a reading
every few microseconds. The counts must be the same, and none may decrease from one reading to the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.errors import TargetError, UnsupportedError
from p4mesh.measurement.samples import Sample
from p4mesh.target.table import TARGETS
from p4mesh.tester import instrument as tester
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.opening import open_tester
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import READ_TICKS
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.onlooker import Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.sampling import Sampling
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
MS = 10**6
PORTS = (1, 2, 3, 4)
FRAMES = 1500
RATE_FPS = Fraction(max_rate_fps(64, GIGABIT))
SENDING_NS = int(FRAMES * 10**9 / RATE_FPS) + 50_000
EVERY_NS = 20_000
MESH = Stream("mesh", 64, RATE_FPS, FRAMES, FullMesh(), PORTS, PORTS)
COUNTS_UP = (
    *("flow_sequence", "departures", "frames", "bytes", "duplicates", "reordered", "next_sequence", "last_departure"),
    *("latency_min_inverted", "latency_max", "latency_sum_low", "jitter_max", "ipdv_count", "last_arrival", READ_TICKS),
)


@contextmanager
def opened() -> Iterator[tester.Tester]:
    with open_tester(TARGETS["sim"], parsed(switch())) as it:
        yield it


def transmitted(instrument: tester.Tester, readings: int = 0) -> tuple[Reading, list[Reading]]:
    """Let the loaded streams run to their end, with readings in between; return the last reading, and the others."""
    instrument.arm()
    lead_ns = instrument.start()
    began_ns, found = instrument.elapsed_ns, []
    for _ in range(readings):
        instrument.wait(EVERY_NS)
        found.append(instrument.read())
    instrument.wait(lead_ns + SENDING_NS - (instrument.elapsed_ns - began_ns))
    instrument.drain()
    instrument.stop()
    instrument.drain()
    return instrument.read(), found


def test_readings_while_traffic_runs_change_nothing() -> None:
    with opened() as instrument:
        instrument.load(instrument.plan((MESH,), HistogramPer.STREAM))
        silent, _ = transmitted(instrument)
    with opened() as instrument:
        instrument.load(instrument.plan((MESH,), HistogramPer.STREAM))
        watched, readings = transmitted(instrument, readings=30)

    moving = [int(reading.records["frames"].sum()) for reading in readings]
    assert 0 < moving[5] < moving[15] < moving[25] < 4 * FRAMES, "they were taken while frames were on their way"
    names = [name for name in silent.records.dtype.names or () if name != READ_TICKS]
    assert {name for name in names if (silent.records[name] != watched.records[name]).any()} == set()
    assert (silent.frames, silent.bins, silent.macs) == (watched.frames, watched.bins, watched.macs)
    assert silent.received("expected") == silent.received("transmitted") == 4 * FRAMES


def test_what_counts_up_never_goes_back_from_reading_to_reading() -> None:
    with opened() as instrument:
        instrument.load(instrument.plan((MESH,), HistogramPer.STREAM))
        last, readings = transmitted(instrument, readings=30)
    steps = [*readings, last]
    for before, after in pairwise(steps):
        for name in COUNTS_UP:
            fell = after.records[name].astype(np.int64) < before.records[name].astype(np.int64)
            assert not fell.any(), name
        assert all(after.frames[place] >= count for place, count in before.frames.items())
        assert all(late >= early for late, early in zip(after.bins[0].latency, before.bins[0].latency, strict=True))


def test_a_record_is_one_copy_and_a_reading_is_not() -> None:
    """Goal: the consistency that ``Tester.read`` states, in every reading while frames arrive at all four ports.

    In a record each register of the receive side is of the same moment: as many jitters as frames but one, a sum
    between the extremes, no sequence beyond the frames. Between records time passes, at most a round for each cell.
    """
    with opened() as instrument:
        plan = instrument.plan((MESH,))
        instrument.load(plan)
        began_ticks = 0
        _, readings = transmitted(instrument, readings=30)
        round_ticks = plan.round_ns * 1000 // instrument.tick_ps
        cells = [flow.cell for flow in plan.flows]
    for reading in readings:
        records = reading.records[cells]
        seen = records[records["frames"] > 0]
        frames = seen["frames"].astype(np.int64)
        assert (seen["bytes"] == 64 * frames).all()
        assert (seen["next_sequence"] == frames).all(), "nothing is lost here"
        sums, extremes = seen["latency_sum_low"].astype(np.int64), seen["latency_max"].astype(np.int64)
        shortest = 0xFFFFFFFF - seen["latency_min_inverted"].astype(np.int64)
        assert (frames * shortest <= sums).all() and (sums <= frames * extremes).all()
        taken = reading.records[READ_TICKS].astype(np.int64)
        assert taken[0] > began_ticks and (np.diff(taken) > 0).all(), "one after the other"
        assert np.diff(taken).max() <= round_ticks
        began_ticks = taken[-1]


def test_counts_begin_when_streams_are_loaded() -> None:
    with opened() as instrument:
        for _ in range(2):
            plan = instrument.plan((MESH,), HistogramPer.STREAM)
            instrument.load(plan)
            assert instrument.read().records["frames"].sum() == 0
            instrument.arm()
            instrument.wait(MS)
            idle = instrument.read()
            assert (idle.received("transmitted"), idle.records["departures"].sum()) == (0, 0), "armed is not started"
            instrument.stop()
            instrument.load(plan)
            done, _ = transmitted(instrument, readings=2)
            assert done.received("transmitted") == sum(done.bins[0].latency) == 4 * FRAMES


def test_streams_that_are_stopped_send_no_more() -> None:
    with opened() as instrument:
        instrument.load((MESH,))
        instrument.arm()
        instrument.wait(instrument.start() + SENDING_NS // 2)
        instrument.stop()
        instrument.drain()
        first = instrument.read()
        instrument.wait(SENDING_NS)
        second = instrument.read()
    assert 0 < first.received("transmitted") == second.received("transmitted") < 4 * FRAMES
    assert int(first.records["flow_sequence"].sum()) == first.received("transmitted") == first.received("expected")


def test_streams_without_room_are_refused_before_anything_is_sent() -> None:
    with opened() as instrument:
        sent = instrument.dataplane.packet_outs_sent
        many = [
            replace(MESH, name=f"s{number}", rate_fps=Fraction(1000))
            for number in range(instrument.contract["STREAMS"] + 1)
        ]
        with pytest.raises(UnsupportedError, match="not supported on sim"):
            instrument.load(many)
        assert instrument.dataplane.packet_outs_sent == sent


# In a trial


def test_a_trial_after_the_server_was_gone_loads_the_program_anew() -> None:
    with open_measurer(parsed(switch())) as engine:
        first = engine.measure(trial())
        target = engine.tester.target
        network = target._network  # type: ignore[attr-defined]
        network.stop()
        end = time.monotonic() + 10
        while engine.tester.dataplane.is_connected:
            assert time.monotonic() < end
        network.serve(target.address, target.device_id)
        second = engine.measure(trial(number=1))
    assert (first.status, second.status) == (Verdict.MEASURED, Verdict.MEASURED)
    assert (second.rx_frames, second.lost_frames) == (first.rx_frames, 0)


def trial(**options: Any) -> TrialSpec:
    spec = TrialSpec("mesh", (MESH,), SENDING_NS, Learning(wait_ns=MS), settle_ns=MS, restabilise_ns=0, per_flow=True)
    return replace(spec, histograms=HistogramPer.STREAM, **options)


def measured(spec: TrialSpec, onlooker: Onlooker | None = None, link: str = "") -> TrialResult:
    with open_measurer(parsed(switch(link=link))) as engine:
        assert isinstance(engine, TrialEngine)
        return engine.measure(spec, onlooker)


def test_a_trial_with_samples_has_the_result_of_one_without() -> None:
    samples: list[Sample] = []
    watched = measured(trial(sampling=Sampling(100_000, flows=True)), Onlooker(samples.append))
    assert (watched.status, watched.lost_frames) == (Verdict.MEASURED, 0)
    assert watched == measured(trial())
    assert len(samples) >= SENDING_NS // 100_000
    received = [sample.classes[0].rx_frames for sample in samples]
    assert received == sorted(received) and 0 < received[0] < received[-1]
    for sample in samples:
        assert sum(flow.tx_frames for flow in sample.flows) == sample.classes[0].tx_frames
        assert sample.classes[0].lost_frames == 0, "frames on their way are not lost"
    assert [port.port for port in samples[0].ports] == [1, 2, 3, 4]


def test_samples_that_take_longer_than_their_distance_follow_each_other() -> None:
    samples: list[Sample] = []
    assert measured(trial(sampling=Sampling(1)), Onlooker(samples.append)) == measured(trial())
    assert len(samples) > 20


def test_a_trial_that_is_ended_early_has_what_it_has_measured() -> None:
    samples: list[Sample] = []
    long = replace(MESH, rate_fps=Fraction(1000), frame_count=4000)
    spec = trial(streams=(long,), duration_ns=4 * 10**9, sampling=Sampling(50 * MS))
    result = measured(spec, Onlooker(samples.append, lambda: len(samples) == 10))
    assert (result.status, result.reason.partition(" of ")[0]) == (Verdict.ABORT, "ended by the user after 0.500 s")
    assert 4 * 499 <= result.tx_frames <= 4 * 502
    assert (result.rx_frames, result.lost_frames) == (result.tx_frames, 0)


def test_a_sampled_trial_that_loses_its_links_is_an_abort() -> None:
    samples: list[Sample] = []
    long = replace(MESH, rate_fps=Fraction(1000), frame_count=4000)
    spec = trial(streams=(long,), duration_ns=4 * 10**9, sampling=Sampling(50 * MS))
    result = measured(spec, Onlooker(samples.append), link="outages: [{at_s: 1.05, duration_s: 0.001}]")
    assert (result.status, result.reason) == (Verdict.ABORT, "loss of link on ports 1, 2, 3, 4")
    assert sum(port.tx_frames for port in samples[-1].ports) <= result.tx_frames < 4 * 1500, (
        "it ended soon after the loss"
    )


def test_frames_that_are_on_their_way_again_and_again_are_no_frames_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of BGP and BFD with a way of tens of milliseconds: for 60 ms of each second there is none."""
    with opened() as it:
        monkeypatch.setattr(it.target, "in_flight", lambda: int(not 440 <= it.elapsed_ns / MS % 1000 < 500))
        it.drain()
        monkeypatch.setattr(it.target, "in_flight", lambda: 1)
        with pytest.raises(TargetError, match=r"frames are still in flight 1000\d\d ms after the last"):
            it.drain()
