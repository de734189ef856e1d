"""Devices of this machine for tests: what they need, and set-ups with them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh.errors import P4MeshError
from p4mesh.methods.results.outcome import Outcome
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.nodes.base import find_program
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.target.simple_switch import PROGRAM
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
TARGETS = (
    "live",
    pytest.param("bmv2", marks=pytest.mark.skipif(find_program(PROGRAM) is None, reason=f"{PROGRAM} is not installed")),
)
"""Targets on interfaces of this machine."""
ATTEMPTS = 6
"""A trial that the tester could not carry out on a busy machine is INVALID, and measured again."""
RATE_BPS = 10_000_000


def shipped_on(topology: str, part: str = "", *changes: tuple[str, str]) -> Topology:
    """A topology of the repository with slow ports and another part for its node; skip where that is missing."""
    path = TOPOLOGIES / f"{topology}.yaml"
    text = path.read_text(encoding="utf-8").replace("rate_bps: 1000000000", f"rate_bps: {RATE_BPS}")
    if part:
        text = text.replace("\n    device: ", f"\n    on_linux: {part}\n    device: ", 1)
    for old, new in changes:
        assert old in text, f"{path} has no '{old}'"
        text = text.replace(old, new)
    return available(parse_topology(str(path), text))


def available(topology: Topology) -> Topology:
    """A topology whose parts this machine has; else skip the test with the reason."""
    try:
        NetnsNetwork.check(topology)
    except P4MeshError as error:
        pytest.skip(error.message)
    return topology


def valid(measure: Callable[[], TrialResult]) -> TrialResult:
    """The first trial that the tester could carry out."""
    reasons = []
    for _ in range(ATTEMPTS):
        result = measure()
        if result.status is Verdict.MEASURED:
            return result
        reasons.append(result.reason)
    raise AssertionError(f"no valid trial: {reasons}")


def write_topology(directory: Path, topology: Topology) -> Path:
    """Write the file of a topology, for commands that load it."""
    path = directory / f"{topology.name}.yaml"
    path.write_text(topology.text, encoding="utf-8")
    return path


def run_live(
    test: str,
    topology: Topology,
    size: int | str,
    directory: Path,
    *settings: str,
    opener: str = "",
    ports: str | None = None,
    target: str = "live",
) -> Outcome:
    """Run a test on interfaces of this machine and return its outcome, the first that the tester could carry out."""
    findings = []
    for attempt in range(ATTEMPTS):
        options = RunOptions(
            test=test,
            topology=topology,
            sizes=str(size),
            settings=settings,
            target=target,
            out=directory / str(attempt),
            opener=opener,
            ports=ports,
        )
        outcome = run(options).outcome
        if outcome.state in (Verdict.PASS, Verdict.MEASURED):
            return outcome
        findings.append((outcome.state, outcome.findings))
    raise AssertionError(f"no run that can be trusted: {findings}")
