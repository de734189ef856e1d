"""``p4mesh report``: the cover has verdict and numbers, paper loses no column, and names cannot break a page."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from p4mesh.cli.main import main
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.iterations import ITERATION
from p4mesh.methods.results.outcome import Cell, Figure, Outcome, Series, Table
from p4mesh.report.document import Badge, Bullets, Chart, Document, Facts, Grid, GridRow, Head, Link, Paragraph, Tone
from p4mesh.report.export.json_document import run_data
from p4mesh.report.grids import MOST_ROWS, grid_of
from p4mesh.report.headline import headline_grids, is_whole_on_cover, key_numbers
from p4mesh.report.html import page
from p4mesh.report.line_charts import line_chart
from p4mesh.report.pacing import pacing_table
from p4mesh.report.paper import parts_of
from p4mesh.report.pdf import pdf, vega_for_paper
from p4mesh.report.publish import document_of
from p4mesh.report.run_document import run_document
from p4mesh.report.search_paths import search_chart
from p4mesh.report.shown_latency import ShownLatency, moved
from p4mesh.report.suite_document import SuiteTest, suite_document
from p4mesh.report.text import outcome_text
from p4mesh.report.trial_log import is_in_log, log_chapter, untrusted_chapter
from p4mesh.report.vega_script import vega_script
from p4mesh.report.verdict import badge, statement_of
from p4mesh.run import RunOptions, run, run_suite
from p4mesh.store.run_files import StoredTrial, Timing
from p4mesh.store.stored_run import StoredRun, read_run
from p4mesh.traffic.stamps import StampKind
from p4mesh.verdict import Verdict

WRS = str(Path(__file__).parents[3] / "topologies" / "wrs-18x1g.yaml")
HOSTILE = '</script><img src=x onerror="alert(1)">&{{7*7}} #strong[x] $'
SIZE = Column("frame_size_bytes", "Frame size", "B")
RATE = Column("rate_pct", "Rate", "% of line", 2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run with searches and sweeps."""
    out = tmp_path_factory.mktemp("report") / "run"
    options = RunOptions(
        "rfc2889.fully_meshed",
        WRS,
        "64,512",
        out=out,
        jobs=1,
        opener="support.fakes:open_fake_switch",
        notes=("operator=Ada",),
    )
    run(options)
    return out


def outcome(state: Verdict, goal: str = "", **more: Any) -> Outcome:
    table = Table("rates", "Rates", (SIZE, RATE), ({"frame_size_bytes": 64, "rate_pct": 17.5},), headline=("rate_pct",))
    return Outcome(state, "x", (table,), (), goal=goal, **more)


def text_of(document: Document, annex: bool = False) -> list[str]:
    """The text of every page; without figures, whose letters take long to read."""
    chapters = tuple(
        replace(chapter, blocks=tuple(block for block in chapter.blocks if not isinstance(block, Chart)))
        for chapter in document.chapters
    )
    document = replace(document, chapters=chapters)
    return [sheet.extract_text() for sheet in PdfReader(io.BytesIO(pdf(document, annex))).pages]


@pytest.mark.parametrize(
    ("verdict", "goal", "shown", "said"),
    [
        (Verdict.MEASURED, "", Badge("measured", Tone.NEUTRAL), "no goal was set"),
        (Verdict.MEASURED, "90 %", Badge("measured", Tone.NEUTRAL), "do not tell whether the goal is met: 90 %."),
        (Verdict.PASS, "90 %", Badge("met the goal", Tone.GOOD), "the goal was met: 90 %."),
        (Verdict.FAIL, "90 %", Badge("missed the goal", Tone.BAD), "the goal was missed: 90 %."),
        (Verdict.FAIL, "", Badge("no result", Tone.BAD), "nothing passed, or what passed failed as well"),
        (Verdict.INVALID, "90 %", Badge("not trusted", Tone.BAD), "could not be trusted"),
        (Verdict.ABORT, "90 %", Badge("aborted", Tone.BAD), "a link was down"),
    ],
)
def test_measured_and_met_its_goal_are_different_words(verdict: Verdict, goal: str, shown: Badge, said: str) -> None:
    assert badge(verdict, goal) == shown
    assert statement_of(outcome(verdict, goal)).startswith(f"{verdict.value}: ")
    assert said in statement_of(outcome(verdict, goal))


def test_a_threshold_of_the_users_is_a_goal_and_the_cover_says_so(tmp_path: Path) -> None:
    options = RunOptions(
        "rfc2889.fully_meshed",
        WRS,
        "64",
        ("pass_threshold_pct=10", "parts=throughput"),
        tmp_path / "low",
        jobs=1,
        opener="support.fakes:open_fake_switch",
    )
    assert run(options).outcome.goal == "throughput of at least 10 % of line rate"
    assert ">met the goal<" in page(document_of(tmp_path / "low"))


def test_a_table_that_is_too_long_for_a_page_says_where_all_its_rows_are() -> None:
    rows: tuple[dict[str, Cell], ...] = tuple({"frame_size_bytes": size} for size in range(MOST_ROWS + 1))
    whole, cut = (Table("sizes", "Sizes", (SIZE,), some, "In bytes.", detail=True) for some in (rows[1:], rows))
    assert (len(grid_of(whole).rows), grid_of(whole).note) == (MOST_ROWS, "In bytes.")
    assert (len(grid_of(cut).rows), grid_of(cut).note) == (
        MOST_ROWS,
        "The first 10,000 of 10,001 rows; sizes.csv has all. In bytes.",
    )
    assert "Sizes" not in outcome_text(Outcome(Verdict.MEASURED, "", (cut,), ()))


