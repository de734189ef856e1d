"""Builds the tables of a search: its goal, its bounds and every trial, from the results of units."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.queues import QueueCells
from p4mesh.methods.results.record import table_of
from p4mesh.methods.results.searched import FOR_GOOD_NOTE, HasSearch, MlrGoalRow, SearchAttributes, Searched, SearchRow
from p4mesh.traffic.imix import FrameSize

_GOALS = (fields.FRAME_SIZE_BYTES, *Searched.columns()[1:], *SearchAttributes.columns())
_TRIALS = (
    fields.FRAME_SIZE_BYTES,
    fields.TRIAL,
    fields.LOAD_PCT,
    fields.DURATION_MS,
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    retitled(fields.LATE_FRAMES, "of it late"),
    fields.LOST_FRAMES,
    fields.CORRUPTED_FRAMES,
    fields.LOSS_PCT,
    fields.FLOODED_FRAMES,
    fields.VERDICT,
    *QueueCells.columns(),
)
_OPTIONAL = (fields.CORRUPTED_FRAMES,)
_ASKED = ("load_pct", "duration_ms", "verdict")


def search_tables(results: Sequence[HasSearch]) -> tuple[Table, ...]:
    """Goals and bounds of throughput searches, those of MLRsearch where it ran, and all trials."""
    if not results:
        return ()
    goals = [(result.search.goal, result.search, _size_of(result)) for result in results]
    note = (
        "Lower bound: highest load that passed, less the excess that its trial does not exclude; upper bound: lowest "
        "that failed. Empty: no such load was tried."
    )
    mlr = [
        (_size_of(result), {"goal": number}, goal)
        for result in results
        for number, goal in enumerate(result.search.mlr_goals, start=1)
    ]
    trials = [
        {"frame_size_bytes": result.frame_size_bytes, "trial": number, **_trial_cells(row)}
        for result in results
        for number, row in enumerate(result.search.rows, start=1)
    ]
    found = [table_of("searches", "Searches: goals and bounds", _GOALS, goals, note, optional=_GOALS, detail=True)]
    if mlr:
        place = (fields.FRAME_SIZE_BYTES, fields.GOAL)
        found.append(
            MlrGoalRow.table(
                "mlr_goals",
                "MLRsearch: goals and their relevant bounds",
                mlr,
                "irregular: not even the lowest load satisfies the goal. The first goal is the result of the search. "
                f"{FOR_GOOD_NOTE} Both are of the lower bound.",
                columns=(*place, *MlrGoalRow.columns()),
                keys=place,
            )
        )
    return (
        *found,
        table_of("search_trials", "Searches: all trials", _TRIALS, trials, optional=_OPTIONAL, keys=(), detail=True),
    )


def _trial_cells(row: SearchRow) -> dict[str, Cell]:
    """The cells of a trial; of one that cannot be trusted, the load that was asked for and the verdict."""
    return row.cells(column for column in _TRIALS[2:] if not row.verdict.ends_search or column.key in _ASKED)


def _size_of(result: HasSearch) -> dict[str, FrameSize]:
    return {"frame_size_bytes": result.frame_size_bytes}
