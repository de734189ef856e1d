"""One self-contained HTML page from a stored run."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from p4mesh.methods.results.iterations import ITERATION, Row
from p4mesh.methods.results.latency import NAME_WITHOUT_DEFINITION
from p4mesh.methods.results.outcome import Outcome, State, Table
from p4mesh.report.numbers import cell_text, is_numeric
from p4mesh.report.pacing import pacing_table
from p4mesh.report.svg import figure_svg
from p4mesh.store.csv_files import trial_row
from p4mesh.store.run_directory import StoredRun
from p4mesh.traffic.stamps import StampKind

_STATE_CLASS = {
    State.PASS: "good",
    State.DONE: "good",
    State.FAIL: "bad",
    State.INVALID: "bad",
    State.ABORT: "bad",
}
_WIDE_COLUMNS = 12
_LOG_COLUMNS = (
    ("unit", "Unit"),
    ("trial", "Trial"),
    ("load_pct", "Iload (% of line)"),
    ("oload_pct", "Oload (% of line)"),
    ("verdict", "Verdict"),
    ("tx_frames", "Tx (frames)"),
    ("rx_frames", "Rx (frames)"),
    ("lost_frames", "Lost (frames)"),
    ("flooded_frames", "Flooded (frames)"),
    ("misdirected_frames", "Misdirected (frames)"),
    ("duplicate_frames", "Duplicate (frames)"),
    ("reordered_frames", "Reordered (frames)"),
    ("latency_ns_min", "{latency} min (ns)"),
    ("latency_ns_avg", "{latency} avg (ns)"),
    ("latency_ns_max", "{latency} max (ns)"),
    ("started_utc", "Started (UTC)"),
    ("elapsed_s", "Wall time (s)"),
)


def report_html(run: StoredRun, outcome: Outcome) -> str:
    """Return the report: verdict, findings, plots, tables, configuration, deviations, trial log."""
    config = run.config
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    started = min((timing.started_utc for timing in run.timings), default="unknown")
    started = f"{started[:10]} {started[11:19]} UTC"
    body = [
        _head(config, outcome, started, len(run.trials)),
        _list_section("Findings", "findings", outcome.findings),
        *(
            f"<figure><figcaption>{escape(figure.title)}</figcaption>{figure_svg(figure)}</figure>"
            for figure in outcome.figures
        ),
        *(_table_section(table) for table in outcome.tables),
        _list_section("Deviations from the RFC", "deviations", outcome.deviations),
        _pacing(run),
        _configuration(config),
        _trial_log(run),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(config['title'])}, {escape(config['topology']['name'])}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n"
        "</body>\n</html>\n"
    )


def _head(config: dict[str, Any], outcome: Outcome, started: str, trials: int) -> str:
    facts = (
        ("Test", f"{config['test']} ({config['section']})"),
        ("Topology", config["topology"]["name"]),
        ("Target", config["target"]),
        ("Ports", str(len(config["ports"]))),
        ("Frame sizes", ", ".join(str(size) for size in config["frame_sizes_bytes"]) + " B"),
        *([("Iterations", ", ".join(state.value for state in outcome.iterations))] if outcome.iterations else []),
        ("Trials", str(trials)),
        ("Started", started),
        ("P4Mesh", config["version"]),
    )
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    verdict = f'<span class="verdict {_STATE_CLASS[outcome.state]}">{outcome.state.value}</span>'
    return f'<header><h1>{escape(config["title"])} {verdict}</h1><dl class="facts">{items}</dl></header>'


def _list_section(title: str, name: str, items: tuple[str, ...]) -> str:
    if not items:
        return ""
    lines = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<section class="{name}"><h2>{escape(title)}</h2><ul>{lines}</ul></section>'


def _table_section(table: Table) -> str:
    numeric = [is_numeric(column, [row.get(column.key) for row in table.rows]) for column in table.columns]
    head = "".join(
        f"<th{_align(right)}>{escape(column.title)}<small>{escape(column.unit)}</small></th>"
        for column, right in zip(table.columns, numeric, strict=True)
    )
    rows = "".join(
        f"<tr{_kind(row)}>"
        + "".join(
            f"<td{_align(right)}>{escape(cell_text(column, row.get(column.key)))}</td>"
            for column, right in zip(table.columns, numeric, strict=True)
        )
        + "</tr>\n"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    # Many columns fit a screen with smaller letters.
    wide = ' class="wide"' if len(table.columns) > _WIDE_COLUMNS else ""
    grid = f'<div class="scroll"><table{wide}><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>'
    if table.detail:
        grid = f"<details><summary>{len(table.rows)} rows</summary>{grid}</details>"
    return f"<section><h2>{escape(table.title)}</h2>{grid}{note}</section>"


def _pacing(run: StoredRun) -> str:
    table = pacing_table(run.trials)
    return _table_section(table) if table else ""


def _configuration(config: dict[str, Any]) -> str:
    rows = "".join(
        f'<tr><td><code>{escape(item["name"])}</code></td><td class="number">{escape(item["value"])}</td>'
        f"<td>{escape(item['unit'])}</td><td>{escape(item['section'])}</td>"
        f'<td class="sentence">{escape(item["summary"])}</td></tr>\n'
        for item in config["parameters"]
    )
    return (
        '<section><h2>Parameters</h2><div class="scroll"><table><thead><tr><th>Parameter</th>'
        '<th class="number">Value</th><th>Unit</th><th>Clause</th><th>Meaning</th></tr></thead>'
        f"<tbody>\n{rows}</tbody></table></div></section>"
        f"{_traffic(config)}"
        f"<section><h2>Topology {escape(config['topology']['name'])}</h2>"
        f"<p>{escape(config['topology']['description'])}</p>"
        f"<details><summary>Topology file</summary><pre>{escape(config['topology']['text'])}</pre></details></section>"
    )


def _traffic(config: dict[str, Any]) -> str:
    """Return the traffic file of a run that had one, and what was set on top of it."""
    if "traffic" not in config:
        return ""
    traffic = config["traffic"]
    settings = "".join(f"<p><code>--set {escape(setting)}</code></p>" for setting in traffic["settings"])
    return (
        f"<section><h2>Traffic {escape(traffic['name'])}</h2>{settings}"
        f"<details><summary>Traffic file</summary><pre>{escape(traffic['text'])}</pre></details></section>"
    )


def _trial_log(run: StoredRun) -> str:
    times = {(timing.unit, timing.index): timing for timing in run.timings}
    measured = f"{NAME_WITHOUT_DEFINITION[StampKind(run.config['time_stamps']['kind'])]} latency"
    head = "".join(f"<th>{escape(title.format(latency=measured))}</th>" for _, title in _LOG_COLUMNS)
    lines = []
    for trial in run.trials:
        row = trial_row(trial)
        timing = times.get((trial.unit, trial.index))
        if timing:
            row |= {"started_utc": timing.started_utc, "elapsed_s": timing.elapsed_s}
        cells = "".join(f"<td>{escape(_log_text(row.get(key)))}</td>" for key, _ in _LOG_COLUMNS)
        lines.append(f"<tr>{cells}</tr>\n")
    return (
        f"<section><h2>Trial log</h2><details><summary>{len(run.trials)} trials</summary>"
        f'<div class="scroll"><table class="log"><thead><tr>{head}</tr></thead><tbody>\n{"".join(lines)}'
        "</tbody></table></div></details></section>"
    )


def _kind(row: Row) -> str:
    """Return the class that sets the statistics of several iterations apart from the iterations."""
    return "" if str(row.get(ITERATION.key, "1")).isdecimal() else ' class="statistic"'


def _align(right: bool) -> str:
    return ' class="number"' if right else ""


def _log_text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