def test_the_cover_has_the_numbers_with_the_duration_under_which_they_hold(finished: Path) -> None:
    document = document_of(finished)
    grid = next(block for block in document.cover if isinstance(block, Grid))
    assert [head.title for head in grid.heads][-1] == "Trials of"
    assert [row.cells[0] for row in grid.rows] == ["64", "512"]
    durations = {
        trial.spec["duration_ns"] / 1e6 for trial in read_run(finished).trials if trial.unit.startswith("64B/")
    }
    low, high = min(durations), max(durations)
    assert grid.rows[0].cells[-1] == (f"{low:.4g} ms" if low == high else f"{low:.4g} to {high:.4g} ms")
    assert ("Operator", "Ada") in document.facts.pairs


def test_numbers_of_the_cover_have_their_errors(finished: Path) -> None:
    """50 %, 1,000 frames/s, passed and 50.5 % failed: a hundredth more, or less by the 1,000 ppm that may be lost."""
    size: dict[str, Cell] = {"frame_size_bytes": 64}
    searches = Table("searches", "S", (SIZE, fields.EXCLUDED_LOSS_PPM), ({**size, "excluded_loss_ppm": 1000.0},))
    columns = (SIZE, fields.LOAD_PCT, fields.OFFERED_FPS, fields.UPPER_PCT, fields.LOSS_PCT, fields.AVG_US)
    row: dict[str, Cell] = {**size, "load_pct": 50.0, "offered_fps": 1000.0, "upper_pct": 50.5, "loss_pct": 0.25}
    headline = tuple(column.key for column in columns[1:])
    table = Table("t", "T", columns, (row,), keys=("frame_size_bytes",), headline=headline)
    run = replace(read_run(finished), trials=())
    (grid,) = headline_grids(Outcome(Verdict.MEASURED, "x", (table, searches), ()), run)
    assert grid.rows[0].cells[:-1] == ("64", "50.00 +0.50 -0.05", "1,000 +10 -1", "50.5000", "0.2500 +-?")


def test_errors_of_the_cover_are_those_of_counts_and_shares_with_what_a_bucket_changes(finished: Path) -> None:
    """None of 300 frames excludes a loss above 1 %; 5 lost ones lie between 0.71 and 3.84 % (Wilson)."""
    columns = (
        SIZE,
        fields.THROUGHPUT_PCT,
        fields.MFR_FPS,
        fields.MFR_ERROR_FPS,
        fields.LOSS_PCT,
        fields.LOST_FRAMES_AVG,
        fields.STAGGER_US,
    )
    hidden = (fields.BUCKET_PCT, fields.MFR_BUCKET_FPS, fields.BUCKET_LOSS_PCT, fields.TX_FRAMES, fields.UPPER_PCT)
    row: dict[str, Cell] = {
        "frame_size_bytes": 64,
        "throughput_pct": 50.0,
        "bucket_pct": 30.0,
        "mfr_fps": 1000.0,
        "mfr_error_fps": 8.0,
        "mfr_bucket_fps": 400.0,
        "loss_pct": 0.0,
        "bucket_loss_pct": 7.5,
        "tx_frames": 300,
        "lost_frames_avg": 2.5,
        "stagger_us": 4.0,
    }
    rows = (row, {**row, "loss_pct": 100 * 5 / 300, "bucket_loss_pct": None})
    shown = tuple(column.key for column in columns if column is not fields.MFR_ERROR_FPS)
    table = Table("t", "T", (*columns, *hidden), rows, keys=("frame_size_bytes",), headline=shown)
    searches = Table("searches", "S", (SIZE, fields.RESOLUTION_PCT), ({"frame_size_bytes": 64, "resolution_pct": 0.5},))
    run = replace(read_run(finished), trials=())
    (grid,) = headline_grids(Outcome(Verdict.MEASURED, "x", (table, searches), ()), run)
    throughput, mfr, none_lost, count, setting = grid.rows[0].cells[1:6]
    assert (throughput, mfr) == ("50.0000 +0.5 (bucket -20)", "1,000 +-8 (bucket -600)")
    assert none_lost == "0.0000 +1 (bucket +7.5)" and grid.rows[1].cells[3] == "1.7 +2.2 -1.0"
    assert (count, setting) == ("2.5", "4.000") and "1,000 frames" in grid.note


@pytest.mark.parametrize(
    ("resolution_us", "reason", "shown"),
    [
        (2.0, "", ("0.0 +-2.0", "80.000 +-?")),
        (None, "", ("0.000 +-?", "80.000 +-?")),
        (2.0, "at least", ("0.0 +-2.0", "80.000")),
    ],
)
def test_the_cover_has_no_error_where_a_row_says_that_none_is_known_or_needed(
    finished: Path, resolution_us: float | None, reason: str, shown: tuple[str, str]
) -> None:
    """Time stamps say nothing of a recovery without a resolution; a search that tried no higher rate found a bound."""
    columns = (SIZE, fields.RECOVERY_US_AVG, fields.RESOLUTION_US, fields.RATE_PCT_MIN, fields.REASON)
    row = {"frame_size_bytes": 64, "recovery_us_avg": 0.0, "resolution_us": resolution_us, "rate_pct_min": 80.0}
    headline = (fields.RECOVERY_US_AVG.key, fields.RATE_PCT_MIN.key)
    table = Table("t", "T", columns, ({**row, "reason": reason},), keys=("frame_size_bytes",), headline=headline)
    (grid,) = headline_grids(Outcome(Verdict.MEASURED, "x", (table,), ()), replace(read_run(finished), trials=()))
    assert grid.rows[0].cells[1:3] == shown


