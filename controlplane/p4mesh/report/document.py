"""The content of a report without its form: the page and the PDF are made from the same document.

A document is text, tables and figures in their order. Every cell is text already; nothing here measures or judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar


class Tone(str, Enum):
    """Emphasis of a verdict or a list."""

    GOOD = "good"
    BAD = "bad"
    NEUTRAL = "neutral"
    IDLE = "idle"


@dataclass(frozen=True)
class Badge:
    """A verdict in words."""

    text: str
    tone: Tone


@dataclass(frozen=True)
class Link:
    """A cell that leads to another page, or to a chapter (``#anchor``) of this document."""

    text: str
    address: str


GridCell = str | Badge | Link


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    title: str
    unit: str = ""
    number: bool = False
    """Aligned to the right."""
    key: bool = False
    """Identifies a row: repeated where a table is too wide for paper and continues below."""


@dataclass(frozen=True)
class GridRow:
    """A row; a muted one is a statistic of those above it."""

    cells: tuple[GridCell, ...]
    muted: bool = False


@dataclass(frozen=True)
class Grid:
    """A table."""

    kind: ClassVar[str] = "grid"
    title: str
    heads: tuple[Head, ...]
    rows: tuple[GridRow, ...]
    note: str = ""
    folded: bool = False
    """Long: the page shows it when it is asked for."""


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    title: str
    items: tuple[str, ...]
    tone: Tone = Tone.NEUTRAL


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True)
class Facts:
    """Names with values."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Listing:
    """A file, as it is."""

    kind: ClassVar[str] = "listing"
    title: str
    text: str


@dataclass(frozen=True)
class LegendEntry:
    """One line of a figure in its legend."""

    name: str
    colour: str
    shape: str
    """Path of the mark, one unit wide."""
    dash: tuple[int, ...]


@dataclass(frozen=True)
class Chart:
    """A figure, as a Vega-Lite specification that needs no data from elsewhere."""

    kind: ClassVar[str] = "chart"
    name: str
    title: str
    spec: dict[str, Any]
    legend: tuple[LegendEntry, ...] = ()
    """Empty where the figure has its own."""
    numbers: Grid | None = None
    """The same as a table, for readers who cannot see the figure."""
    note: str = ""


Block = Grid | Bullets | Paragraph | Facts | Listing | Chart


@dataclass(frozen=True)
class Chapter:
    """A part of the report with a heading; ``level`` 1 is a test of a suite, 2 is a part of a test."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]
    level: int = 2
    badge: Badge | None = None
    annex: bool = False
    """The page has it, paper only when it is asked for: long, or the same for every run of the set-up."""


@dataclass(frozen=True)
class Document:
    """A whole report: its cover, then chapters."""

    title: str
    subtitle: str
    badge: Badge
    statement: str
    """Meaning of the verdict, in one sentence."""
    setting: str
    """Kind of devices and of time; it stands on every sheet of paper."""
    facts: Facts
    cover: tuple[Block, ...]
    chapters: tuple[Chapter, ...] = field(default=())
