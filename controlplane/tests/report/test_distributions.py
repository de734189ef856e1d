"""Percentile curves and histograms of a report: from the bins that trials have stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import vl_convert

from p4mesh.report.distributions import distribution_charts, interarrival_charts
from p4mesh.report.latency_charts import latency_charts
from p4mesh.store.run_files import StoredTrial
from p4mesh.verdict import Verdict

CONFIG = {"time_stamps": {"kind": "first bit"}, "ports": [], "parameters": []}


def latency(low: float, high: float, *frames: int) -> dict[str, Any]:
    width = (high - low) / len(frames)
    edges = [low + width * place for place in range(len(frames) + 1)]
    return {
        "count": sum(frames),
        "min_ns": low,
        "max_ns": high,
        "sum_ns": 0,
        "percentiles_ns": [[50.0, low], [99.0, high]],
        "percentile_errors_ns": [[50.0, 8.0]],
        "bins": {"low_ns": edges[:-1], "high_ns": edges[1:], "frames": list(frames)},
    }


def trial(unit: str, found: dict[str, Any], status: str = "MEASURED", **more: Any) -> StoredTrial:
    return StoredTrial(unit, 0, 50.0, Verdict.PASS, {"streams": []}, {"status": status, "latency": found, **more})


def test_a_curve_says_how_many_frames_are_slower() -> None:
    percentiles, _ = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 4000, 90, 9, 1))])
    points = [(value["x"], value["y"], value["percentile"]) for value in percentiles.spec["data"]["values"]]
    assert points == [
        (1.0, 1.0, "0 %"),
        (pytest.approx(10), 2.0, "90 %"),
        (pytest.approx(100), 3.0, "99 %"),
        (100.0, 4.0, "99 %"),
    ]
    # The places of 0, 50, 90 and 99 %; 99.9 % is beyond the last point.
    assert percentiles.spec["encoding"]["x"]["axis"]["values"] == [1, 2, 10, 100]
    assert "Shown are" not in percentiles.note
    assert percentiles.numbers is not None
    assert percentiles.numbers.rows[0].cells == ("64 B, all frames", "1", "1.000 +-0.008", "4.000 +-?", "4")


def test_a_histogram_has_the_share_of_every_bin() -> None:
    _, histogram = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 3000, 3, 1))])
    bars = [(value["x"], value["x2"], value["frames"], value["y"]) for value in histogram.spec["data"]["values"]]
    assert bars == [(1.0, 2.0, 3, 75.0), (2.0, 3.0, 1, 25.0)]


def test_the_axis_of_percentiles_ends_with_the_first_place_behind_the_last_point() -> None:
    """Where one frame in five is slower than the others, 10 is no more than twice as many, and 100 is."""
    for frames, places in (((4, 1), [1, 2, 10]), ((3, 1), [1, 2])):
        chart, _ = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 3000, *frames))])
        assert chart.spec["encoding"]["x"]["axis"]["values"] == places
    chart, _ = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 3000, 2, 1))])
    assert [value["percentile"] for value in chart.spec["data"]["values"]] == ["0 %", "66.66667 %", "66.66667 %"]


def test_parts_that_are_not_named_by_a_size_have_curves_of_their_own() -> None:
    units = ("a.rate=1 Mbit/s L1, a.sizes=90", "a.rate=1 Mbit/s L1, a.sizes=134")
    chart, _ = distribution_charts(
        CONFIG, [trial(unit, latency(size, 200, 5)) for unit, size in zip(units, (90, 134), strict=True)]
    )
    assert [entry.name for entry in chart.legend] == [f"{unit}, all frames" for unit in units]


def test_latency_is_drawn_against_load_where_nothing_else_makes_it() -> None:
    def at(unit: str, load_pct: float, mean_ns: float) -> StoredTrial:
        return replace(trial(unit, latency(100, 200, 5) | {"sum_ns": 5 * mean_ns}), load_pct=load_pct)

    searched = [at("64B/throughput", 50.0, 100), at("64B/forwarding", 50.0, 110), at("64B/forwarding", 90.0, 300)]
    assert len(latency_charts(CONFIG, searched)) == 2
    assert not latency_charts(CONFIG, [*searched, at("64B/5 failures", 50.0, 200)])
    # Up to a third of the largest is alike, and a hundredth of the line is far enough apart.
    for mean_ns, highest_pct, drawn in ((150, 51.0, 2), (151, 51.0, 0), (150, 50.9, 0)):
        some = [
            at("64B/throughput", 50.0, 100),
            at("64B/forwarding", 50.0, mean_ns),
            at("64B/forwarding", highest_pct, 110),
        ]
        assert len(latency_charts(CONFIG, some)) == drawn
    nothing = replace(trial("64B/forwarding", latency(100, 200, 5) | {"count": 0}), load_pct=80.0)
    assert len(latency_charts(CONFIG, [*searched, nothing])) == 2


def test_every_size_is_among_the_worst() -> None:
    histograms = [
        {"stream": "pairs", "tx_port": number, "rx_port": number + 1, "latency": latency(1000, 9000 + number, 5)}
        for number in range(1, 40)
    ]
    slow = trial("1518B/latency", latency(1, 2, 1), histograms=histograms)
    chart, _ = distribution_charts(CONFIG, [slow, trial("64B/latency", latency(100, 200, 5))])
    names = [entry.name for entry in chart.legend]
    assert len(names) == 12 and "64 B, all frames" in names and "1518 B, pairs from port 39 to port 40" in names
    assert "Shown are the 12 of 41" in chart.note


def between(width_us: int, *frames: int) -> dict[str, Any]:
    """Times in bins of this width from 1 us on."""
    edges = [1000.0 + 1000 * width_us * place for place in range(len(frames) + 1)]
    return {"bins": {"low_ns": edges[:-1], "high_ns": edges[1:], "frames": list(frames)}}


def test_times_between_frames_are_drawn_for_both_ends_of_trusted_trials() -> None:
    pairs = {"stream": "pairs", "tx_port": 1, "rx_port": 2, "arrivals": between(2, 3, 1)}
    found = {"interarrival": [pairs | {"departures": between(1, 5)}], "latency": None}
    quiet = {"interarrival": [pairs | {"tx_port": None, "rx_port": None, "departures": None}], "latency": None}
    trials = [
        StoredTrial(f"64B/{name}", 0, 50.0, Verdict.PASS, {"streams": []}, {"status": status, **result})
        for name, status, result in (("a", "MEASURED", found), ("b", "MEASURED", quiet), ("c", "INVALID", found))
    ]
    (chart,) = interarrival_charts(trials)
    bars = [(bar["series"], bar["x"], bar["x2"], bar["frames"], bar["y"]) for bar in chart.spec["data"]["values"]]
    assert bars == [
        ("a, pairs from port 1 to port 2 at the sender", 1, 2, 5, 100),
        ("a, pairs from port 1 to port 2 at the receiver", 1, 3, 3, 75),
        ("a, pairs from port 1 to port 2 at the receiver", 3, 5, 1, 25),
        ("b, pairs at the receiver", 1, 3, 3, 75),
        ("b, pairs at the receiver", 3, 5, 1, 25),
    ]
    assert "Shown are" not in chart.note
    assert interarrival_charts(trials[2:]) == ()
    many = [
        pairs | {"tx_port": number, "arrivals": between(2, number), "departures": between(1, number)}
        for number in range(1, 8)
    ]
    (chart,) = interarrival_charts([replace(trials[0], result=trials[0].result | {"interarrival": many})])
    assert len(chart.legend) == 12 and chart.legend[-1].name == "a, pairs from port 6 to port 2 at the receiver"
    assert chart.note.endswith(" Shown are the first 12 of 14.")


def test_shares_below_the_axis_are_drawn_at_its_end() -> None:
    """One frame of ten million: 0.00001 %, and the axis begins at 0.0001 %."""
    _, histogram = distribution_charts(CONFIG, [trial("64B/latency", latency(1000, 3000, 9_999_999, 1))])
    (_, last) = histogram.spec["data"]["values"]
    assert (last["y"], last["share"]) == (0.0001, pytest.approx(0.00001))


def test_curves_that_lie_on_each_other_are_one() -> None:
    histograms = [
        {"stream": "pairs", "tx_port": number, "rx_port": 4, "latency": latency(1000, 2000, 5, 6 if number == 3 else 5)}
        for number in (1, 2, 3)
    ]
    trials = [trial(f"{size}B/latency", latency(1000, 2000, 1, 1), histograms=histograms) for size in (64, 512)]
    for chart in distribution_charts(CONFIG, trials):
        names = [entry.name for entry in chart.legend if entry.name.startswith("64 B, pairs")]
        assert names == ["64 B, pairs from port 1 to port 4 and 1 more", "64 B, pairs from port 3 to port 4"]
        assert {value["series"] for value in chart.spec["data"]["values"]} == {entry.name for entry in chart.legend}


def test_trials_without_bins_or_trust_have_no_figure() -> None:
    plain = {"count": 1, "min_ns": 1.0, "max_ns": 1.0, "percentiles_ns": []}
    untrusted = trial("64B/latency", latency(1, 2, 1), status="INVALID")
    assert distribution_charts(CONFIG, [trial("64B/latency", plain), untrusted]) == ()


@pytest.mark.parametrize(("highest_pct", "end"), [(90.0, 100.0), (100.0, 100.0), (400.0, 400.0)])
def test_the_axis_of_loads_ends_at_line_rate_or_where_a_load_was_higher(highest_pct: float, end: float) -> None:
    """A point beyond the axis leaves a chart as wide as its place no width at all."""
    result = {"status": "MEASURED", "latency": latency(1000, 4000, 90, 9, 1) | {"sum_ns": 200_000}}
    trials = [
        StoredTrial("64B/latency", 0, load, Verdict.PASS, {"streams": []}, result) for load in (10.0, highest_pct)
    ]
    for chart in latency_charts(CONFIG, trials):
        assert chart.spec["encoding"]["x"]["scale"]["domain"] == [0, end]


def test_latency_against_load_leaves_out_loads_that_fill_a_queue_and_loads_that_are_one_point() -> None:
    found = latency(1000, 4000, 90, 9, 1) | {"sum_ns": 200_000}

    def at(load: float, trend: str) -> StoredTrial:
        result = {"status": "MEASURED", "latency": found, "queues": {"trend": trend}}
        return StoredTrial("64B/throughput", 0, load, Verdict.MEASURED, {"streams": []}, result)

    trials = [at(10.0, "steady"), at(50.0, "too short to tell"), at(90.0, "filling")]
    for chart in latency_charts(CONFIG, trials):
        assert [point["x"] for point in chart.spec["data"]["values"]] == [10.0, 50.0]
    assert not latency_charts(CONFIG, [at(0.002, "steady"), at(0.034, "steady")])


def test_the_marks_and_the_width_of_a_single_line_are_numbers_in_the_picture() -> None:
    result = {"status": "MEASURED", "latency": latency(1000, 4000, 90, 9, 1) | {"sum_ns": 200_000}}
    trials = [StoredTrial("64B/latency", 0, load, Verdict.PASS, {"streams": []}, result) for load in (10.0, 50.0)]
    for chart in latency_charts(CONFIG, trials):
        assert "NaN" not in vl_convert.vegalite_to_svg(chart.spec | {"width": 400})


PORTS = [{"number": 1, "rate_bps": 10**9}, {"number": 2, "rate_bps": 10**10}, {"number": 3, "rate_bps": 10**9}]


@pytest.mark.parametrize(
    ("definition", "rx_ports", "added_bytes", "name", "shift_us"),
    [
        ("FIFO", [2], 0, "FIFO", 0),
        ("LIFO", [2], 0, "LIFO", -0.512),
        ("LILO", [2], 0, "LILO", 0.0512 - 0.512),
        # Frames that come back with a tag, 4 bytes at 10 Gbit/s.
        ("FILO", [2], 4, "FILO", 0.0512 + 0.0032),
        # No one time makes FILO of both.
        ("FILO", [2, 3], 0, "FIFO", 0),
    ],
)
def test_figures_show_the_definition_of_the_tables(
    definition: str, rx_ports: list[int], added_bytes: float, name: str, shift_us: float
) -> None:
    """64 bytes from a port of 1 Gbit/s."""
    config = CONFIG | {"ports": PORTS, "parameters": [{"name": "latency_definition", "value": definition}]}
    streams = [{"frame_size_bytes": 64, "tx_ports": [1], "rx_ports": rx_ports}]
    found = latency(1000, 4000, 90, 9, 1) | {"sum_ns": 200_000, "added_bytes": added_bytes}
    trials = [
        StoredTrial(
            "64B/latency", 0, load, Verdict.PASS, {"streams": streams}, {"status": "MEASURED", "latency": found}
        )
        for load in (10.0, 50.0)
    ]
    percentiles, histogram = distribution_charts(config, trials)
    assert (percentiles.title, histogram.title) == (f"{name} latency over percentile", f"{name} latency histogram")
    assert percentiles.spec["data"]["values"][0]["y"] == pytest.approx(1 + shift_us)
    assert histogram.spec["data"]["values"][-1]["x2"] == pytest.approx(4 + shift_us)
    mean, largest = latency_charts(config, trials)
    for chart in (percentiles, histogram, mean, largest):
        assert (f"not {definition} as in the tables" in chart.note) == (name != definition)
    assert (mean.title, largest.title) == (f"Mean {name} latency against load", f"Largest {name} latency against load")
    for chart, shown_us in ((mean, 2 + shift_us), (largest, 4 + shift_us)):
        assert [point["y"] for point in chart.spec["data"]["values"]] == pytest.approx([shown_us, shown_us])