def test_the_cover_has_sixteen_rows_of_a_table_and_says_how_many_are_left(finished: Path) -> None:
    """Each row names the duration of its own trials; with sixteen rows the cover has the whole table."""
    run = replace(read_run(finished), trials=())
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"frame_size_bytes": size, "rate_pct": 17.5, "duration_ms": 2.5} for size in range(64, 82)
    )
    table = Table("t", "T", (SIZE, RATE), rows, keys=("frame_size_bytes",), headline=("rate_pct",))
    for count, note in ((18, "2 more rows below."), (17, "1 more row below."), (16, "")):
        cut = replace(table, rows=rows[:count])
        (grid,) = headline_grids(Outcome(Verdict.MEASURED, "x", (cut,), ()), run)
        assert [row.cells for row in grid.rows] == [(str(size), "17.50", "2.5 ms") for size in range(64, 80)]
        assert (grid.note, is_whole_on_cover(cut)) == (note, not note)


def test_a_table_that_no_report_knows_is_shown_on_the_cover_and_below(finished: Path) -> None:
    columns = (SIZE, Column("wobble_us", "Wobble", "us", 3), Column("mood", "Mood"))
    table = Table("new", "Brand new", columns, ({"frame_size_bytes": 64, "wobble_us": 1.5, "mood": "calm"},))
    new = Outcome(Verdict.MEASURED, "x", (table,), ())
    stored = read_run(finished)
    shown = page(run_document(stored, new))
    assert [grid.title for grid in headline_grids(new, stored)] == ["Brand new"]
    assert key_numbers(new, stored) == "Brand new: Wobble 1.500 +-0.001 us"
    assert shown.count("1.500") >= 2


def test_the_page_needs_nothing_from_outside_and_says_every_number_in_tables(finished: Path) -> None:
    document = document_of(finished)
    charts = [block for chapter in document.chapters for block in chapter.blocks if isinstance(block, Chart)]
    assert {chart.name for chart in charts} >= {"rate", "received", "loss", "latency_mean", "searches"}
    for chart in charts:
        assert chart.numbers or "csv" in chart.note or "tables below" in chart.note, chart.name
        assert "url" not in json.dumps(chart.spec["data"])


def test_a_test_that_draws_its_latency_has_no_second_figure_of_it(finished: Path) -> None:
    own = Figure("delay", "Delay", "load (%)", "LILO latency (us)", (Series("64 B", ((10.0, 2.0), (90.0, 3.0))),))
    drawn = []
    for figures in ((), (own,)):
        found = replace(outcome(Verdict.MEASURED), figures=figures)
        chapters = run_document(read_run(finished), found).chapters
        drawn.append({block.name for chapter in chapters for block in chapter.blocks if isinstance(block, Chart)})
    assert drawn[0] - drawn[1] == {"latency_mean", "latency_max"} and drawn[1] - drawn[0] == {"delay"}


def test_iterations_that_measured_the_same_are_one_row(finished: Path) -> None:
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"frame_size_bytes": 64, "iteration": word, "rate_pct": 17.5} for word in ("1", "2", "avg", "max")
    )
    table = Table(
        "r", "R", (SIZE, ITERATION, RATE), rows, keys=("frame_size_bytes", "iteration"), headline=("rate_pct",)
    )
    assert [row.cells for row in grid_of(table).rows] == [("64", "each of 2", "17.50")]
    differing = replace(table, rows=(*rows[:1], {**rows[1], "rate_pct": 17.6}, *rows[2:]))
    assert len(grid_of(differing).rows) == 4
    assert [row.muted for row in grid_of(differing).rows] == [False, False, True, True]
    assert len(grid_of(replace(table, rows=rows[:1])).rows) == 1
    assert [row.cells[1] for row in grid_of(replace(table, rows=(*rows[:1], *rows))).rows] == [
        "1",
        "1",
        "2",
        "avg",
        "max",
    ]
    sizes = replace(table, rows=(*rows, {**rows[0], "frame_size_bytes": 128}))
    assert [row.cells[:2] for row in grid_of(sizes).rows] == [("64", "each of 2"), ("128", "1")]
    new = Outcome(Verdict.MEASURED, "x", (table,), ())
    (headline,) = headline_grids(new, replace(read_run(finished), trials=()))
    assert [row.cells[:3] for row in headline.rows] == [("64", "each of 2", "17.50")]


def test_a_table_that_the_cover_shows_whole_is_not_shown_again(finished: Path) -> None:
    results = next(chapter for chapter in run_document(read_run(finished), outcome(Verdict.MEASURED)).chapters)
    assert results.anchor == "results" and results.blocks == ()


def test_numbers_have_separators_of_thousands_and_names_have_none() -> None:
    columns = (SIZE, Column("lost_frames", "Lost"), Column("rate_fps", "Rate", "frames/s", 1), Column("x", "X"))
    rows: tuple[dict[str, Cell], ...] = (
        {"frame_size_bytes": 1518, "lost_frames": 12345, "rate_fps": 1488095.24, "x": "1234"},
    )
    grid = grid_of(Table("t", "T", columns, rows))
    assert [row.cells for row in grid.rows] == [("1518", "12,345", "1,488,095.2", "1234")]
    assert [head.number for head in grid.heads] == [True, True, True, False], "a text is not aligned as a number"


def test_in_a_legend_on_paper_marks_are_whole_and_dashes_are_lines() -> None:
    marked = line_chart(Figure("f", "F", "x", "y", tuple(Series(f"{size} B", ((1.0, 1.0),)) for size in (64, 128))))
    assert marked is not None
    (legend,) = vega_for_paper(marked.spec)["legends"]
    assert legend["shape"] and legend["stroke"]
    assert legend.keys().isdisjoint({"strokeDash", "strokeWidth", "size"}), "as the line has them"
    dashed = {
        "data": {"values": [{"x": 1, "y": 1, "s": "a"}, {"x": 2, "y": 1, "s": "a"}]},
        "mark": {"type": "line", "point": True},
        "encoding": {key: {"field": key, "type": "quantitative"} for key in "xy"}
        | {key: {"field": "s"} for key in ("color", "strokeDash")},
    }
    (legend,) = vega_for_paper(dashed)["legends"]
    assert legend["strokeDash"] and (legend["symbolType"], legend["symbolSize"] > 500) == ("stroke", True)


