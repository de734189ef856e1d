"""Counts and statistics that a reading of a plan gives. Counts are integers; every ratio is derived from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import sqrt

from p4mesh.traffic.stamps import PortStamps

_DEVIATIONS_95 = 1.96


def average_error_ns(count: int, min_ns: float, average_ns: float, max_ns: float) -> float:
    """Largest error of an average of independent values with 95 % confidence.

    The variance is no larger than that of values at the two extremes (Bhatia and Davis 2000).
    """
    return _DEVIATIONS_95 * sqrt(max(0.0, (max_ns - average_ns) * (average_ns - min_ns)) / count)


@dataclass(frozen=True)
class LatencyBins:
    """Frames per bin of a histogram, in order of latency; bins without frames are left out."""

    low_ns: tuple[float, ...]
    """Smallest latency of each bin."""
    high_ns: tuple[float, ...]
    """Smallest latency above each bin."""
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """Latency of one group of frames in nanoseconds, definition FIFO unless stated.

    Sums are exact in clock ticks; averages are derived: ``sum_ns / count``. Jitter, IPDV and RFC 3550
    jitter are differences of latencies within one flow, so they do not depend on the definition.
    """

    count: int
    min_ns: float
    max_ns: float
    sum_ns: float
    jitter_count: int = 0
    jitter_min_ns: float = 0.0
    jitter_max_ns: float = 0.0
    jitter_sum_ns: float = 0.0
    percentiles_ns: tuple[tuple[float, float], ...] = ()
    """(per cent, latency) pairs, each within 0.79 % of that of these frames; empty without histograms."""
    percentile_errors_ns: tuple[tuple[float, float], ...] = field(default=(), metadata={"stored": "if set"})
    """(per cent, distance) pairs: how far the percentile of a longer trial may be, with 95 % confidence. Frames are as
    many as readings show to be independent of each other; a percentile that is missing has too few."""
    ipdv_count: int = 0
    """Frames whose predecessor by sequence number arrived, and no later frame before it (RFC 5481 4.1)."""
    ipdv_min_ns: float = 0.0
    """Signed: the largest decrease of latency is negative."""
    ipdv_max_ns: float = 0.0
    ipdv_sum_ns: float = 0.0
    """Signed."""
    ipdv_percentiles_ns: tuple[tuple[float, float], ...] = ()
    """(per cent, signed IPDV) pairs on both sides of the median; empty without histograms."""
    ipdv_percentile_errors_ns: tuple[tuple[float, float], ...] = field(default=(), metadata={"stored": "if set"})
    jitter_percentiles_ns: tuple[tuple[float, float], ...] = ()
    """(per cent, size of IPDV) pairs; empty without histograms."""
    rfc3550_jitter_flows: int = 0
    """Flows that have an RFC 3550 interarrival jitter: those with two frames received."""
    rfc3550_jitter_sum_ns: float = 0.0
    """Sum over these flows of the estimate at the end of the trial."""
    rfc3550_jitter_max_ns: float = 0.0
    """Largest estimate of a flow at the end of the trial."""
    overflow_count: int = 0
    """Frames that took longer than 2^32 - 1 ticks. They are counted as that: averages and maximum are too low."""
    added_bytes: float = field(default=0.0, metadata={"stored": "if set"})
    """Mean length of the frames received above that of the frames sent, where the program counts bytes. A device that
    takes tags away makes it negative."""
    windows_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Error of the average, 95 %, that averages in parts of the trial show; 0 where independent frames have more."""
    bins: LatencyBins | None = field(default=None, metadata={"stored": "if set"})
    """The histogram behind the percentiles; neighbouring bins are joined where there are many of them."""

    @property
    def sampling_error_ns(self) -> float:
        """Largest error of the average with 95 % confidence, if frames are independent of each other."""
        if self.count < 1:
            return 0.0
        return average_error_ns(self.count, self.min_ns, self.sum_ns / self.count, self.max_ns)


