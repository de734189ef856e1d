"""Checks of P4Mesh itself, which every target needs."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from p4mesh.causes import file_hint
from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.engine_module import engine_hint
from p4mesh.quantities import number_text
from p4mesh.tester.contract import load_contract
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import TrialSpec

_OLDEST_PYTHON = (3, 10)
_LEAST_FREE_BYTES = 500_000_000
_OPTIONAL = {
    "pyarrow": ("p4mesh export --format parquet", "pip install 'p4mesh[parquet]'"),
    "hdrhistogram": ("p4mesh export --format hdr", "pip install 'p4mesh[hdr]'"),
    "distributed": ("p4mesh run --workers", "pip install 'p4mesh[dask]'"),
}
_CABLE = """\
name: cable
tester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}
links: [{from: tester:1, to: tester:2, latency_ns: 500}]
"""
_FRAMES = 100
_FRAME_BYTES = 64


def python(_: Asked) -> Iterator[Finding]:
    """Look at the interpreter."""
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        wanted = ".".join(map(str, _OLDEST_PYTHON))
        yield Finding("Python", Health.MISSING, found, f"install Python {wanted} or later")
    else:
        yield Finding("Python", Health.OK, found)


def engine(_: Asked) -> Iterator[Finding]:
    """Load the engine."""
    try:
        from p4mesh import _engine
    except ImportError as error:
        yield Finding("engine", Health.MISSING, f"p4mesh._engine does not load: {error}", engine_hint())
    else:
        yield Finding("engine", Health.OK, str(_engine.__file__))


def program(_: Asked) -> Iterator[Finding]:
    """Read the compiled tester program for v1model, with the hashes of its sources."""
    contract = load_contract()
    yield Finding("tester program", Health.OK, f"{contract['FLOWS']} flows, {contract['HISTOGRAMS']} histograms")


def optional_packages(_: Asked) -> Iterator[Finding]:
    """Look for the packages that some commands need."""
    for package, (command, mend) in _OPTIONAL.items():
        try:
            yield Finding(package, Health.OK, version(package))
        except PackageNotFoundError:
            yield Finding(package, Health.LIMITED, f"not installed; {command} needs it", mend)


def run_directories(_: Asked) -> Iterator[Finding]:
    """Write a file where runs would go, and see how much room there is."""
    here = Path()
    try:
        here = Path.cwd()
        with tempfile.NamedTemporaryFile(dir=here, prefix=".p4mesh-doctor-"):
            pass
    except OSError as error:
        mend = f"{file_hint(error.errno)}, with --out of each run"
        yield Finding("run directories", Health.LIMITED, f"{here}: {error.strerror}", mend)
        return
    free = shutil.disk_usage(here).free
    found = f"{here}: {number_text(free / 1e9, 3)} GB free"
    if free < _LEAST_FREE_BYTES:
        yield Finding("run directories", Health.LIMITED, found, "make room, or name another disk with --out")
    else:
        yield Finding("run directories", Health.OK, found)


def simulated_trial(_: Asked) -> Iterator[Finding]:
    """Send frames over a simulated cable and count them."""
    stream = Stream(
        name="cable",
        frame_size_bytes=_FRAME_BYTES,
        rate_fps=Fraction(1000),
        frame_count=_FRAMES,
        pattern=Pairs(),
        tx_ports=(1,),
        rx_ports=(2,),
    )
    with open_measurer(parse_topology("cable", _CABLE)) as measurer:
        result = measurer.measure(TrialSpec("doctor", (stream,), 100_000_000))
    found = f"{result.rx_frames} of {_FRAMES} frames over a simulated cable, trial {result.status.value}"
    if result.rx_frames == _FRAMES and not result.reason:
        yield Finding("trial", Health.OK, found)
    else:
        yield Finding("trial", Health.MISSING, f"{found} {result.reason}".strip(), "run: make test")
