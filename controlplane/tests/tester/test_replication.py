"""Departures that wait for the replication engines of a Tofino: closed forms at a clock of 1 GHz."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support import networks

from p4mesh.errors import UnsupportedError
from p4mesh.target.capabilities import Pipes
from p4mesh.target.chips import TOFINO_1, TOFINO_2
from p4mesh.target.loop import LoopModel
from p4mesh.target.tofino import TofinoTarget
from p4mesh.tester.contract import load_contract
from p4mesh.tester.pacing import LoopUse
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.planning import Planner
from p4mesh.tester.replication import longest_queue, require_replication
from p4mesh.tester.tofino_contract import load_tofino_contract
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

GHZ = 10**9
PORTS = tuple(range(1, 17))
RATES = dict.fromkeys(PORTS, 100 * GHZ)
TICK_PS = 1000


def test_a_queue_grows_by_what_comes_while_copies_are_made() -> None:
    """Goal: 100 departures, one in 2 ns with 8 copies of 1 ns each: after 200 ns 25 are through."""
    arrivals = [(Fraction(2000 * number), 8) for number in range(1, 101)]
    assert longest_queue(arrivals, GHZ) == pytest.approx(75, abs=1)
    assert longest_queue(arrivals, 4 * GHZ) == 1


def planned(rate_fps: int, loops: tuple[LoopModel, ...]) -> Plan:
    """One stream to 16 ports in each loop."""
    limits = Limits.of(load_contract(), TICK_PS, loops[0], "tofino")
    streams = [Stream(f"s{n}", 64, Fraction(rate_fps), 1000, FullMesh(), PORTS, PORTS) for n in range(len(loops))]
    plan = make_plan(streams, limits, RATES)
    placed = tuple(replace(stream, loop=number, seeds=64) for number, stream in enumerate(plan.streams))
    uses = (LoopUse(Fraction(1_000_000), Fraction(0), Fraction(0)),) * len(placed)
    return replace(plan, streams=placed, loop_uses=uses)


def check(plan: Plan, loops: tuple[LoopModel, ...], fifo: int, pipe_of: int = 0) -> None:
    pipes = Pipes(dict.fromkeys(PORTS, pipe_of), GHZ, replication_fifo=fifo)
    require_replication(plan, pipes, loops, TICK_PS, "tofino")


def test_departures_of_a_round_that_come_at_once_must_fit_into_the_fifo() -> None:
    """Goal: 40 of 64 seeds are due in 1 us, 6.72 ns apart, with 16 copies each: 24 wait at the end."""
    loops = (LoopModel(100 * GHZ, 700_000),)
    plan = planned(40_000_000, loops)
    waiting = 40 - int(39 * Fraction(672, 100) / 16)
    check(plan, loops, waiting)
    with pytest.raises(UnsupportedError, match=f"up to {waiting} departures would wait for the repl"):
        check(plan, loops, waiting - 1)


def test_loops_put_departures_into_the_same_engine() -> None:
    one, two = (LoopModel(100 * GHZ, 700_000),), (LoopModel(100 * GHZ, 700_000),) * 2
    with pytest.raises(UnsupportedError, match=r"up to 6\d departures would wait"):
        check(planned(40_000_000, two), two, 50)
    check(planned(40_000_000, one), one, 50)


def test_copies_to_another_pipe_are_made_by_its_engine() -> None:
    """Goal: the engine of pipe 1 makes 16 for each departure; those of pipe 0 and 2 have none to make."""
    loops = (LoopModel(100 * GHZ, 700_000),)
    with pytest.raises(UnsupportedError, match="of pipe 1, whose FIFO holds 5"):
        check(planned(40_000_000, loops), loops, 5, pipe_of=1)


def planner_of_a_tofino_2(front_loops: int) -> Planner:
    """Return that of a switch with two ports of 400 Gbit/s in pipe 1 and so many of pipe 0 in loopback."""
    loops = ", ".join(f"{{device_port: {8 * number}, rate_bps: {400 * GHZ}}}" for number in range(1, front_loops + 1))
    keys = f'chip: tofino2, api: bfrt, address: "[::1]:1", cpu_interface: bf_pci0, front_loops: [{loops}]'
    text = networks.switch(
        ports=2,
        rates_bps=400 * GHZ,
        tester=f"tofino: {{{keys}}}",
        tester_port={1: "device_ports: 136", 2: "device_ports: 144"},
    )
    topology = parse_topology("as9516.yaml", text)
    return Planner(load_tofino_contract(TOFINO_2, None), TofinoTarget.declare(topology), topology, {})


def test_streams_that_may_depart_at_once_are_refused_by_the_planner() -> None:
    """Goal: eight streams with 32 departures in a round each, from as many loops at a time as there are."""
    streams = [Stream(f"s{n}", 64, Fraction(30_000_000), 1000, FullMesh(), (1, 2), (1, 2)) for n in range(8)]
    assert len(planner_of_a_tofino_2(4).plan(streams).streams) == 8
    with pytest.raises(
        UnsupportedError, match=r"up to 2[0-4]\d departures would wait .* of pipe 1, whose FIFO holds 192"
    ):
        planner_of_a_tofino_2(8).plan(streams)


def test_one_loop_of_a_tofino_1_never_fills_its_fifo() -> None:
    """Goal: the longest queue of any number of ports in a pipe at the rate that the pipe passes; the FIFO holds 192."""
    clock_hz, loop = TOFINO_1.pipe_frames_per_s, TOFINO_1.loop()
    round_ps, pass_ps = loop.round_ps(64), loop.pass_ps(64)
    queues = []
    for copies in range(1, 73):
        due = int(Fraction(clock_hz, copies) * round_ps / 10**12) + 1
        due = min(due, int(round_ps / pass_ps))
        queues.append(longest_queue([(pass_ps * number, copies) for number in range(due)], clock_hz))
    assert 20 < max(queues) < 40 < Pipes({}, clock_hz).replication_fifo
