"""256 ports of 100 Gbit/s in a full mesh: every one of the 65,280 flows has its exact count.

The trial of 100 us, about 3.8 million frames, that ``make bench`` measures, within its time and memory.
"""

from __future__ import annotations

import resource
import time
from fractions import Fraction

from support.networks import shipped

from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

DURATION_NS = 100_000
MAX_S = 60
MAX_MEMORY_KIB = 4 * 1024 * 1024
LOAD = Fraction(99_994, 100_000)


def test_a_full_mesh_of_256_ports_counts_every_flow_exactly() -> None:
    topology = shipped("mesh-256x100g")
    ports = tuple(port.number for port in topology.tester_ports)
    fps = max_rate_fps(64, 10**11) * LOAD
    count = tx_frames(DURATION_NS, fps)
    stream = Stream("mesh", 64, fps, count, FullMesh(), ports, ports)
    learning = Learning(rate_fps=1_000_000_000, wait_ns=1_000, verify=False)
    started_s = time.process_time()
    with open_measurer(topology) as measurer:
        result = measurer.measure(TrialSpec("mesh", (stream,), DURATION_NS, learning, 0, 0, per_flow=True))
    # Time of the processor: other processes of the machine do not count.
    assert time.process_time() - started_s < MAX_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MAX_MEMORY_KIB
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.rx_frames, result.lost_frames, result.flooded_frames) == (256 * count, 0, 0)
    assert len(result.flows) == 256 * 255
    expected = {
        (tx, 1 + (tx + place) % 256): len(range(place, count, 255)) for tx in ports for place in range(255)
    }  # RFC 2889 5.1.3: dst(i, k) = 1 + ((i + (k mod (N-1))) mod N)
    assert {(flow.tx_port, flow.rx_port): flow.tx_frames for flow in result.flows} == expected
    assert {(flow.tx_port, flow.rx_port): flow.rx_frames for flow in result.flows} == expected
