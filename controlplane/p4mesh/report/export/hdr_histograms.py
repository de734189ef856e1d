"""Latency of each trial as an HdrHistogram log, for the tools of that format: a line per stream and pair of ports.

Values are nanoseconds: each bin of a trial counts at its middle, to three significant digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from p4mesh.errors import EnvironmentFault, UsageError
from p4mesh.store.stored_run import StoredRun
from p4mesh.traffic.line_rate import NS_PER_S, NS_PER_US

LOG = "latency.hlog"
_HIGHEST_NS = 3_600 * 10**9
_DIGITS = 3
_NOT_IN_TAGS = re.compile(r"[^\w./:+-]+")


def hdr_log(run: StoredRun) -> str:
    """Text of the log; raises UsageError where no trial has a histogram, EnvironmentFault without the library."""
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError:
        raise EnvironmentFault(
            "HdrHistogram logs need hdrhistogram, which is not installed", hint="pip install 'p4mesh[hdr]'"
        ) from None
    start_s = _epoch_s(run.started_utc)
    lines = [
        f"#[{run.label}, run {run.identifier}: latency in ns, Interval_Max in us]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch), {run.started_utc}]",
        f"#[BaseTime: {start_s:.3f} (seconds since epoch)]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    times = {(one.unit, one.index): _epoch_s(one.started_utc) - start_s for one in run.timings}
    first = len(lines)
    for trial in run.trials:
        for one in trial.result.get("histograms") or ():
            histogram = HdrHistogram(1, _HIGHEST_NS, _DIGITS)
            for value_ns, frames in _counts(one["latency"].get("bins") or {}):
                histogram.record_value(value_ns, frames)
            if not histogram.get_total_count():
                continue
            pair = "" if one["tx_port"] is None else f":{one['tx_port']}-{one['rx_port']}"
            tag = _NOT_IN_TAGS.sub("_", f"{trial.unit}:{trial.index}:{one['stream']}{pair}")
            began_s, lasted_s = times.get((trial.unit, trial.index), 0.0), trial.result["duration_ns"] / NS_PER_S
            highest_us = histogram.get_max_value() / NS_PER_US
            payload = histogram.encode().decode("ascii")
            lines.append(f"Tag={tag},{began_s:.3f},{lasted_s:.6f},{highest_us:.3f},{payload}")
    if len(lines) == first:
        raise UsageError(
            f"{run.path}: no trial has a histogram of latency", hint="export a run of a latency test, or another format"
        )
    return "\n".join(lines) + "\n"


def _counts(bins: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the middle of each bin in whole nanoseconds, 1 or more, and its frames."""
    for low_ns, high_ns, frames in zip(
        bins.get("low_ns", ()), bins.get("high_ns", ()), bins.get("frames", ()), strict=True
    ):
        yield min(max(round((low_ns + high_ns) / 2), 1), _HIGHEST_NS), frames


def _epoch_s(utc: str) -> float:
    return datetime.fromisoformat(utc.replace("Z", "+00:00")).timestamp() if utc else 0.0
