"""P4 programs as devices under test: measured like any other switch, refused with a message that helps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, changed, parsed, shipped, switch

from p4mesh.errors import TopologyError
from p4mesh.topology import Topology, load_topology
from p4mesh.topology.device_keys import COMPILED
from p4mesh.topology.engine_network import build_network
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

PORTS = (1, 2, 3, 4)
LEARNING = Learning(wait_ns=1_000_000)
ROUTER = switch("program: l3_router, latency_ns: 2000, entries: []", ports=2, device="p4")


def mesh(topology: Topology, size: int, load: Fraction, learning: Learning) -> TrialResult:
    rate = max_rate_fps(size, 10**9) * load
    stream = Stream("mesh", size, rate, 600, FullMesh(), PORTS, PORTS)
    spec = TrialSpec("mesh", (stream,), int(600 * 10**9 / rate), learning, per_flow=True)
    with open_measurer(topology) as measurer:
        return measurer.measure(spec)


@pytest.mark.parametrize("size", [64, 512, 1518])
def test_a_switch_in_p4_carries_a_full_mesh_at_line_rate(size: int) -> None:
    result = mesh(shipped("p4-l2-4ports"), size, Fraction(1), LEARNING)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.rx_frames, result.lost_frames, result.flooded_frames) == (2400, 0, 0)
    assert result.latency is not None
    # Two cables of 5 ns, the frame is stored, then 1500 ns.
    assert result.latency.min_ns == pytest.approx(10 + 8 * size + 1500, abs=2)


def test_a_switch_in_p4_floods_what_it_has_not_learned() -> None:
    result = mesh(shipped("p4-l2-4ports"), 64, Fraction(1, 100), Learning(enabled=False))
    assert result.status is Verdict.MEASURED, result.reason
    assert result.lost_frames == 0
    assert result.flooded_frames > 0, "until every station has sent its first frame"


def test_a_program_of_ones_own_stands_beside_the_topology(tmp_path: Path) -> None:
    text = (TOPOLOGIES / "p4-l2-4ports.yaml").read_text().replace("program: l2_switch", "program: my-dut.json")
    place = tmp_path / "own.yaml"
    place.write_text(text)
    with pytest.raises(TopologyError, match=r"my-dut\.json: No such file"):
        load_topology(place)
    (tmp_path / "my-dut.json").write_text("no JSON")
    with pytest.raises(TopologyError, match="is not JSON"):
        load_topology(place)
    (tmp_path / "my-dut.json").write_text('{"parsers": []}')
    with pytest.raises(TopologyError, match="program: document: no parser"):
        build_network(load_topology(place))
    (tmp_path / "my-dut.json").write_text((COMPILED / "l2_switch.json").read_text())
    result = mesh(load_topology(place), 64, Fraction(1), LEARNING)
    assert (result.status, result.rx_frames, result.lost_frames) == (Verdict.MEASURED, 2400, 0)


def test_an_unknown_program_and_a_key_of_another_device_are_refused() -> None:
    with pytest.raises(TopologyError, match="no program 'l2_swich'") as caught:
        changed("p4-l2-4ports", ("program: l2_switch", "program: l2_swich"))
    assert "l2_switch, l3_router" in str(caught.value.hint)
    with pytest.raises(TopologyError, match="a node of device p4 has no learning"):
        changed("p4-l2-4ports", ("latency_ns: 1500", "learning: true"))
    with pytest.raises(TopologyError, match="needs a program"):
        changed("p4-l2-4ports", ("    program: l2_switch\n", ""))
    with pytest.raises(TopologyError, match="a node of device ethernet_switch has no program"):
        changed("wrs-18x1g", ("    forwarding: cut_through", "    program: l2_switch\n    forwarding: cut_through"))


def test_a_router_without_routes_forwards_nothing() -> None:
    stream = Stream("pair", 64, Fraction(1000), 20, Pairs(), (1,), (2,))
    spec = TrialSpec("pair", (stream,), 20_000_000, Learning(enabled=False))
    with open_measurer(parsed(ROUTER)) as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.tx_frames, result.rx_frames) == (Verdict.MEASURED, 20, 0)


def test_groups_that_the_control_plane_has_programmed_go_to_their_members_alone() -> None:
    """Replication entries of two groups: arbitrary sets of ports. A group without an entry is flooded."""
    topology = changed(
        "p4-l2-4ports",
        (
            "      - {group: 1, ports: [1, 2, 3, 4]}\n",
            "      - {group: 1, ports: [1, 2, 3, 4]}\n"
            "      - {group: 7, ports: [2, 4]}\n"
            "      - {group: 9, ports: [3]}\n"
            "    entries:\n"
            '      - {table: group, key: {destination: "01:00:5e:01:01:01"}, action: replicate, params: [7]}\n'
            '      - {table: group, key: {destination: "01:00:5e:01:01:02"}, action: replicate, params: [9]}\n',
        ),
    )
    groups = (GroupRange("225.1.1.1", 1, (2, 4)), GroupRange("225.1.1.2", 1, (3,)), GroupRange("225.1.1.3", 1, (2,)))
    stream = Stream("groups", 64, Fraction(100_000), 300, Multicast(groups), (1,), (2, 3, 4))
    spec = TrialSpec("groups", (stream,), 3_000_000, Learning(enabled=False), per_flow=True)
    with open_measurer(topology) as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert {(flow.part, flow.rx_port): flow.rx_frames for flow in result.flows} == {
        ("225.1.1.1", 2): 100,
        ("225.1.1.1", 4): 100,
        ("225.1.1.2", 3): 100,
        ("225.1.1.3", 2): 100,
    }
    assert result.flooded_frames == 2 * 100, "the third group came to ports 3 and 4, too"
