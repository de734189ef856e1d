"""From the runs of a traffic file to trials: all classes of a run are one trial."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from msgspec import UNSET

from p4mesh.methods.bed import Bed
from p4mesh.methods.port_names import PortNames
from p4mesh.methods.traffic.classes import LaidClass, indistinguishable, lay
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S
from p4mesh.traffic.rates import line_share
from p4mesh.traffic_file.reader import FileRun
from p4mesh.trial.sampling import Sampling
from p4mesh.trial.spec import Learning, TrialSpec


@dataclass(frozen=True)
class LaidRun:
    """One run of a traffic file, laid over the ports of a bed."""

    label: str
    classes: tuple[LaidClass, ...]
    spec: TrialSpec
    load_pct: Fraction
    """Share of its line that the busiest sender uses, all classes together, as if they sent at the same time."""
    percentiles: bool


def lay_run(run: FileRun, bed: Bed) -> LaidRun:
    """The trial of a run; raises TrafficFileError, with file and line, for what the ports cannot do."""
    names = PortNames(bed.ports, run.error, run.traffic.groups)
    classes = tuple(lay(run, bed, names, name) for name in run.traffic.classes)
    for number, one in enumerate(classes):
        for other in classes[:number]:
            if pair := indistinguishable(other, one):
                raise run.error(
                    ("classes", one.name),
                    f"sends the frames that class {other.name} sends from port {pair[0]} to port {pair[1]}: "
                    "no device can tell the two apart",
                    "give one of them another vlan, priority, header, size or port, or make one class of both",
                )
    phases = run.traffic.phases
    streams = tuple(stream for item in classes for stream in item.streams)
    latest_ns = max(offset for stream in streams for offset in (*stream.start_offset_ns, 0))
    spec = TrialSpec(
        run.label,
        streams,
        max(item.end_ns for item in classes) - latest_ns,
        Learning(
            phases.learning_frames > 0,
            rate_fps=phases.learning_rate_fps,
            frames_per_address=phases.learning_frames,
            wait_ns=_nanoseconds(phases.learning_wait_ms),
            verify=phases.learning_verify,
        ),
        _nanoseconds(phases.settle_ms),
        _nanoseconds(phases.restabilise_ms),
        per_flow=True,
        histograms=HistogramPer.CLASS if run.traffic.percentiles else None,
        interarrival=None if run.traffic.interarrival is UNSET else HistogramPer(run.traffic.interarrival),
        stop_on_los=phases.stop_on_los,
        departure_error_ns=run.traffic.departure_error_ns,
        watch_queues=True,
        watch_losses=True,
        sampling=_sampling(run, max(item.end_ns for item in classes)),
    )
    return LaidRun(run.label, classes, spec, _load_pct(classes, bed), run.traffic.percentiles)


def _sampling(run: FileRun, length_ns: int) -> Sampling | None:
    every_ns = int(Fraction(str(run.traffic.samples.every_s)) * NS_PER_S)
    return Sampling(max(1, every_ns), run.traffic.samples.flows) if every_ns < length_ns else None


def _load_pct(classes: tuple[LaidClass, ...], bed: Bed) -> Fraction:
    shares = dict.fromkeys(bed.port_numbers, Fraction(0))
    for item in classes:
        for stream in item.streams:
            for port in stream.tx_ports:
                shares[port] += line_share(stream.rate_fps, stream.mean_frame_bytes, bed.rate_bps(port))
    return 100 * max(shares.values())


def _nanoseconds(milliseconds: float) -> int:
    return int(Fraction(str(milliseconds)) * NS_PER_MS)
