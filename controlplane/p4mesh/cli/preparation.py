"""From what the user wrote to a test that can run: every input is checked before anything is written."""

from __future__ import annotations

import os
from dataclasses import dataclass

from p4mesh.cli.execution import DEFAULT_OPENER, Job
from p4mesh.errors import ParameterError, UsageError
from p4mesh.methods.base import TestMethod
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.parameters import resolve
from p4mesh.topology import TESTER, PortRef, Topology

MIN_FRAME_SIZE_BYTES = 64
MAX_FRAME_SIZE_BYTES = 9216
SIMULATED = "sim"
OPENERS = {SIMULATED: DEFAULT_OPENER, "bmv2": "p4mesh.trial:open_on_bmv2"}
"""What measures on each target."""


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, not yet checked."""

    test: str
    topology: str
    sizes: str | None = None
    settings: tuple[str, ...] = ()
    out: str | None = None
    as_json: bool = False
    workers: int | None = None
    target: str = SIMULATED
    opener: str = ""
    """Instead of the target's own."""


@dataclass(frozen=True)
class Prepared:
    """A test whose input is known to be good."""

    method: TestMethod
    job: Job
    sizes: tuple[int, ...]
    workers: int
    target: str


def prepare(method: TestMethod, topology: Topology, options: RunOptions) -> Prepared:
    """Check everything that can be checked before a run; raises UsageError or EnvironmentFault."""
    parameters = resolve(method.name, method.parameters, options.settings)
    sizes = parse_sizes(options.sizes, method)
    bed = test_bed(topology)
    method.check(bed, parameters)
    job = Job(method.name, topology, bed, parameters, options.opener or OPENERS[options.target])
    return Prepared(method, job, sizes, _workers(options), options.target)


def parse_sizes(text: str | None, method: TestMethod) -> tuple[int, ...]:
    """Return the frame sizes; raise ParameterError for a word, a repeated or an impossible size."""
    if text is None:
        return method.frame_sizes_bytes
    valid = f"frame sizes are integers in {MIN_FRAME_SIZE_BYTES}..{MAX_FRAME_SIZE_BYTES} B with FCS, such as 64,1518"
    sizes: list[int] = []
    for word in text.split(","):
        if not word.strip().isdecimal() or not MIN_FRAME_SIZE_BYTES <= int(word) <= MAX_FRAME_SIZE_BYTES:
            raise ParameterError(f"--sizes {text}: '{word}' is not valid", hint=valid)
        if int(word) in sizes:
            raise ParameterError(f"--sizes {text}: {int(word)} is given twice", hint=valid)
        sizes.append(int(word))
    return tuple(sizes)


def test_bed(topology: Topology) -> TestBed:
    """Return what methods may know of a topology."""
    far_ends = {near: far for link in topology.links for near, far in (link.ends, link.ends[::-1])}
    ports = (
        TestPort(
            port.number,
            port.name,
            port.rate_bps,
            port.ifg_bytes,
            far_ends[PortRef(TESTER, port.number)].node,
            port.options.get("pad_to_minimum", True),
        )
        for port in topology.tester_ports
    )
    rates = {(device.name, port.number): port.rate_bps for device in topology.devices for port in device.ports}
    uplinks = [link.ends[0] for link in topology.links if TESTER not in (link.ends[0].node, link.ends[1].node)]
    return TestBed(topology.name, tuple(ports), sum(rates[end.node, end.port] for end in uplinks))


def _workers(options: RunOptions) -> int:
    wanted = options.workers
    if wanted is not None and wanted < 1:
        raise UsageError(f"--jobs {wanted}: not valid", hint="an integer from 1")
    if options.target == SIMULATED:
        return wanted or os.cpu_count() or 1
    if wanted is not None and wanted > 1:
        raise UsageError(
            f"--jobs {wanted}: not supported on {options.target}, where trials on the wall clock disturb each other",
            hint="leave --jobs out, or use --target sim",
        )
    return 1
