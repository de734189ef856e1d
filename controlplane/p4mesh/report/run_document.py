"""The report of one run as a document, made from its directory alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from p4mesh.methods.results.outcome import Outcome
from p4mesh.quantities import frame_sizes_text
from p4mesh.report.configuration import (
    REPORT_NOTES,
    cables_text,
    configuration_chapters,
    device_text,
    notes_of,
    tester_text,
)
from p4mesh.report.distributions import distribution_charts, interarrival_charts
from p4mesh.report.document import Block, Bullets, Chapter, Document, Facts, Tone
from p4mesh.report.figures import figures_of
from p4mesh.report.grids import grid_of
from p4mesh.report.headline import headline_grids, is_whole_on_cover
from p4mesh.report.heat_maps import flow_charts, port_chart
from p4mesh.report.latency_charts import latency_charts
from p4mesh.report.line_charts import is_over_sizes
from p4mesh.report.pacing import pacing_table
from p4mesh.report.search_paths import search_chart
from p4mesh.report.stamps import stamps_table
from p4mesh.report.trial_log import is_in_log, log_chapter, untrusted_chapter
from p4mesh.report.verdict import badge, statement_of
from p4mesh.store.stored_run import StoredRun

_LATENCY = "latency"


def run_document(run: StoredRun, outcome: Outcome) -> Document:
    """Report of a run: cover, results, trials, configuration."""
    return Document(
        run.config["title"],
        f"{run.config['section']} on {run.config['topology']['name']}",
        badge(outcome.state, outcome.goal),
        statement_of(outcome),
        run.setting,
        facts_of(run, outcome),
        cover_blocks(run, outcome),
        (*result_chapters(run, outcome), log_chapter(run)),
    )


def cover_blocks(run: StoredRun, outcome: Outcome) -> tuple[Block, ...]:
    """Blocks of the cover: the most important numbers, how the run departs from the RFC, and the findings."""
    lists = (
        Bullets("Deviations from the RFC", outcome.deviations),
        Bullets("Findings", outcome.findings, Tone.BAD),
    )
    return (*headline_grids(outcome, run), *(found for found in lists if found.items))


def facts_of(run: StoredRun, outcome: Outcome) -> Facts:
    """Facts of a run: who measured which device for whom, tester, dates, and the other notes of the operator."""
    config = run.config
    notes = dict(notes_of(config))
    pairs = [(name, notes[name]) for name in REPORT_NOTES if name in notes]
    pairs += [
        ("Test", f"{config['test']} ({config['section']})"),
        ("Device", device_text(config)),
        ("Topology", config["topology"]["name"]),
        ("Tester", tester_text(config)),
        ("Cables", cables_text(config)),
        ("Frame sizes", frame_sizes_text(config["frame_sizes_bytes"])),
        ("Trials", f"{len(run.trials):,}"),
        ("Measured", dates_of([timing.started_utc for timing in run.timings])),
    ]
    pairs += [(name.capitalize(), text) for name, text in config.get("chosen", {}).items()]
    if outcome.iterations:
        pairs.append(
            (
                "Iterations",
                ", ".join(f"{count:,} {state.value}" for state, count in Counter(outcome.iterations).items()),
            )
        )
    return Facts(tuple((dict(pairs) | notes).items()))


def dates_of(started_utc: Sequence[str]) -> str:
    """Dates of the first and the last start of a trial."""
    if not started_utc:
        return "-"
    first, last = min(started_utc), max(started_utc)
    begin = f"{first[:10]} {first[11:19]}"
    return f"{begin} to {last[11:19] if last[:10] == first[:10] else f'{last[:10]} {last[11:19]}'} UTC"


def result_chapters(run: StoredRun, outcome: Outcome) -> tuple[Chapter, ...]:
    """Everything but the cover and the log of all trials."""
    tables = [table for table in outcome.tables if not table.detail]
    short = [grid_of(table) for table in tables if not is_whole_on_cover(table)]
    long = [grid_of(table) for table in outcome.tables if table.detail and not is_in_log(table)]
    chapters = [Chapter("Results", "results", (*figures_of(outcome.figures, tables), *short))]
    drawn = _drawn(run, outcome)
    if drawn:
        chapters.append(Chapter("Figures from the trials", "drawn", drawn, annex=True))
    if long:
        chapters.append(Chapter("Details", "details", tuple(long), annex=True))
    tester = [grid_of(table) for table in (pacing_table(run.trials), stamps_table(run.trials)) if table]
    chapters.append(untrusted_chapter(run, outcome))
    if tester:
        chapters.append(Chapter("Tester", "tester", tuple(tester), annex=True))
    return (*chapters, *configuration_chapters(run.config))


def _drawn(run: StoredRun, outcome: Outcome) -> tuple[Block, ...]:
    """Figures that any test has, from its trials; latency against load where the test has not drawn it itself."""
    has_latency = any(_LATENCY in figure.y_title and not is_over_sizes(figure) for figure in outcome.figures)
    some = (
        *(() if has_latency else latency_charts(run.config, run.trials)),
        *distribution_charts(run.config, run.trials),
        *interarrival_charts(run.trials),
        search_chart(run.results["units"], run.trials),
        port_chart(run.trials),
        *flow_charts(run.trials),
    )
    return tuple(chart for chart in some if chart)
