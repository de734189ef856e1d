"""Percentile curves and histograms of a report: from the bins that trials have stored."""

from __future__ import annotations

from typing import Any

import pytest

from p4mesh.report.distributions import distribution_charts
from p4mesh.store.run_files import StoredTrial
from p4mesh.verdict import Verdict

CONFIG = {"time_stamps": {"kind": "first bit"}}


def latency(low: float, high: float, *frames: int) -> dict[str, Any]:
    width = (high - low) / len(frames)
    edges = [low + width * place for place in range(len(frames) + 1)]
    return {
        "count": sum(frames),
        "min_ns": low,
        "max_ns": high,
        "percentiles_ns": [[50.0, low], [99.0, high]],
        "bins": {"low_ns": edges[:-1], "high_ns": edges[1:], "frames": list(frames)},
    }


def trial(unit: str, found: dict[str, Any], status: str = "MEASURED", **more: Any) -> StoredTrial:
    return StoredTrial(unit, 0, 50.0, Verdict.PASS, {}, {"status": status, "latency": found, **more})


def test_a_curve_says_how_many_frames_are_slower() -> None:
    percentiles, _ = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 4000, 90, 9, 1))])
    points = [(value["x"], value["y"]) for value in percentiles.spec["data"]["values"]]
    assert points == [(1.0, 1.0), (pytest.approx(10), 2.0), (pytest.approx(100), 3.0), (100.0, 4.0)]
    assert percentiles.numbers is not None
    assert percentiles.numbers.rows[0].cells == ("64 B, all frames", "1", "1", "4", "4")


def test_a_histogram_has_the_share_of_every_bin() -> None:
    _, histogram = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 3000, 3, 1))])
    bars = [(value["x"], value["x2"], value["frames"], value["y"]) for value in histogram.spec["data"]["values"]]
    assert bars == [(1.0, 2.0, 3, 75.0), (2.0, 3.0, 1, 25.0)]


def test_every_size_is_among_the_worst() -> None:
    histograms = [
        {"stream": "pairs", "tx_port": number, "rx_port": number + 1, "latency": latency(1000, 9000 + number, 5)}
        for number in range(1, 40)
    ]
    slow = trial("1518B/latency", latency(1, 2, 1), histograms=histograms)
    chart, _ = distribution_charts(CONFIG, [slow, trial("64B/latency", latency(100, 200, 5))])
    names = [entry.name for entry in chart.legend]
    assert len(names) == 12 and "64 B, all frames" in names and "1518 B, pairs from 39 to 40" in names
    assert "Shown are the 12 of 41" in chart.note


def test_trials_without_bins_or_trust_have_no_figure() -> None:
    plain = {"count": 1, "min_ns": 1.0, "max_ns": 1.0, "percentiles_ns": []}
    untrusted = trial("64B/latency", latency(1, 2, 1), status="INVALID")
    assert distribution_charts(CONFIG, [trial("64B/latency", plain), untrusted]) == ()
