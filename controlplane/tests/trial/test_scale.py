"""256 and 1,024 ports of 100 Gbit/s in a full mesh: every one of 65,280 and 1,047,552 flows has its exact count.

The trials of ``make bench`` within their time and memory; that of 1,024 ports for a tenth of its time.
"""

from __future__ import annotations

import resource
import time
from fractions import Fraction

import pytest
from support.networks import shipped

from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

MAX_S = 60
MAX_MEMORY_KIB = 4 * 1024 * 1024
LOAD = Fraction(99_994, 100_000)


@pytest.mark.parametrize(("number", "duration_ns"), [(256, 20_000), (1024, 7_000)])
def test_a_full_mesh_counts_every_flow_exactly(number: int, duration_ns: int) -> None:
    topology = shipped(f"mesh-{number}x100g")
    ports = tuple(port.number for port in topology.tester_ports)
    fps = max_rate_fps(64, 10**11) * LOAD
    count = tx_frames(duration_ns, fps)
    stream = Stream("mesh", 64, fps, count, FullMesh(), ports, ports)
    learning = Learning(rate_fps=1_000_000_000, wait_ns=1_000, verify=False)
    started_s = time.process_time()
    with open_measurer(topology) as measurer:
        result = measurer.measure(TrialSpec("mesh", (stream,), duration_ns, learning, 0, 0, per_flow=True))
    # Time of the processor: other processes of the machine do not count.
    assert time.process_time() - started_s < MAX_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MAX_MEMORY_KIB
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.rx_frames, result.lost_frames, result.flooded_frames) == (number * count, 0, 0)
    assert len(result.flows) == number * (number - 1)
    expected = {
        (tx, 1 + (tx + place) % number): len(range(place, count, number - 1))
        for tx in ports
        for place in range(number - 1)
    }  # RFC 2889 5.1.3: dst(i, k) = 1 + ((i + (k mod (N-1))) mod N)
    assert {(flow.tx_port, flow.rx_port): flow.tx_frames for flow in result.flows} == expected
    assert all(flow.rx_frames == flow.tx_frames for flow in result.flows)
