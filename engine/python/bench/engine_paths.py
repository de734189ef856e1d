"""Frames per second of the embedded engine, through its public interface."""

from __future__ import annotations

import json
import resource
import time
from fractions import Fraction
from typing import Any

from bench.workload import FRAME_BYTES, PORTS, RATE_BPS, TICK_PS, program_router, routed_frames, tester_workload
from p4mesh import _engine
from p4mesh.p4runtime import Client
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

_TOPOLOGY = """
name: mesh-18x1g
tester:
  clock_tick_ps: 1000
  ports: [{numbers: 1-18, rate_bps: 1000000000}]
nodes:
  - name: switch
    device: ethernet_switch
    ports: [{numbers: 1-18, rate_bps: 1000000000}]
    forwarding: cut_through
    look_ahead_bytes: 122
    latency_ns: 1720
links: [{from: tester:1-18, to: switch:1-18}]
"""
"""A switch that loses nothing at full load: what a device drops is neither sent by it nor measured."""
_FAST_BPS = 100_000_000_000
_MS_PS = 1_000_000_000
_SEEDS = 2
_BATCH = 50_000
"""Frames that wait on a line at once: a receiving port works through them without a pause."""


def transmit(frames: int) -> dict[str, Any]:
    """Seeds become test frames on 18 ports without a link; a frame is a copy on a port."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(RATE_BPS, PORTS, hosts=())))
    with Server(network) as client:
        dataplane = workload.program(client)
        workload.start(dataplane, _SEEDS)
        network.advance(2 * _MS_PS, dataplane.packet_outs_sent)
        before, events = _sent(network), _events(network)
        slot_ps = 10**12 // int(max_rate_fps(FRAME_BYTES, RATE_BPS))
        seconds = _timed(lambda: network.advance(frames // PORTS * slot_ps))
        return _rate(_sent(network) - before, seconds) | {"events": _events(network) - events}


def receive(frames: int) -> dict[str, Any]:
    """Test frames that come in on one port are classified and measured."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(_FAST_BPS, PORTS, hosts=(1,))))
    with Server(network) as client:
        dataplane = workload.program(client)
        seconds = _feed(network, workload.received_frames(frames))
        return _rate(_all(dataplane.reason_counts([1])[1, "expected"], frames), seconds)


def forward(frames: int) -> dict[str, Any]:
    """A router between two hosts; a frame is received, routed and sent."""
    network = _engine.SimNetwork(json.dumps(network_of(_FAST_BPS, 2, hosts=(1, 2))))
    with Server(network) as client:
        program_router(client)
        seconds = _feed(network, routed_frames(frames))
        return _rate(_all(client.read_counters("sent", [2])[0][1].packets, frames), seconds)


def simulation(frames: int) -> dict[str, Any]:
    """18 x 1G, full mesh at 64 bytes and 100 % load: transmit, link, switch, link, receive."""
    ports = tuple(range(1, PORTS + 1))
    rate = Fraction(max_rate_fps(FRAME_BYTES, RATE_BPS))
    count = frames // PORTS
    stream = Stream("mesh", FRAME_BYTES, rate, count, FullMesh(), ports, ports)
    duration_ns = int(count / rate * 10**9)
    learning = Learning(rate_fps=100_000, wait_ns=1_000_000, verify=False)
    spec = TrialSpec("bench", (stream,), duration_ns, learning, settle_ns=1_000_000, restabilise_ns=0)
    with open_measurer(parse_topology("bench", _TOPOLOGY)) as measurer:
        target = measurer.tester.target
        waited: list[float] = []
        results: list[TrialResult] = []
        wait = target.wait

        def timed_wait(duration_ns: int | Fraction, packet_outs: int) -> None:
            waited.append(_timed(lambda: wait(duration_ns, packet_outs)))

        target.wait = timed_wait  # type: ignore[method-assign]
        whole = _timed(lambda: results.append(measurer.measure(spec)))
    # The longest wait is the transmission; every other phase is part of the trial, not of the rate.
    received = _all(results[0].rx_frames, count * PORTS)
    return _rate(received, max(waited)) | {"trial_seconds": round(whole, 3), "peak_memory_mib": _peak_mib()}


class Server:
    """The P4Runtime server of a network, and a client of it."""

    def __init__(self, network: Any) -> None:
        self._network = network

    def __enter__(self) -> Client:
        self._client = Client(f"127.0.0.1:{self._network.serve()}")
        return self._client.__enter__()

    def __exit__(self, *details: Any) -> None:
        self._client.__exit__(*details)
        self._network.stop()


def network_of(rate_bps: int, ports: int, hosts: tuple[int, ...]) -> dict[str, Any]:
    numbers = range(1, ports + 1)
    return {
        "tester": {
            "ports": [{"number": port, "rate_bps": rate_bps} for port in numbers],
            "loop": {"port": 509, "rate_bps": 400_000_000_000, "latency_ns": 500},
            "clock_tick_ps": TICK_PS,
        },
        "nodes": [
            {"name": f"host{port}", "device": "host", "ports": [{"number": 1, "rate_bps": rate_bps}]} for port in hosts
        ],
        "links": [
            {"from": {"node": "tester", "port": port}, "to": {"node": f"host{port}", "port": 1}} for port in hosts
        ],
    }


def _all(counted: int, offered: int) -> int:
    """The count; raises RuntimeError where some of the frames took another path."""
    if counted != offered:
        raise RuntimeError(f"{counted} of {offered} frames took the path that is measured")
    return counted


def _feed(network: Any, frames: list[bytes]) -> float:
    """Send frames from host 1; return the processor time that they took, sending not counted."""
    seconds = 0.0
    for first in range(0, len(frames), _BATCH):
        for frame in frames[first : first + _BATCH]:
            network.host_send("host1", 1, frame)
        seconds += _timed(lambda: network.settle(_MS_PS * 1000))
    return seconds


def _timed(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _sent(network: Any) -> int:
    ports = network.truth()["nodes"]["tester"]["ports"]
    return sum(port["tx_frames"] for number, port in ports.items() if number != "509")


def _events(network: Any) -> int:
    return int(network.truth()["events"])


def _rate(frames: int, seconds: float) -> dict[str, Any]:
    return {"frames": frames, "cpu_seconds": round(seconds, 4), "frames_per_s": round(frames / seconds)}


def _peak_mib() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
