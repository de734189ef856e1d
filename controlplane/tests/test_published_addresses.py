"""Address tests of the White Rabbit report, table 1.7: the path of the search, spread over MAC bases, learning rate."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from published import WHITE_RABBIT, changed, run, shipped

from p4mesh.methods.rfc2889.address_caching import AddressCaching
from p4mesh.methods.rfc2889.address_learning import AddressLearning

REPORT = ("addresses_initial=100", "addresses_min=100", "addresses_max=2048", "addresses_resolution=100")
TABLE = "mac_table: {entries: 2048, ways: 4, aging_s: 300}"
QUICK = ("learning_rate_fps=20000", "settle_ms=1", "learning_wait_ms=1")
"""The model learns in hardware, so that the rate of learning does not matter; the report used 20 frames/s."""


def path_where(passes: Callable[[int], bool]) -> list[int]:
    """Addresses per trial by the rule of the report: bisection between 100 and 2048 down to 100."""
    low, high, tried, n = 100, 2048, [], 100
    while True:
        tried.append(n)
        low, high = (n, high) if passes(n) else (low, n)
        if high - low <= 100:
            return tried
        n = low + (high - low) // 2


def test_a_device_that_holds_1532_addresses_shows_the_capacity_of_the_report() -> None:
    # The report's switch held between 1500 and 1560; the test port's own address takes one place.
    topology = changed("wrs-18x1g", (TABLE, "mac_table: {entries: 1532, aging_s: 300}"))
    results, _, _ = run(AddressCaching(), topology, (64,), *REPORT, *QUICK, "repetitions=1")
    (result,) = results.values()
    assert result["result"] == WHITE_RABBIT["address_caching"][0]["address_count"]
    assert [row["addresses"] for row in result["rows"]] == path_where(lambda addresses: addresses <= 1531)
    assert result["fails_at"] == 1561


def test_the_hashed_table_of_the_switch_shows_its_spread_over_mac_bases_in_searches_of_the_same_rule() -> None:
    results, outcome, _ = run(AddressCaching(), shipped("wrs-18x1g"), (64,), *REPORT, *QUICK, "repetitions=4")
    for result in results.values():
        verdicts = {row["addresses"]: row["verdict"] == "PASS" for row in result["rows"]}
        assert list(verdicts) == path_where(verdicts.__getitem__)
        failing = [row for row in result["rows"] if row["verdict"] == "FAIL"]
        assert all(row["monitor_flood_frames"] > 0 for row in failing)
    (table, *_) = outcome.tables
    (row,) = table.rows
    assert 1500 < row["capacity_min"] < row["capacity_max"] < 2048
    assert row["repetitions"] == 4


def test_the_learning_rate_is_at_least_80_frames_per_second() -> None:
    results, outcome, _ = run(
        AddressLearning(),
        shipped("wrs-18x1g"),
        (64,),
        "addresses=100",
        "rate_initial_fps=20",
        "rate_min_fps=20",
        "rate_max_fps=100",
        "rate_resolution_fps=20",
    )
    assert [result["result"] for result in results.values()] == [pytest.approx(80)] * 3
    (row,) = outcome.tables[0].rows
    assert (row["state"], row["rate_fps_min"], row["rate_fps_max"]) == ("PASS (at least)", 80, 80)
    assert outcome.state.value == "PASS"
    assert any("64 B: >= 80 f/s" in finding for finding in outcome.findings)


def test_addresses_are_learned_from_broadcasts_too() -> None:
    topology = changed("wrs-18x1g", (TABLE, "mac_table: {entries: 1532, aging_s: 300}"))
    settings = ("learning_destination=broadcast", "repetitions=1")
    results, _, trials = run(AddressCaching(), topology, (64,), *REPORT, *QUICK, *settings)
    (result,) = results.values()
    assert (result["result"], result["fails_at"]) == (1500, 1561)
    assert all(spec.streams[0].pattern.value == "broadcast" for spec, _ in trials[::2])
