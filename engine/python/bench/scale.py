"""The largest network: 256 ports of 100 Gbit/s in a full mesh, exact counts for all 65,280 flows."""

from __future__ import annotations

import resource
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from p4mesh.topology import load_topology
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

_TOPOLOGY = Path(__file__).parents[3] / "topologies" / "mesh-256x100g.yaml"
_FRAME_BYTES = 64
_LOAD = Fraction(99_994, 100_000)


def full_mesh(duration_ns: int) -> dict[str, Any]:
    """Wall time and peak memory of one trial, learning and read-out included."""
    topology = load_topology(_TOPOLOGY)
    ports = tuple(port.number for port in topology.tester_ports)
    fps = max_rate_fps(_FRAME_BYTES, topology.tester_ports[0].rate_bps) * _LOAD
    count = tx_frames(duration_ns, fps)
    stream = Stream("mesh", _FRAME_BYTES, fps, count, FullMesh(), ports, ports)
    learning = Learning(rate_fps=1_000_000_000, wait_ns=1_000, verify=False)
    spec = TrialSpec("mesh", (stream,), duration_ns, learning, 0, 0, per_flow=True)
    started = time.perf_counter()
    with open_measurer(topology) as measurer:
        result = measurer.measure(spec)
    seconds = time.perf_counter() - started
    whole, further = divmod(count, len(ports) - 1)
    # The first `further` destinations of each source get one frame more than the others.
    expected = {(number, number) for number in ((whole, whole + 1) if further else (whole,))}
    counts = {(flow.tx_frames, flow.rx_frames) for flow in result.flows}
    exact = counts == expected and result.rx_frames == result.tx_frames == count * len(ports)
    return {
        "status": result.status.value,
        "exact": exact,
        "flows": len(result.flows),
        "frames": result.rx_frames,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(time.process_time(), 1),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
