"""Traffic over a mesh of ports: the trial at one load, the forwarding-rate sweep, the throughput search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol, cast

from p4mesh.measurement.counts import PortCounts
from p4mesh.methods.base import Session
from p4mesh.methods.criterion import criterion_of
from p4mesh.methods.longer_trials import Asked, Taken, measure_each
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.options.shared import SUSTAINED, duration_ns_of, frame_of, sweep_of, trial_of
from p4mesh.methods.results.forwarding import LastRate, MeshSweep, MeshThroughput, MeshTrial, PortRates
from p4mesh.methods.results.metrics import (
    RateMetrics,
    chance_of_port,
    cut_frames,
    held_by_port,
    hidden_frames,
    is_settled,
    rate_error,
    rate_metrics,
    steady_share,
    transmission_s,
    uneven_frames,
    unshared_frames,
)
from p4mesh.methods.results.queues import queue_cells
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.sweeps import Judge, judge_of, measured
from p4mesh.methods.throughput_search import search_with
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_MS, l1_rate_bps, max_rate_fps, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Pattern
from p4mesh.traffic.stream import Burst, FieldModifier, Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

FORWARDING = "forwarding"
THROUGHPUT = "throughput"
LATENCY = "latency"


@dataclass(frozen=True)
class Leg:
    """Ports that send, and the order in which they visit the ports that receive."""

    pattern: Pattern
    tx_ports: tuple[int, ...]
    rx_ports: tuple[int, ...]
    line_rate_bps: int | None = None
    """Line rate of the ports that send, where it is not that of the mesh."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every (transmit port, receive port) that frames of the leg go between."""
        sources = enumerate(self.tx_ports)
        return tuple((port, receiver) for source, port in sources for receiver in self.pattern.receivers(self, source))


