"""Running streams on a bench by the controller's own plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from base import READ_CELLS, TesterTest
from signature import Signature

from p4mesh.target.loop import LoopModel
from p4mesh.tester.frames import seed_payload
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.traffic import patterns
from p4mesh.traffic.stream import Stream

PORTS = (1, 2, 3, 4)
RATE_FPS = Fraction(100)
_LEAD_NS = 50_000_000
_CATCH_UP_ATTEMPTS = 40


class StreamTest(TesterTest):
    """A test whose frames come from streams; they leave through the ports of the bench."""

    __test__ = False

    def run_streams(
        self,
        *streams: Stream,
        duration_s: Fraction | None = None,
        before_start: Callable[[Plan], None] | None = None,
        payload_of: Callable[[Stream], bytes] | None = None,
    ) -> Plan:
        """Send all frames of the streams, or those of ``duration_s``, and check the counters of all of them.

        ``payload_of`` returns the payload of the seeds of a stream, by default that of the controller.
        """
        payload_of = payload_of or self._seed_payload
        plan = make_plan(streams, self._limits(), dict.fromkeys(PORTS, 10_000_000_000))
        self.tester.clear(READ_CELLS, self.bench.wait_passes)
        self.tester.configure(plan, self.run_id)
        self.addCleanup(self.tester.configure, make_plan((), self._limits(), {}), self.run_id)
        clocks = range(len(plan.streams))
        self.tester.hold(clocks, self.bench.wait_passes)
        for stream in plan.streams:
            payload = payload_of(stream.stream)
            for number in range(stream.seeds):
                fraction = stream.clock.interval_fraction_q32
                self.tester.inject_seed(stream.index, payload, number, stream.seeds, fraction_q32=fraction)
        self.bench.wait(_LEAD_NS)
        if before_start is not None:
            before_start(plan)
        before = self._transmitted()
        flows_before = self._flow_frames(plan)
        self.tester.start(clocks, _LEAD_NS * 1000 // self.bench.tick_ps)
        longest_s = duration_s or max(stream.frame_count / stream.rate_fps for stream in streams)
        self.bench.wait(2 * _LEAD_NS + int(longest_s * 10**9))
        frames = sum(t.frames for s in plan.streams for t in s.transmitters)
        if before_start is None:
            self._await_transmission(before + frames)
        self.tester.stop_streams(clocks)
        self.bench.settle()
        if before_start is None:
            self.assertEqual(self._transmitted() - before, frames)
            self._check_flows(plan, flows_before, frames)
        return plan

    def _seed_payload(self, stream: Stream) -> bytes:
        covered = self.contract.check_covers_payload
        return seed_payload(stream.frame, stream.frame_size_bytes, check_covers_payload=covered)

    def _check_flows(self, plan: Plan, before: dict[int, int], frames: int) -> None:
        """The counters and the registers of the flows have counted the same frames."""
        new = {cell: count - before[cell] for cell, count in self._flow_frames(plan).items()}
        sent = self.records()["flow_sequence"]
        self.assertEqual(new, {cell: int(sent[cell]) for cell in new})
        self.assertEqual(sum(new.values()), frames)

    def _flow_frames(self, plan: Plan) -> dict[int, int]:
        cells = sorted({flow.sequence_cell for flow in plan.flows})
        return {cell: data.packets for cell, data in self.client.read_counters("flow_transmit", cells)}

    def _await_transmission(self, frames: int) -> None:
        """Give a switch on the wall clock, which a busy machine makes late, time to catch up."""
        for _ in range(_CATCH_UP_ATTEMPTS):
            if self._transmitted() >= frames:
                return
            self.bench.settle()

    def _transmitted(self) -> int:
        counts = self.tester.reason_counts(self.bench.port_numbers)
        return sum(count for (_, reason), count in counts.items() if reason == "transmitted")

    def _limits(self) -> Limits:
        loop = LoopModel(100_000_000_000, 500_000, None if self.bench.exact else 20_000)
        return Limits.of(self.contract, self.bench.tick_ps, loop, self.bench.name)


def signature_of(frame: bytes) -> Signature:
    """The signature of an untagged IPv4 test frame."""
    return Signature(frame[14 + 20 + 8 :][:18])


def stream(pattern: patterns.Pattern, count: int, **changes: object) -> Stream:
    """A stream on all ports with 64-byte IPv4 frames, changed as told."""
    made = Stream("s", 64, RATE_FPS, count, pattern, PORTS, PORTS)
    return replace(made, **changes)  # type: ignore[arg-type]
