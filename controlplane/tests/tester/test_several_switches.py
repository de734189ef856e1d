"""A tester of several switches counts what a tester of one switch counts, on one clock or on clocks of their own."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, shipped, switch, wire

from p4mesh.errors import TopologyError, UnsupportedError
from p4mesh.measurement.counts import FlowCounts
from p4mesh.target.loop import LoopModel
from p4mesh.target.table import TARGETS
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.topology import Topology, engine_network
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Broadcast, FullMesh, Pattern, Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

CONTRACT = load_contract()
LIMITS = Limits.of(CONTRACT, 1000, LoopModel(10**11, 500_000), "sim")
GIGABIT = 10**9
RATE_FPS = Fraction(max_rate_fps(64, GIGABIT))
FRAMES = 600
DURATION_NS = int(FRAMES * 10**9 / RATE_FPS)
PORTS = (1, 2, 3, 4, 5, 6)


def planned(pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...], switch_of: dict[int, int]) -> Plan:
    stream = Stream("s", 64, Fraction(1000), 10, pattern, tx, rx)
    rates = dict.fromkeys(switch_of, 10**9)
    return make_plan((stream,), replace(LIMITS, switch_of=switch_of), rates)


def trial(text: str, *streams: Stream, per_flow: bool = True, histograms: HistogramPer | None = None) -> TrialResult:
    learning = Learning(rate_fps=1_000_000, wait_ns=1_000, verify=False)
    spec = TrialSpec("trial", streams, DURATION_NS, learning, 0, 0, per_flow=per_flow, histograms=histograms)
    with open_measurer(parsed(text)) as measurer:
        return measurer.measure(spec)


def mesh(*ports: int, name: str = "mesh", share: Fraction = Fraction(1)) -> Stream:
    return Stream(name, 64, RATE_FPS * share, int(FRAMES * share), FullMesh(), ports, ports)


def test_a_full_mesh_of_1024_ports_has_a_cell_for_each_flow_at_both_of_its_ends() -> None:
    ports = tuple(range(1, 1025))
    plan = planned(FullMesh(), ports, ports, shipped("mesh-1024x100g").switch_of)
    flows = plan.columns
    assert len(flows.cell) == len(np.unique(flows.cell)) == len(np.unique(flows.sequence_cell)) == 1024 * 1023
    # The number in the signature is that of both cells.
    assert (flows.cell % CONTRACT["FLOWS"] == flows.sequence_cell % CONTRACT["FLOWS"]).all()
    assert (flows.cell // CONTRACT["FLOWS"] == (flows.rx_port - 1) // 64).all()
    assert (flows.sequence_cell // CONTRACT["FLOWS"] == (flows.tx_port - 1) // 64).all()


def test_flows_of_two_switches_to_one_receiver_have_different_numbers() -> None:
    plan = planned(Rotate(), (1, 2, 3), (4,), {1: 0, 2: 0, 3: 1, 4: 1})
    assert sorted(plan.columns.cell.tolist()) == [65_536, 65_537, 65_538]
    assert sorted(plan.columns.sequence_cell.tolist()) == [0, 1, 65_536 + 2]


@pytest.mark.parametrize("switches", [2, 3, 6])
def test_counts_and_latencies_of_every_flow_are_those_of_one_switch(switches: int) -> None:
    texts = (switch("latency_ns: 700", ports=6, tester=f"switches: {count}") for count in (1, switches))
    one, several = (trial(text, mesh(*PORTS)) for text in texts)
    assert (one.status, several.status) == (Verdict.MEASURED, Verdict.MEASURED)
    assert _counted(several.flows) == _counted(one.flows)
    assert len(one.flows) == 30
    assert several.rx_frames == 6 * FRAMES


def _counted(flows: tuple[FlowCounts, ...]) -> dict[tuple[int, int], tuple[object, ...]]:
    return {
        (flow.tx_port, flow.rx_port): (
            flow.tx_frames,
            flow.rx_frames,
            flow.latency and (flow.latency.min_ns, flow.latency.max_ns, flow.latency.count),
        )
        for flow in flows
    }


def test_loops_that_sleep_beside_each_other_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads so low that idle passes are skipped, and all passes executed."""
    text = switch("latency_ns: 700", ports=6, port="queue_frames: 2", tester="switches: 3")
    streams = mesh(*PORTS, name="a", share=Fraction(1, 20)), mesh(*PORTS, name="b", share=Fraction(1, 30))
    skipped = trial(text, *streams)

    def every_pass(topology: Topology, special: SpecialPorts) -> dict[str, Any]:
        return engine_config(topology, special) | {"skip_idle_loops": False}

    monkeypatch.setattr(engine_network, "engine_config", every_pass)
    executed = trial(text, *streams)
    assert skipped.rx_frames == 6 * FRAMES // 20 + 6 * FRAMES // 30
    assert skipped == executed


