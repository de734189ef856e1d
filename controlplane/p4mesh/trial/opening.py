"""Opens a measurer of trials on a target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from p4mesh.target.table import TARGETS
from p4mesh.tester.opening import open_tester
from p4mesh.topology import Topology
from p4mesh.trial.engine import TrialEngine


@contextmanager
def open_measurer(topology: Topology, target: str = "sim") -> Iterator[TrialEngine]:
    """Start a target of :data:`TARGETS` on a topology; yields a measurer of trials on it."""
    with open_tester(TARGETS[target], topology) as tester:
        yield TrialEngine(tester)