@dataclass(frozen=True)
class PortCounts:
    """Test frames of one tester port."""

    port: int
    tx_frames: int = 0
    rx_frames: int = 0
    """Expected here, signature valid, duplicates included."""
    flooded_frames: int = 0
    misdirected_frames: int = 0
    """Frames with a destination of this port, and the payload of a frame for another one."""
    foreign_frames: int = 0
    stale_frames: int = 0
    damaged_frames: int = 0
    pause_frames: int = 0
    """IEEE 802.3x PAUSE frames received from the device."""
    bad_fcs_frames: int | None = None
    """Received with an FCS that does not fit, which the port discards; None where they are not counted."""
    runt_frames: int | None = field(default=None, metadata={"stored": "if set"})
    """Received shorter than 64 bytes; None where they are not counted."""
    corrupted_frames: int = field(default=0, metadata={"stored": "if set"})
    """Received with a good signature and another payload than was sent; the port discards them, and they count as lost.
    """
    link_losses: int = 0
    """Number of times that the link went down during the trial."""
    min_spacing_ns: float | None = None
    """Smallest distance of the starts of two frames received; None with fewer than two frames."""
    late_frames: int = field(default=0, metadata={"stored": "if set"})
    """Frames received while the device emptied its queues: those in excess of what arrives in the time that the streams
    take at the mean rate from the first to the last."""
    queued_frames: int = field(default=0, metadata={"stored": "if set"})
    """Late frames that jitter and ways of different lengths do not explain: a queue held them back. It is
    all of them or none."""
    early_frames: int = field(default=0, metadata={"stored": "if set"})
    """Frames received here in a transient, beyond the rate of the steady part; below 0 at a port that got fewer."""
    uneven_frames: int = field(default=0, metadata={"stored": "if set"})
    """Frames of the steady part received here that may be of a transient, as they do not leave evenly."""
    controller_tx_ns: int | None = field(default=None, metadata={"stored": "if set"})
    """Departure of the first bit of the last report of a change that a host on the port sent among the streams, or of
    the last frame of a stream with ``keeps_departures``."""


@dataclass(frozen=True, slots=True)
class FlowCounts:
    """One flow: (stream, source port, destination port), or a part of it that is measured by itself."""

    stream: str
    tx_port: int
    rx_port: int
    tx_frames: int
    rx_frames: int
    duplicate_frames: int = 0
    reordered_frames: int = 0
    latency: LatencyStats | None = None
    first_rx_ns: int = 0
    last_rx_ns: int = 0
    """Arrival of the first and the last frame: receive rate = (rx-1)/(last-first). Both 0 when not known."""
    first_tx_ns: int = 0
    """Departure of the first frame that the source port sent of this stream."""
    last_gap_tx_ns: int | None = None
    """Departure of the frame behind the last gap in the sequence of those received; None without a gap."""
    tail_lost_frames: int = 0
    """Frames sent after the last one that was received."""
    part: str = field(default="", metadata={"stored": "if set"})
    """Frames between the two ports that are counted: of a multicast group, or of positions in a message; empty: all."""

    rx_bytes: int | None = field(default=None, metadata={"stored": "if set"})
    """Bytes of the frames received, FCS included and duplicates not; None where all have the one size that they were
    sent with."""
    flooded_frames: int = field(default=0, metadata={"stored": "if set"})
    """Frames at ports that they were not for, where the reading has ``strays``; 0 for frames to several ports."""
    misdirected_frames: int = field(default=0, metadata={"stored": "if set"})
    """Frames at the port of their destination address, with the payload of a frame for another one; counted where
    flooded ones are."""

    doubtful_frames: int = field(default=0, metadata={"stored": "if set"})
    """Reordered frames that came too late to tell them from copies of earlier ones."""

    @property
    def lost_frames(self) -> int:
        """Frames sent and never received at the right port, if all doubtful ones are copies; else fewer of them.

        Negative values are a broken trial.
        """
        return self.tx_frames - (self.rx_frames - self.duplicate_frames - self.doubtful_frames)


@dataclass(frozen=True)
class StrayCounts:
    """Frames of one stream at ports that they were not for."""

    stream: str
    flooded_frames: int
    misdirected_frames: int
    """Frames at the port of their destination address, with the payload of a frame for another one."""


@dataclass(frozen=True)
class MessageTime:
    """A time of complete messages in nanoseconds, between first bits as time stamps are."""

    count: int
    min_ns: float
    max_ns: float
    sum_ns: float


@dataclass(frozen=True)
class MessageCounts:
    """Messages from one port to another, counted as a whole by the data plane."""

    stream: str
    tx_port: int
    rx_port: int
    frames: int
    """Frames of a message."""
    sent: int
    """Messages whose last frame was sent."""
    complete: int
    """Messages of which all frames arrived before one of a later message."""
    damaged: int
    """Messages sent and not complete."""
    fifo: MessageTime | None = None
    """Time from the departure of the first frame to the first arrival; None where no message is complete."""
    lilo: MessageTime | None = None
    """Time from the departure of the last frame to the last arrival."""
    filo: MessageTime | None = None
    """Time from the departure of the first frame to the last arrival."""


