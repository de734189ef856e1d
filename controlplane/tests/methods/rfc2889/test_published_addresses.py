"""Address tests of the White Rabbit report, table 1.7: the path of the search, spread over MAC bases, learning rate."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.networks import changed, parsed, shipped, switch
from support.published import WHITE_RABBIT
from support.runs import run_on_sim

from p4mesh.methods.registry import find_test
from p4mesh.verdict import Verdict

CACHING, LEARNING = find_test("rfc2889.address_caching"), find_test("rfc2889.address_learning")
"""With their resets: the switch forgets all addresses before each iteration."""
REPORT = (
    "addresses_initial=100",
    "addresses_min=100",
    "addresses_max=2048",
    "addresses_resolution=100",
    "addresses_try_max_first=false",
)
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
    results, _, _ = run_on_sim(CACHING, topology, (64,), *REPORT, *QUICK, "repetitions=1")
    ((result,),) = (unit.searches for unit in results.values())
    assert result.result == WHITE_RABBIT["address_caching"][0]["address_count"]
    assert [row.addresses for row in result.rows] == path_where(lambda addresses: addresses <= 1531)
    assert result.upper == 1561


def test_the_hashed_table_of_the_switch_shows_its_spread_over_mac_bases_in_searches_of_the_same_rule() -> None:
    results, outcome, _ = run_on_sim(CACHING, shipped("wrs-18x1g"), (64,), *REPORT, *QUICK, "repetitions=4")
    for (result,) in (unit.searches for unit in results.values()):
        verdicts = {row.addresses: row.verdict is Verdict.PASS for row in result.rows}
        assert list(verdicts) == path_where(verdicts.__getitem__)
        failing = [row for row in result.rows if row.verdict is Verdict.FAIL]
        assert all(row.monitor_flood_frames > 0 for row in failing)
    (table, *_) = outcome.tables
    (row,) = table.rows
    assert 1500 < row["capacity_min"] < row["capacity_max"] < 2048
    assert row["repetitions"] == 4


def test_the_learning_rate_is_at_least_80_frames_per_second_up_to_the_capacity() -> None:
    """Table 1.7: 100, 612, 1124 addresses and the capacity, 20 to 100 frames/s with a resolution of 20."""
    topology = changed("wrs-18x1g", (TABLE, "mac_table: {entries: 1532, aging_s: 300}"))
    own = topology.settings["rfc2889.address_learning"]
    assert {"addresses_start=100", "addresses_end=2048", "addresses_step=512"} <= set(own)
    results, outcome, _ = run_on_sim(LEARNING, topology, (64,), *own, "repetitions=1")
    (unit,) = results.values()
    assert [search.result for search in unit.searches] == [1500, 80, 80, 80, 80]
    assert [row["addresses"] for row in outcome.tables[0].rows] == [100, 612, 1124, 1500]
    assert {(row["state"], row["reason"]) for row in outcome.tables[0].rows} == {("MEASURED", "at least")}
    assert outcome.state is Verdict.MEASURED
    where = "64 B, 100 addresses to 64 B, 1,500 addresses (4 results)"
    assert f"{where}: >= 80 frames/s; no more was tried" in outcome.findings


def test_a_switch_that_learns_in_software_has_a_learning_rate() -> None:
    """The model learns 50 addresses per second, from a queue of 8."""
    learning = f"{TABLE}\n    learning_path: {{rate_fps: 50, queue_frames: 8}}"
    settings = ("addresses=sweep", "addresses_end=612", "rate_resolution_fps=1", "repetitions=1")
    _, outcome, _ = run_on_sim(LEARNING, changed("wrs-18x1g", (TABLE, learning)), (64,), *settings)
    few, many = outcome.tables[0].rows
    assert (few["addresses"], many["addresses"]) == (100, 612)
    # n addresses at rate r overflow the queue of 8 where n (1 - 50 / r) exceeds it.
    for row in (few, many):
        limit_fps = 50 / (1 - 8 / int(row["addresses"] or 0))
        assert row["rate_fps_min"] == pytest.approx(limit_fps, abs=2)


@pytest.mark.parametrize(
    "settings", [("test_port_mac=base",), ("fast_stop=true",), ("test_rate_fps=1000", "address_order=random")]
)
def test_other_ways_to_ask_find_the_same_capacity(settings: tuple[str, ...]) -> None:
    topology = changed("wrs-18x1g", (TABLE, "mac_table: {entries: 1532, aging_s: 300}"))
    results, _, trials = run_on_sim(CACHING, topology, (64,), *REPORT, *QUICK, "repetitions=1", *settings)
    ((result,),) = (unit.searches for unit in results.values())
    assert (result.result, result.upper) == (1500, 1561)
    assert all(trial.lost_frames == 0 for _, trial in trials), "what is not known is flooded, not lost"


def test_addresses_are_learned_from_broadcasts_too() -> None:
    topology = changed("wrs-18x1g", (TABLE, "mac_table: {entries: 1532, aging_s: 300}"))
    settings = ("learning_destination=broadcast", "repetitions=1")
    results, _, trials = run_on_sim(CACHING, topology, (64,), *REPORT, *QUICK, *settings)
    ((result,),) = (unit.searches for unit in results.values())
    assert (result.result, result.upper) == (1500, 1561)
    assert all(spec.streams[0].pattern.kind == "broadcast" for spec, _ in trials[::2])


SEARCH = ("addresses_min=10", "addresses_max=600", "addresses_resolution=10", "repetitions=1", *QUICK)


@pytest.mark.parametrize("ports", [3, 5])
@pytest.mark.parametrize(
    ("table", "settings", "finding"),
    [
        ("", (), ""),
        (", aging: broken", (), "0 of 10 addresses were held, and 299 of 600: the device keeps entries"),
        (", aging: broken", ("reset_between=toggle_link",), ""),
        (", aging: broken", ("addresses_try_max_first=false",), "100 addresses at 20,000 frames/s passed and failed"),
        (", station_move: false", ("reset_between=swap_roles",), "frames to 100 addresses came to no port"),
        (", ways: 2", ("address_order=random",), ""),
    ],
)
def test_a_table_that_keeps_old_entries_is_told_from_a_small_one(
    ports: int, table: str, settings: tuple[str, ...], finding: str
) -> None:
    """300 places, of which the test port takes one. Hash collisions are no old entries: most addresses are held."""
    topology = parsed(switch(f"mac_table: {{entries: 300{table}}}", ports=ports))
    results, outcome, _ = run_on_sim(CACHING, topology, (64,), *SEARCH, *settings)
    ((result,),) = (unit.searches for unit in results.values())
    if finding:
        assert any(finding in text for text in outcome.findings)
        return
    assert outcome.findings == ()
    if "ways" not in table:
        # A capacity of 299, found to the resolution of 10.
        assert 299 - 10 <= result.result <= 299 < result.upper
    else:
        assert result.result < 299
