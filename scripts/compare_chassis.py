#!/usr/bin/env python3
"""Writes how far the model of a chassis is from the published report, into docs/CHASSIS.md.

Takes the directory that `p4mesh run profiles/nexus9508.yaml` has left, or one of a part of its tests and sizes: other
rows of the document stay. Published values are those of controlplane/tests/fixtures/published_nexus_9508.json. Errors
of the model's numbers stand beside them, `?` where one is not known.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = _ROOT / "docs" / "CHASSIS.md"
PUBLISHED = _ROOT / "controlplane" / "tests" / "fixtures" / "published_nexus_9508.json"
RUNS = {
    "t1": ("test-bed-copper",),
    "t3": ("layer-2-unicast-64", "layer-2-unicast"),
    "t4": ("ipv4-unicast-64", "ipv4-unicast"),
    "t6": ("ipv6-unicast-86", "ipv6-unicast"),
    "t8": ("layer-2-multicast",),
}
"""Tests of the profile for each published table of rates and latency."""
_TABLE = "rate_and_latency"
_JITTER = {"t12": "jitter_avg", "t13": "jitter_max"}
_BEGIN = "<!-- deviations: made by scripts/compare_chassis.py -->\n"
_END = "<!-- end of the deviations -->\n"
_HEAD = (
    "| frame size | published frames/s | model | Tbit/s | model | % of line | model | latency avg | model | "
    "deviation | min, max | model | jitter avg, max | model |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)
_JITTER_HEAD = "| frame size | 10 % | 50 % | 90 % | throughput |\n|---|---|---|---|---|\n"


def main(run: Path) -> None:
    """Replace the tables of the document by those of a run."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    made, _, after = rest.partition(_END)
    DOCUMENT.write_text(f"{before}{_BEGIN}\n{''.join(tables(run, published, made))}{_END}{after}", encoding="utf-8")


def tables(run: Path, published: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield one table of rates and latency per published one, then those of jitter against load.

    Rows that the run does not have are those of ``before``.
    """
    made = ((name, _HEAD, _row, tests, _TABLE, "\n") for name, tests in RUNS.items())
    of_jitter = (
        (name, _JITTER_HEAD, _jitter, RUNS["t3"], table, "\nPublished / model, in us.\n\n")
        for name, table in _JITTER.items()
    )
    for name, head, written, tests, table, end in (*made, *of_jitter):
        found = {size: row for test in tests for size, row in _rows(run / test / f"{table}.csv").items()}
        heading = f"### {published[name]['title']}\n"
        kept = _kept(before.partition(heading)[2].partition("###")[0])
        rows = [
            written(row, found[size]) if size in found else kept[size]
            for row in published[name]["rows"]
            if (size := row["frame_size_B"]) in found or size in kept
        ]
        if rows:
            yield f"{heading}\n{head}{''.join(rows)}{end}"


def _kept(table: str) -> dict[int, str]:
    """Rows of a table by frame size."""
    rows = (line for line in table.splitlines(keepends=True) if line.startswith("| ") and line[2].isdigit())
    return {int(row.split("|")[1]): row for row in rows}


def _rows(path: Path) -> dict[int, dict[str, str]]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {int(row["frame_size_bytes"]): row for row in csv.DictReader(file)}


def _row(row: dict[str, Any], model: dict[str, str]) -> str:
    average = float(model["avg_us"])
    deviation = 100 * (average / row["lat_avg_us"] - 1)
    cells = (
        row["frame_size_B"],
        f"{row['frames_per_s']:.2f}",
        _measured(model, "forwarding_fps", 2),
        f"{row['throughput_tbps']:.3f}",
        f"{float(model['forwarding_l2_tbps']):.3f}",
        f"{row['line_rate_pct']:.4f}",
        f"{float(model['line_pct']):.4f}",
        f"{row['lat_avg_us']:.3f}",
        _measured(model, "avg_us", 3),
        f"{deviation:+.1f} %",
        f"{row['lat_min_us']:.2f}, {row['lat_max_us']:.2f}",
        f"{float(model['min_us']):.2f}, {float(model['max_us']):.2f}",
        f"{row['jit_avg_us']:.3f}, {row['jit_max_us']:.2f}",
        f"{_measured(model, 'jitter_avg_us', 3)}, {float(model['jitter_max_us']):.2f}",
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _jitter(row: dict[str, Any], model: dict[str, str]) -> str:
    keys = (
        ("load10_us", "load_10_us"),
        ("load50_us", "load_50_us"),
        ("load90_us", "load_90_us"),
        ("throughput_us",) * 2,
    )
    cells = (f"{_shown(row[key])} / {_measured(model, own, 3) if model[own] else 'NA'}" for key, own in keys)
    return f"| {row['frame_size_B']} | {' | '.join(cells)} |\n"


def _measured(model: dict[str, str], key: str, digits: int) -> str:
    """A number of the run, beside its error with 95 % confidence, rounded up: ? where the run has none for this row."""
    quantity, _, unit = key.rpartition("_")
    error, shown = model.get(f"{quantity}_error_{unit}"), f"{float(model[key]):.{digits}f}"
    if error is None:
        return shown
    return f"{shown} +-{ceil(float(error) * 10**digits) / 10**digits:.{digits}f}" if error else f"{shown} +-?"


def _shown(value: float | str | None) -> str:
    return "NA" if value in (None, "") else f"{float(value):.3f}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