@dataclass(frozen=True)
class StreamPacing:
    """Pacing errors of one stream (docs/DATAPLANE.md)."""

    stream: str
    seeds: int
    round_ns: float
    """Time of one round of the loop; no departure is later than this."""
    loop_share_pct: float
    """Share of the recirculation port that the stream's seeds occupy."""
    interval_ns: float
    """Mean distance of departures as programmed."""
    rate_step_ppm: float
    """Distance of the neighbouring rates that could be programmed, relative to this one."""
    rate_error_ppm: float
    """Programmed against intended rate."""
    departure_error_ns: float
    """Largest difference of a departure from its ideal time when the seeds are evenly spread."""
    start_offset_error_ns: float = 0.0
    """Largest difference of the start of a port from the offset asked for."""


@dataclass(frozen=True)
class HistogramStats:
    """Latency statistics of one histogram: of a stream, of a receive port of it, or of one flow."""

    stream: str
    tx_port: int | None
    """None: all transmit ports of the stream."""
    rx_port: int | None
    """None: all receive ports of the stream."""
    latency: LatencyStats


@dataclass(frozen=True)
class TimesBetween:
    """Times in nanoseconds between frames of one flow that follow each other."""

    count: int
    independent: int
    """Those that do not depend on others: not the copies of senders in step and of rounds that come again."""
    mean_ns: float
    mean_error_ns: float
    """Error of bins, or latencies and time stamps at both ends of all times; and what a longer trial may add, 95 %."""
    deviation_ns: float
    """Standard deviation."""
    deviation_error_ns: float
    """Error of bins and time stamps, and that of sampling with 95 % confidence."""
    percentiles_ns: tuple[tuple[float, float], ...]
    """(per cent, time) pairs, each within 0.79 % of that of these frames."""
    percentile_errors_ns: tuple[tuple[float, float], ...]
    """Like those of latency: what a longer trial may find."""
    bins: LatencyBins


@dataclass(frozen=True)
class InterarrivalStats:
    """Times between arrivals and between departures, of a class, or of one flow."""

    stream: str
    tx_port: int | None
    """None: all flows of a class, each by itself."""
    rx_port: int | None
    arrivals: TimesBetween
    departures: TimesBetween | None
    """Times between the stamps of frames that arrived behind their predecessor; None where there is none."""


@dataclass(frozen=True)
class Outage:
    """Effect of an interruption on one flow, in transmit times from the first departure of the trial."""

    stream: str
    tx_port: int
    rx_port: int
    tx_frames: int
    lost_frames: int
    tail_lost_frames: int
    """Lost frames behind the last one received: not 0 when the flow did not come back."""
    last_before_ns: int | None
    """Departure of the last frame that arrived before the outage; None when no look fell into it."""
    first_after_ns: int | None
    """Departure of the frame behind the last gap; None without a gap."""
    sent_before: int = field(default=0, metadata={"stored": "if set"})
    """Frames sent up to the last one that arrived before the outage; 0 when no look fell into it."""
    lost_before: int = field(default=0, metadata={"stored": "if set"})
    """Those of ``sent_before`` that were lost."""
    lost_later: int = field(default=0, metadata={"stored": "if set"})
    """Frames lost after a look had seen the flow again; 0 when no look did."""


@dataclass(frozen=True)
class Transient:
    """Begin of a trial in which the device forwarded more than later, while a buffer or a bucket of it filled."""

    ends_ns: int
    """Time after the first departure at which it was over; that of the last reading where it may not have been, and 0
    where no reading could tell, because frames do not leave evenly enough."""
    over: bool
    """Whether it was over in the first half of the trial, so that there is a steady part."""
    frames: int
    """Frames received until then beyond the rate of the steady part; 0 where there is none."""
    hidden_frames: int = 0
    """Frames of the steady part beyond its rate that may be of the transient, too, or chance: they are in errors."""
    uneven_frames: int = field(default=0, metadata={"stored": "if set"})
    """Those of the hidden ones that are no chance: frames leave unevenly."""


class Trend(str, Enum):
    """State of the device's queues while the streams ran, judged by latency."""

    STEADY = "steady"
    FILLING = "filling"
    """More came into a queue than left it: the load is carried by a buffer, for as long as that lasts."""
    UNCLEAR = "too short to tell"


