"""Builds the tables of a search: its goal, its bounds and every trial, from the results of units."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.results.outcome import Cell, Column, Table
from p4mesh.methods.results.queues import EXCESS_COLUMNS
from p4mesh.methods.results.searched import HasSearch, SearchRow

_SIZE = Column("frame_size_bytes", "Frame size", "B")
_CONDITIONAL = Column("conditional_pct", "Conditional throughput", "% of line", 4)
_LOWER = Column("lower_pct", "Lower bound", "% of line", 4)
_UPPER = Column("upper_pct", "Upper bound", "% of line", 4)

_GOALS = (
    _SIZE,
    Column("search_method", "Search"),
    _LOWER,
    _UPPER,
    Column("at_least", "At least"),
    Column("trials", "Trials"),
    Column("initial_pct", "Initial", "% of line", 4),
    Column("minimum_pct", "Minimum", "% of line", 4),
    Column("maximum_pct", "Maximum", "% of line", 4),
    Column("resolution_pct", "Resolution", "% of line", 4),
    Column("grid", "Loads"),
    Column("step_pct", "Step", "% of line", 4),
    Column("backoff_pct", "Back-off", "% of bracket", 2),
    Column("try_max_first", "Maximum first"),
    Column("acceptable_loss_pct", "Acceptable loss", "%", 4),
    Column("threshold_pct", "Threshold", "% of line", 4),
    Column("excluded_loss_ppm", "Excludes loss above", "ppm", 3),
    Column("undelivered_pct", "Tester delivers no more than", "% of line", 4),
    Column("verify_trials", "r", "trials"),
    Column("verify_overload_frames", "z", "frames"),
)
_MLR_GOALS = (
    _SIZE,
    Column("goal", "Goal"),
    Column("initial_duration_ms", "Shortest trial", "ms", 3),
    Column("final_duration_ms", "Final trial", "ms", 3),
    Column("duration_sum_ms", "Duration sum", "ms", 3),
    Column("goal_loss_pct", "Loss ratio", "%", 4),
    Column("exceed_pct", "Exceed ratio", "%", 2),
    Column("width_pct", "Width", "% of upper", 4),
    _LOWER,
    _UPPER,
    _CONDITIONAL,
    Column("regularity", "Result"),
)
_TRIALS = (
    _SIZE,
    Column("trial", "Trial"),
    Column("load_pct", "Load", "% of line", 4),
    Column("duration_ms", "Duration", "ms", 3),
    Column("tx_frames", "Tx", "frames"),
    Column("rx_frames", "Rx", "frames"),
    Column("late_frames", "of it late", "frames"),
    Column("lost_frames", "Lost", "frames"),
    Column("loss_pct", "Loss", "%", 4),
    Column("flooded_frames", "Flooded", "frames"),
    Column("verdict", "Verdict"),
    *EXCESS_COLUMNS,
)
_ASKED = ("load_pct", "duration_ms", "verdict")


def search_tables(results: Sequence[HasSearch]) -> tuple[Table, ...]:
    """Return goals and bounds of throughput searches, those of MLRsearch where it ran, and all trials."""
    if not results:
        return ()
    goals = tuple(_goal_row(result) for result in results)
    shown = tuple(column for column in _GOALS if any(row[column.key] is not None for row in goals))
    note = "Lower bound: highest load that passed; upper bound: lowest that failed. Empty: no such load was tried."
    mlr = tuple(
        {"frame_size_bytes": result.frame_size_bytes, "goal": number, **goal.data()}
        for result in results
        for number, goal in enumerate(result.search.mlr_goals, start=1)
    )
    trials = tuple(
        {"frame_size_bytes": result.frame_size_bytes, "trial": number, **_trial_cells(row)}
        for result in results
        for number, row in enumerate(result.search.rows, start=1)
    )
    found = [Table("searches", "Searches: goals and bounds", shown, goals, note, detail=True)]
    if mlr:
        found.append(
            Table(
                "mlr_goals",
                "MLRsearch: goals and their relevant bounds",
                _MLR_GOALS,
                mlr,
                "irregular: not even the lowest load satisfies the goal. The first goal is the result of the search.",
                keys=("frame_size_bytes", "goal"),
            )
        )
    log = Table("search_trials", "Searches: all trials", _TRIALS, trials, detail=True, keys=())
    return (*found, log)


def _trial_cells(row: SearchRow) -> dict[str, Cell]:
    """Return the cells of a trial; of one that cannot be trusted, the load that was asked for and the verdict."""
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
