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
    """Return what a watch needs of the plan of a full mesh, a frame each 10 ns; cells follow the transmit port."""
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