def test_names_cannot_leave_their_place_in_the_page_nor_in_the_pdf(finished: Path) -> None:
    stored = read_run(finished)
    config = {**stored.config, "title": HOSTILE, "notes": {"operator": HOSTILE}}
    config["topology"] = {"name": HOSTILE, "description": HOSTILE, "text": HOSTILE}
    hostile = replace(stored, config=config)
    figure = Figure("f", HOSTILE, HOSTILE, HOSTILE, (Series(HOSTILE, ((1.0, 2.0), (2.0, 3.0))),))
    table = Table("t", HOSTILE, (Column("a", HOSTILE, HOSTILE),), ({"a": HOSTILE},), HOSTILE)
    document = run_document(hostile, Outcome(Verdict.MEASURED, HOSTILE, (table,), (figure,), (HOSTILE,), (HOSTILE,)))
    shown = page(document)
    own = shown.replace(vega_script(), "")
    assert "<img" not in own and 'onerror="' not in own and "<h1>49" not in own
    assert "{{7*7}}" in own
    assert any("onerror" in sheet and "#strong[x]" in sheet for sheet in text_of(document))


def test_on_paper_no_column_is_lost_and_keys_are_repeated() -> None:
    heads = (Head("Key", key=True), *(Head(f"Quite a long column {number}", "frames/s") for number in range(60)))
    grid = Grid("Wide", heads, (GridRow(("k", *("123456.789" for _ in range(60)))),))
    parts = parts_of(grid)
    assert len(parts) > 1
    assert all(part.heads[0].title == "Key" and part.rows[0].cells[0] == "k" for part in parts)
    assert [head for part in parts for head in part.heads[1:]] == list(heads[1:])


def test_the_pdf_numbers_its_pages_and_repeats_heads(finished: Path) -> None:
    sheets = text_of(document_of(finished), annex=True)
    assert all(f"Page {number} of {len(sheets)}" in sheet for number, sheet in enumerate(sheets, start=1))
    flat = [re.sub(r"\s+", " ", sheet) for sheet in sheets]
    ports = [sheet for sheet in flat if "throughput 64" in sheet or "forwarding 64" in sheet]
    assert len(ports) > 1 and all("Forwarding rate" in sheet for sheet in ports)
    whole = " ".join(flat)
    for column in ("Misdirected", "Reordered", "Latency max", "Wall time"):
        assert column in whole, column
    assert "measured" in flat[0] and "Ada" in flat[0]


def test_a_long_table_ends_on_paper_and_says_where_it_goes_on(finished: Path) -> None:
    document = document_of(finished)
    rows = tuple(GridRow((f"row {number}", "1")) for number in range(500))
    long = replace(document.chapters[0], blocks=(Grid("Long", (Head("Name"), Head("Rate", number=True)), rows),))
    document = replace(document, chapters=(long,))
    short, whole = " ".join(text_of(document)), " ".join(text_of(document, annex=True))
    assert "row 89" in short and "row 90" not in short and "row 499" in whole
    assert "The first 90 of 500 rows: a PDF with --annex has all" in re.sub(r"\s+", " ", short)


def test_a_report_on_paper_is_short_and_each_sheet_says_that_the_device_is_simulated(finished: Path) -> None:
    sheets = text_of(document_of(finished))
    assert len(sheets) <= 8
    setting = (
        "simulated devices, virtual time (White Rabbit WRS-3/18; "
        "parameters: measured behaviour in the RFC 2889 report of GSI, 2023)"
    )
    assert all(setting in re.sub(r"\s+", " ", sheet) for sheet in sheets)
    flat = re.sub(r"\s+", " ", " ".join(sheets))
    assert "Place, date and signature" in flat and "Deviations from the RFC" in re.sub(r"\s+", " ", sheets[0])
    assert "Trial log" not in flat
    assert f"Measured on: {setting}" in (finished / "report.html").read_text()
    assert run_data(finished)["setting"] == setting


def test_line_breaks_of_a_note_are_seen_on_the_page_and_on_paper(finished: Path) -> None:
    stored = read_run(finished)
    noted = run_document(
        replace(stored, config={**stored.config, "notes": {"comments": "Rack 3,\nleft"}}), outcome(Verdict.MEASURED)
    )
    assert "<dd>Rack 3,\nleft</dd>" in page(noted) and "white-space: pre-line" in page(noted)
    assert "Rack 3,\n" in text_of(noted)[0]


def test_counts_that_add_up_are_no_word_of_trust_where_the_test_itself_has_none(finished: Path) -> None:
    """Such as a trial whose group comes before it was joined: every frame is accounted for, and the delay is none."""
    stored = read_run(finished)
    trusted = page(run_document(stored, outcome(Verdict.MEASURED)))
    doubted = page(run_document(stored, outcome(Verdict.INVALID)))
    assert "None. Offered and received" in trusted and "None. Offered" not in doubted
    assert "Findings say why the test does not trust them." in doubted


def test_a_report_shows_the_parameters_that_were_changed_with_their_defaults(finished: Path) -> None:
    chapter = next(chapter for chapter in document_of(finished).chapters if chapter.anchor == "parameters")
    (grid,) = chapter.blocks
    assert isinstance(grid, Grid)
    changed = {row.cells[0]: (row.cells[1], row.cells[2]) for row in grid.rows}
    assert all(value != default for value, default in changed.values())
    assert changed["search_resolution_pct"] == ("0.01", "0.1")  # the topology asks for it


