"""The one vocabulary of verdicts, and the words that older runs have for them."""

from __future__ import annotations

from itertools import permutations

import pytest

from p4mesh.store.verdict_words import todays_results, verdict_of, verdict_on_test
from p4mesh.verdict import Verdict


@pytest.mark.parametrize(
    ("found", "worst"),
    [
        ((Verdict.PASS, Verdict.FAIL, Verdict.INVALID, Verdict.ABORT), Verdict.ABORT),
        ((Verdict.FAIL, Verdict.INVALID, Verdict.PASS), Verdict.INVALID),
        ((Verdict.PASS, Verdict.MEASURED, Verdict.FAIL), Verdict.FAIL),
        ((Verdict.PASS, Verdict.MEASURED), Verdict.PASS),
        ((Verdict.MEASURED,), Verdict.MEASURED),
        ((), Verdict.MEASURED),
    ],
)
def test_the_worst_verdict_is_that_of_the_whole(found: tuple[Verdict, ...], worst: Verdict) -> None:
    for order in permutations(found):
        assert Verdict.worst(order) is worst


@pytest.mark.parametrize("word", ["FAILED", "fail", "PASS (at least)", "INVALID: why", "", "executed"])
def test_an_unknown_verdict_cannot_be_built(word: str) -> None:
    with pytest.raises(ValueError, match="is not a valid Verdict"):
        Verdict(word)
    with pytest.raises(ValueError, match="is not a valid Verdict"):
        verdict_of(word)


def test_a_word_is_no_verdict() -> None:
    """So that a comparison with text is never true, and the types of the program show it."""
    assert Verdict.PASS != "PASS"


def test_every_verdict_is_read_as_it_is_written() -> None:
    assert [verdict_of(verdict.value) for verdict in Verdict] == list(Verdict)


@pytest.mark.parametrize(
    ("word", "goal", "verdict"),
    [
        ("DONE", "", Verdict.MEASURED),
        ("PASS", "", Verdict.MEASURED),
        ("PASS", "loss of at most 1 %", Verdict.PASS),
        ("FAIL", "", Verdict.FAIL),
        ("INVALID", "", Verdict.INVALID),
    ],
)
def test_older_words_for_a_test_without_a_goal_are_measured(word: str, goal: str, verdict: Verdict) -> None:
    assert verdict_on_test(word, goal) is verdict


def test_reasons_behind_an_older_word_are_apart_from_it() -> None:
    row = {"frame_size_bytes": 64, "state": "PASS (at least)", "method": "frame loss"}
    burst = {"state": "INVALID: raise burst_limit_s", "searches": [{"state": "near the limit: repeated"}]}
    untrusted = {**row, "state": "INVALID: the overload lost no frame"}
    table = {"name": "t", "note": "", "columns": [{"key": "state"}], "rows": [row, untrusted]}
    outcome = {"state": "PASS", "summary": "Test: PASS", "iterations": ["PASS", "DONE"], "tables": [table]}
    units = {"64B/burst": burst, "64B/reset": {"state": "not forwarding again", "each": [{"status": "VALID"}]}}
    found = todays_results({"outcome": outcome, "units": units})
    assert (found["outcome"]["state"], found["outcome"]["iterations"]) == ("MEASURED", ["MEASURED", "MEASURED"])
    assert found["outcome"]["summary"] == "Test: MEASURED"
    (shown,) = found["outcome"]["tables"]
    assert shown["rows"] == [
        {**row, "state": "MEASURED", "reason": "at least"},
        {**row, "state": "INVALID", "reason": "the overload lost no frame"},
    ]
    assert [column["key"] for column in shown["columns"]] == ["state", "reason"]
    assert found["units"]["64B/burst"] == {"state": "INVALID", "searches": [{"state": "MEASURED"}]}
    assert found["units"]["64B/reset"] == {"state": "FAIL", "each": [{"status": "MEASURED"}]}
    assert outcome["state"] == "PASS", "what was read stays as it is"
