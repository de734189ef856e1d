"""The search for the highest load whose every frame reaches its receivers, and what its tests have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypeVar

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.outcome import Figure, Outcome
from p4mesh.methods.results.record import INLINE, Record, table_of
from p4mesh.methods.results.search_findings import excluded_note
from p4mesh.methods.results.searched import FOR_GOOD, FOR_GOOD_NOTE, Searched
from p4mesh.methods.rfc3918.rows import LOST_COPIES, RX_ALL_PORTS, MulticastTrial, flooded, trial_row
from p4mesh.methods.rfc3918.setup import DURATION_S, Setup
from p4mesh.methods.throughput_search import search_with
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_HEADLINE = {
    column.key
    for column in (
        *(fields.STATE, fields.LOAD_PCT, fields.OFFERED_FPS, fields.UPPER_PCT),
        *(fields.FORWARDING_FPS, fields.MULTICAST_FPS, fields.UNICAST_FPS),
    )
}
SEARCHED = (fields.STATE, *FOR_GOOD, fields.UPPER_PCT, fields.TRIALS)
COPIES = (
    fields.TX_FRAMES,
    RX_ALL_PORTS,
    retitled(fields.FORWARDING_FPS, "Aggregated throughput"),
    LOST_COPIES,
    *SEARCHED,
)
"""Columns of a search in which every copy counts."""


@dataclass(frozen=True, kw_only=True)
class CopiesUnit(Record):
    """The throughput of one frame size."""

    frame_size_bytes: int
    search: Searched[MulticastTrial] = field(metadata=INLINE)


class _MaySearch(Protocol):
    @property
    def frame_size_bytes(self) -> int: ...

    @property
    def search(self) -> Searched[MulticastTrial] | None: ...


def searched_sizes(units: Sequence[_MaySearch]) -> list[CopiesUnit]:
    """The searches of those units that have searched."""
    return [
        CopiesUnit(frame_size_bytes=unit.frame_size_bytes, search=unit.search)
        for unit in units
        if unit.search is not None
    ]


_Unit = TypeVar("_Unit", bound=CopiesUnit)


class CopiesThroughput(MethodOf[_Unit]):
    """A test that searches the highest load at which no copy is lost."""

    clause: str
    """Where the RFC gives the duration of trials."""
    table: str
    """Name of the table of the throughput."""
    columns: tuple[Column, ...]
    note: str

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, unknown ports and groups, contradicting bounds."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups"))
        shared.search_of(parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return shared.search_of(parameters).trials_expected

    @abstractmethod
    def about(self, bed: Bed, parameters: ParameterSet) -> str:
        """Senders and receivers in words, for the summary."""

    def offered_size_bytes(self, size: int) -> int:
        """Length of the frames that the source sends."""
        return size

    def figures(self, units: Sequence[_Unit]) -> tuple[Figure, ...]:
        return ()

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, _Unit]) -> Outcome:
        """The table of the throughput; FAIL where no load is without loss."""
        units = list(results.values())
        sizes = [self.offered_size_bytes(unit.frame_size_bytes) for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.slowest_rate_bps, DURATION_S, self.clause)
        rows = [(unit, unit.search.trusted_cells, unit.search.judgement, unit.search.for_good) for unit in units]
        table = table_of(
            self.table,
            self.title,
            self.columns,
            rows,
            f"{self.note} {FOR_GOOD_NOTE} {excluded_note(units)}",
            headline=[column for column in self.columns if column.key in _HEADLINE],
        )
        return self.outcome(
            (unit.search.verdict for unit in units),
            self.about(bed, parameters),
            [table],
            searched=units,
            figures=self.figures(units),
            findings=[text for unit in units for text in flooded(unit.frame_size_bytes, unit.search.rows)],
            deviations=(duration,),
        )


def search_of_copies(
    setup: Setup,
    size: int,
    session: Session,
    spec_of: Callable[[Fraction, int], TrialSpec],
    described: Callable[[MulticastTrial, TrialSpec, TrialResult], MulticastTrial] | None = None,
    extra: int = 0,
) -> Searched[MulticastTrial]:
    """Search the throughput of frames of ``size`` bytes.

    ``spec_of`` gives the trial of a load in percent of line rate and a duration in ns, ``described`` its row with more
    in it. ``extra`` trials follow the search.
    """
    parameters, rate_bps = setup.parameters, setup.line_rate_bps

    def row_of(spec: TrialSpec, result: TrialResult, load: Fraction, verdict: Verdict) -> MulticastTrial:
        row = trial_row(spec, result, rate_bps, load, verdict)
        return described(row, spec, result) if described else row

    duration_ns = shared.duration_ns_of(parameters, size, rate_bps)
    return search_with(parameters, duration_ns, session, spec_of, row_of, further=extra)
