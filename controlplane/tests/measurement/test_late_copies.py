"""Loss where copies come late: a range that contains the truth, and no wider than what the registers leave open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from support.device_bench import bench, pairs
from support.measurement_oracle import Arrival, Newest, Places, outcome_of
from support.networks import network, node

from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import Counts
from p4mesh.measurement.late_copies import late_copies
from p4mesh.methods.results.loss_interval import interval_cells, loss_interval
from p4mesh.methods.results.metrics import judge_loss
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.reading import CopyWindow, Reading
from p4mesh.traffic.patterns import Pairs, Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.verdict import Verdict

TICKS = 1000
"""Between two frames, of a nanosecond each."""
PLACES = 8
KNOWN = CopyWindow(PLACES, lateness_ticks=0)


def planned(frames: int) -> Plan:
    limits = Limits.of(load_contract(), 1000, LoopModel(100 * 10**9, 500_000), "sim")
    stream = Stream("one", 64, Fraction(10**9, TICKS), frames, Pairs(), (1,), (2,))
    return make_plan((stream,), limits, {1: 10**9, 2: 10**9})


def counted(sent: int, window: CopyWindow = KNOWN, **columns: int) -> Counts:
    """Counts of a flow of so many frames whose record has these values."""
    plan = planned(sent)
    of_target = {name for name, _ in load_contract().record_fields} - {"beyond_window"} | {*columns}
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name in of_target])
    (flow,) = [flow for flow in plan.flows if flow.expected]
    records["flow_sequence"][flow.sequence_cell] = sent
    for name, value in columns.items():
        records[name][flow.cell] = value
    reading = Reading(records, {(port, "expected"): 0 for port in (1, 2)}, window=window)
    counts = count(plan, reading, 1000, per_flow=True)
    (of_flow,) = counts.flows
    assert (of_flow.lost_frames, of_flow.doubtful_frames) == (counts.lost_frames, counts.doubtful_frames)
    return counts


def latencies(shortest: int, longest: int) -> dict[str, int]:
    return {"latency_min_inverted": 0xFFFFFFFF - shortest, "latency_max": longest}


@pytest.mark.parametrize(
    ("window", "longest", "columns", "expected"),
    [
        # 100 of 5,000 are dropped, 100 others come again 20 frames later: as many late frames as gaps.
        (KNOWN, 21_000, {"frames": 5000, "reordered": 100}, (100, 100, 0, 100)),
        # The same counts, of frames that are held back by 7 others: a copy would have been known.
        (KNOWN, 8_999, {"frames": 5000, "reordered": 100}, (0, 0, 0, 100)),
        (KNOWN, 9_000, {"frames": 5000, "reordered": 100}, (100, 100, 0, 100)),
        (replace(KNOWN, lateness_ticks=2), 8_998, {"frames": 5000, "reordered": 100}, (100, 100, 0, 100)),
        (replace(KNOWN, lateness_ticks=None), 1_000, {"frames": 5000, "reordered": 100}, (100, 100, 0, 100)),
        # The program knows 95 of the 100, or all of them: only the others may be copies.
        (KNOWN, 21_000, {"frames": 5000, "reordered": 100, "beyond_window": 5}, (5, 5, 0, 100)),
        (
            replace(KNOWN, lateness_ticks=None),
            1_000,
            {"frames": 5000, "reordered": 100, "beyond_window": 0},
            (0, 0, 0, 100),
        ),
        (KNOWN, 21_000, {"frames": 5030, "reordered": 130, "beyond_window": 40}, (10, 10, 30, 100)),
        # No gap: all late frames are copies, and nothing is lost.
        (KNOWN, 21_000, {"frames": 5100, "reordered": 100}, (0, 0, 100, 0)),
        # 30 of 130 late frames more than gaps: these are copies, and of the others nobody knows.
        (KNOWN, 21_000, {"frames": 5030, "reordered": 130}, (100, 100, 30, 100)),
        # 110 frames more are lost than came late: each of the others may be a copy.
        (KNOWN, 21_000, {"frames": 4890, "reordered": 100}, (210, 100, 0, 100)),
        # 10 late frames are copies for certain, though the program knows all but 5.
        (KNOWN, 21_000, {"frames": 5010, "reordered": 110, "beyond_window": 5}, (0, 0, 10, 100)),
        # 10 frames of the end are missing beside the gaps, whatever came late.
        (KNOWN, 21_000, {"frames": 4990, "reordered": 100, "next_sequence": 4990}, (110, 100, 0, 100)),
        (KNOWN, 21_000, {"frames": 4900}, (100, 0, 0, 0)),
    ],
)
def test_loss_is_what_the_registers_leave_open(
    window: CopyWindow, longest: int, columns: dict[str, int], expected: tuple[int, int, int, int]
) -> None:
    found = counted(5000, window, **({"next_sequence": 5000} | columns), **latencies(1000, longest))
    assert (found.lost_frames, found.doubtful_frames, found.duplicate_frames, found.reordered_frames) == expected


@pytest.mark.parametrize(("longer", "doubtful"), [(15_999, 0), (16_000, 10)])
def test_a_copy_has_waited_for_departures_of_its_own_flow(longer: int, doubtful: int) -> None:
    """Two senders go to two receivers in turn: eight frames of a flow leave in 16 slots of 1,000 ticks."""
    limits = Limits.of(load_contract(), 1000, LoopModel(100 * 10**9, 500_000), "sim")
    stream = Stream("two", 64, Fraction(10**9, TICKS), 200, Rotate(), (1, 2), (3, 4))
    plan = make_plan((stream,), limits, dict.fromkeys(range(1, 5), 10**9))
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name, _ in load_contract().record_fields])
    late = {"frames": 100, "next_sequence": 100, "reordered": 10, "beyond_window": 10, **latencies(1000, 1000 + longer)}
    for name, value in late.items():
        records[name][plan.columns.cell] = value
    copies, may_be = late_copies(plan, records, KNOWN)
    assert (copies.tolist(), may_be.tolist()) == ([0] * 4, [doubtful] * 4)


@pytest.mark.parametrize("window", [Places, Newest])
@pytest.mark.parametrize("seed", range(40))
def test_the_range_contains_the_truth(seed: int, window: type[Places | Newest]) -> None:
    """Random losses, copies and delays of 200 frames, through registers as they are defined."""
    random = Random(seed)
    frames, held, again = 200, random.choice((0, 3, 30)), random.choice((0, 5, 40))
    arrivals = []
    kept = [number for number in range(frames) if random.random() > 0.05]
    for number in kept:
        late = random.randrange(held + 1) if random.random() < 0.1 else 0
        arrivals.append((number + late, number))
        if again and random.random() < 0.1:
            arrivals.append((number + late + random.randrange(1, again), number))
    came = [
        Arrival(1, 10**9 + TICKS * at, sequence=number, latency=1000 + TICKS * (at - number))
        for at, number in sorted(arrivals)
    ]
    record: dict[str, Any] = outcome_of(came, 1, lambda: window(PLACES)).flows[100].record()
    if window is Newest:
        record.setdefault("beyond_window", 0)
    columns = {
        "frames",
        "duplicates",
        "reordered",
        "beyond_window",
        "next_sequence",
        "latency_min_inverted",
        "latency_max",
    }
    found = counted(frames, **{name: record[name] for name in columns & record.keys()})
    lost = frames - len(kept)
    assert found.lost_frames - found.doubtful_frames <= lost <= found.lost_frames
    if max(held, again) <= 5:
        assert found.doubtful_frames == 0
    low, high = loss_interval(lost, frames)
    cells = interval_cells(found.lost_frames, frames, found.doubtful_frames)
    assert cells["loss_low_pct"] <= 100 * low and 100 * high <= cells["loss_high_pct"]


@pytest.mark.parametrize(("held_ns", "is_known"), [(50_000, True), (400_000, False)])
def test_late_copies_hide_no_loss_of_a_network(held_ns: int, is_known: bool) -> None:
    """One switch loses and repeats 2 % each, the next holds half of the frames back by 20 others, or by 160."""
    faulty = node("dut", "loss_ppb: 20000000", "impairments: {duplicate_ppb: 20000000}", ports=2)
    slow = node("slow", f"impairments: {{reorder_ppb: 500000000, reorder_delay_ns: {held_ns}}}", ports=2)
    links = [("tester:1", "dut:1"), ("dut:2", "slow:1"), ("slow:2", "tester:2")]
    with bench(network(faulty, slow, links=links, ports=2, seed=3)) as it:
        before = it.drops("random_loss")
        result = it.measure(pairs(50, 128, 5000, (1, 2)))
        lost = it.drops("random_loss") - before
    assert lost > 50
    if is_known:
        assert (result.lost_frames, result.doubtful_frames) == (lost, 0)
        assert judge_loss(result, Fraction(100 * lost, 5000)) is Verdict.PASS
    else:
        assert result.lost_frames - result.doubtful_frames < lost < result.lost_frames
        assert judge_loss(result, Fraction(100 * lost, 5000)) is Verdict.FAIL
