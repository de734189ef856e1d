"""256 ports of 100 Gbit/s in a full mesh: every one of the 65,280 flows has its exact count.

The trial is a tenth of what ``make bench`` measures; the arithmetic is the same.
"""

from __future__ import annotations

from fractions import Fraction

from published import shipped

from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial import open_measurer
from p4mesh.trial.result import Status
from p4mesh.trial.spec import Learning, TrialSpec

DURATION_NS = 10_000
LOAD = Fraction(99_994, 100_000)


def test_a_full_mesh_of_256_ports_counts_every_flow_exactly() -> None:
    topology = shipped("mesh-256x100g")
    ports = tuple(port.number for port in topology.tester_ports)
    fps = max_rate_fps(64, 10**11) * LOAD
    count = tx_frames(DURATION_NS, fps)
    stream = Stream("mesh", 64, fps, count, PatternKind.FULL_MESH, ports, ports)
    learning = Learning(rate_fps=1_000_000_000, wait_ns=1_000, verify=False)
    with open_measurer(topology) as measurer:
        result = measurer.measure(TrialSpec("mesh", (stream,), DURATION_NS, learning, 0, 0, per_flow=True))
    assert (result.status, result.reason) == (Status.VALID, "")
    assert (result.rx_frames, result.lost_frames, result.flooded_frames) == (256 * count, 0, 0)
    assert len(result.flows) == 256 * 255
    expected = {
        (tx, 1 + (tx + place) % 256): len(range(place, count, 255)) for tx in ports for place in range(255)
    }  # RFC 2889 5.1.3: dst(i, k) = 1 + ((i + (k mod (N-1))) mod N)
    assert {(flow.tx_port, flow.rx_port): flow.tx_frames for flow in result.flows} == expected
    assert {(flow.tx_port, flow.rx_port): flow.rx_frames for flow in result.flows} == expected