@dataclass(frozen=True)
class QueueTrend:
    """The trend of the queues, and the excess of the one that fills fastest (docs/methodology/common.md)."""

    trend: Trend
    excess_ppm: float = 0.0
    """Frames that come in beyond those that leave, relative to these; where unclear, the best guess."""
    error_ppm: float = 0.0
    """Error of the excess; for steady queues the largest excess that is not excluded."""
    excess_fps: float = 0.0
    overflow_s: float = 0.0
    """Time after which an empty buffer of 1,000 frames is full."""
    rx_ports: tuple[int, ...] = ()
    """Ports at which frames of queues that fill arrive, that of the fastest one first."""
    longer: int = 0
    """Factor by which an unclear trial must be longer to tell."""


@dataclass(frozen=True)
class ClassQueues:
    """Queues that the frames of a class went through in its own time, and how its latency went."""

    traffic_class: str
    trend: QueueTrend
    latency_error_ns: float
    """Error of its average latencies, as :attr:`Counts.latency_error_ns`."""
    latency_growth_ns: float
    burst_share: float = field(default=0.0, metadata={"stored": "if set"})
    """Part of its time, 0 to 1, in which it met bursts of others that were too short to judge."""
    unmet_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Error of its average latencies, as it has met frames of streams at other rates at some of the phases alone."""


@dataclass(frozen=True)
class Counts:
    """Frames of the streams of a plan, in total, per port and optionally per flow."""

    intended_frames: int = 0
    """Sum of the frame counts that the streams have."""
    tx_frames: int = 0
    expected_rx_frames: int = 0
    """tx_frames for unicast; copies that should arrive for broadcast and multicast."""
    rx_frames: int = 0
    lost_frames: int = 0
    duplicate_frames: int = 0
    reordered_frames: int = 0
    flooded_frames: int = 0
    foreign_frames: int = 0
    stale_frames: int = 0
    damaged_frames: int = 0
    first_tx_ns: int = 0
    last_tx_ns: int = 0
    """Time stamps of the first and last test frame sent: offered load = (tx-1)/(last-first-spread) per port."""
    ports: tuple[PortCounts, ...] = ()
    latency: LatencyStats | None = None
    """Percentiles are those of all frames, where every flow has a histogram."""
    flows: tuple[FlowCounts, ...] = ()
    start_skew_ns: int = 0
    """Largest difference of first transmit time stamps between ports of one stream that were to start together."""
    start_spread_ns: int = 0
    """The same between ports of one stream that were to start at different times."""
    oload_error_ppm: float = 0.0
    """Offered less intended load of the transmitter that is farthest off, relative to its intended load."""
    histograms: tuple[HistogramStats, ...] = ()
    corrupted_frames: int = field(default=0, metadata={"stored": "if set"})
    """Received with a good signature and another payload than was sent, where the target looks; they count as lost."""
    latency_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Error of average latencies with 95 % confidence, where it is larger than that of their own spread
    (:attr:`LatencyStats.sampling_error_ns`): frames depend on each other, or delays of departures were taken off."""
    single_latency_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Most that the smallest and the largest latency, and percentiles, have of the delays of departures and cables."""
    unstamped_departures: bool = field(default=False, metadata={"stored": "if set"})
    """Departures without stamps of the kernel beside those of the program: latencies contain the way through the
    sending kernel, and nobody knows how long that is."""
    impossible_averages: int = field(default=0, metadata={"stored": "if set"})
    """Averages of latency that the average delay of departures would have left less than nothing of."""
    doubtful_frames: int = field(default=0, metadata={"stored": "if set"})
    """Reordered frames that came too late to tell them from copies of earlier ones. ``lost_frames`` takes them for
    copies, so that a loss is never hidden: it may be too high by so many."""
    misdirected_frames: int = 0
    """Misdirected payload (methodology 0.1): the destination of the port, made for another one. They are lost."""
    strays: tuple[StrayCounts, ...] = ()
    """One per stream, of streams with classes; empty where the data plane counts them per port alone."""
    messages: tuple[MessageCounts, ...] = ()
    """One per (stream, transmit port, receive port) of messages; empty where the data plane does not count them."""
    interarrival: tuple[InterarrivalStats, ...] = ()
    stamps: tuple[PortStamps, ...] = ()
    """Sources of the stamps of each port, on Linux interfaces: averages of latencies are less by the average delay of
    the transmit port, and its errors are theirs; single values are less by the smallest delay."""