def test_a_long_value_of_a_parameter_is_broken_into_lines_and_leaves_its_neighbours_their_place(finished: Path) -> None:
    headers = "ipv4(source=192.0.2.1, destination=192.0.2.2)/udp/vxlan(vni=5000)/ethernet/ipv4/udp"
    stored = read_run(finished)
    given = [{**item, "value": headers} if item["name"] == "headers" else item for item in stored.config["parameters"]]
    shown = page(
        run_document(replace(stored, config={**stored.config, "parameters": given}), outcome(Verdict.MEASURED))
    )
    assert f'<td class="number words">{headers}</td>' in shown and "td.words { white-space: normal" in shown


def test_the_path_of_a_search_has_its_own_trials_and_tells_failed_ones_from_untrusted_ones(finished: Path) -> None:
    stored = read_run(finished)
    own = [trial for trial in stored.trials if trial.unit == "64B/throughput"][:4]
    verdicts = (Verdict.PASS, Verdict.FAIL, Verdict.INVALID, Verdict.MEASURED)
    trials = [replace(trial, verdict=verdict) for trial, verdict in zip(own, verdicts, strict=True)]
    chart = search_chart(stored.results["units"], trials)
    assert chart is not None
    assert [value["verdict"] for value in chart.spec["data"]["values"]] == ["PASS", "FAIL", "not trusted"]
    assert search_chart(stored.results["units"], trials[:1]) is None, "one trial is no path"


def test_a_path_is_that_of_a_unit_that_searched_or_has_a_search_in_it() -> None:
    search = dict.fromkeys(("lower_pct", "upper_pct", "goal"))
    nested, other = {"rows": 1, "throughput": search}, {"rows": list(search)}
    units = {"a": search, "nested": nested, "other": other, "number": 5, "short": search}
    trials = [
        StoredTrial(unit, number, 10.0 * number, verdict, {}, {})
        for unit in ("number", "other", "nested", "a")
        for number, verdict in enumerate((Verdict.FAIL, Verdict.PASS))
    ]
    trials += [
        StoredTrial("short", 0, 5.0, Verdict.FAIL, {}, {}),
        StoredTrial("short", 1, 5.0, Verdict.MEASURED, {}, {}),
    ]
    chart = search_chart(units, trials)
    assert chart is not None and chart.note == "The numbers are in the trial log and in trials.csv."
    shown = [
        tuple(value[key] for key in ("part", "trial", "load", "verdict")) for value in chart.spec["data"]["values"]
    ]
    assert shown == [(unit, *one) for unit in ("a", "nested") for one in ((0, 0.0, "FAIL"), (1, 10.0, "PASS"))], (
        "a trial that follows the search is none of its path"
    )


def test_of_many_searches_some_are_drawn_and_their_number_is_told(finished: Path) -> None:
    stored = read_run(finished)
    result = stored.results["units"]["64B/throughput"]
    own = next(trial for trial in stored.trials if trial.unit == "64B/throughput")
    names = [f"{size}B/throughput" for size in range(64, 164)]
    chart = search_chart(dict.fromkeys(names, result), [replace(own, unit=name) for name in names for _ in "ab"])
    assert chart is not None and chart.note.startswith("24 of 100 searches are drawn.")
    assert len(chart.spec["data"]["values"]) == 2 * 24


def test_invalid_trials_are_listed_with_their_reason(finished: Path) -> None:
    stored = read_run(finished)
    first = stored.trials[0]
    broken = replace(first, result={**first.result, "status": "INVALID", "reason": "oload_mismatch: 3 % less"})
    shown = page(run_document(replace(stored, trials=(broken, *stored.trials[1:])), outcome(Verdict.INVALID)))
    assert "oload_mismatch: 3 % less" in shown and ">not trusted<" in shown


def trial_of(index: int, verdict: Verdict, rx_frames: int, **result: Any) -> StoredTrial:
    """One of 1.5 ms in which 1,000,000 frames were sent."""
    counts = {"tx_frames": 1_000_000, "rx_frames": rx_frames, "lost_frames": 1_000_000 - rx_frames}
    found = {"status": "MEASURED", "reason": None, "ports": [], "oload_error_ppm": 0, **counts, **result}
    return StoredTrial("64B", index, 33.333333, verdict, {"duration_ns": 1_500_000}, found)


def run_of(*trials: StoredTrial) -> StoredRun:
    timing = Timing("64B", 0, "2026-11-30T08:09:10+00:00", 0.25)
    return StoredRun(Path(), {"time_stamps": {"kind": StampKind.FIRST_BIT.value}}, {}, trials, (timing,))


