"""Looks of lines: they differ in colour, mark and dash together, so that no reader depends on one of them.

The colours are readable on white paper and on a dark screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.report.document import LegendEntry

_COLOURS = (
    *("#2f7ed8", "#d9730d", "#2e9e5b", "#9b5fc0", "#d64550", "#14909c", "#a8820a", "#d45d9e", "#7a8a2e"),
    *("#5b6fd6", "#b3654a", "#4a9a8a"),
)
_SHAPES = (
    "M0,-.5A.5,.5,0,1,1,0,.5A.5,.5,0,1,1,0,-.5Z",
    "M-.45,-.45H.45V.45H-.45Z",
    "M0,-.55L.55,.45H-.55Z",
    "M0,-.6L.6,0L0,.6L-.6,0Z",
    "M-.2,-.55H.2V-.2H.55V.2H.2V.55H-.2V.2H-.55V-.2H-.2Z",
    "M0,.55L.55,-.45H-.55Z",
    "M-.55,-.25H.55V.25H-.55Z",
)
_DASHES = ((1, 0), (7, 3), (3, 2), (9, 3, 2, 3))
_THEORY = LegendEntry("", "#8a8f98", "M-.9,0H.9", (5, 5))
GOOD, BAD, UNKNOWN = "#2e9e5b", "#d64550", "#8a8f98"


def legend_of(series: Sequence[tuple[str, bool]]) -> tuple[LegendEntry, ...]:
    """Legend entry of each series; ``series`` are names, and whether they are theory."""
    entries = []
    measured = 0
    for name, theoretical in series:
        if theoretical:
            entries.append(LegendEntry(name, _THEORY.colour, _THEORY.shape, _THEORY.dash))
            continue
        entries.append(
            LegendEntry(
                name,
                _COLOURS[measured % len(_COLOURS)],
                _SHAPES[measured % len(_SHAPES)],
                _DASHES[measured % len(_DASHES)],
            )
        )
        measured += 1
    return tuple(entries)
