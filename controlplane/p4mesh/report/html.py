"""A document as one page that needs nothing from outside: style, figures and the script that draws them are in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from p4mesh.report.document import Block, Chart, Document
from p4mesh.report.vega_script import vega_script

_INK = "currentColor"
_CONFIG = {
    "background": "transparent",
    "font": "'Liberation Sans', Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _INK,
        "tickColor": _INK,
        "gridColor": _INK,
        "gridOpacity": 0.14,
        "domainOpacity": 0.5,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "header": {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 12},
    "legend": {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 12},
}
"""Figures take the colours of the text around them, so that they follow dark screens and white paper."""


@dataclass(frozen=True)
class DrawnChart:
    """A figure with its place in the page."""

    kind: ClassVar[str] = "drawn"
    chart: Chart
    id: str
    page_spec: Markup

    @property
    def title(self) -> str:
        """The title of the figure."""
        return self.chart.title

    @property
    def numbers(self) -> object:
        """The table of the figure."""
        return self.chart.numbers


@dataclass(frozen=True)
class PageChapter:
    """A chapter with its figures in their places."""

    title: str
    anchor: str
    level: int
    badge: object
    blocks: Sequence[object]


def page(document: Document) -> str:
    """The document as the text of one HTML page."""
    counter = iter(range(1_000_000))
    cover = _placed(document.cover, counter)
    chapters = [
        PageChapter(chapter.title, chapter.anchor, chapter.level, chapter.badge, _placed(chapter.blocks, counter))
        for chapter in document.chapters
    ]
    has_charts = next(counter) > 0
    return _template().render(
        document=document,
        cover=cover,
        chapters=chapters,
        style=Markup(_part("style.css")),
        has_charts=has_charts,
        library=Markup(vega_script()) if has_charts else "",
        script=Markup(_part("report.js")),
    )


@cache
def _template() -> Template:
    """The page without its document: to compile it takes as long as a short trial."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def _placed(blocks: Iterable[Block], counter: Any) -> list[object]:
    return [
        DrawnChart(block, f"figure{next(counter)}", _script_data(_for_page(block)))
        if isinstance(block, Chart)
        else block
        for block in blocks
    ]


def _for_page(chart: Chart) -> dict[str, Any]:
    """Specification without its legend where the page has buttons instead."""
    spec = {**copy.deepcopy(chart.spec), "config": _CONFIG}
    if chart.legend:
        for layer in (spec, *spec.get("layer", ())):
            for channel in layer.get("encoding", {}).values():
                if isinstance(channel, dict) and "scale" in channel and channel.get("field") == "series":
                    channel["legend"] = None
    return spec


def _script_data(data: dict[str, Any]) -> Markup:
    """JSON that cannot end the script element that it stands in, whatever names are in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _part(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")
