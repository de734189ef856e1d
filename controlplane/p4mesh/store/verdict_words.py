"""Verdicts in files, and those of runs of format 5, which had other words for what was measured without a goal.

There, a test without a goal was DONE or PASS, a trial that could be trusted VALID, and a reason stood behind the word:
"PASS (at least)", "INVALID: raise burst_limit_s", "not recovered".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from p4mesh.verdict import Verdict

_OLD = {
    "DONE": Verdict.MEASURED,
    "VALID": Verdict.MEASURED,
    "not recovered": Verdict.FAIL,
    "not forwarding again": Verdict.FAIL,
}
_NOTES = {"PASS: executed; no threshold of loss is set.": "MEASURED: no threshold of loss is set."}
_KNOWN = {verdict.value: verdict for verdict in Verdict}
_BEHIND = re.compile(r"(?P<word>\w+)(?: \((?P<note>.*)\)|: (?P<why>.*))")
"""A verdict with a reason behind it, as in "PASS (at least)" and "INVALID: raise burst_limit_s"."""
_KEYS = ("state", "verdict", "status")
_TESTED = "state"


def verdict_of(word: str) -> Verdict:
    """The verdict on a trial; raises ValueError for a word that no version has written."""
    return _OLD[word] if word in _OLD else Verdict(word)


def verdict_on_test(word: str, goal: str) -> Verdict:
    """The verdict on a test, of which PASS without a goal was one; raises ValueError as :func:`verdict_of`."""
    found = verdict_of(word)
    return Verdict.MEASURED if found is Verdict.PASS and not goal else found


def todays_results(results: Mapping[str, Any]) -> dict[str, Any]:
    """Results of a run of format 5 in the words of today; raises ValueError as :func:`verdict_of`."""
    outcome = dict(results["outcome"])
    if outcome["state"] == "DONE":
        # Such a test had a goal in words, and said nothing of it.
        outcome.pop("goal", None)
    goal = outcome.get("goal", "")
    outcome["iterations"] = [verdict_on_test(word, goal).value for word in outcome["iterations"]]
    before, outcome["state"] = outcome["state"], verdict_on_test(outcome["state"], goal).value
    if outcome["summary"].endswith(before):
        outcome["summary"] = outcome["summary"].removesuffix(before) + outcome["state"]
    outcome["tables"] = [_table(table, goal) for table in outcome["tables"]]
    return {**results, "outcome": outcome, "units": _unit(results["units"], goal)}


def _table(table: Mapping[str, Any], goal: str) -> dict[str, Any]:
    note = table["note"]
    for old, new in _NOTES.items():
        note = note.replace(old, new)
    rows = [_row(row, goal) for row in table["rows"]]
    columns = list(table["columns"])
    if any("reason" in row for row in rows) and not any(column["key"] == "reason" for column in columns):
        columns.append({"key": "reason", "title": "Note", "unit": "", "digits": None})
    return {**table, "note": note, "columns": columns, "rows": rows}


def _row(row: Mapping[str, Any], goal: str) -> dict[str, Any]:
    """A row of a table: words that are no verdict stay as they are."""
    found = {key: _word(key, cell, goal) if cell in _KNOWN or cell in _OLD else cell for key, cell in row.items()}
    behind = _BEHIND.fullmatch(str(row.get(_TESTED)))
    if behind and behind["word"] in _KNOWN:
        found |= {_TESTED: _word(_TESTED, behind["word"], goal), "reason": behind["note"] or behind["why"]}
    return found


def _unit(part: Any, goal: str) -> Any:
    if isinstance(part, Mapping):
        return {key: _word(key, value, goal) if key in _KEYS else _unit(value, goal) for key, value in part.items()}
    return [_unit(item, goal) for item in part] if isinstance(part, list) else part


def _word(key: str, value: Any, goal: str) -> Any:
    """The verdict of a key that holds one; a word that was none says why there was nothing to judge."""
    if key not in _KEYS or not isinstance(value, str):
        return value
    word = value if value in _OLD else value.partition(" (")[0].partition(":")[0]
    if word not in _KNOWN and word not in _OLD:
        return Verdict.MEASURED.value
    return (verdict_on_test(word, goal) if key == _TESTED else verdict_of(word)).value
