"""Frames of 64 bytes from one end of a veth pair to the other: the tester beside what Debian packages to send frames.

The peers neither stamp nor number frames, nor measure; what arrives is counted by the receiving interface. Each has a
new pair of interfaces, one after the other in one run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from p4mesh.network.netlink import opened
from p4mesh.network.netns import NetnsNetwork
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

FLOOR_FPS = 1_500_000
FLOOR_S = 10
FLOOR_TRIALS = 3
_FAILURES_IN_A_ROW = 4
_PEER_S = 5
_WARM_UP_S = 1.0
_WIRE = """
name: pair
tester: {ports: [{numbers: 1-2, rate_bps: 10000000000}]}
links: [{from: "tester:1", to: "tester:2"}]
"""
_PAIRS = """
name: pairs
tester: {switches: 2, ports: [{numbers: 1-4, rate_bps: 10000000000}]}
links: [{from: "tester:1", to: "tester:2"}, {from: "tester:3", to: "tester:4"}]
"""
"""Each pair of ports is a switch of the tester."""
_STATIONS = """
name: stations
tester: {ports: [{numbers: 1, rate_bps: 1000000000}]}
nodes:
  - name: far
    device: router
    ports: [{numbers: 1, rate_bps: 1000000000}]
    interfaces: [{port: 1, mac: "02:00:00:00:01:01", addresses: [198.18.1.1/24]}]
