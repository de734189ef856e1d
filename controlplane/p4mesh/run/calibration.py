"""Measures the wires of a topology, or the MACs of its ports, and stores them beside those measured before."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timezone
from fractions import Fraction
from pathlib import Path

from p4mesh.errors import CalibrationError, ParameterError, TopologyError, UsageError
from p4mesh.methods.base import RFC_FRAME_SIZES_BYTES
from p4mesh.methods.bed import Bed
from p4mesh.methods.chassis.tables import RateAndLatency
from p4mesh.methods.options.parameters import shortened
from p4mesh.methods.wire import (
    DEPARTURES,
    LOAD_PCT,
    Pair,
    departure_spec,
    departures_of,
    rates_and_latency,
    wire_spec,
    wires_of,
)
from p4mesh.run.checks import parse_frame_sizes
from p4mesh.run.chosen_interfaces import chosen_topology
from p4mesh.run.events import Observer, WiresMeasured, unobserved
from p4mesh.run.job import opener_of
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import bed_of
from p4mesh.store.calibration_file import read_calibration, write_calibration
from p4mesh.topology import TESTER, Topology
from p4mesh.traffic.imix import MixedSize
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.calibration import Calibration, CalibrationRun, Wire
from p4mesh.version import __version__

_AT_ONCE = 256
"""Most flows in one trial, each with a histogram of its own."""


@dataclass(frozen=True)
class FinishedCalibration:
    """The wires that were measured, and the file with all that are known."""

    path: Path
    topology: str
    measured: Calibration
    known: Calibration
    """Content of the file: the measured wires and those that were in it."""
    added: int
    """Wires that were not in the file before."""
    rates: tuple[RateAndLatency, ...]
    """Rates, latency and jitter of all wires together, a row per frame size; empty without wires."""
    stamps: StampKind
    """Events that a latency lies between."""
    resolution_ns: float


def calibrate(options: RunOptions, observer: Observer = unobserved) -> FinishedCalibration:
    """Measure every wire in both directions and write the file.

    Ports with devices behind them are measured without wires where their MACs keep when frames leave.

    Raises a P4MeshError: UsageError for options that cannot be used, TargetError for loss or a trial that cannot be
    trusted, CalibrationError where the file cannot be read or written or contradicts the measurement.
    """
    topology = chosen_topology(options)
    if options.out is None:
        raise UsageError("the following arguments are required: --out", hint="name a file such as wires.json")
    path = Path(options.out)
    sizes = []
    for size in parse_frame_sizes(options.sizes, RFC_FRAME_SIZES_BYTES):
        if isinstance(size, MixedSize):
            raise UsageError(
                f"--sizes {size.name}: wires are measured for one size each", hint="name the sizes of the mix"
            )
        sizes.append(size)
    load_pct = _load_pct(options.load_pct)
    bed = bed_of(topology, options.target_name)
    pairs = _pairs(topology, bed)
    if path.is_dir() or not path.parent.is_dir():
        raise CalibrationError(
            f"--out {path}: not a file in an existing directory", hint="name a file such as wires.json"
        )
    before = read_calibration(path, "--out") if path.is_file() else None
    wires: list[Wire] = []
    rates: list[RateAndLatency] = []
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    with opener_of(options.target_name, options.opener)(topology) as measurer:
        for size in sizes:
            if not pairs:
                kept = [measurer.measure(departure_spec(size, bed)) for _ in range(DEPARTURES)]
                wires += departures_of(kept, size, bed)
                observer(WiresMeasured(size, 0, len(bed.ports)))
                continue
            trials = []
            for first in range(0, len(pairs), _AT_ONCE):
                spec = wire_spec(pairs[first : first + _AT_ONCE], size, bed, load_pct)
                trials.append((spec, measurer.measure(spec)))
                wires += wires_of(trials[-1][1], size, bed)
            rates.append(rates_and_latency(trials, size, bed))
            observer(WiresMeasured(size, len(pairs)))
    run = _run(topology, bed, started)
    found = Calibration((run,), tuple(sorted(wires, key=lambda wire: wire.place)))
    joined = before.joined(found, f"--out {path}") if before else found
    write_calibration(path, joined)
    added = len(joined.wires) - (len(before.wires) if before else 0)
    return FinishedCalibration(
        path, topology.name, found, joined, added, tuple(rates), bed.stamps.kind, run.resolution_ns
    )


def _load_pct(text: str) -> Fraction:
    try:
        value = LOAD_PCT.parse(text)
    except ParameterError as error:
        raise ParameterError(f"--load-pct {shortened(text)}: not valid", hint=error.hint) from None
    assert isinstance(value, Fraction)
    return value


def _pairs(topology: Topology, bed: Bed) -> tuple[Pair, ...]:
    """Every direction of every wire; raises TopologyError when a port has a device behind it.

    No pairs: no wire is needed.
    """
    pairs = []
    if bed.keeps_departures and not bed.wires:
        return ()
    for link in topology.links:
        near, far = link.ends
        if near.node != TESTER or far.node != TESTER:
            raise TopologyError(
                f"calibrate needs tester ports cabled to each other, topology '{topology.name}' links {near} to {far}",
                hint="topologies/back-to-back.yaml is an example",
            )
        pairs += [(near.port, far.port), (far.port, near.port)]
    return tuple(sorted(pairs))


def _run(topology: Topology, bed: Bed, started: str) -> CalibrationRun:
    return CalibrationRun(
        topology.name,
        hashlib.sha256(topology.text.encode()).hexdigest(),
        bed.target,
        float(bed.stamps.resolution_ns),
        started,
        __version__,
    )