def test_slow_streams_cost_little_on_several_switches() -> None:
    """A hundred seconds of virtual time, nearly all of them idle passes."""
    stream = Stream("slow", 64, Fraction(20), 2_000, FullMesh(), PORTS, PORTS)
    spec = TrialSpec("slow", (stream,), 100 * 10**9, Learning(rate_fps=20, verify=True))
    with open_measurer(parsed(switch(ports=6, tester="switches: 3"))) as measurer:
        began_s = time.process_time()
        result = measurer.measure(spec)
        assert time.process_time() - began_s < 4
    assert result.tx_frames == result.rx_frames == 6 * 2_000


def test_losses_are_counted_where_two_switches_send_to_one_port() -> None:
    stream = Stream("n-to-1", 64, RATE_FPS / 2, FRAMES // 2, Rotate(), (1, 2, 3, 4, 5), (6,))
    texts = (switch(ports=6, port="queue_frames: 64", tester=f"switches: {count}") for count in (1, 3))
    results = [trial(text, stream) for text in texts]
    assert all(result.lost_frames > 0 for result in results)
    assert results[0].lost_frames == results[1].lost_frames
    assert [result.tx_frames for result in results] == [5 * (FRAMES // 2)] * 2


def test_each_switch_starts_the_streams_that_it_sends() -> None:
    """The second switch has the second stream alone, and the third one none; ports 2 and 4 are not used."""
    there = Stream("there", 64, RATE_FPS / 2, FRAMES // 2, Rotate(), (1,), (3,))
    back = replace(there, name="back", tx_ports=(3,), rx_ports=(1,))
    result = trial(switch("latency_ns: 700", ports=6, tester="switches: 3"), there, back)
    assert result.status is Verdict.MEASURED
    assert [flow.rx_frames for flow in result.flows] == [FRAMES // 2] * 2


def test_histograms_of_two_streams_count_the_frames_of_all_switches() -> None:
    streams = mesh(*PORTS, name="a", share=Fraction(1, 2)), mesh(*PORTS, name="b", share=Fraction(1, 3))
    text = switch("latency_ns: 700", ports=6, tester="switches: 3")
    result = trial(text, *streams, per_flow=False, histograms=HistogramPer.STREAM)
    assert result.status is Verdict.MEASURED
    counts = {found.stream: found.latency.count for found in result.histograms if found.latency}
    assert counts == {"a": 6 * FRAMES // 2, "b": 6 * FRAMES // 3}


def test_a_clock_that_is_ahead_shows_in_latencies_between_switches_alone() -> None:
    """The ports of the second switch stamp 250 ns more: so much is added one way, and taken away the other way."""
    ahead = "tx_stamp_offset_ns: 250, rx_stamp_offset_ns: 250"
    ports = {3: ahead, 4: ahead}
    text = switch("latency_ns: 700", ports=4, tester="switches: 2", tester_port=ports)
    usual = switch("latency_ns: 700", ports=4, tester="switches: 2")
    expected = {
        (flow.tx_port, flow.rx_port): flow.latency.min_ns + 250 * ((flow.rx_port > 2) - (flow.tx_port > 2))
        for flow in trial(usual, mesh(1, 2, 3, 4)).flows
        if flow.latency
    }
    found = trial(text, mesh(1, 2, 3, 4)).flows
    assert {(flow.tx_port, flow.rx_port): flow.latency.min_ns for flow in found if flow.latency} == expected


def test_frames_to_many_ports_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="tester of several switches: stream 's' has frames to many ports"):
        planned(Broadcast(), (1,), (2,), {1: 0, 2: 1})


def test_more_flows_than_one_program_counts_are_refused_where_their_numbers_would_meet() -> None:
    switch_of = {port: (port - 1) // 200 for port in range(1, 401)}
    with pytest.raises(UnsupportedError, match=r"the trial needs \d+ flows, the program has 65536"):
        planned(FullMesh(), tuple(switch_of), tuple(switch_of), switch_of)


@pytest.mark.parametrize("target", ["bmv2", "tofino"])
def test_other_targets_refuse_several_switches(target: str) -> None:
    topology = parsed(wire(pairs=2, tester="switches: 2"))
    with pytest.raises(UnsupportedError, match=f"not supported on {target}: a tester of 2 switches"):
        TARGETS[target].declare(topology)


def test_ports_are_equal_parts() -> None:
    with pytest.raises(TopologyError, match="4 ports are not equal parts of 3 switches"):
        parsed(wire(pairs=2, tester="switches: 3"))
