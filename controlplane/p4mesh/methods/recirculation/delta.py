"""Latency that a device adds when it recirculates packets because links have failed, and failures during traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.recirculation.cases import (
    NAME,
    PARAMETERS,
    SECTION,
    case_of,
    cases_of,
    duration_deviation,
    ports_of,
    rate_fps,
    require_failures,
    require_rates,
    trial_of,
    wire_of,
)
from p4mesh.methods.recirculation.results import CaseUnit, Repetition, repetition_of
from p4mesh.methods.recirculation.tables import delta_table, findings_of, repetition_table, switchover_table
from p4mesh.methods.results.outcome import Outcome
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.rates import FCS_BYTES, line_share


class RecirculationDelta(MethodOf[CaseUnit]):
    """Measure latency with and without failures before the traffic, and let failures begin during it."""

    name = NAME
    title = "Latency added by failures"
    section = SECTION
    frame_sizes_bytes = (1518, 818, 118)
    parameters = PARAMETERS

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of trials in which failures begin; empty where there are none."""
        return "traffic goes on after failures" if parameters.flag("during") else ""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse ports that do not exist, rates above the line rate, and failures that no device can have."""
        ports_of(bed, parameters)
        require_failures(bed, parameters)
        require_rates(bed, parameters)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The measured ports."""
        return (ports_of(bed, parameters),)

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """A unit per case: its network is started anew, with no failure."""
        return tuple(Unit(size, case.part) for size in sizes for case in cases_of(parameters))

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1 if case_of(unit, parameters).during else parameters.integer("repetitions")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> CaseUnit:
        """Measure the repetitions of one case."""
        case, size = case_of(unit, parameters), unit.frame_size_bytes
        ports = ports_of(bed, parameters) if case.failures >= 0 else wire_of(bed, parameters)
        fps = rate_fps(bed, parameters, case.rate, size)
        each: tuple[Repetition, ...] = ()
        if ports is not None:
            spec = trial_of(case, size, bed, parameters, ports)
            load_pct = 100 * line_share(fps, size, bed.rate_bps(ports[0]))
            trials = self.trials_expected(unit, parameters)
            each = tuple(
                repetition_of(spec, session.measure(spec, TrialNote(load_pct, trials - number)))
                for number in range(1, trials + 1)
            )
        return CaseUnit(
            frame_size_bytes=size,
            packet_size_bytes=size - FCS_BYTES,
            rate=case.rate,
            failures=case.failures,
            during=case.during,
            offered_fps=float(fps),
            each=each,
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, CaseUnit]) -> Outcome:
        """Latencies with and without failures, what failures during traffic cost, and each trial."""
        units = tuple(results.values())
        tables = [delta_table(units, bed)]
        if any(unit.during for unit in units):
            tables.append(switchover_table(units))
        return self.outcome(
            (repetition.verdict for unit in units for repetition in unit.each),
            f"{parameters.text('failures')} failures",
            (*tables, repetition_table(units, bed)),
            findings=findings_of(units, bed, parameters),
            deviations=(duration_deviation(parameters, [unit.offered_fps for unit in units]),),
        )