def test_the_trial_log_has_counts_of_each_trial_and_columns_that_some_trial_has() -> None:
    """Means are sums by counts, late frames those of all ports; an excess has an error where a queue fills."""
    latency = {"count": 2, "min_ns": 1000, "sum_ns": 3001, "max_ns": 2001}
    fills = {"trend": "fills", "excess_ppm": 12.5, "excess_fps": 3.0, "error_ppm": 0.5}
    late = [{"late_frames": 1}, {"late_frames": 2}, {}]
    trials = (
        trial_of(0, Verdict.FAIL, 1_000_000, ports=late, latency=latency, queues=fills),
        trial_of(1, Verdict.PASS, 999_000, queues={**fills, "trend": "steady", "excess_fps": 0}),
        trial_of(2, Verdict.INVALID, 0, transient={"frames": 4}, status="INVALID", reason="link_down"),
    )
    (log,) = log_chapter(run_of(*trials)).blocks
    assert isinstance(log, Grid)
    shown = [dict(zip([head.title for head in log.heads], row.cells, strict=True)) for row in log.rows]
    same = {
        "Part": "64B",
        "Iload": "33.3333",
        "Oload": "33.3333",
        "Duration": "1.5",
        "Tx": "1,000,000",
        "Rx": "999,000",
    }
    none = dict.fromkeys(("Flooded", "Misdirected", "Duplicate", "Reordered"), "-")
    none |= dict.fromkeys(("Latency min", "Latency avg", "Latency max", "Excess", "Error", "Wall time", "Started"), "-")
    no_times = {"of it late": "0", "of it early": "0"}
    assert shown == [
        {**same, **none, **no_times, "Trial": "0", "Verdict": "FAIL", "Why": "a queue fills by 12.5 ppm", "Lost": "0",
         "Rx": "1,000,000", "of it late": "3", "Latency min": "1,000", "Latency avg": "1,500.5", "Latency max": "2,001",
         "Queues": "fills", "Excess": "12.5", "Error": "0.5", "Wall time": "0.25", "Started": "08:09:10"},
        {**same, **none, **no_times, "Trial": "1", "Verdict": "PASS", "Why": "", "Lost": "1,000", "Queues": "steady"},
        {**same, **none, **no_times, "Trial": "2", "Verdict": "INVALID", "Why": "link_down", "Lost": "1,000,000",
         "Rx": "0", "of it early": "4", "Queues": "-"},
    ]  # fmt: skip
    assert [head.title for head in log.heads if not head.number] == ["Part", "Verdict", "Why", "Queues", "Started"]
    (short,) = log_chapter(run_of(trial_of(0, Verdict.PASS, 1_000_000, corrupted_frames=5))).blocks
    assert isinstance(short, Grid)
    assert [head.title for head in short.heads if head.title.startswith("of it")] == ["of it corrupted"]
    assert not {"Queues", "Excess", "Error"} & {head.title for head in short.heads}


def test_trials_that_cannot_be_trusted_are_told_by_their_number() -> None:
    good, bad = trial_of(0, Verdict.PASS, 5), trial_of(3, Verdict.INVALID, 5, status="INVALID", reason="why")
    text, grid = untrusted_chapter(run_of(good, bad), outcome(Verdict.INVALID)).blocks
    assert isinstance(text, Paragraph) and text.text.startswith("1 of 2 trials; ")
    assert isinstance(grid, Grid) and [row.cells for row in grid.rows] == [("64B", "3", "33.3333", "INVALID", "why")]
    for state, told in ((Verdict.MEASURED, "None. Offered and"), (Verdict.INVALID, "Offered and")):
        (text,) = untrusted_chapter(run_of(good), outcome(state)).blocks
        assert isinstance(text, Paragraph) and text.text.startswith(told) and "in each trial (1)" in text.text


def test_a_table_of_columns_of_the_trial_log_alone_is_in_it() -> None:
    trial, excess = Column("trial", "Trial", ""), Column("excess_fps", "Excess", "frames/s")
    log = Table("t", "T", (trial, excess), (), keys=())
    assert is_in_log(log)
    assert not is_in_log(replace(log, keys=("trial",))) and not is_in_log(replace(log, columns=(trial, RATE)))


def test_a_suite_opens_with_the_numbers_of_every_test(tmp_path: Path) -> None:
    options = RunOptions("rfc2544", WRS, "64", out=tmp_path / "all", jobs=1, opener="support.fakes:open_wire")
    finished = run_suite(options)
    document = document_of(tmp_path / "all")
    overview = document.cover[0]
    assert isinstance(overview, Grid) and len(overview.rows) == len(finished.entries)
    numbers = [str(row.cells[3]) for row in overview.rows]
    assert all(re.search(r"\d", text) or text.endswith("not applicable") for text in numbers), numbers
    for blocks in (document.cover, [block for chapter in document.chapters for block in chapter.blocks]):
        tables = [(grid.heads, grid.rows) for grid in blocks if isinstance(grid, Grid) and grid.rows[1:]]
        assert len(set(tables)) == len(tables), "the same table twice"
    shown = (tmp_path / "all" / "report.html").read_text()
    assert page(document) == shown
    head = shown.partition("<section")[0]
    assert all(entry.method.name in head for entry in finished.entries)
    assert 'href="throughput/report.html"' in head


