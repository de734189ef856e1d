"""docs/DATAPLANE.md draws the controls that the program has."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DRAWING = (ROOT / "docs" / "DATAPLANE.md").read_text(encoding="utf-8").partition("```")[2].partition("```")[0]


def test_every_control_in_the_drawing_exists() -> None:
    sources = [path for folder in ("v1model", "shared") for path in (ROOT / "p4src" / folder).glob("*.p4")]
    controls = {name for path in sources for name in re.findall(r"^control (\w+)", path.read_text(), re.MULTILINE)}
    drawn = set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b", DRAWING))
    assert {"Streams", "Reception", "Transmission", "FlowMeasurement"} <= drawn
    assert drawn <= controls
