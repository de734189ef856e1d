"""Builds the tables of a search: its goal, its bounds and every trial, from the results of units."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.queues import QueueCells
from p4mesh.methods.results.record import table_of
from p4mesh.methods.results.searched import HasSearch, MlrGoalRow, SearchRow

_UPPER = retitled(fields.UPPER_PCT, "Upper bound")

_GOALS = (
    fields.FRAME_SIZE_BYTES,
    fields.SEARCH_METHOD,
    fields.LOWER_PCT,
    _UPPER,
    fields.AT_LEAST,
    fields.TRIALS,
    fields.INITIAL_PCT,
    fields.MINIMUM_PCT,
    fields.MAXIMUM_PCT,
    fields.RESOLUTION_PCT,
    fields.GRID,
    fields.STEP_PCT,
    fields.BACKOFF_PCT,
    fields.TRY_MAX_FIRST,
    fields.ACCEPTABLE_LOSS_PCT,
    fields.THRESHOLD_PCT,
    fields.EXCLUDED_LOSS_PPM,
    fields.UNDELIVERED_PCT,
    fields.VERIFY_TRIALS,
    fields.VERIFY_OVERLOAD_FRAMES,
)
_TRIALS = (
    fields.FRAME_SIZE_BYTES,
    fields.TRIAL,
    fields.LOAD_PCT,
    fields.DURATION_MS,
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    retitled(fields.LATE_FRAMES, "of it late"),
    fields.LOST_FRAMES,
    fields.LOSS_PCT,
    fields.FLOODED_FRAMES,
    retitled(fields.VERDICT, "Verdict"),
    *QueueCells.columns(),
)
_ASKED = ("load_pct", "duration_ms", "verdict")


def search_tables(results: Sequence[HasSearch]) -> tuple[Table, ...]:
    """Goals and bounds of throughput searches, those of MLRsearch where it ran, and all trials."""
    if not results:
        return ()
    goals = tuple(_goal_row(result) for result in results)
    shown = tuple(column for column in _GOALS if any(row[column.key] is not None for row in goals))
    note = (
        "Lower bound: highest load that passed, less the excess that its trial does not exclude; upper bound: lowest "
        "that failed. Empty: no such load was tried."
    )
    mlr = [
        ({"frame_size_bytes": result.frame_size_bytes, "goal": number}, goal)
        for result in results
        for number, goal in enumerate(result.search.mlr_goals, start=1)
    ]
    trials = [
        {"frame_size_bytes": result.frame_size_bytes, "trial": number, **_trial_cells(row)}
        for result in results
        for number, row in enumerate(result.search.rows, start=1)
    ]
    found = [table_of("searches", "Searches: goals and bounds", shown, goals, note, detail=True)]
    if mlr:
        place = (fields.FRAME_SIZE_BYTES, fields.GOAL)
        found.append(
            MlrGoalRow.table(
                "mlr_goals",
                "MLRsearch: goals and their relevant bounds",
                mlr,
                "irregular: not even the lowest load satisfies the goal. The first goal is the result of the search.",
                columns=(*place, *MlrGoalRow.columns()),
                keys=place,
            )
        )
    return (*found, table_of("search_trials", "Searches: all trials", _TRIALS, trials, keys=(), detail=True))


def _trial_cells(row: SearchRow) -> dict[str, Cell]:
    """The cells of a trial; of one that cannot be trusted, the load that was asked for and the verdict."""
    trusted = row.verdict is not None and not row.verdict.ends_search
    return row.cells(column for column in _TRIALS[2:] if trusted or column.key in _ASKED)


def _goal_row(result: HasSearch) -> dict[str, Cell]:
    search = result.search
    return search.goal.cells(_GOALS) | {
        "frame_size_bytes": result.frame_size_bytes,
        "lower_pct": search.lower_pct,
        "upper_pct": search.upper_pct,
        "at_least": "yes" if search.at_least else "no",
        "trials": search.trials,
        "excluded_loss_ppm": search.excluded_loss_ppm,
        "undelivered_pct": search.undelivered_pct,
        "try_max_first": None if search.goal.try_max_first is None else "yes" if search.goal.try_max_first else "no",
    }