links: [{from: "tester:1", to: "far:1"}]
"""
_FRAME = bytes.fromhex("02f4bc00000202f4bc000001080045000022000100004011b76bc0120101c0120102") + bytes(26)
"""60 bytes without FCS: Ethernet, IPv4, UDP."""


def available() -> bool:
    """Whether network namespaces can be made here."""
    return os.geteuid() == 0


def floor() -> dict[str, Any]:
    """Send the floor for ten seconds, three times; a trial that holds loses nothing and sends everything in time."""
    with open_measurer(parse_topology("pair", _WIRE), "live") as measurer:
        trials = [_row(measurer.measure(_spec(FLOOR_FPS, FLOOR_S)), FLOOR_FPS) for _ in range(FLOOR_TRIALS)]
    return {"fps": FLOOR_FPS, "trials": trials, "held": sum(trial["held"] for trial in trials)}


def fastest(
    target: str, first_fps: int, step_fps: int, topology: str = _WIRE, tx_ports: tuple[int, ...] = (1,)
) -> dict[str, Any]:
    """The highest rate of each port of which a second loses nothing; steps that fail in a row end the search."""
    best: dict[str, Any] = {}
    failed, rate = 0, first_fps
    with open_measurer(parse_topology("pair", topology), target) as measurer:
        while failed < _FAILURES_IN_A_ROW:
            row = _row(measurer.measure(_spec(rate, 1, tx_ports)), rate)
            failed = 0 if row["held"] else failed + 1
            best = row if row["held"] else best
            rate += step_fps
    return best or {"failed": f"nothing held, at last {row['fps']:,} frames/s: {row['reason'] or 'lost frames'}"}


def pairs() -> dict[str, Any]:
    """The highest rate of one of two pairs of ports, each of which has a switch of the tester, and of both at once."""
    alone, both = (fastest("live", 100_000, 50_000, _PAIRS, tx_ports) for tx_ports in ((1,), (1, 3)))
    return {**alone, **both, "fps": 2 * both.get("fps", 0), "alone_fps": alone.get("fps", 0)}


def _spec(rate_fps: int, seconds: int, tx_ports: tuple[int, ...] = (1,)) -> TrialSpec:
    rx_ports = tuple(port + 1 for port in tx_ports)
    stream = Stream("one-way", 64, Fraction(rate_fps), rate_fps * seconds, Pairs(), tx_ports, rx_ports)
    learning = Learning(wait_ns=100_000_000)
    return TrialSpec(
        "bench", (stream,), seconds * 10**9, learning, settle_ns=500_000_000, restabilise_ns=0, per_flow=True
    )


def _row(result: TrialResult, intended_fps: int) -> dict[str, Any]:
    sent_all = result.tx_frames == result.intended_frames
    pacing = result.pacing[0] if result.pacing else None
    flow = result.flows[0] if result.flows else None
    error = jitter = None
    if flow and flow.latency and flow.latency.jitter_count and flow.last_rx_ns > flow.first_rx_ns:
        measured = Fraction(10**9 * (flow.rx_frames - 1), flow.last_rx_ns - flow.first_rx_ns)
        error = float((measured / intended_fps - 1) * 10**6)
        jitter = flow.latency.jitter_sum_ns / flow.latency.jitter_count / 1000
    return {
        "fps": intended_fps,
        "held": result.status.trusted and result.lost_frames == 0 and sent_all,
        "sent": result.tx_frames,
        "lost": result.lost_frames,
        "reason": result.reason,
        "rate_error_ppm": error,
        "jitter_avg_us": jitter,
        "departure_error_ns": pacing.departure_error_ns if pacing else None,
        "load": os.getloadavg()[0],
    }


def trafgen() -> dict[str, Any]:
    """Measure trafgen, of netsniff-ng, on one core."""
    with TemporaryDirectory() as directory:
        frame = Path(directory) / "frame.cfg"
        frame.write_text("{ " + ", ".join(f"0x{byte:02x}" for byte in _FRAME) + " }\n")
        return _peer(["trafgen", "--in", str(frame), "--out", "t1", "--cpus", "1", "--no-sock-mem"])


def tcpreplay() -> dict[str, Any]:
    """Measure tcpreplay with a capture in memory."""
    with TemporaryDirectory() as directory:
        capture = Path(directory) / "frame.pcap"
        head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
        capture.write_bytes(head + 1000 * (bytes(8) + len(_FRAME).to_bytes(4, "little") * 2 + _FRAME))
        replay = ["tcpreplay", "--intf1=t1", "--topspeed", "--preload-pcap", "--loop=1000000", str(capture)]
        return _peer(replay)


def testpmd() -> dict[str, Any]:
    """Measure dpdk-testpmd in txonly mode on an af_packet device."""
    cores = sorted(os.sched_getaffinity(0))[-2:]
    memory = ["--no-huge", "-m", "256", "--no-pci", "--no-shconf"]
    words = [
        *("dpdk-testpmd", "-l", ",".join(map(str, cores)), *memory, "--vdev=net_af_packet0,iface=t1", "--"),
        *("--forward-mode=txonly", f"--txpkts={len(_FRAME)}", "--total-num-mbufs=16384", "--auto-start"),
        "--stats-period=1",
    ]
    return _peer(words)


def iperf3() -> dict[str, Any]:
    """Measure iperf3 with UDP packets of 18 bytes, which are frames of 64 bytes, to a server in another namespace."""
    if missing := _missing("iperf3"):
        return missing
    with NetnsNetwork(parse_topology("stations", _STATIONS)) as network:
        with opened(network.namespace) as kernel:
            kernel.address("t1", "198.18.1.2", 24)
        far = network.node("far")
        with _running(far.command("iperf3", "-s")):
            time.sleep(_WARM_UP_S)
            client = network.command("iperf3", "-u", "-c", "198.18.1.1", "-b", "0", "-l", "18", "-t", "60")
            return _rate_of(client, far.namespace, "p1")


def _peer(words: Sequence[str]) -> dict[str, Any]:
    """How many frames per second a program brings from ``t1`` to ``t2``."""
    if missing := _missing(words[0]):
        return missing
    with NetnsNetwork(parse_topology("pair", _WIRE)) as network:
        return _rate_of(network.command(*words), network.namespace, "t2")


def _missing(program: str) -> dict[str, Any] | None:
    return None if shutil.which(program) else {"missing": f"{program} is not installed"}


def _rate_of(command: Sequence[str], namespace: str, interface: str) -> dict[str, Any]:
    with _running(command) as process:
        time.sleep(_WARM_UP_S)
        before, begin = _received(namespace, interface), time.monotonic()
        time.sleep(_PEER_S)
        rate = round((_received(namespace, interface) - before) / (time.monotonic() - begin))
        ended = process.poll()
    if ended is not None:
        return {"failed": f"{command[4]} ended with exit code {ended}"}
    return {"fps": rate, "load": os.getloadavg()[0]}


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _received(namespace: str, interface: str) -> int:
    with opened(namespace) as kernel:
        link = kernel.route.get_links(kernel.index(interface))[0]
        found: int = link.get("stats64")["rx_packets"]
        return found


MEASUREMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "floor": floor,
    "fastest": lambda: fastest("live", 100_000, 50_000),
    "pairs": pairs,
    "bmv2": lambda: _missing("simple_switch_grpc") or fastest("bmv2", 2_000, 2_000),
    "trafgen": trafgen,
    "tcpreplay": tcpreplay,
    "testpmd": testpmd,
    "iperf3": iperf3,
}
