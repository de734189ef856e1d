"""Runs tests and trials as ``p4mesh run`` does: on fakes, on simulated networks, or into a run directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.networks import parsed

from p4mesh.methods.base import Method, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.preparation import bed_of
from p4mesh.target.sim import SimTarget
from p4mesh.topology import Topology
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

WALL_CLOCK = ("timing.jsonl", "report.html")
"""Files of a run that hold facts of the wall clock."""


def run_units(
    test: Method, bed: Bed, session: Session, sizes: Iterable[int], *settings: str, real_time: bool = False
) -> tuple[dict[Unit, Any], Outcome]:
    """Run all units of a test on one measurer; return the result of each, and the outcome."""
    parameters = resolve(test.name, test.parameters, settings, real_time=real_time)
    test.check(bed, parameters)
    results = {unit: test.run_unit(unit, bed, parameters, session) for unit in test.units(parameters, tuple(sizes))}
    return results, test.assemble(bed, parameters, results)


def run_unit(test: Method, bed: Bed, session: Session, size: int, *settings: str) -> tuple[Any, Outcome]:
    """Run a test that has one unit at this frame size."""
    results, outcome = run_units(test, bed, session, (size,), *settings)
    (result,) = results.values()
    return result, outcome


def run_on_sim(
    test: Method, topology: Topology, sizes: Sequence[int], *settings: str, target: str = "sim"
) -> tuple[dict[Unit, Any], Outcome, list[tuple[TrialSpec, TrialResult]]]:
    """Run a test with each unit on a simulated network of its own; every trial must be VALID."""
    parameters = test.derived(resolve(test.name, test.parameters, settings))
    bed = bed_of(topology, target)
    test.check(bed, parameters)
    results: dict[Unit, Any] = {}
    trials: list[tuple[TrialSpec, TrialResult]] = []
    for unit in test.units(parameters, tuple(sizes)):
        with open_measurer(topology) as measurer:
            session = OneDevice(measurer)
            results[unit] = test.run_unit(unit, bed, parameters, session)
            trials += session.trials
    return results, test.assemble(bed, parameters, results), trials


def measure(topology: Topology | str, *specs: TrialSpec) -> list[TrialResult]:
    """Measure trials one after the other on one simulated network."""
    with open_measurer(parsed(topology) if isinstance(topology, str) else topology) as measurer:
        return [measurer.measure(spec) for spec in specs]


def truth(measurer: TrialEngine) -> dict[str, Any]:
    """The true counts of all nodes of the simulated network that a measurer is on."""
    target = measurer.tester.target
    assert isinstance(target, SimTarget)
    counted: dict[str, Any] = target._network.truth()
    return counted


def files(directory: Path) -> dict[str, bytes]:
    """The files of a run directory that do not depend on the wall clock."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in WALL_CLOCK}


class OneDevice:
    """A session whose trials meet the device of one measurer, one after the other; every trial must be VALID."""

    def __init__(self, measurer: TrialEngine) -> None:
        self._measurer = measurer
        self.trials: list[tuple[TrialSpec, TrialResult]] = []

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Measure nothing ahead."""

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Measure one trial."""
        result = self._measurer.measure(spec)
        assert result.status is Verdict.MEASURED, f"{spec.label}: {result.reason}"
        self.trials.append((spec, result))
        return result
