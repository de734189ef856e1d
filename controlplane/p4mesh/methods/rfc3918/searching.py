"""The search for the highest load whose every frame reaches its receivers, and what its tests print alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.criterion import criterion_of
from p4mesh.methods.options import shared
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Cell
from p4mesh.methods.results.search_findings import search_findings
from p4mesh.methods.results.searched import JudgedTrial, Searched
from p4mesh.methods.rfc3918.rows import MulticastTrial, trial_row, untrusted
from p4mesh.methods.rfc3918.setup import Setup
from p4mesh.methods.throughput_search import search_throughput
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

COPIES = (
    fields.TX_FRAMES,
    retitled(fields.RX_FRAMES, "Rx, all ports"),
    retitled(fields.AGGREGATE_FPS, "Aggregated throughput"),
    retitled(fields.LOST_FRAMES, "Lost", "copies"),
    fields.STATE,
    fields.UPPER_PCT,
    fields.TRIALS,
)
"""Columns of a search; every copy counts."""

_Row = TypeVar("_Row", bound=MulticastTrial)
_Shown = TypeVar("_Shown", bound=MulticastTrial, covariant=True)


class _Unit(Protocol[_Shown]):
    @property
    def frame_size_bytes(self) -> int: ...

    @property
    def search(self) -> Searched[_Shown]: ...


def search_of_copies(
    setup: Setup,
    size: int,
    session: Session,
    spec_of: Callable[[Fraction, int], TrialSpec],
    row_of: Callable[[MulticastTrial, TrialSpec, TrialResult], _Row],
    extra: int = 0,
) -> Searched[_Row]:
    """Search the throughput of frames of ``size`` bytes.

    ``spec_of`` gives the trial of a load in percent of line rate and a duration in ns, ``row_of`` its row. ``extra``
    trials follow the search.
    """
    parameters, rate_bps = setup.parameters, setup.line_rate_bps
    criterion = criterion_of(parameters)

    def trial(load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[_Row]:
        spec = spec_of(load, length_ns)
        result = session.measure(spec, TrialNote(load, remaining + extra, criterion))
        verdict = criterion(result)
        row = row_of(trial_row(spec, result, rate_bps, load, verdict), spec, result)
        return JudgedTrial(verdict, result, row, criterion.kept_frames(result))

    return search_throughput(shared.search_of(parameters), shared.duration_ns_of(parameters, size, rate_bps), trial)


def as_counted(row: MulticastTrial, _spec: TrialSpec, _result: TrialResult) -> MulticastTrial:
    """Return the row of a trial whose copies are all counted alike."""
    return row


def searched_cells(search: Searched[MulticastTrial]) -> dict[str, Cell]:
    """Return the result of a search, and the number of its trials."""
    return {
        "state": search.verdict.value,
        "reason": search.reason,
        "upper_pct": search.upper_pct,
        "trials": search.trials,
    }


def findings_of(units: Sequence[_Unit[MulticastTrial]]) -> Iterator[str]:
    """Yield what a reader of the searches must know."""
    yield from search_findings(units)
    for unit in units:
        yield from untrusted(unit.frame_size_bytes, unit.search.rows)
