"""A document as a PDF, typeset by Typst: page numbers, table heads on every page, no column lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typst
import vl_convert

from p4mesh import __version__
from p4mesh.report.document import Block, Chapter, Chart, Document, Grid
from p4mesh.report.paper import parts_of

_TEMPLATE = "report.typ"
_CHART_WIDTH, _CHART_HEIGHT = 760, 260
_CHART_WIDTH_CM = 16.5
_LEGEND_STROKE, _LEGEND_LINE = 1.8, 34
"""Width and length of a line in a legend, in pixels."""
_MOST_ROWS = 90
"""Rows of a table without an annex; of a table in several parts, the rows of all of them."""
_FACETS_AT_ONCE = 4
"""Parts of a figure with one per frame size: more of them continue in another figure."""
_CONFIG = {
    "background": "white",
    "view": {"stroke": None},
    "axis": {"gridOpacity": 0.5, "titleFontWeight": "normal", "labelFontSize": 11, "titleFontSize": 11},
    "legend": {"labelFontSize": 11, "symbolSize": 90, "columnPadding": 30},
}


def pdf(document: Document, annex: bool = False) -> bytes:
    """The document as bytes of a PDF; ``annex`` asks for what else the page has: long tables, every trial, files."""
    if not annex:
        document = replace(document, chapters=tuple(_short(one) for one in document.chapters if not one.annex))
    with TemporaryDirectory(prefix="p4mesh-report-") as name:
        folder = Path(name)
        data = _Data(folder).of(document)
        (folder / "data.json").write_text(json.dumps(data, allow_nan=False), encoding="utf-8")
        source = folder / _TEMPLATE
        source.write_bytes((files(__package__) / "templates" / _TEMPLATE).read_bytes())
        made = typst.compile(source, root=folder, ignore_system_fonts=True)
    assert isinstance(made, bytes)
    return made


def _short(chapter: Chapter) -> Chapter:
    """A chapter whose tables end where they would fill pages that nobody reads."""
    return replace(chapter, blocks=tuple(_cut(block) if isinstance(block, Grid) else block for block in chapter.blocks))


def _cut(grid: Grid) -> Grid:
    if not grid.rows:
        return grid
    room = _MOST_ROWS // len(parts_of(grid))
    if len(grid.rows) <= room:
        return grid
    note = f"The first {room} of {len(grid.rows):,} rows: a PDF with --annex has all, as the page has. {grid.note}"
    return replace(grid, rows=grid.rows[:room], note=note.rstrip())


class _Data:
    """The document as data for the template, with its figures as files beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._figures = 0

    def of(self, document: Document) -> dict[str, Any]:
        return {
            "title": document.title,
            "subtitle": document.subtitle,
            "badge": asdict(document.badge),
            "statement": document.statement,
            "setting": document.setting,
            "footer": f"P4Mesh {__version__}",
            "facts": self._block(document.facts),
            "cover": self._blocks(document.cover),
            "chapters": [self._chapter(chapter) for chapter in document.chapters],
        }

    def _chapter(self, chapter: Chapter) -> dict[str, Any]:
        return {
            "title": chapter.title,
            "level": chapter.level,
            "badge": asdict(chapter.badge) if chapter.badge else None,
            "blocks": self._blocks(chapter.blocks),
        }

    def _blocks(self, blocks: Iterable[Block]) -> list[dict[str, Any]]:
        return [self._block(block) for block in blocks]

    def _block(self, block: Block) -> dict[str, Any]:
        if isinstance(block, Grid):
            parts = [asdict(part) for part in parts_of(block)] if block.rows else []
            found = {"title": block.title, "note": block.note, "rows": len(block.rows), "parts": parts}
        elif isinstance(block, Chart):
            files_of = [self._figure(spec) for spec in for_paper(block)]
            found = {"title": block.title, "note": block.note, "files": files_of, "width": _CHART_WIDTH_CM}
        else:
            found = asdict(block)
        return {"kind": block.kind, **found}

    def _figure(self, spec: dict[str, Any]) -> str:
        self._figures += 1
        name = f"figure{self._figures}.pdf"
        (self._folder / name).write_bytes(vl_convert.vega_to_pdf(vega_for_paper(spec)))
        return name


def vega_for_paper(spec: dict[str, Any]) -> dict[str, Any]:
    """Vega of a figure, in whose legend marks are whole and dashes are long enough to be seen.

    Vega-Lite draws a line's mark in the legend with the dashes of the line.
    """
    vega: dict[str, Any] = vl_convert.vegalite_to_vega(spec)
    for legend in vega.get("legends", ()):
        if "shape" in legend:
            for channel in ("strokeDash", "strokeWidth", "size"):
                legend.pop(channel, None)
            legend["symbolStrokeWidth"] = _LEGEND_STROKE
        elif "strokeDash" in legend:
            legend |= {"symbolType": "stroke", "symbolSize": _LEGEND_LINE**2, "symbolStrokeWidth": _LEGEND_STROKE}
    return vega


def for_paper(chart: Chart) -> list[dict[str, Any]]:
    """Specification with a width, or several of them where it has more parts than a page."""
    spec = {**copy.deepcopy(chart.spec), "config": _CONFIG}
    if spec.get("width") == "container":
        spec |= {"width": _CHART_WIDTH, "height": _CHART_HEIGHT}
    if "facet" not in spec:
        return [spec]
    values = spec["data"]["values"]
    parts = list(dict.fromkeys(value["part"] for value in values))
    chunks = [parts[first : first + _FACETS_AT_ONCE] for first in range(0, len(parts), _FACETS_AT_ONCE)]
    return [{**spec, "data": {"values": [value for value in values if value["part"] in chunk]}} for chunk in chunks]
