"""Machine formats: the schema, Parquet with units, JUnit with a case per part, and docs/RESULTS.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import JUnitXml
from pyarrow import parquet

from p4mesh.cli.arguments import parser
from p4mesh.cli.main import main
from p4mesh.methods.results.fields import FRAME_SIZE_BYTES, Column
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.report.export.json_document import SCHEMA_ID, results_schema
from p4mesh.report.export.junit import VERDICT_CASE, junit_xml
from p4mesh.report.export.parquet import write_parquet
from p4mesh.report.publish import outcome_of
from p4mesh.run import RunOptions, run, run_suite
from p4mesh.store.csv_files import PORT_COLUMNS, TRIAL_COLUMNS
from p4mesh.store.stored_run import read_run
from p4mesh.verdict import Verdict

ROOT = Path(__file__).parents[3]
WRS = str(ROOT / "topologies" / "wrs-18x1g.yaml")
DOCUMENT = (ROOT / "docs" / "RESULTS.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "run"
    run(RunOptions("rfc2889.fully_meshed", WRS, "64,512", out=out, jobs=1, opener="support.fakes:open_fake_switch"))
    return out


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "all"
    run_suite(RunOptions("rfc2544", WRS, "64", out=out, jobs=1, opener="support.fakes:open_wire"))
    return out


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def test_documents_of_runs_and_suites_follow_the_published_schema(
    finished: Path, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = jsonschema.Draft202012Validator(results_schema())
    for directory in (finished, suite):
        data = shown(capsys, "show", str(directory), "--json")
        check.validate(data)
        shown(capsys, "export", str(directory), "--format", "json", "--json")
        assert json.loads((directory / "export.json").read_text()) == data
    data = shown(capsys, "show", str(finished), "--json")
    stored = read_run(finished)
    assert data["schema"] == results_schema()["$id"] == SCHEMA_ID
    assert (data["started_utc"], data["target"], data["topology"]["name"]) == (
        *(stored.started_utc, "sim", "wrs-18x1g"),
    )
    assert {"name": "parts", "value": "both", "default": "both", "unit": ""} in data["parameters"]
    assert data["notes"] == stored.config["notes"]
    broken = {**shown(capsys, "show", str(finished), "--json"), "state": "GOOD"}
    assert not check.is_valid(broken)


def test_parquet_holds_every_table_with_units_and_the_numbers_of_the_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = shown(capsys, "export", str(finished), "--format", "parquet", "--out", str(tmp_path), "--json")["files"]
    outcome = outcome_of(read_run(finished))
    assert {Path(name).stem for name in files} == {table.name for table in outcome.tables} | {"trials", "trial_ports"}
    for table in outcome.tables:
        read = parquet.read_table(tmp_path / f"{table.name}.parquet")
        assert read.column_names == [column.key for column in table.columns]
        for column in table.columns:
            assert read.schema.field(column.key).metadata[b"unit"].decode() == column.unit
        for row, stored in zip(read.to_pylist(), table.rows, strict=True):
            for column in table.columns:
                cell = stored.get(column.key)
                assert row[column.key] == cell or str(cell) == row[column.key], column.key
        about = {key.decode(): value.decode() for key, value in read.schema.metadata.items()}
        stored_run = read_run(finished)
        assert (about["run_id"], about["device"], about["target"]) == (stored_run.identifier, "wrs", "sim")
        assert json.loads(about["parameters"])["scaled_frames"] == "30000"
    trials = parquet.read_table(tmp_path / "trials.parquet")
    assert trials.column("tx_frames").to_pylist() == [one.result["tx_frames"] for one in read_run(finished).trials]


def test_runs_of_one_question_have_identifiers_of_their_own(finished: Path) -> None:
    stored = read_run(finished)
    again = replace(stored, timings=tuple(replace(one, started_utc="2030-01-01T00:00:00Z") for one in stored.timings))
    assert stored.identifier == read_run(finished).identifier != again.identifier


def test_junit_has_a_case_per_size_and_sub_test(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = shown(capsys, "export", str(finished), "--format", "junit", "--json")["files"]
    (found,) = JUnitXml.fromfile(path)
    assert {case.name for case in found} == set(read_run(finished).results["units"])
    assert (found.tests, found.failures, found.errors) == (4, 0, 0)
    properties = {one.name: one.value for one in found.properties()}
    table = next(one for one in outcome_of(read_run(finished)).tables if one.name == "mesh_throughput")
    assert float(properties["mesh_throughput.offered_fps[frame_size_bytes=64]"]) == table.rows[0]["offered_fps"]
    assert properties["run_id"] == read_run(finished).identifier


def test_junit_tells_failures_from_trials_that_nobody_can_trust(finished: Path) -> None:
    stored, outcome = read_run(finished), outcome_of(read_run(finished))

    def counted(units: Mapping[str, Any], state: Verdict) -> tuple[int, int, int]:
        results = {**stored.results, "units": units}
        text = junit_xml([(replace(stored, results=results), replace(outcome, state=state))], {})
        (found,) = JUnitXml.fromstring(text.encode())
        return found.tests, found.failures, found.errors

    passed, failed, broken = {"state": "PASS"}, {"rows": [{"verdict": "FAIL"}]}, {"state": "INVALID"}
    assert counted({"a": passed, "b": failed, "c": broken}, Verdict.INVALID) == (3, 1, 1)
    searched = {"state": "PASS", "rows": [{"verdict": "FAIL"}, {"verdict": "PASS"}]}
    assert counted({"a": searched}, Verdict.PASS) == (1, 0, 0)
    assert counted({"a": {"rows": []}}, Verdict.FAIL) == (2, 1, 0), "the verdict of the test is never lost"


def test_junit_adds_up_the_seconds_of_a_part_and_has_the_numbers_that_a_terminal_shows(finished: Path) -> None:
    """Trials of 1.25 s and 2.0014 s; text, truth values, keys and tables of details are no numbers."""
    stored = read_run(finished)
    times = [replace(stored.timings[0], unit="a", elapsed_s=seconds) for seconds in (1.25, 2.0014)]
    run = replace(stored, timings=tuple(times), results={**stored.results, "units": {"a": {"state": "PASS"}, "b": {}}})
    columns = (FRAME_SIZE_BYTES, Column("rate_pct", "R"), Column("ok", "OK"), Column("note", "N"))
    table = Table("t", "T", columns, ({"frame_size_bytes": 64, "rate_pct": 2.5, "ok": True, "note": "n"},))
    own = Outcome(Verdict.FAIL, "x", (replace(table, name="log", detail=True), table), (), findings=("f", "g"))
    (found,) = JUnitXml.fromstring(junit_xml([(run, own)], {}).encode())
    assert {case.name: case.time for case in found} == {"a": 3.251, "b": 0, VERDICT_CASE: 0}
    properties = {one.name: one.value for one in found.properties()}
    assert {name: value for name, value in properties.items() if "." in name and not name.startswith("note.")} == {
        "t.rate_pct[frame_size_bytes=64]": "2.5"
    }
    assert properties["findings"] == "f; g"


def test_types_of_parquet_hold_all_values_of_their_column(finished: Path, tmp_path: Path) -> None:
    columns: dict[str, tuple[list[Any], str]] = {
        "whole": ([1, None, 3], "int64"),
        "parts": ([1, 2.5, None], "double"),
        "truth": ([True, None, False], "bool"),
        "mixed": ([1, "two", True], "string"),
        "none": ([None, None, None], "string"),
    }
    rows = tuple({key: values[at] for key, (values, _) in columns.items()} for at in range(3))
    table = Table("t", "T", tuple(Column(key, key.title(), "B") for key in columns), rows)
    write_parquet(read_run(finished), Outcome(Verdict.PASS, "x", (table,), ()), tmp_path)
    read = parquet.read_table(tmp_path / "t.parquet")
    assert {field.name: str(field.type) for field in read.schema} == {key: kind for key, (_, kind) in columns.items()}
    assert read.column("parts").to_pylist() == [1.0, 2.5, None]
    assert read.column("mixed").to_pylist() == ["1", "two", "True"]
    assert read.schema.field("whole").metadata == {b"title": b"Whole", b"unit": b"B"}


def test_junit_of_a_suite_names_what_was_not_run(suite: Path, tmp_path: Path) -> None:
    assert main(["export", str(suite), "--format", "junit", "--out", str(tmp_path / "all.xml")]) == 0
    found = {one.name: one for one in JUnitXml.fromfile(str(tmp_path / "all.xml"))}
    assert found["rfc2544.throughput"].failures == 0
    assert sum(one.skipped for one in found.values()) >= 1


def test_hostile_text_stays_text_in_xml(finished: Path) -> None:
    stored = read_run(finished)
    hostile = Outcome(Verdict.FAIL, "a < b & \x07 ]]>", (), (), ("\x00 <x>",))
    (found,) = JUnitXml.fromstring(junit_xml([(stored, hostile)], {}).encode())
    (bad,) = [case for case in found if case.result]
    assert bad.result[0].message == "a < b & ? ]]>"


def test_every_command_that_prints_takes_json() -> None:
    whole = parser()
    actions = next(action for action in whole._actions if action.dest == "command")
    without = []
    for name, command in actions.choices.items():  # type: ignore[union-attr]
        nested = next((action for action in command._actions if action.dest == "action"), None)
        leaves = nested.choices.values() if nested else [command]
        without += [name for leaf in leaves if "--json" not in leaf.format_help()]
    assert without == ["switch"], "the switch is a server"


def test_the_document_names_every_file_and_column(finished: Path) -> None:
    outcome = outcome_of(read_run(finished))
    for name in (*TRIAL_COLUMNS, *PORT_COLUMNS):
        assert f"`{name}`" in DOCUMENT, name
    for path in finished.iterdir():
        known = {"export.json", "junit.xml"} | {f"{table.name}.csv" for table in outcome.tables}
        assert path.name in known or f"`{path.name}`" in DOCUMENT, path.name
    for required in results_schema()["$defs"]["run"]["required"]:
        assert f"`{required}`" in DOCUMENT, required


def test_the_commands_of_the_document_exist() -> None:
    for line in re.findall(r"^p4mesh (.+)$", DOCUMENT, re.MULTILINE):
        words = ["DIR" if word.isupper() else word for word in line.split()]
        parser().parse_args(words)
