"""A tester of several switches on Linux interfaces: each has cores of its own, and all have one clock."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial

import pytest
from support.linux_devices import needs_root, valid

from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
BRIDGE = """
name: bridge
tester: {{switches: {switches}, ports: [{{numbers: 1-4, rate_bps: 100000000}}]}}
nodes: [{{name: bridge, device: ethernet_switch, ports: [{{numbers: 1-4, rate_bps: 100000000}}]}}]
links: [{{from: "tester:1-4", to: "bridge:1-4"}}]
"""
PORTS = (1, 2, 3, 4)
FRAMES = 3_000


def mesh(switches: int) -> tuple[TrialResult, str]:
    """Result of a full mesh, and the fact on threads."""
    stream = Stream("mesh", 128, Fraction(FRAMES), FRAMES, FullMesh(), PORTS, PORTS)
    spec = TrialSpec("mesh", (stream,), 10**9, Learning(wait_ns=10**8), 3 * 10**8, 0, per_flow=True)
    with open_measurer(parse_topology("bridge", BRIDGE.format(switches=switches)), "live") as measurer:
        (threads,) = (fact for fact in measurer.facts() if fact.startswith("threads"))
        return valid(partial(measurer.measure, spec)), threads


def test_flows_between_switches_are_measured_as_those_of_one_switch() -> None:
    """Goal: the same counts of all 12 flows; a latency from one switch to another is that of one clock."""
    results = {switches: mesh(switches) for switches in (1, 2)}
    counted = {
        switches: [(it.tx_port, it.rx_port, it.tx_frames, it.rx_frames, it.reordered_frames) for it in result.flows]
        for switches, (result, _) in results.items()
    }
    assert counted[2] == counted[1]
    assert sorted((tx, rx) for tx, rx, *_ in counted[2]) == [(tx, rx) for tx in PORTS for rx in PORTS if tx != rx]
    assert {(sent, received, late) for _, _, sent, received, late in counted[2]} == {(FRAMES // 3, FRAMES // 3, 0)}
    latency = results[2][0].latency
    assert latency is not None and latency.min_ns >= 0 and latency.sum_ns / (4 * FRAMES) < 2_000_000
    cores = results[2][1].removeprefix("threads: ").split("; ")
    if len(os.sched_getaffinity(0)) > 1:
        assert len(set(cores)) == len(cores) == 2
