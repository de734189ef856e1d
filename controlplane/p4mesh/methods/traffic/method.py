"""Makes a test of a traffic file: one unit per run, one trial per unit, one verdict per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet
from p4mesh.methods.results.latency import Definition, require_definition, shown_definition
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.traffic.results import RunResult, result_of
from p4mesh.methods.traffic.runs import LaidRun, lay_run
from p4mesh.methods.traffic.tables import tables_of
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic_file.reader import TrafficText
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

ACCEPTED = "each class keeps to what its 'accept' allows"
"""Goal of traffic with criteria."""


class Traffic(MethodOf[RunResult]):
    """All runs of one traffic file."""

    name = "traffic"
    section = "traffic file"
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, title: str, runs: Sequence[LaidRun], definition: Definition) -> None:
        self.title = title
        self.runs = tuple(runs)
        self.definition = definition
        sizes = {stream.frame_size_bytes for run in runs for stream in run.spec.streams}
        self.frame_sizes_bytes = tuple(sorted(sizes))

    def goal(self, parameters: ParameterSet) -> str:
        """The criteria of the classes; empty where none has any."""
        accepting = any(item.accept for run in self.runs for item in run.classes)
        return ACCEPTED if accepting else ""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Raise UnsupportedError when the time stamps of the target do not give the definition of latency."""
        require_definition(self.name, bed, self.definition)

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        return tuple(Unit(0, run.label) for run in self.runs)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> RunResult:
        """Send the classes of one run together."""
        run = next(run for run in self.runs if run.label == unit.part)

        def judge(result: TrialResult) -> Verdict:
            return result_of(run, result, bed, self.definition).state

        result = session.measure(run.spec, TrialNote(run.load_pct, 0, judge))
        return result_of(run, result, bed, self.definition)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, RunResult]) -> Outcome:
        """The tables of all runs and the worst of their verdicts."""
        found = list(results.values())
        classes = [item for result in found for item in result.classes]
        counted = ", ".join(
            f"{count} {kind.value}" for kind in Verdict if (count := sum(item.state is kind for item in classes))
        )
        return self.outcome(
            (result.state for result in found),
            f"{len(found)} runs, classes {counted}",
            tables_of(found, bed, shown_definition(bed, self.definition)),
            findings=_findings(found),
        )


def laid_over(text: TrafficText, bed: Bed) -> Traffic:
    """The test of a traffic file on a bed; raises TrafficFileError for requests that its ports cannot meet."""
    runs = tuple(lay_run(run, bed) for run in text.runs)
    traffic = text.traffic
    return Traffic(traffic.description or traffic.name, runs, Definition(traffic.latency_definition))


def _findings(results: Sequence[RunResult]) -> tuple[str, ...]:
    found = []
    for result in results:
        if result.reason:
            found.append(f"{result.run}: {result.status.value}: {result.reason}")
        if result.flooded_frames:
            found.append(f"{result.run}: {result.flooded_frames:,} frames arrived at ports that they were not for")
        found += [f"{result.run}: starts are rounded: {text}" for text in result.rounded_starts]
    return tuple(found)
