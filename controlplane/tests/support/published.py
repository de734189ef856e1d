"""Runs units of tests on simulated networks, for the tests against published numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p4mesh.methods.base import Method, TrialNote, Unit
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.preparation import bed_of
from p4mesh.topology import Topology, load_topology
from p4mesh.topology.loader import parse_topology
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
WHITE_RABBIT = json.loads((Path(__file__).parents[1] / "fixtures" / "published_white_rabbit.json").read_text())
SIZES = (64, 128, 256, 512, 1024, 1280, 1518)


class Session:
    """Hands trials to a measurer and keeps them."""

    def __init__(self, measurer: TrialEngine) -> None:
        self._measurer = measurer
        self.trials: list[tuple[TrialSpec, TrialResult]] = []

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Measure nothing ahead."""

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Measure one trial."""
        result = self._measurer.measure(spec)
        assert result.status is Status.VALID, f"{spec.label}: {result.reason}"
        self.trials.append((spec, result))
        return result


def shipped(name: str) -> Topology:
    """Return a topology of the repository."""
    return load_topology(TOPOLOGIES / f"{name}.yaml")


def changed(name: str, *replacements: tuple[str, str]) -> Topology:
    """Return a topology of the repository with parts of its text replaced."""
    text = (TOPOLOGIES / f"{name}.yaml").read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return parse_topology(f"{name} (changed).yaml", text)


def run(
    method: Method, topology: Topology, sizes: tuple[int, ...], *settings: str, target: str = "sim"
) -> tuple[dict[Unit, Any], Outcome, list[tuple[TrialSpec, TrialResult]]]:
    """Run a test as ``p4mesh run`` does, each unit on a network of its own."""
    parameters = resolve(method.name, method.parameters, settings)
    bed = bed_of(topology, target)
    method.check(bed, parameters)
    results: dict[Unit, Any] = {}
    trials: list[tuple[TrialSpec, TrialResult]] = []
    for unit in method.units(parameters, sizes):
        with open_measurer(topology) as measurer:
            session = Session(measurer)
            results[unit] = method.run_unit(unit, bed, parameters, session)
            trials += session.trials
    return results, method.assemble(bed, parameters, results), trials
