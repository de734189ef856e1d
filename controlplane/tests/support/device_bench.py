"""One device between tester ports: a bench that measures streams, and shows what the device counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any

from scapy.packet import Packet
from support import networks
from support.networks import parsed
from support.runs import truth

from p4mesh.layers import PLAIN
from p4mesh.measurement.counts import LatencyStats
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
LEARNED = Learning(wait_ns=1_000_000, verify=False)
UNKNOWN = Learning(enabled=False)


class Bench:
    """A running set-up: measures streams and shows the counts of the devices."""

    def __init__(self, measurer: TrialEngine) -> None:
        self._measurer = measurer

    def send(self, port: int, frame: bytes | Packet) -> None:
        """Send one frame out of a tester port, and wait until the devices are done with it."""
        self._measurer.tester.dataplane.send(port, bytes(frame).ljust(60, b"\0"))
        self._measurer.tester.target.wait(1_000_000, self._measurer.tester.dataplane.packet_outs_sent)

    def measure(self, *streams: Stream, learning: Learning = LEARNED) -> TrialResult:
        """Run a trial that must be VALID."""
        duration_ns = max(int(stream.frame_count * 10**9 / stream.rate_fps) for stream in streams)
        result = self._measurer.measure(TrialSpec("bench", streams, duration_ns, learning, 0, 0, per_flow=True))
        assert result.status is Verdict.MEASURED, result.reason
        return result

    def node(self, name: str = "dut") -> dict[str, Any]:
        """The counters of a node."""
        node: dict[str, Any] = truth(self._measurer)["nodes"][name]
        return node

    def drops(self, cause: str, name: str = "dut") -> int:
        """The frames that a node has dropped for a cause."""
        return sum(port["drops"].get(cause, 0) for port in self.node(name)["ports"].values())


@contextmanager
def bench(text: str) -> Iterator[Bench]:
    """Start a set-up."""
    with open_measurer(parsed(text)) as measurer:
        yield Bench(measurer)


def switch(*model: str, queue: int = 64, port: str = "", seed: int = 1) -> AbstractContextManager[Bench]:
    """Start one switch with these keys."""
    ports = f"queue_frames: {queue}, {port}"
    return bench(networks.switch(*model, port=ports, tester_port="pad_to_minimum: false", seed=seed))


def pairs(load_pct: float, size: int, frames: int, *ports: tuple[int, int], **options: Any) -> Stream:
    """Frames from the first to the second port of each pair."""
    fps = max_rate_fps(size, GIGABIT) * Fraction(str(load_pct)) / 100
    sources, targets = zip(*ports, strict=True)
    headers = options.pop("frame", PLAIN)
    return Stream("pairs", size, fps, frames, Pairs(), sources, targets, headers, **options)


def latency_of(result: TrialResult) -> LatencyStats:
    assert result.latency is not None
    return result.latency
