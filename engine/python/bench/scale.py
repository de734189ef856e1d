"""The largest networks, 256 and 1,024 ports of 100 Gbit/s: full meshes of all ports, and one port to 4,095 groups."""

from __future__ import annotations

import resource
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from p4mesh.topology import Topology, load_topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.memberships import Memberships, Version
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

_TOPOLOGIES = Path(__file__).parents[3] / "topologies"
_TOPOLOGY = _TOPOLOGIES / "mesh-256x100g.yaml"
_FRAME_BYTES = 64
_LOAD = Fraction(99_994, 100_000)


def full_mesh(ports_of_mesh: int, duration_ns: int) -> dict[str, Any]:
    """Wall time and peak memory of one trial, learning and read-out included."""
    topology = load_topology(_TOPOLOGIES / f"mesh-{ports_of_mesh}x100g.yaml")
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
    } | _cost(seconds)


def multicast(duration_ns: int, groups: int) -> dict[str, Any]:
    """Wall time and peak memory of a trial from one port to groups that all others have joined.

    A trial of one frame comes before: nearly all of its time is joins and leaves.
    """
    text = _TOPOLOGY.read_text(encoding="utf-8")
    topology = parse_topology(str(_TOPOLOGY), text.replace("    mac_table:", "    snooping: {}\n    mac_table:"))
    ports = tuple(port.number for port in topology.tester_ports)
    fps = max_rate_fps(_FRAME_BYTES, topology.tester_ports[0].rate_bps)
    count = tx_frames(duration_ns, fps)
    joined = _multicast(topology, ports, groups, fps, 1)
    whole = _multicast(topology, ports, groups, fps, count)
    copies = count * (len(ports) - 1)
    counts = [port.rx_frames for port in whole["result"].ports if port.port != ports[0]]
    exact = whole["result"].rx_frames == copies and counts == [count] * (len(ports) - 1)
    return {
        "status": whole["result"].status.value,
        "exact": exact and not whole["result"].silent_flows,
        "memberships": groups * (len(ports) - 1),
        "frames": whole["result"].rx_frames,
        "joins_seconds": round(joined["seconds"], 1),
    } | _cost(whole["seconds"])


def _multicast(topology: Topology, ports: tuple[int, ...], groups: int, fps: Fraction, count: int) -> dict[str, Any]:
    """Measure a number of frames after all ports but the first have joined."""
    receivers = ports[1:]
    joined = (GroupRange("225.1.1.1", groups, receivers),)
    stream = Stream("groups", _FRAME_BYTES, fps, count, Multicast(joined), ports[:1], receivers)
    memberships = Memberships(Version.IGMPV3, joined, joins_per_s=1_000_000, robustness=1, verify=False)
    learning = Learning(enabled=False)
    spec = TrialSpec("groups", (stream,), int(count * 10**9 / fps), learning, 0, 0, memberships=memberships)
    started = time.perf_counter()
    with open_measurer(topology) as measurer:
        result = measurer.measure(spec)
    return {"result": result, "seconds": time.perf_counter() - started}


def _cost(seconds: float) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(time.process_time(), 1),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
