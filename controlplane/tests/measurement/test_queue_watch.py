"""Readings of a mesh with more pairs of ports than the loop has time for, while departures go on."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest

from p4mesh.measurement.queue_watch import queue_watch
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
