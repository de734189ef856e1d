"""Calibration (RFC 8238 4.3): latency over a wire between two tester ports, per frame size.

Where MACs keep when frames leave, the time from the transmit stamp to there needs no wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from statistics import median

from p4mesh.errors import TargetError
from p4mesh.measurement.counts import HistogramStats
from p4mesh.methods.bed import Bed
from p4mesh.methods.chassis.tables import RateAndLatency
from p4mesh.methods.options.parameters import decimal
from p4mesh.methods.results.latency import merged, summarise
from p4mesh.methods.results.latency_cells import Circumstances, us
from p4mesh.methods.results.metrics import transmission_s
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, rate_at_pct, utilisation_pct
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.calibration import Wire
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

LOAD_PCT = decimal("load_pct", "1", "% of line rate", "RFC 8238 4.3", "rate of the frames", ("0.001", "100"))
"""Low, so that no frame waits for another one."""
FRAMES = 1001
"""Odd, so that the median is the latency of a frame."""
DEPARTURES = 5
"""Odd, too. Each is a trial of one frame from each port, whose MAC keeps few departures."""
_MEDIAN = 50.0
_SETTLE_NS = 100_000_000

Pair = tuple[int, int]
"""Transmit port and receive port."""


def wire_spec(pairs: Sequence[Pair], frame_size_bytes: int, bed: Bed, load_pct: Fraction) -> TrialSpec:
    """The trial that sends frames over every wire in the given directions."""
    rate_fps = rate_at_pct(load_pct, frame_size_bytes, bed.slowest_rate_bps)
    tx_ports, rx_ports = (tuple(pair[end] for pair in pairs) for end in (0, 1))
    stream = Stream("wire", frame_size_bytes, rate_fps, FRAMES, Pairs(), tx_ports, rx_ports)
    return TrialSpec(
        f"wire {frame_size_bytes} B",
        (stream,),
        int(FRAMES * NS_PER_S / rate_fps),
        Learning(enabled=False),
        _SETTLE_NS,
        0,
        histograms=HistogramPer.FLOW,
    )


def wires_of(result: TrialResult, frame_size_bytes: int, bed: Bed) -> tuple[Wire, ...]:
    """Latencies of every wire; raises TargetError for a trial that cannot be trusted, or loss."""
    where = f"{frame_size_bytes} B frames over the wires of '{bed.topology}'"
    if not result.status.trusted:
        raise TargetError(
            f"{where}: {result.status.value}: {result.reason}", hint="a lower --load-pct, or an idle machine"
        )
    if result.lost_frames:
        raise TargetError(
            f"{where}: {result.lost_frames:,} of {result.tx_frames:,} frames were lost", hint="check the cables"
        )
    return tuple(_wire(flow, frame_size_bytes, bed) for flow in result.histograms)


def departure_spec(frame_size_bytes: int, bed: Bed) -> TrialSpec:
    """The trial in which each port sends one frame, of which the MAC keeps when it leaves."""
    ports = bed.port_numbers
    stream = Stream(
        *("departure", frame_size_bytes, Fraction(1000), 1, Pairs(), ports, (*ports[1:], ports[0])),
        keeps_departures=True,
        may_be_filtered=True,
    )
    learning = Learning(enabled=False)
    return TrialSpec(f"departure {frame_size_bytes} B", (stream,), NS_PER_MS, learning, _SETTLE_NS, 0, per_flow=True)


def departures_of(results: Sequence[TrialResult], frame_size_bytes: int, bed: Bed) -> tuple[Wire, ...]:
    """Times from the transmit stamp to the first bit; raises TargetError where a trial cannot be trusted or a MAC kept
    nothing.
    """
    times_ns: dict[int, list[int]] = {port: [] for port in bed.port_numbers}
    for result in results:
        if not result.status.trusted:
            raise TargetError(
                f"{frame_size_bytes} B frames of '{bed.topology}': {result.status.value}: {result.reason}",
                hint="look at the loop and the ports with p4mesh doctor",
            )
        stamped_ns = {flow.tx_port: flow.first_tx_ns for flow in result.flows}
        for port in result.ports:
            if port.controller_tx_ns is None:
                raise TargetError(
                    f"port {port.port} has not kept when its frame of {frame_size_bytes} B left",
                    hint="cable tester ports to each other and measure wires instead",
                )
            way_ns = port.controller_tx_ns - stamped_ns[port.port]
            if not 0 <= way_ns < NS_PER_MS:
                raise TargetError(
                    f"port {port.port}: by its MAC a frame of {frame_size_bytes} B left {way_ns:,} ns behind its stamp",
                    hint="the MAC has another clock than the program: measure wires instead",
                )
            times_ns[port.port].append(way_ns)
    return tuple(
        Wire(
            tx_port=port,
            rx_port=None,
            tx_rate_bps=bed.rate_bps(port),
            rx_rate_bps=None,
            frame_size_bytes=frame_size_bytes,
            median_ns=median(times),
            median_error_ns=max(times) - min(times),
            min_ns=min(times),
            max_ns=max(times),
            samples=len(times),
            run=0,
        )
        for port, times in times_ns.items()
    )


def rates_and_latency(
    trials: Sequence[tuple[TrialSpec, TrialResult]], frame_size_bytes: int, bed: Bed
) -> RateAndLatency:
    """Rates of the receivers, latency and jitter of all wires.

    Latency is that of the time stamps, which is first in, first out where they are those of the first bit.
    """
    frames_per_s = sum((result.rx_frames / transmission_s(spec) for spec, result in trials), Fraction(0))
    receivers = [port for spec, _ in trials for stream in spec.streams for port in stream.rx_ports]
    line_rate_bps = sum(bed.rate_bps(port) for port in receivers)
    found = [summarise(flow.latency) for _, result in trials for flow in result.histograms]
    whole = merged([summary for summary in found if summary is not None])
    assert whole is not None
    jitter, circumstances = whole.jitter, Circumstances.of([result for _, result in trials], bed.stamps.resolution_ns)
    return RateAndLatency(
        frame_size_bytes=frame_size_bytes,
        forwarding_fps=float(frames_per_s),
        forwarding_error_fps=float(sum(1 / transmission_s(spec) for spec, _ in trials)),
        forwarding_l2_tbps=float(frames_per_s * 8 * frame_size_bytes / 10**12),
        line_pct=float(utilisation_pct(frames_per_s, frame_size_bytes, line_rate_bps)),
        min_us=us(whole.latency.min_ns),
        avg_us=us(whole.latency.avg_ns),
        avg_error_us=us(circumstances.error_ns(whole)),
        max_us=us(whole.latency.max_ns),
        jitter_avg_us=us(jitter.avg_ns) if jitter else None,
        jitter_avg_error_us=us(circumstances.difference_error_ns(jitter)),
        jitter_max_us=us(jitter.max_ns) if jitter else None,
    )


def _wire(flow: HistogramStats, frame_size_bytes: int, bed: Bed) -> Wire:
    summary = summarise(flow.latency)
    assert summary is not None
    median, low, high = summary.percentiles_ns[_MEDIAN], summary.latency.min_ns, summary.latency.max_ns
    assert flow.tx_port is not None and flow.rx_port is not None
    return Wire(
        flow.tx_port,
        flow.rx_port,
        bed.rate_bps(flow.tx_port),
        bed.rate_bps(flow.rx_port),
        frame_size_bytes,
        float(median),
        float(summary.percentile_errors_ns.get(_MEDIAN, high - low)),
        float(low),
        float(high),
        summary.latency.count,
        0,
    )