def test_the_command_writes_what_was_asked_for_and_says_where(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, page_file = tmp_path / "out.pdf", tmp_path / "page.html"
    before = (finished / "report.html").stat().st_mtime_ns
    assert main(["report", str(finished), "--pdf", str(target)]) == 0
    assert capsys.readouterr().out == f"PDF: {target}\n"
    assert target.read_bytes().startswith(b"%PDF-")
    assert (finished / "report.html").stat().st_mtime_ns == before
    assert main(["report", str(finished), "--pdf", str(target), "--html", str(page_file)]) == 0
    assert capsys.readouterr().out == f"page: {page_file}\nPDF: {target}\n"
    assert main(["report", str(finished)]) == 0
    assert capsys.readouterr().out == f"page: {finished / 'report.html'}\n"


def test_a_trial_that_fails_without_a_loss_says_why(tmp_path: Path) -> None:
    settings = ("scaled_frames=200",)
    options = RunOptions("rfc2544.throughput", WRS, "512", settings, tmp_path / "run", ports="1-2", jobs=1)
    run(options)
    chapters = {chapter.anchor: chapter for chapter in document_of(tmp_path / "run").chapters}
    (log,) = chapters["trials"].blocks
    assert isinstance(log, Grid)
    place = {head.title: number for number, head in enumerate(log.heads)}
    failed = [row.cells for row in log.rows if row.cells[place["Verdict"]] == "FAIL"]
    assert any(cells[place["Lost"]] == "0" for cells in failed)
    assert all(cells[place["Lost"]] != "0" or "a queue fills by" in str(cells[place["Why"]]) for cells in failed)
    # The trials of the search are no second table: the log has all that search_trials.csv says of them.
    assert "Searches: all trials" not in {getattr(block, "title", "") for block in chapters["details"].blocks}
    with (tmp_path / "run" / "search_trials.csv").open() as file:
        searched = list(csv.DictReader(file))
    filling = [row for row in searched if row["excess_ppm"]]
    assert filling and len(searched) == len(log.rows)
    for key, title in (("lost_frames", "Lost"), ("queues", "Queues")):
        assert [row.cells[place[title]] for row in log.rows] == [row[key] for row in searched]
    assert [str(row.cells[place["Excess"]]) != "-" for row in log.rows] == [bool(row["excess_ppm"]) for row in searched]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_draws_every_figure(finished: Path) -> None:
    shown = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"),
            f"file://{finished / 'report.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    figures = shown.count("<figure>")
    assert figures > 5
    assert len(re.findall(r'<svg xmlns[^>]* class="marks"|<svg [^>]*class="marks"', shown)) == figures


def test_a_suite_says_what_its_tests_share_once_and_names_the_test_of_the_rest(finished: Path) -> None:
    """Two tests with the same table of two rows, of which one has another table, and one that was not run."""
    stored = read_run(finished)
    table = Table("rates", "Rates", (SIZE, RATE), tuple({"frame_size_bytes": n, "rate_pct": 17.5} for n in (64, 128)))

    def ran(name: str, label: str, *more: Table) -> SuiteTest:
        topology = {**stored.config["topology"], "name": f"bed of {name}"}
        config = {**stored.config, "test": name, "label": label, "title": name.upper(), "topology": topology}
        config |= {"setting": f"setting of {name}", "notes": {}}
        said = ("both", f"only {name}")
        found = Outcome(Verdict.MEASURED, "x", (table, *more), (), findings=said, deviations=said)
        return SuiteTest(replace(stored, config=config, trials=stored.trials[:3]), found, f"{name}/report.html")

    single = Table("single", "B: Single", (SIZE, RATE), table.rows[:1])
    rows = [{"test": name, "section": "5", "summary": f"why {name} +-?"} for name in ("a", "second", "c")]
    document = suite_document(
        "s", rows, (ran("a", "a", single), ran("b", "second", single, replace(single, name="again")))
    )
    measured = Badge("measured", Tone.NEUTRAL)
    assert (document.title, document.subtitle, document.badge, document.setting) == (
        *("Suite s", "bed of a", replace(measured, text="2 measured"), "setting of a"),
    )
    assert document.statement == "3 tests: 2 measured, 1 not run."
    assert (dict(document.facts.pairs)["Topology"], dict(document.facts.pairs)["Trials"]) == ("bed of a", "6")
    assert not {"Test", "Iterations"} & dict(document.facts.pairs).keys()
    overview, deviations, findings, *grids = document.cover
    assert isinstance(overview, Grid) and [head.key for head in overview.heads] == [True, False, False, False, False]
    numbers = "Rates: Rate 17.50 % of line"
    assert [row.cells for row in overview.rows] == [
        (Link("a", "#a"), "5", measured, numbers, Link("page", "a/report.html")),
        (Link("second", "#second"), "5", measured, numbers, Link("page", "b/report.html")),
        ("c", "5", Badge("not run", Tone.IDLE), "why c +-?", ""),
    ]
    assert overview.note, "a question mark is explained"
    said = ("both", "A: only a", "second: B: only b")
    assert deviations == Bullets("Deviations from the RFC", said)
    assert findings == Bullets("Findings", said, Tone.BAD)
    assert [grid.title for grid in grids if isinstance(grid, Grid)] == ["A: Rates"]
    results = {chapter.anchor: chapter.blocks for chapter in document.chapters if chapter.title == "Results"}
    assert [getattr(block, "title", block) for block in results["a-results"]] == ["Rates", "B: Single"]
    assert [getattr(block, "title", block) for block in results["second-results"]] == [
        *(Paragraph("Rates: as in A (RFC 2889 5.1)."), "B: Single", "B: Single"),
    ], "a table of one row is shown again"
    (facts,) = document.chapters[0].blocks
    assert isinstance(facts, Facts)
    assert [name for name, _ in facts.pairs] == ["Test", "Trials", "Measured", "Verdict"]
    levels = [(chapter.title, chapter.level) for chapter in document.chapters if chapter.level == 1]
    assert levels == [("A (RFC 2889 5.1)", 1), ("second: B (RFC 2889 5.1)", 1), ("All tests", 1)]
    (alone,) = [suite_document("s", rows[:1], (ran("a", "a"),))]
    assert alone.badge == replace(measured, text="all measured")
    assert "All tests" not in [chapter.title for chapter in alone.chapters]
    none = suite_document("s", rows[2:], ())
    assert (none.subtitle, none.setting, none.facts.pairs, len(none.cover)) == ("", "", (), 1)


@pytest.mark.parametrize(
    ("unit", "error", "shown"),
    [("+- % of line", 0.25, "17.50 +-0.25"), ("+- % of line", None, "17.50 +-?"), ("% of line", 0.25, "17.50")],
)
def test_an_error_in_the_unit_of_its_number_stands_behind_it(unit: str, error: float | None, shown: str) -> None:
    """A number that is not there has none, and neither has one whose error has no column."""
    columns = (SIZE, replace(RATE, error="rate_error_pct"), Column("rate_error_pct", "Error", unit, 2))
    rows: tuple[dict[str, Cell], ...] = (
        {"frame_size_bytes": 64, "rate_pct": 17.5, "rate_error_pct": error},
        {"frame_size_bytes": 128, "rate_pct": None, "rate_error_pct": 0.5},
    )
    found = grid_of(Table("r", "R", columns, rows))
    assert [row.cells[:2] for row in found.rows] == [("64", shown), ("128", "-")]
    assert len(found.heads) == (2 if unit.startswith("+-") else 3)
    alone = grid_of(Table("r", "R", columns[:2], rows))
    assert [row.cells for row in alone.rows] == [("64", "17.50"), ("128", "-")]


def test_means_that_share_an_error_have_it_each() -> None:
    """Goal: no 10.518 and 10.518 beside an error of 93.444 in a column of its own."""
    columns = (SIZE, fields.LOW_US, fields.HIGH_US, fields.PORT_ERROR_US)
    row: dict[str, Cell] = {"frame_size_bytes": 64, "low_us": 10.518, "high_us": 11.518, "port_error_us": 93.444}
    found = grid_of(Table("r", "R", columns, (row,)))
    assert [line.cells for line in found.rows] == [("64", "11 +-94", "12 +-94")]


def stored(*streams: dict[str, Any], **result: Any) -> StoredTrial:
    return StoredTrial("u", 0, 100.0, Verdict.PASS, {"streams": list(streams)}, result)


def test_pacing_is_the_worst_of_all_trials_of_a_frame_size() -> None:
    def paced(stream: str, seeds: int, rate_error: float, rest: float) -> dict[str, Any]:
        names = ("round_ns", "loop_share_pct", "rate_step_ppm", "departure_error_ns", "start_offset_error_ns")
        return {"stream": stream, "seeds": seeds, "rate_error_ppm": rate_error, **dict.fromkeys(names, rest)}

    short, long = {"name": "a", "frame_size_bytes": 64}, {"name": "b", "frame_size_bytes": 1518}
    trials = [
        stored(long, short, start_skew_ns=5, pacing=[paced("b", 1, 0.5, 7.0), paced("a", 3, -2.0, 4.0)]),
        stored(short, start_skew_ns=9, pacing=[paced("a", 2, 1.0, 6.0)]),
        stored(short, start_skew_ns=99),
    ]
    table = pacing_table(trials)
    assert table is not None and pacing_table(trials[2:]) is None
    assert [list(row.values()) for row in table.rows] == [
        [64, 3, 6.0, 6.0, 6.0, 2.0, 6.0, 9, 6.0],
        [1518, 1, 7.0, 7.0, 7.0, 0.5, 7.0, 5, 7.0],
    ]


CONFIG = {
    "ports": [{"number": 1, "rate_bps": 10**9}, {"number": 2, "rate_bps": 10**8}, {"number": 3, "rate_bps": 10**9}],
    "time_stamps": {"kind": StampKind.FIRST_BIT.value},
    "parameters": [{"name": "latency_definition", "value": "FILO"}],
}


def stream_of(size: int, *rx_ports: int, **more: Any) -> dict[str, Any]:
    return {"name": "s", "frame_size_bytes": size, "tx_ports": [1], "rx_ports": list(rx_ports), **more}


def test_figures_have_the_latency_of_the_tables_where_all_frames_allow_it() -> None:
    """A frame of 128 bytes takes 10.24 us at 100 Mbit/s, one of 132 takes 10.56 us."""
    trial = stored(stream_of(128, 2))
    shown = ShownLatency(CONFIG, [trial])
    assert (shown.name, shown.note) == ("FILO", "")
    assert (shown.shift_ns(trial, {}), shown.shift_ns(trial, {"added_bytes": 4})) == (10_240, 10_560)
    for other in (stream_of(128, 2, 3), stream_of(128, 9), stream_of(128, 2, sizes_in_turn_bytes=[64, 128])):
        mixed = ShownLatency(CONFIG, [trial, stored(other)])
        assert (mixed.name, mixed.shift_ns(trial, {})) == ("FIFO", 0)
        assert mixed.note.startswith("Latency is FIFO, not FILO as in the tables")
        assert shown.shift_ns(stored(other), {}) == 0
    software = ShownLatency({**CONFIG, "time_stamps": {"kind": StampKind.SOFTWARE.value}}, [trial])
    assert (software.shift_ns(trial, {}), software.note) == (0, "")
    of_file = {**CONFIG, "parameters": [], "traffic": {"latency_definition": "LIFO"}}
    assert ShownLatency(of_file, [trial]).shift_ns(trial, {}) == -1024
    assert ShownLatency({**CONFIG, "parameters": []}, [trial]).name == "FIFO"


def test_statistics_move_with_each_latency() -> None:
    bins = {"low_ns": [1, 4], "high_ns": [3, 9], "counts": [2, 1]}
    latency = {"min_ns": 2.0, "max_ns": 8.0, "sum_ns": 13.0, "count": 3, "percentiles_ns": [(50, 3.0)], "bins": bins}
    assert moved(latency, 10) == {
        "min_ns": 12,
        "max_ns": 18,
        "sum_ns": 43,
        "count": 3,
        "percentiles_ns": [(50, 13)],
        "bins": {"low_ns": [11, 14], "high_ns": [13, 19], "counts": [2, 1]},
    }
    bare = {"min_ns": 2.0, "max_ns": 8.0, "sum_ns": 13.0, "count": 3}
    assert moved(bare, -1) == {"min_ns": 1, "max_ns": 7, "sum_ns": 10, "count": 3, "percentiles_ns": []}
