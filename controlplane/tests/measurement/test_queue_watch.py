"""Readings of a mesh with more pairs of ports than the loop has time for, while departures go on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest

from p4mesh.measurement.queue_watch import cycle_of, queue_watch, step_of, times_of
from p4mesh.tester.cell_reader import FRAMES_PER_PASS, PASSES_BESIDE
from p4mesh.tester.plan import Plan

ROUND_NS = 400


def mesh(ports: int, frames: int) -> Plan:
    """The part that a watch needs of the plan of a full mesh, a frame each 10 ns; cells follow the transmit port."""
    pairs = itertools.permutations(range(1, ports + 1), 2)
    flows = [SimpleNamespace(tx_port=tx, rx_port=rx, cell=cell, expected=True) for cell, (tx, rx) in enumerate(pairs)]
    transmitters = [SimpleNamespace(frames=frames, positions=ports - 1)] * ports
    clock = SimpleNamespace(burst_slots=1, frame_interval_ticks=Fraction(10))
    return cast("Plan", SimpleNamespace(flows=flows, streams=[SimpleNamespace(clock=clock, transmitters=transmitters)]))


@pytest.mark.parametrize("ports", [4, 16, 64, 256])
@pytest.mark.parametrize("frames", [12_000, 30_000, 100_000])
def test_a_reading_takes_a_small_part_of_a_window(ports: int, frames: int) -> None:
    watch = queue_watch(mesh(ports, frames), 10 * frames, 1000, ROUND_NS, 1)
    assert watch is not None
    cells = [cell for part in watch.cells for cell in part]
    assert cells and len(set(cells)) == len(cells)
    turns = -(-len(watch.cells) // FRAMES_PER_PASS)
    reading_ns = ROUND_NS * turns * (max(map(len, watch.cells)) + PASSES_BESIDE)
    # The passes beside those for cells may come on top of the quarter.
    assert reading_ns <= watch.step_ns / 4 + ROUND_NS * PASSES_BESIDE


def test_readings_are_whole_cycles_apart_and_cover_two_pairs_of_each_port() -> None:
    """A mesh of 4 ports repeats every 30 ns; 4,000 frames are too few for more cells than two of each port."""
    watch = queue_watch(mesh(4, 1000), 1_000_000, 1000, ROUND_NS, 1)
    assert watch is not None
    assert watch.step_ns == 125_000 // 30 * 30
    assert watch.times_ns == tuple(124_980 * number for number in range(1, 8))
    assert sum(map(len, watch.cells)) == 2 * 4


def plan_of(flows: list[tuple[int, int, int]], *streams: tuple[int, int, list[tuple[int, int]]]) -> Plan:
    """Flows (transmit port, receive port, cell); streams: slots of a burst, ticks, (frames, positions) of each port."""
    made = [SimpleNamespace(tx_port=tx, rx_port=rx, cell=cell, expected=cell >= 0) for tx, rx, cell in flows]
    sent = [
        SimpleNamespace(
            clock=SimpleNamespace(burst_slots=slots, frame_interval_ticks=Fraction(ticks)),
            transmitters=[SimpleNamespace(frames=frames, positions=positions) for frames, positions in ports],
        )
        for slots, ticks, ports in streams
    ]
    return cast("Plan", SimpleNamespace(flows=made, streams=sent))


def test_a_cycle_has_every_burst_and_all_destinations_of_the_slowest_stream() -> None:
    """Bursts in 6 slots to 4 and 2 destinations are the same after 12 slots of 10 ticks; 3 slots of 50 ticks: 150."""
    plan = plan_of([], (6, 10, [(1, 2), (1, 4)]), (1, 50, [(1, 3)]))
    assert cycle_of(plan, 3000) == 3 * 150
    # 8 windows of 4,500 ns have ten cycles; a window that is shorter than a cycle stays as it is.
    assert [step_of(plan, 8 * length, 3000) for length in (4500, 4949, 450, 449)] == [4500, 4500, 450, 449]
    assert times_of(Fraction(5, 2)) == (2, 5, 8, 10, 12, 15, 18), "a half is rounded to an even number"


@pytest.mark.parametrize(
    ("duration_ns", "passes", "lengths"),
    [
        # Rounds of 100 ns: a quarter of the window of 2,400 ns has 6 of them, 2 of which are beside those of cells.
        pytest.param(8 * 2400, 2, [1, 1], id="4 rounds are twice two passes: two ranges of a cell"),
        pytest.param(8 * 2399, 2, None, id="3 rounds are too few for that"),
        pytest.param(8 * 2399, 1, [1], id="but enough for one pass, and one range"),
        pytest.param(8 * 4000, 1, [2, 2], id="8 rounds are enough for all: ranges as long as the root of the cells"),
    ],
)
def test_a_range_takes_half_of_the_rounds_of_a_reading(
    duration_ns: int, passes: int, lengths: list[int] | None
) -> None:
    flows = [(1, 2, 0), (1, 3, 1), (2, 1, 2), (2, 3, 3), (3, 1, -1)]
    watch = queue_watch(plan_of(flows, (1, 1, [(10**6, 1)])), duration_ns, 1000, 100, passes)
    assert (watch and [len(part) for part in watch.cells]) == lengths


def test_where_there_is_no_room_each_receiver_has_a_pair_before_each_sender_has_one() -> None:
    """2,500 frames of a trial pay for a cell, two of each of 4 receivers in any case: 8 cells, or 9 of 16 pairs."""
    flows = [(tx, rx, 4 * (tx - 1) + rx - 5) for tx in range(1, 5) for rx in range(5, 9)]
    for frames, room in ((9 * 2500 - 1, 8), (9 * 2500, 9), (40 * 2500, 16)):
        watch = queue_watch(plan_of(flows, (1, 1, [(frames, 1)])), 8 * 10**6, 1000, 100, 1)
        assert watch is not None
        cells = [cell for part in watch.cells for cell in part]
        assert len(cells) == room
        assert {cell // 4 for cell in cells} == {cell % 4 for cell in cells} == {0, 1, 2, 3}


def test_pairs_of_many_flows_are_left_out_where_only_smaller_ones_fit() -> None:
    """Ports 1 to 3 have 9 flows each to a port of their own; four ports send one flow to port 3: 8 cells are read."""
    many = [(tx, tx, 9 * tx + number) for tx in (1, 2) for number in range(9)]
    few = [(tx, 3, 60 + tx) for tx in range(3, 9)]
    watch = queue_watch(plan_of([*many, *few], (1, 1, [(1, 1)])), 8 * 10**6, 1000, 100, 1)
    assert watch is not None
    assert [cell for part in watch.cells for cell in part] == [60 + tx for tx in range(3, 9)]


@pytest.mark.parametrize(
    ("senders", "receivers", "frames", "step_ns"),
    [
        pytest.param(range(1, 5), range(5, 9), 10**6, 2400, id="4 rounds: two ranges of two cells, for 4 receivers"),
        pytest.param(range(1, 8), (8, 9), 2500, 10**6, id="frames for 7 cells: all 7 senders"),
    ],
)
def test_the_fewest_cells_show_each_receiver_and_then_each_sender(
    senders: Sequence[int], receivers: Sequence[int], frames: int, step_ns: int
) -> None:
    flows = [(tx, rx, cell) for cell, (tx, rx) in enumerate(itertools.product(senders, receivers))]
    watch = queue_watch(plan_of(flows, (1, 1, [(frames, 1)] * len(senders))), 8 * step_ns, 1000, 100, 1)
    assert watch is not None
    chosen = [flows[cell] for part in watch.cells for cell in part]
    assert len(chosen) == max(len(senders), len(receivers))
    assert {rx for _, rx, _ in chosen} == {*receivers}
    if len(receivers) < len(senders):
        assert {tx for tx, _, _ in chosen} == {*senders}


@pytest.mark.parametrize(("together", "ranges"), [(4, 21), (5, 16)])
def test_ranges_that_take_too_long_in_turns_become_as_many_as_are_read_at_once(together: int, ranges: int) -> None:
    """12 rounds, two of them beside cells. A range of 4 and 20 of one take two turns of 4 + 2 rounds; one of 5, 14."""
    cells = [*range(together), *range(10, 50, 2)]
    plan = plan_of([(1, 2 + place, cell) for place, cell in enumerate(cells)], (1, 1, [(10**6, 1)]))
    watch = queue_watch(plan, 8 * 4800, 1000, 100, 1)
    assert watch is not None and len(watch.cells) == ranges


def test_a_range_is_not_longer_than_there_is_time_for() -> None:
    watch = queue_watch(plan_of([(1, 2, 0), (1, 3, 1)], (1, 1, [(10**6, 1)])), 8 * 2400, 1000, 100, 2)
    assert watch is not None and watch.cells == (range(1), range(1, 2))


def test_a_window_has_whole_periods_of_a_shape() -> None:
    """Of 2,400 ns, two times 1,000; a shape that is longer than a window is in none."""
    plan = plan_of([(1, 2, 0), (1, 3, 1)], (1, 1, [(10**6, 1)]))
    watch = queue_watch(plan, 8 * 2400, 1000, 100, 1, Fraction(1000))
    assert watch is not None and watch.step_ns == 2000
    assert queue_watch(plan, 8 * 2400, 1000, 100, 1, Fraction(2401)) is None
