"""Queues in front of ports whose clock is slower than that of departures: closed forms for a minute of 64 bytes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.departures import READ_ERROR_TICKS
from p4mesh.measurement.port_queues import PortQueue, port_queues
from p4mesh.run.trial_findings import port_queue_finding
from p4mesh.store.codec import encode
from p4mesh.store.run_files import StoredTrial
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.pacing import LoopUse
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.port_clocks import waiting_per_s
from p4mesh.traffic.stream import Stream

TICK_PS, ROUND_NS = 1000, 1000
LINE_BPS = 100 * 10**9
LINE_FPS = max_rate_fps(64, LINE_BPS)
MINUTE = int(60 * LINE_FPS)


def planned(rate_fps: Fraction, frames: int) -> Plan:
    limits = Limits.of(load_contract(), TICK_PS, LoopModel(2 * LINE_BPS, 700_000), "tofino")
    stream = Stream("s", 64, rate_fps, frames, Pairs(), (1, 2), (3, 4))
    plan = make_plan((stream,), limits, dict.fromkeys((1, 2, 3, 4), LINE_BPS))
    return replace(plan, loop_uses=(LoopUse(Fraction(1000 * ROUND_NS - 1000), Fraction(0), Fraction(0)),))


def departed(plan: Plan, **late_ticks: float) -> Any:
    """Records of transmitters whose last departure is so many ticks late."""
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name, _ in load_contract().record_fields])
    for transmitter in plan.streams[0].transmitters:
        wanted = (transmitter.frames - 1) * float(plan.streams[0].clock.frame_interval_ticks)
        records["departures"][transmitter.id] = transmitter.frames
        records["first_departure"][transmitter.id] = 1
        records["last_departure"][transmitter.id] = 1 + round(wanted + late_ticks.get(f"port_{transmitter.port}", 0))
    return records


def test_a_minute_of_64_bytes_at_100_gigabit_leaves_446_000_frames_at_50_ppm() -> None:
    """Goal: 50 millionths of the frames that were due; the fact before a run has the same figure."""
    plan = planned(LINE_FPS, MINUTE)
    slower = (MINUTE - 1) * float(plan.streams[0].clock.frame_interval_ticks) * (1 / (1 - 50e-6) - 1)
    (found,) = port_queues(plan, departed(plan, port_2=slower), TICK_PS)
    assert (found.port, round(found.slower_ppm, 3)) == (2, 50.0)
    assert found.frames == pytest.approx(446_428, abs=1)
    assert 60 * waiting_per_s(64, LINE_BPS) == pytest.approx(446_428, abs=60)


def test_two_rounds_and_the_error_of_a_reading_are_no_queue_and_two_ticks_more_are() -> None:
    plan = planned(LINE_FPS, 1_000_000)
    usual = 2 * plan.round_ns * 1000 / TICK_PS + READ_ERROR_TICKS
    assert not list(port_queues(plan, departed(plan, port_1=float(usual - 1)), TICK_PS))
    (found,) = port_queues(plan, departed(plan, port_1=float(usual + 2)), TICK_PS)
    assert found.port == 1


def test_the_first_frame_of_a_port_waits_for_none() -> None:
    """249 of 250 parts of the time are late: of 101 frames, those of 100 distances wait, which are 99.6."""
    plan = planned(LINE_FPS, 101)
    wanted = 100 * float(plan.streams[0].clock.frame_interval_ticks)
    (found,) = port_queues(plan, departed(plan, port_1=249 * wanted), TICK_PS)
    assert found.frames == 99
    assert found.slower_ppm == pytest.approx(996_000, abs=0.1)


def test_a_departure_that_is_late_by_less_than_two_rounds_is_no_queue() -> None:
    plan = planned(LINE_FPS, 1_000_000)
    assert list(port_queues(plan, departed(plan, port_1=1990, port_2=0), TICK_PS)) == []
    assert [queue.port for queue in port_queues(plan, departed(plan, port_1=2010), TICK_PS)] == [1]


def test_a_port_whose_clock_is_faster_has_no_queue() -> None:
    plan = planned(LINE_FPS * Fraction(99, 100), 1_000_000)
    assert list(port_queues(plan, departed(plan, port_1=-5000), TICK_PS)) == []


def stored(*queues: PortQueue) -> StoredTrial:
    result: dict[str, Any] = {"port_queues": [encode(queue) for queue in queues]} if queues else {}
    return StoredTrial(**dict.fromkeys(StoredTrial.__dataclass_fields__) | {"result": result})


def test_the_longest_queue_of_all_trials_is_a_finding() -> None:
    trials = [stored(), stored(PortQueue(3, 446_428, 50.0), PortQueue(2, 7, 1.0)), stored(PortQueue(1, 5, 2.0))]
    (found,) = port_queue_finding(trials)
    assert found.startswith("port 3 sent 50.0 ppm slower than its load, so that 446,428 frames waited in the tester")
    assert "of port 1-3" in found
    assert port_queue_finding([stored()]) == ()


def test_frames_that_a_slower_port_leaves_over_are_its_part_of_the_rate() -> None:
    """148,809,523.8 frames of 64 bytes in a second at 100 Gbit/s; 50 ppm of them are 7,440.5."""
    assert (waiting_per_s(64, 10**11), waiting_per_s(64, 10**11, 1)) == (7440, 148)
