"""Verdicts as JUnit XML for continuous integration: a suite per test, a case per frame size and sub-test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from p4mesh.methods.results.outcome import Outcome, is_number
from p4mesh.store.stored_run import StoredRun
from p4mesh.verdict import Verdict

VERDICT_CASE = "verdict of the whole test"
_VERDICT_KEYS = ("state", "verdict", "status")


def junit_xml(runs: Sequence[tuple[StoredRun, Outcome]], not_run: Mapping[str, str]) -> str:
    """Text of the XML; ``not_run`` are tests of a suite that were not run, with the reason."""
    document = JUnitXml("p4mesh")
    for run, outcome in runs:
        document.add_testsuite(_suite(run, outcome))
    for test, reason in not_run.items():
        suite = TestSuite(_clean(test))
        case = TestCase(VERDICT_CASE, classname=_clean(test))
        case.result = [_skipped(reason)]
        suite.add_testcase(case)
        document.add_testsuite(suite)
    document.update_statistics()
    text: bytes = document.tostring()
    return text.decode() + "\n"


def _suite(run: StoredRun, outcome: Outcome) -> TestSuite:
    test = run.label
    suite = TestSuite(test)
    facts = {key: str(run.config[key]) for key in ("target", "version")}
    facts |= {"topology": run.config["topology"]["name"], "run_id": run.identifier, "started_utc": run.started_utc}
    facts |= {f"note.{name}": text for name, text in run.config.get("notes", {}).items()}
    for name, value in (facts | _numbers(outcome)).items():
        suite.add_property(_clean(name), _clean(value))
    seconds: dict[str, float] = {}
    for timing in run.timings:
        seconds[timing.unit] = seconds.get(timing.unit, 0.0) + timing.elapsed_s
    verdicts = {unit: Verdict.worst(_verdicts(result)) for unit, result in run.results["units"].items()}
    for unit, verdict in verdicts.items():
        suite.add_testcase(_case(test, unit, verdict, f"{verdict.value}: {unit}", seconds.get(unit, 0.0)))
    # A verdict that no part has, such as that on a goal of the whole test.
    if outcome.state not in verdicts.values() and not outcome.state.good:
        suite.add_testcase(_case(test, VERDICT_CASE, outcome.state, outcome.summary, 0.0))
    if outcome.findings:
        suite.add_property("findings", _clean("; ".join(outcome.findings)))
    suite.update_statistics()
    return suite


def _numbers(outcome: Outcome) -> dict[str, str]:
    """The numbers of the tables that a terminal shows, as ``table.column[key=value]``."""
    found = {}
    for table in outcome.tables:
        if table.detail:
            continue
        for row in table.rows:
            where = ",".join(f"{key}={row[key]}" for key in table.keys if row.get(key) is not None)
            for column in table.columns:
                value = row.get(column.key)
                if column.key not in table.keys and is_number(value):
                    found[f"{table.name}.{column.key}[{where}]"] = repr(value)
    return found


def _case(test: str, name: str, verdict: Verdict, message: str, seconds: float) -> TestCase:
    case = TestCase(_clean(name), classname=test, time=round(seconds, 3))
    if verdict is Verdict.FAIL:
        case.result = [Failure(_clean(message), verdict.value)]
    elif not verdict.trusted:
        case.result = [Error(_clean(message), verdict.value)]
    return case


def _skipped(reason: str) -> Any:
    from junitparser import Skipped

    return Skipped(_clean(reason))


def _verdicts(result: Any) -> Iterator[Verdict]:
    """Yield the verdicts of a part: its own, else those of its rows; a search has rows that failed on its way."""
    if not isinstance(result, Mapping):
        return
    own = [Verdict(result[key]) for key in _VERDICT_KEYS if result.get(key) is not None]
    yield from own
    if own:
        return
    for value in result.values():
        for row in value if isinstance(value, list) else (value,):
            yield from _verdicts(row)


def _clean(text: str) -> str:
    """Text that XML can hold: control characters become question marks."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
