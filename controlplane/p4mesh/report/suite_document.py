"""The report of a suite as a document: first the numbers of every test, then a chapter for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.report.document import (
    Badge,
    Block,
    Bullets,
    Chapter,
    Document,
    Facts,
    Grid,
    GridRow,
    Head,
    Link,
    Paragraph,
    Tone,
)
from p4mesh.report.headline import errors_note, headline_grids, key_numbers
from p4mesh.report.run_document import dates_of, facts_of, result_chapters
from p4mesh.report.verdict import NOT_RUN, badge, statement_of
from p4mesh.store.stored_run import StoredRun

_OF_ONE_TEST = ("Test", "Trials", "Measured", "Iterations")


@dataclass(frozen=True)
class SuiteTest:
    """A test of a suite that ran."""

    run: StoredRun
    outcome: Outcome
    page: str
    """Address of its own report, relative to that of the suite."""


def suite_document(suite: str, rows: Sequence[Mapping[str, Cell]], tests: Sequence[SuiteTest]) -> Document:
    """Report of a suite; ``rows`` hold the state of each test, also of those that were not run."""
    ran = {test.run.label: test for test in tests}
    badges = {str(row["test"]): _badge(ran[str(row["test"])]) if str(row["test"]) in ran else NOT_RUN for row in rows}
    counts = Counter(item.text for item in badges.values())
    cover: list[Block] = [_overview(rows, badges, ran)]
    deviations = _together(tests, lambda test: test.outcome.deviations)
    findings = _together(tests, lambda test: test.outcome.findings)
    cover += [Bullets("Deviations from the RFC", deviations)] if deviations else []
    cover += [Bullets("Findings", findings, Tone.BAD)] if findings else []
    shown: set[tuple[object, ...]] = set()
    for test in tests:
        title = _title(test)
        for grid in headline_grids(test.outcome, test.run):
            # A latency and others find the throughput first: the same numbers once.
            if _content(grid) not in shown:
                cover.append(replace(grid, title=_titled(title, grid.title)))
            shown.add(_content(grid))
    return Document(
        f"Suite {suite}",
        tests[0].run.config["topology"]["name"] if tests else "",
        _worst(list(badges.values())),
        f"{len(rows)} tests: {', '.join(f'{count} {word}' for word, count in counts.most_common())}.",
        tests[0].run.setting if tests else "",
        _facts(tests),
        tuple(cover),
        _chapters_of(tests),
    )


def _together(tests: Sequence[SuiteTest], sentences_of: Callable[[SuiteTest], Sequence[str]]) -> tuple[str, ...]:
    """Sentences about the tests of a suite: those of several tests once, then each other one behind its test."""
    counts = Counter(text for test in tests for text in sentences_of(test))
    own = (f"{_title(test)}: {text}" for test in tests for text in sentences_of(test) if counts[text] == 1)
    return (*(text for text, count in counts.items() if count > 1), *own)


def _title(test: SuiteTest) -> str:
    """Title of the test, below the name that a run file gives the run."""
    title = str(test.run.config["title"])
    return title if test.run.label == test.run.config["test"] else f"{test.run.label}: {title}"


def _titled(test: str, table: str) -> str:
    return table if table.lower().startswith(test.lower()) else f"{test}: {table}"


def _badge(test: SuiteTest) -> Badge:
    return badge(test.outcome.state, test.outcome.goal)


def _worst(badges: Sequence[Badge]) -> Badge:
    """Badge of the suite: how many of its tests have the worst one."""
    order = (Tone.BAD, Tone.NEUTRAL, Tone.GOOD, Tone.IDLE)
    worst = min(badges, key=lambda item: order.index(item.tone), default=NOT_RUN)
    count = badges.count(worst)
    return Badge(f"all {worst.text}" if count == len(badges) else f"{count} {worst.text}", worst.tone)


def _overview(rows: Sequence[Mapping[str, Cell]], badges: Mapping[str, Badge], ran: Mapping[str, SuiteTest]) -> Grid:
    heads = (Head("Test", key=True), Head("Section"), Head("Result"), Head("Numbers"), Head("Own report"))
    lines = []
    for row in rows:
        name = str(row["test"])
        test = ran.get(name)
        shown = Link(name, f"#{_anchor(name)}") if test else name
        page = Link("page", test.page) if test else ""
        numbers = key_numbers(test.outcome, test.run) if test else str(row["summary"])
        lines.append(GridRow((shown, str(row["section"]), badges[name], numbers, page)))
    return Grid("Tests", heads, tuple(lines), errors_note(str(line.cells[3]) for line in lines))


def _facts(tests: Sequence[SuiteTest]) -> Facts:
    if not tests:
        return Facts(())
    pairs = [pair for pair in facts_of(tests[0].run, tests[0].outcome).pairs if pair[0] not in _OF_ONE_TEST]
    started = [timing.started_utc for test in tests for timing in test.run.timings]
    trials = sum(len(test.run.trials) for test in tests)
    return Facts((*pairs, ("Trials", f"{trials:,}"), ("Measured", dates_of(started))))


def _chapters_of(tests: Sequence[SuiteTest]) -> tuple[Chapter, ...]:
    """Chapters of all tests; those that are the same in each of them stand once, at the end."""
    parts = [result_chapters(test.run, test.outcome) for test in tests]
    same = [part for part in (parts[0] if len(parts) > 1 else ()) if all(part in other for other in parts)]
    chapters = [
        chapter
        for test, own in zip(tests, parts, strict=True)
        for chapter in _chapters(test, [part for part in own if part not in same])
    ]
    if same:
        chapters += [Chapter("All tests", "all-tests", (), level=1), *same]
    return tuple(_once(chapters))


def _content(grid: Grid) -> tuple[object, ...]:
    return grid.heads, grid.rows, grid.note


def _once(chapters: Sequence[Chapter]) -> Iterator[Chapter]:
    """Chapters in which a table of more than a row is a sentence where another test has had the same."""
    shown: dict[tuple[object, ...], str] = {}
    test = ""
    for chapter in chapters:
        test = chapter.title if chapter.level == 1 else test
        blocks: list[Block] = []
        for block in chapter.blocks:
            if isinstance(block, Grid) and block.rows[1:]:
                first = shown.setdefault(_content(block), test)
                blocks.append(block if first == test else Paragraph(f"{block.title}: as in {first}."))
            else:
                blocks.append(block)
        yield replace(chapter, blocks=tuple(blocks))


def _chapters(test: SuiteTest, parts: Sequence[Chapter]) -> tuple[Chapter, ...]:
    config, anchor = test.run.config, _anchor(test.run.label)
    own = [pair for pair in facts_of(test.run, test.outcome).pairs if pair[0] in _OF_ONE_TEST]
    head = Chapter(
        f"{_title(test)} ({config['section']})",
        anchor,
        (Facts((*own, ("Verdict", statement_of(test.outcome)))),),
        level=1,
        badge=_badge(test),
    )
    return (head, *(replace(part, anchor=f"{anchor}-{part.anchor}") for part in parts))


def _anchor(name: str) -> str:
    return name.replace(".", "-")
