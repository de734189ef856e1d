"""The answer of a trial. Counts are integers; every ratio is derived from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from p4mesh.measurement.counts import (
    ClassQueues,
    FlowCounts,
    HistogramStats,
    InterarrivalStats,
    LatencyStats,
    MessageCounts,
    Outage,
    PortCounts,
    QueueTrend,
    StrayCounts,
    StreamPacing,
    Transient,
)
from p4mesh.measurement.port_queues import PortQueue
from p4mesh.traffic.refused_routes import RefusedRoutes
from p4mesh.traffic.stamps import PortStamps
from p4mesh.verdict import Verdict


@dataclass(frozen=True)
class TrialResult:
    """Counts of one trial, in total, per port and optionally per flow.

    Its fields are in the order of the journal. Those that counts have, too, are explained there
    (:class:`p4mesh.measurement.counts.Counts`).
    """

    status: Verdict
    """MEASURED, or INVALID or ABORT for counts that cannot be trusted (methodology 0.6)."""
    reason: str
    """Why the counts cannot be trusted; empty otherwise."""
    label: str
    duration_ns: int
    intended_frames: int
    tx_frames: int
    expected_rx_frames: int
    rx_frames: int
    lost_frames: int
    duplicate_frames: int
    reordered_frames: int
    flooded_frames: int
    foreign_frames: int
    stale_frames: int
    damaged_frames: int
    first_tx_ns: int
    last_tx_ns: int
    ports: tuple[PortCounts, ...] = ()
    latency: LatencyStats | None = None
    flows: tuple[FlowCounts, ...] = field(default=())
    start_skew_ns: int = 0
    start_spread_ns: int = 0
    oload_error_ppm: float = 0.0
    pacing: tuple[StreamPacing, ...] = ()
    answered_frames: int = 0
    """Datagrams that came back from where the controller's frames went."""
    histograms: tuple[HistogramStats, ...] = ()
    outages: tuple[Outage, ...] = ()
    """One per flow, in trials with an interruption."""
    misdirected_frames: int = 0
    silent_flows: int = field(default=0, metadata={"stored": "if set"})
    """Flows with frames sent of which nothing arrived; counted in trials whose hosts join groups."""
    undelivered: bool = field(default=False, metadata={"stored": "if set"})
    """INVALID because the tester did not send all frames, or not at their rate: it says nothing about the device."""
    strays: tuple[StrayCounts, ...] = field(default=(), metadata={"stored": "if set"})
    messages: tuple[MessageCounts, ...] = field(default=(), metadata={"stored": "if set"})
    stamps: tuple[PortStamps, ...] = field(default=(), metadata={"stored": "if set"})
    queues: QueueTrend | None = field(default=None, metadata={"stored": "if set"})
    """None when queues were not watched, or when too few frames came to judge them."""
    doubtful_frames: int = field(default=0, metadata={"stored": "if set"})
    latency_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    single_latency_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    unstamped_departures: bool = field(default=False, metadata={"stored": "if set"})
    impossible_averages: int = field(default=0, metadata={"stored": "if set"})
    latency_growth_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Growth of the latency at a port during the trial, all the time, though no queue filled."""
    unmet_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Error of average latencies, as frames of streams at other rates were met at some of the phases alone."""
    corrupted_frames: int = field(default=0, metadata={"stored": "if set"})
    transient: Transient | None = field(default=None, metadata={"stored": "if set"})
    """None where the device forwarded as much at first as later, or where nobody looked."""
    refused_routes: tuple[RefusedRoutes, ...] = field(default=(), metadata={"stored": "if set"})
    """Announced networks that devices had no room for; frames to them are lost."""
    port_queues: tuple[PortQueue, ...] = field(default=(), metadata={"stored": "if set"})
    """Queues in front of the tester's own ports, on chips that stamp behind them."""
    interarrival: tuple[InterarrivalStats, ...] = field(default=(), metadata={"stored": "if set"})
    reached_ports: tuple[int, ...] = field(default=(), metadata={"stored": "if set"})
    """Ports that frames reached in a trial whose learning could not be verified."""
    class_queues: tuple[ClassQueues, ...] = field(default=(), metadata={"stored": "if set"})
    """Those of the classes of a traffic file, each of which is judged by its own frames and time."""
