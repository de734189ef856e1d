"""The path of searches: the loads that they tried one after the other, and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from p4mesh.report.document import Chart
from p4mesh.report.line_charts import SCHEMA
from p4mesh.report.palette import BAD, GOOD, UNKNOWN
from p4mesh.report.panels import MOST_PANELS, evenly, note_on
from p4mesh.store.run_files import StoredTrial
from p4mesh.verdict import Verdict

_UNTRUSTED = "not trusted"
_WORDS = (Verdict.PASS.value, Verdict.FAIL.value, _UNTRUSTED)
_SEARCH_KEYS = {"lower_pct", "upper_pct", "goal"}
"""Keys that every stored search over loads has."""


def search_chart(units: Mapping[str, Any], trials: Sequence[StoredTrial]) -> Chart | None:
    """Path of each unit that has searched for more than one trial; None where none has."""
    steps = Counter(trial.unit for trial in trials if _of_search(trial))
    found = [name for name, result in units.items() if _has_search(result) and steps[name] > 1]
    searched = evenly(found, MOST_PANELS)
    shown = [trial for name in searched for trial in trials if trial.unit == name and _of_search(trial)]
    if not shown:
        return None
    values = [
        {"part": trial.unit, "trial": trial.index, "load": trial.load_pct, "verdict": _word(trial)} for trial in shown
    ]
    place = {
        "field": "trial",
        "type": "ordinal",
        "title": "trial",
        "axis": {"labelAngle": 0, "labelOverlap": True, "grid": True},
    }
    load = {"field": "load", "type": "quantitative", "title": "load (% of line)"}
    scale = {"domain": list(_WORDS)}
    bottom = {"title": None, "orient": "bottom"}
    spec = {
        "$schema": SCHEMA,
        "description": "Loads that the searches tried, one after the other",
        "data": {"values": values},
        "facet": {"field": "part", "type": "nominal", "title": None, "sort": searched},
        "columns": 2,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {
            "width": 300,
            "height": 150,
            "encoding": {"x": place, "y": load},
            "layer": [
                {"mark": {"type": "line", "color": "#8a8f98", "strokeWidth": 1}},
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": {
                        "color": {
                            "field": "verdict",
                            "type": "nominal",
                            "scale": {**scale, "range": [GOOD, BAD, UNKNOWN]},
                            "legend": bottom,
                        },
                        "shape": {
                            "field": "verdict",
                            "type": "nominal",
                            "scale": {**scale, "range": ["circle", "cross", "triangle-up"]},
                            "legend": bottom,
                        },
                        "tooltip": [
                            {"field": "part"},
                            {"field": "trial"},
                            {"field": "load", "type": "quantitative", "title": "load (% of line)", "format": ",.6~r"},
                            {"field": "verdict"},
                        ],
                    },
                },
            ],
        },
    }
    note = f"{note_on(len(searched), len(found), 'searches')} The numbers are in the trial log and in trials.csv."
    return Chart("searches", "Loads tried, one after the other", spec, note=note.strip())


def _has_search(result: Any) -> bool:
    """Whether a stored result is a search over loads, or has one in it."""
    if not isinstance(result, Mapping):
        return False
    return set(result) >= _SEARCH_KEYS or any(
        isinstance(inner, Mapping) and set(inner) >= _SEARCH_KEYS for inner in result.values()
    )


def _of_search(trial: StoredTrial) -> bool:
    """False for a trial that follows a search, such as one of latency at the throughput."""
    return trial.verdict is not Verdict.MEASURED


def _word(trial: StoredTrial) -> str:
    return trial.verdict.value if trial.verdict.decides else _UNTRUSTED
