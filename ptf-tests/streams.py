"""Running streams on a bench by the controller's own plan."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from base import READ_CELLS, TesterTest
from signature import Signature

from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial.frames import seed_payload
from p4mesh.trial.pacing import LoopModel
from p4mesh.trial.plan import Limits, Plan, make_plan

PORTS = (1, 2, 3, 4)
RATE_FPS = Fraction(100)
_LEAD_NS = 50_000_000


class StreamTest(TesterTest):
    """A test whose frames come from streams; they leave through the ports of the bench."""

    __test__ = False

    def run_streams(self, *streams: Stream) -> Plan:
        """Send all frames of the streams."""
        plan = make_plan(streams, self._limits(), dict.fromkeys(PORTS, 10_000_000_000))
        self.tester.clear(READ_CELLS, self.bench.wait_passes)
        self.tester.configure(plan, self.run_id)
        self.addCleanup(self.tester.configure, make_plan((), self._limits(), {}), self.run_id)
        for stream in plan.streams:
            payload = seed_payload(stream.stream.template, stream.stream.frame_size_bytes)
            for number in range(stream.seeds):
                self.tester.inject_seed(stream.index, payload, number, stream.seeds)
        self.bench.wait(_LEAD_NS)
        self.tester.start(len(plan.streams), _LEAD_NS * 1000 // self.bench.tick_ps)
        longest_s = max(stream.frame_count / stream.rate_fps for stream in streams)
        self.bench.wait(2 * _LEAD_NS + int(longest_s * 10**9))
        self.tester.stop_streams()
        self.bench.settle()
        return plan

    def _limits(self) -> Limits:
        loop = LoopModel(100_000_000_000, 500_000, None if self.bench.exact else 20_000)
        return Limits(64, 16384, 65536, 16384, 4096, 16384, 1024, self.bench.tick_ps, loop, self.bench.name)


def signature_of(frame: bytes) -> Signature:
    """Return the signature of an untagged IPv4 test frame."""
    return Signature(frame[14 + 20 + 8 :][:18])


def stream(pattern: PatternKind, count: int, **changes: object) -> Stream:
    """Return a stream on all ports with 64-byte IPv4 frames, changed as told."""
    made = Stream("s", 64, RATE_FPS, count, pattern, PORTS, PORTS)
    return replace(made, **changes)  # type: ignore[arg-type]
