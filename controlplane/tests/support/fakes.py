"""Measurers with closed-form answers, so that methods are proved without a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from support.destination_oracle import flow_counts

from p4mesh.errors import ProgramError
from p4mesh.measurement.counts import FlowCounts, LatencyStats, PortCounts
from p4mesh.methods.base import TrialNote
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import NS_PER_S, max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Carry = Callable[[TrialSpec, int], int]
"""(trial, frames sent) -> frames that arrive."""


def capacity(limit_fps: Fraction) -> Carry:
    """A device that forwards at most ``limit_fps`` of all ports together, without a queue."""

    def carry(spec: TrialSpec, sent: int) -> int:
        offered = sum(stream.rate_fps * len(stream.tx_ports) for stream in spec.streams)
        return sent if offered <= limit_fps else int(sent * limit_fps / offered)

    return carry


def wire(_: TrialSpec, sent: int) -> int:
    """Forward everything."""
    return sent


class FakeMeasurer:
    """Answers every trial by formula."""

    def __init__(
        self,
        carry: Carry = wire,
        *,
        flooded: int = 0,
        status: Callable[[TrialSpec], Verdict] = lambda _: Verdict.MEASURED,
    ) -> None:
        self.carry = carry
        self.flooded = flooded
        self.status = status
        self.specs: list[TrialSpec] = []
        self.notes: list[TrialNote | None] = []
        self.announced: list[TrialSpec] = []

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Take note of the next trials."""
        self.announced = list(specs)

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        self.specs.append(spec)
        self.notes.append(note)
        if self.announced:
            assert self.announced.pop(0) == spec, "a method measures what it has announced"
        ports = spec.streams[0].tx_ports
        sent = sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams)
        arrived = self.carry(spec, sent)
        per_port = spec.streams[0].frame_count
        last_ns = int((per_port - 1) * NS_PER_S / spec.streams[0].rate_fps)
        status = self.status(spec)
        return TrialResult(
            status=status,
            reason="" if status is Verdict.MEASURED else "the fake says so",
            label=spec.label,
            duration_ns=spec.duration_ns,
            intended_frames=sent,
            tx_frames=sent,
            expected_rx_frames=sent,
            rx_frames=arrived,
            lost_frames=sent - arrived,
            duplicate_frames=0,
            reordered_frames=0,
            flooded_frames=self.flooded,
            foreign_frames=0,
            stale_frames=0,
            damaged_frames=0,
            first_tx_ns=0,
            last_tx_ns=last_ns,
            ports=tuple(PortCounts(port, tx_frames=per_port, rx_frames=arrived // len(ports)) for port in ports),
            latency=LatencyStats(arrived, 2240.0, 2705.0, 2300.0 * arrived),
        )


class TrialLog(FakeMeasurer):
    """Passes trials on to another measurer, and keeps the verdicts that the trial log shows."""

    def __init__(self, inner: FakeMeasurer) -> None:
        super().__init__()
        self.inner = inner
        self.verdicts: list[str] = []

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = self.inner.measure(spec, note)
        self.verdicts.append(note.judge(result).value if note and note.judge else "MEASURED")
        return result


FlowCarry = Callable[[TrialSpec, dict[tuple[str, int, int], int]], dict[tuple[str, int, int], int]]
"""(trial, frames sent per (stream, source, destination)) -> frames that arrive of each."""


class FlowMeasurer(FakeMeasurer):
    """Answers every trial by formula, flow by flow; ``span`` tells when the frames arrive."""

    def __init__(self, carry_flows: FlowCarry, rx_interval_ns: Fraction | None = None) -> None:
        super().__init__()
        self.carry_flows = carry_flows
        self.rx_interval_ns = rx_interval_ns

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        """The counts of one trial, with a row per flow."""
        sent = {
            (stream.name, source, target): count
            for stream in spec.streams
            for (source, target), count in flow_counts(stream).items()
        }
        arrived = self.carry_flows(spec, sent)
        expected, received = sum(sent.values()), sum(arrived.values())
        base = super().measure(spec, note)
        flows = tuple(
            FlowCounts(
                *key,
                tx_frames=count,
                rx_frames=arrived[key],
                latency=LatencyStats(arrived[key], 2000.0, 2500.0, 2200.0 * arrived[key], 1, 0.0, 10.0, 5.0),
                last_rx_ns=int((arrived[key] - 1) * self.rx_interval_ns) if self.rx_interval_ns else 0,
            )
            for key, count in sent.items()
        )
        return replace(
            base, expected_rx_frames=expected, rx_frames=received, lost_frames=expected - received, flows=flows
        )


def lossless(_: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
    """Deliver every flow."""
    return dict(sent)


@contextmanager
def open_fake_switch(topology: Topology) -> Iterator[FakeMeasurer]:
    """A measurer that collapses to nothing above 4.7 Mframe/s, like the modelled switch."""

    def carry(spec: TrialSpec, sent: int) -> int:
        offered = sum(stream.rate_fps * len(stream.tx_ports) for stream in spec.streams)
        return sent if offered <= 4_700_000 else sent // 1000

    yield FakeMeasurer(carry)


@contextmanager
def open_wire(_: Topology) -> Iterator[FakeMeasurer]:
    """A measurer that loses nothing."""
    yield FakeMeasurer()


@contextmanager
def open_stale(_: Topology) -> Iterator[FakeMeasurer]:
    """Fail as the trial engine does when the compiled program does not match its sources."""
    raise ProgramError("p4src/compiled/p4mesh.json is stale", hint="run: make p4")
    yield FakeMeasurer()


class SlowTester(FakeMeasurer):
    """A tester that sends half of line rate and no more; the device behind it loses nothing."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        """The counts of one trial; one above the limit is INVALID, as on targets where time is real."""
        result = super().measure(spec, note)
        if all(2 * stream.rate_fps <= max_rate_fps(stream.frame_size_bytes, 10_000_000) for stream in spec.streams):
            return result
        reason = "oload_mismatch: offered load is 50.0000 % of the intended load on port 1"
        return replace(result, status=Verdict.INVALID, reason=reason, undelivered=True)


@contextmanager
def open_slow_tester(_: Topology) -> Iterator[SlowTester]:
    """A measurer that cannot send more than half of 10 Mbit/s."""
    yield SlowTester()


@contextmanager
def open_lossy(_: Topology) -> Iterator[FakeMeasurer]:
    """A measurer that loses one frame in every trial."""
    yield FakeMeasurer(lambda _, sent: sent - 1)
