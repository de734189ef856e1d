"""Seeded devices, each with a load and the closed form of the rate that its slowest output sustains."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

from support import networks

from p4mesh.measurement.counts import Trend
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import PREAMBLE_BYTES, frame_time_ns, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Broadcast, FullMesh, MeshStreams, Pairs, Pattern, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

SCALED_FRAMES = 30_000
GIGABIT = 10**9


@dataclass(frozen=True)
class Device:
    """A switch with all ports on the tester, and the traffic through it."""

    ports: int = 2
    rate_bps: int = GIGABIT
    ifg_bits: int = 96
    clock_ppm: float = 0
    """Of its ports."""
    queue_frames: int = 1024
    model: str = ""
    """Further keys of the node."""
    tester_ppm: tuple[float, ...] = (0,)
    """Clocks of the tester's ports; the last one is that of all further ports."""
    pattern: Pattern = field(default_factory=FullMesh)
    frame_size_bytes: int = 64
    burst_frames: int = 1
    seed: int = 1

    @property
    def topology(self) -> Topology:
        """The device as a topology."""
        clocks = [self.tester_ppm[min(port, len(self.tester_ppm)) - 1] for port in range(1, self.ports + 1)]
        text = networks.switch(
            *([self.model] if self.model.strip() else []),
            ports=self.ports,
            rates_bps=self.rate_bps,
            port=f"ifg_bits: {self.ifg_bits}, clock_offset_ppm: {self.clock_ppm}, queue_frames: {self.queue_frames}",
            tester_port={port: f"clock_offset_ppm: {ppm}" for port, ppm in enumerate(clocks, 1)},
            seed=self.seed,
        )
        return networks.parsed(text)

    @property
    def senders(self) -> tuple[int, ...]:
        """Transmit ports."""
        everyone = tuple(range(1, self.ports + 1))
        return (1,) if isinstance(self.pattern, Broadcast) else everyone[:-1] if self._to_one else everyone

    @property
    def receivers(self) -> tuple[int, ...]:
        """Receive ports."""
        everyone = tuple(range(1, self.ports + 1))
        if isinstance(self.pattern, Broadcast):
            return everyone[1:]
        if isinstance(self.pattern, Pairs):
            return tuple(port + 1 if port % 2 else port - 1 for port in everyone)
        return everyone[-1:] if self._to_one else everyone

    @property
    def sustained_pct(self) -> Fraction:
        """Load in percent of the nominal line rate at which an output sends all the time: no more passes for long."""
        wire_bits = 8 * (self.frame_size_bytes + 20)
        own_bits = 8 * (self.frame_size_bytes + PREAMBLE_BYTES) + self.ifg_bits
        own_rate = 1 + Fraction(self.clock_ppm) / 1_000_000
        sent = 100 * own_rate * wire_bits / own_bits
        return min(sent / (len(self.senders) if self._to_one else 1), self.line_pct)

    @property
    def line_pct(self) -> Fraction:
        """Load that the slowest sender can bring, in percent of the nominal line rate."""
        return 100 * (1 + Fraction(min(self.tester_ppm)) / 1_000_000)

    def spec(self, load_pct: Fraction, longer: int = 1, frames: int = SCALED_FRAMES) -> TrialSpec:
        """A scaled trial at a load."""
        rate_fps = rate_at_pct(load_pct, self.frame_size_bytes, self.rate_bps)
        duration_ns = round(longer * frames * frame_time_ns(self.frame_size_bytes, self.rate_bps))
        stream = Stream(
            "load",
            self.frame_size_bytes,
            rate_fps,
            max(1, tx_frames(duration_ns, rate_fps)),
            self.pattern,
            self.senders,
            self.receivers,
            burst=Burst(self.burst_frames) if self.burst_frames > 1 else None,
        )
        quick = Learning(wait_ns=10**6)
        return TrialSpec("seeded", (stream,), duration_ns, quick, 10**6, restabilise_ns=0, watch_queues=True)

    @property
    def _to_one(self) -> bool:
        return isinstance(self.pattern, Rotate)


@contextmanager
def opened(device: Device) -> Iterator[TrialEngine]:
    """Start the device behind a tester."""
    with open_measurer(device.topology) as engine:
        yield engine


def measured(device: Device, load_pct: Fraction) -> tuple[TrialResult, int]:
    """Measure a load as a search does, longer where a trial is too short to tell; return how many times longer."""
    longer = 1
    with opened(device) as engine:
        while True:
            result = engine.measure(device.spec(load_pct, longer))
            trend = result.queues
            if result.lost_frames or trend is None or trend.trend is not Trend.UNCLEAR:
                return result, longer
            if longer >= MOST_LENGTHENING:
                return result, longer
            longer = min(longer * trend.longer, MOST_LENGTHENING)


def seeded(seed: int) -> Device:
    """A device of any kind: its queues, its jitter and the traffic follow from the seed."""
    draw = random.Random(seed)
    pattern: Pattern = draw.choice((FullMesh(), FullMesh(), Pairs(), Rotate(), Broadcast(), MeshStreams()))
    ports = 2 * draw.randint(1, 2) if isinstance(pattern, Pairs) else draw.randint(2, 5)
    rate_bps = draw.choice((10**7, 10**8, 10**9, 10**10))
    size = draw.choice((64, 65, 128, 256, 511, 1024, 1518))
    device = Device(
        ports=ports,
        rate_bps=rate_bps,
        ifg_bits=draw.choice((96, 96, 104, 128, 200, 800)),
        clock_ppm=round(draw.uniform(-100, 100), 1),
        queue_frames=round(10 ** draw.uniform(0, 4)),
        model="\n".join((_forwarding(draw), _jitter(draw, rate_bps, size))),
        tester_ppm=draw.choice(((0,), (0,), (50, -50), (-100, 0, 100))),
        pattern=pattern,
        frame_size_bytes=size,
        seed=seed,
    )
    burst_frames = draw.choice((1, 1, 1, 10, 100))
    if burst_frames > 1 and device.queue_frames >= burst_frames * ports:
        device = replace(device, burst_frames=burst_frames)
    return device


def _forwarding(draw: random.Random) -> str:
    latency = f"    latency_ns: {draw.randint(0, 20_000)}"
    return latency + draw.choice(("", "\n    forwarding: cut_through\n    look_ahead_bytes: 64"))


def _jitter(draw: random.Random, rate_bps: int, size: int) -> str:
    """A model of jitter that is up to some frames long."""
    most_ns = int(draw.choice((0.1, 1, 5)) * frame_time_ns(size, rate_bps)) + 1
    kinds = (
        "",
        "",
        f"uniform: {{max_ns: {most_ns}}}",
        f"normal: {{mean_ns: {2 * most_ns}, sigma_ns: {most_ns / 2}}}",
        f"exponential: {{mean_ns: {most_ns / 4}, max_ns: {2 * most_ns}}}",
        f"spike: {{delay_ns: {most_ns}, chance_ppb: {draw.choice((10_000, 1_000_000, 100_000_000))}}}",
    )
    kind = draw.choice(kinds)
    return f"    jitter: {{{kind}}}" if kind else ""
