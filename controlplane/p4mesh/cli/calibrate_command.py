"""``p4mesh calibrate``: measures the wires of a topology and stores them, beside those measured before."""

from __future__ import annotations

import argparse
import hashlib
import sys
from datetime import datetime, timezone
from fractions import Fraction
from pathlib import Path

from p4mesh import __version__
from p4mesh.errors import EXIT_OK, CalibrationError, ParameterError, TopologyError
from p4mesh.methods.base import RFC_FRAME_SIZES_BYTES
from p4mesh.methods.bed import Bed
from p4mesh.methods.results.outcome import Cell, Column, Table
from p4mesh.methods.wire import LOAD_PCT, Pair, wire_spec, wires_of
from p4mesh.report.text import table_text
from p4mesh.run.execution import opener_of
from p4mesh.run.preparation import SIMULATED, bed_of, parse_frame_sizes
from p4mesh.store.calibration_file import read_calibration, write_calibration
from p4mesh.target.table import TARGETS
from p4mesh.topology import TESTER, Topology, load_topology
from p4mesh.trial.calibration import Calibration, CalibrationRun, Wire

_AT_ONCE = 256
"""Flows that have a histogram of their own in one trial."""

COLUMNS = (
    Column("tx_port", "Tx port"),
    Column("rx_port", "Rx port"),
    Column("frame_size_bytes", "Frame size", "B"),
    Column("median_ns", "Median", "ns", 3),
    Column("median_error_ns", "Error", "+- ns", 3),
    Column("min_ns", "Min", "ns", 3),
    Column("max_ns", "Max", "ns", 3),
    Column("samples", "Samples", "frames"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``p4mesh calibrate``."""
    parser.add_argument("--topology", metavar="FILE", required=True, help="tester ports cabled to each other in pairs")
    parser.add_argument("--sizes", metavar="B,B", help="frame sizes in bytes with FCS; default: those of RFC 2544")
    parser.add_argument("--load-pct", metavar="P", default="1", help="rate of the frames in %% of line rate; default 1")
    parser.add_argument("--target", choices=sorted(TARGETS), default=SIMULATED, help="what runs the P4 program")
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="calibration file; wires are appended to those that are in it"
    )


def calibrate(arguments: argparse.Namespace, opener: str = "") -> int:
    """Measure every wire in both directions, write the file and show what was measured."""
    topology, path = load_topology(arguments.topology), Path(arguments.out)
    sizes = parse_frame_sizes(arguments.sizes, RFC_FRAME_SIZES_BYTES)
    load_pct = _load_pct(arguments.load_pct)
    pairs = _pairs(topology)
    bed = bed_of(topology, arguments.target)
    if path.is_dir() or not path.parent.is_dir():
        raise CalibrationError(
            f"--out {path}: not a file in an existing directory", hint="name a file such as wires.json"
        )
    before = read_calibration(path, "--out") if path.exists() else None
    wires: list[Wire] = []
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    with opener_of(arguments.target, opener)(topology) as measurer:
        for size in sizes:
            for first in range(0, len(pairs), _AT_ONCE):
                result = measurer.measure(wire_spec(pairs[first : first + _AT_ONCE], size, bed, load_pct))
                wires += wires_of(result, size, bed)
            print(f"{size:>5} B  {len(pairs)} directions measured", file=sys.stderr, flush=True)
    run = _run(topology, bed, started)
    found = Calibration((run,), tuple(sorted(wires, key=lambda wire: wire.place)))
    joined = before.joined(found, f"--out {path}") if before else found
    write_calibration(path, joined)
    rows: tuple[dict[str, Cell], ...] = tuple(
        {column.key: getattr(wire, column.key) for column in COLUMNS} for wire in found.wires
    )
    note = f"First bit sent to first bit received, resolution {run.resolution_ns:g} ns."
    if not bed.stamps.first_bit:
        note = f"Between software time stamps, resolution {run.resolution_ns:g} ns."
    print(table_text(Table("wires", f"Wires of {topology.name}", COLUMNS, rows, note)))
    added = len(joined.wires) - (len(before.wires) if before else 0)
    print(f"calibration: {path}: {len(joined.wires)} wires, {added} of them new", flush=True)
    return EXIT_OK


def _load_pct(text: str) -> Fraction:
    try:
        value = LOAD_PCT.parse(text)
    except ParameterError as error:
        raise ParameterError(f"--load-pct {text}: not valid", hint=error.hint) from None
    assert isinstance(value, Fraction)
    return value


def _pairs(topology: Topology) -> tuple[Pair, ...]:
    """Return every direction of every wire; raises TopologyError when a port has a device behind it."""
    pairs = []
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