@dataclass(frozen=True)
class Mesh:
    """Traffic between ports, and their line rate. Every port sends in one leg at most."""

    legs: tuple[Leg, ...]
    line_rate_bps: int
    """Line rate of the slowest port, which scales the trial; loads are percent of each port's own line rate."""
    theoretical_pct: Fraction = Fraction(100)
    """Load above which the pattern itself over-subscribes an output."""

    uplink_lines: Fraction | None = None
    """Rate of the link between two devices that one leg must cross, in lines; None without one."""

    addresses_per_port: int = 1

    modifiers: tuple[FieldModifier, ...] = ()
    """Fields that change from frame to frame."""

    routed: bool = False
    """Frames go to the device as to a router."""

    may_be_filtered: bool = False
    """The device may drop all frames, which is a result: addresses are verified without them."""

    watched: bool = True
    """Latencies are read while the streams run, to tell whether a queue fills."""

    limit_lines: Fraction | None = None
    """Capacity of the outputs, where it does not follow from the legs."""

    @property
    def forwarding_limit_lines(self) -> Fraction:
        """Capacity of the outputs in lines: the highest forwarding rate of the pattern at any load."""
        if self.limit_lines is not None:
            return self.limit_lines
        widths = [Fraction(min(len(leg.tx_ports), len(leg.rx_ports))) for leg in self.legs]
        if self.uplink_lines is not None:
            widths = [min(width, self.uplink_lines) for width in widths]
        return sum(widths, Fraction(0))

    def rate_of(self, leg: Leg) -> int:
        """Line rate of the ports that send in a leg, in bit/s."""
        return leg.line_rate_bps or self.line_rate_bps

    def rate_of_port(self, port: int) -> int:
        """The line rate of a port that sends."""
        return next(self.rate_of(leg) for leg in self.legs if port in leg.tx_ports)

    def offered_fps(self, load_pct: Fraction, frame_size_bytes: FrameSize) -> Fraction:
        """Frames/s of all ports together at a load."""
        rates = (rate_at_pct(load_pct, frame_size_bytes, self.rate_of(leg)) * len(leg.tx_ports) for leg in self.legs)
        return sum(rates, Fraction(0))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All (transmit port, receive port) that frames go between."""
        return tuple(pair for leg in self.legs for pair in leg.pairs)

    @property
    def tx_ports(self) -> tuple[int, ...]:
        """All transmitting ports."""
        return tuple(port for leg in self.legs for port in leg.tx_ports)


def trial_spec(
    mesh: Mesh,
    part: str,
    frame_size_bytes: FrameSize,
    load_pct: Fraction,
    parameters: ParameterSet,
    duration_ns: int | None = None,
) -> TrialSpec:
    """The trial that offers ``load_pct`` percent of line rate on every transmit port."""
    if duration_ns is None:
        duration_ns = duration_ns_of(parameters, frame_size_bytes, mesh.line_rate_bps)
    rates_fps = [rate_at_pct(load_pct, frame_size_bytes, mesh.rate_of(leg)) for leg in mesh.legs]
    burst_frames = parameters.integer("burst_frames")
    streams = tuple(
        Stream(
            name=f"{leg.pattern.kind}{number}",
            # A stream of a mix is made one per size (extensions.mixes) before anything sees it.
            frame_size_bytes=cast(int, frame_size_bytes),
            rate_fps=rate_fps,
            frame_count=_whole_bursts(tx_frames(duration_ns, rate_fps), burst_frames),
            pattern=leg.pattern,
            tx_ports=leg.tx_ports,
            rx_ports=leg.rx_ports,
            frame=frame_of(parameters),
            burst=Burst(burst_frames) if burst_frames > 1 else None,
            addresses_per_port=mesh.addresses_per_port,
            modifiers=mesh.modifiers,
            routed=mesh.routed,
            may_be_filtered=mesh.may_be_filtered,
        )
        for number, (leg, rate_fps) in enumerate(zip(mesh.legs, rates_fps, strict=True), start=1)
    )
    label = f"{part} {frame_size_bytes} B {float(load_pct):.4f} %"
    return trial_of(parameters, label, streams, duration_ns, watch_queues=mesh.watched)


def _whole_bursts(frames: int, burst_frames: int) -> int:
    """At most so many frames, the last burst as long as the others: part of one would have a loss of its own."""
    return max(1, frames - frames % burst_frames if frames > burst_frames else frames)


class Describe(Protocol):
    """Columns that a test adds to the rows of its trials."""

    def asked(self, spec: TrialSpec, *, sweep: bool) -> TrialSpec:
        """The trial that also counts the values of the added columns; ``sweep``: it is one of many loads."""
        ...

    def __call__(self, row: MeshTrial, result: TrialResult) -> MeshTrial:
        """The row with the added columns."""
        ...


def measure_loads(
    mesh: Mesh,
    part: str,
    size: FrameSize,
    loads: Sequence[Fraction],
    parameters: ParameterSet,
    session: Session,
    *,
    judge: Judge = measured,
    describe: Describe | None = None,
    sweep: bool = True,
    remaining: Callable[[int], int] | None = None,
    enough: Callable[[Sequence[Taken]], bool] | None = None,
) -> list[MeshTrial]:
    """Rows of trials at known loads in percent of line rate; ``judge`` gives each its verdict.

    ``remaining`` and ``enough`` are those of :func:`measure_each`.
    """

    def spec_at(load: Fraction, length_ns: int) -> TrialSpec:
        spec = trial_spec(mesh, part, size, load, parameters, length_ns)
        return describe.asked(spec, sweep=sweep) if describe else spec

    duration_ns = duration_ns_of(parameters, size, mesh.line_rate_bps)
    asked = [Asked(load, partial(spec_at, load), duration_ns, judge) for load in loads]
    lengthen = parameters.flag(SUSTAINED)
    taken = measure_each(session, asked, lengthen=lengthen, remaining=remaining, enough=enough)
    rows = [forwarding_row(mesh, one.spec, one.result, one.load_pct, judge(one.result)) for one in taken]
    return [describe(row, one.result) for row, one in zip(rows, taken, strict=True)] if describe else rows


def measure_forwarding(
    mesh: Mesh,
    size: FrameSize,
    parameters: ParameterSet,
    session: Session,
    describe: Describe,
) -> MeshSweep:
    """The forwarding-rate sweep (RFC 2889 5.1.4), one row per load."""
    loads, judge = sweep_of(parameters), judge_of(parameters)
    rows = measure_loads(mesh, FORWARDING, size, loads, parameters, session, judge=judge, describe=describe)
    last = rows[-1]
    sweep = MeshSweep(
        frame_size_bytes=size,
        rows=tuple(rows),
        frmol=LastRate.of(last),
        frmol_offered_pct=last.offered_pct if last.trusted else None,
        flooded_frames=sum(row.flooded_frames for row in rows),
        late_frames=max(row.late_frames for row in rows),
        theoretical_fps=theoretical_fps(mesh, size),
        theoretical_pct=float(mesh.theoretical_pct),
    )
    return sweep.with_best(rows)


def measure_throughput(
    mesh: Mesh, size: FrameSize, parameters: ParameterSet, session: Session, describe: Describe | None = None
) -> MeshThroughput:
    """Search the highest load without loss (RFC 2889 5.1.3) and return its row and the bounds.

    With ``describe``, latency at the result is that of a trial more, whose departures are exact.
    """
    search = search_with(
        parameters,
        duration_ns_of(parameters, size, mesh.line_rate_bps),
        session,
        lambda load, length_ns: trial_spec(mesh, THROUGHPUT, size, load, parameters, length_ns),
        partial(forwarding_row, mesh),
        further=1 if describe else 0,
        theoretical_pct=mesh.theoretical_pct,
    )
    found = mesh_throughput(mesh, size, search)
    load = found.search.result_load_pct
    if describe is None or load is None:
        return found

    (row,) = measure_loads(
        mesh, LATENCY, size, [load], parameters, session, judge=criterion_of(parameters), describe=describe, sweep=False
    )
    return replace(found, of_latency=row)


def mesh_throughput(mesh: Mesh, size: FrameSize, search: Searched[MeshTrial]) -> MeshThroughput:
    """The result of a search with the theoretical maximum of its pattern."""
    return MeshThroughput(
        frame_size_bytes=size,
        search=search,
        theoretical_fps=theoretical_fps(mesh, size),
        theoretical_pct=float(mesh.theoretical_pct),
    )


def theoretical_fps(mesh: Mesh, size: FrameSize) -> float:
    """Frames per second that the outputs of the pattern carry together (RFC 2889 5.1.2)."""
    return float(mesh.forwarding_limit_lines * max_rate_fps(size, mesh.line_rate_bps))


def forwarding_row(mesh: Mesh, spec: TrialSpec, result: TrialResult, load: Fraction, verdict: Verdict) -> MeshTrial:
    """The rates, counts and verdict of one trial."""
    size = spec.streams[0].frame_size_bytes
    limit_fps = mesh.forwarding_limit_lines * max_rate_fps(size, mesh.line_rate_bps)
    rates = rate_metrics(spec, result, [mesh.rate_of(leg) for leg in mesh.legs], limit_fps)
    seconds = transmission_s(spec)
    used = {port for stream in spec.streams for port in (*stream.tx_ports, *stream.rx_ports)}
    return MeshTrial(
        load_pct=float(load),
        offered_pct=float(rates.offered_pct),
        offered_fps=float(rates.offered_fps),
        offered_l1_mbps=float(l1_rate_bps(rates.offered_fps, size) / 1_000_000),
        tx_frames=result.tx_frames,
        rx_frames=result.rx_frames,
        late_frames=rates.late_frames,
        early_frames=rates.early_frames,
        uneven_frames=uneven_frames(result) or None,
        settled=is_settled(result),
        lost_frames=result.lost_frames,
        corrupted_frames=result.corrupted_frames or None,
        doubtful_frames=result.doubtful_frames or None,
        loss_pct=float(rates.loss_pct),
        forwarding_fps=float(rates.forwarding_fps),
        forwarding_error_fps=float(rates.forwarding_error_fps),
        forwarding_pct=float(rates.forwarding_pct),
        forwarding_l1_mbps=float(l1_rate_bps(rates.forwarding_fps, size) / 1_000_000),
        flooded_frames=result.flooded_frames,
        duplicate_frames=result.duplicate_frames,
        reordered_frames=result.reordered_frames,
        start_skew_us=result.start_skew_ns / 1000,
        start_skew_pct=100 * result.start_skew_ns / spec.duration_ns,
        status=result.status,
        reason=result.reason,
        verdict=verdict,
        duration_ms=spec.duration_ns / NS_PER_MS,
        watched=queue_cells(result),
        ports=tuple(
            _port_rates(result, port, rates, seconds)
            for port in result.ports
            if port.port in used or port.flooded_frames
        ),
    )


def _port_rates(result: TrialResult, port: PortCounts, rates: RateMetrics, seconds: Fraction) -> PortRates:
    fps = (port.rx_frames - port.early_frames - (port.late_frames if rates.late_frames else 0)) / seconds
    unsure = cut_frames(result) + hidden_frames(result) + chance_of_port(result, port)
    late = held_by_port(result)
    unsure += unshared_frames(late.get(port.port, 0), sum(late.values()))
    return PortRates(
        port=port.port,
        tx_frames=port.tx_frames,
        rx_frames=port.rx_frames,
        forwarding_fps=float(fps),
        forwarding_error_fps=float(rate_error(result, fps, unsure / seconds / steady_share(result))),
        flooded_frames=port.flooded_frames,
    )
