"""Draws the figure of the README from a finished run of rfc2889.fully_meshed: docs/figures/fully-meshed-rate.svg."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from p4mesh.report.figures import chart_of
from p4mesh.report.pdf import for_paper
from p4mesh.report.publish import stored_outcome

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "fully-meshed-rate.svg"


def main(words: Sequence[str] | None = None) -> int:
    """Write the figure and return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="run directory of make run")
    outcome = stored_outcome(parser.parse_args(words).directory)
    chart = chart_of(next(figure for figure in outcome.figures if figure.name == "rate"))
    assert chart is not None
    FIGURE.parent.mkdir(exist_ok=True)
    (spec,) = for_paper(chart)
    FIGURE.write_text(vl_convert.vegalite_to_svg(spec) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
