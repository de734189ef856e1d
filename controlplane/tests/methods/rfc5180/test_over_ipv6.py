"""RFC 5180 7: the tests of RFC 2544 under names of their own, over static routes and routes that BGP announced."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import changed, shipped
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.layers import UDP_OVER_IPV6
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test, suites
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc6201.reset_trial import after_ns
from p4mesh.run.preparation import bed_of
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.topology import Topology
from p4mesh.verdict import Verdict

QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "routed=true")
FUNCTIONS = ("throughput", "latency", "frame_loss", "back_to_back", "system_recovery", "reset")
STATIC, BGP = "router-4x1g", "router-4x1g-bgp"


def run(function: str, topology: Topology, *settings: str, size: int = 128) -> Outcome:
    return run_on_sim(find_test(f"rfc5180.{function}"), topology, (size,), *QUICK, *settings)[1]


def test_the_suite_has_every_test_of_section_7_beside_its_own() -> None:
    assert [test.name for test in suites()["rfc5180"]] == [f"rfc5180.{name}" for name in ("hop_by_hop", *FUNCTIONS)]
    for number, function in enumerate(FUNCTIONS, 1):
        test = find_test(f"rfc5180.{function}")
        assert test.section == f"RFC 5180 7.{number}"
        assert resolve(test.name, test.parameters, ()).text("frame_format") == "ipv6"
        older = find_test(f"rfc2544.{function}")
        assert (test.title, {item.name for item in test.parameters}) == (
            older.title,
            {item.name for item in older.parameters},
        )
        assert min(test.frame_sizes_bytes) == minimum_frame_bytes(UDP_OVER_IPV6)


@pytest.mark.parametrize(("topology", "networks"), [(STATIC, 0), (BGP, 0), (BGP, 3)])
def test_throughput_is_that_of_the_lookup_with_static_and_with_announced_routes(topology: str, networks: int) -> None:
    slower = changed(topology, ("capacity_fps: 4000000", "capacity_fps: 1500000"))
    settings = ("search_resolution_pct=2", "sustained=false", "confirm_factor=1", "scaled_frames=3000")
    outcome = run("throughput", slower, *settings, *([f"advertised_networks={networks}"] if networks else []))
    assert outcome.state is Verdict.MEASURED
    (row,) = outcome.tables[0].rows
    # Four ports share the look-ups: 44.4 % of 4 x 844,595 frames/s. 64 frames may wait for one, 1.2 % of a trial.
    limit = 100 * Fraction(1_500_000) / (4 * Fraction(10**9, 8 * 148))
    assert isinstance(row["throughput_pct"], float)
    assert limit - 3 < row["throughput_pct"] < limit + 1
    assert (row["ip_mix"], row["extension_headers"]) == ("0:100", "none")


def test_both_families_have_routes_that_were_announced() -> None:
    outcome = run("frame_loss", shipped(BGP), "scaled_frames=500", "ip_mix=50:50", "advertised_prefix=64", size=256)
    assert outcome.state is Verdict.MEASURED
    assert {(row["lost_frames"], row["ip_mix"]) for row in outcome.tables[0].rows} == {(0, "50:50")}


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        ("latency", ("load_pct=20",)),
        ("system_recovery", ("search_resolution_pct=10",)),
        ("back_to_back", ("repetitions=1", "search_resolution_pct=10")),
    ],
)
def test_other_functions_run_over_announced_routes(function: str, settings: tuple[str, ...]) -> None:
    test = find_test(f"rfc5180.{function}")
    known = {item.name for item in test.parameters}
    asked = tuple(setting for setting in settings if setting.partition("=")[0] in known)
    assert run(function, shipped(BGP), "scaled_frames=500", *asked).state in (Verdict.PASS, Verdict.MEASURED)


def test_a_reset_takes_as_long_as_sessions_and_routes_need_to_come_back() -> None:
    """Stations connect again after a second; networks of the ports themselves need no routes."""
    times = []
    for networks in ((), ("advertised_networks=2",)):
        outcome = run("reset", shipped(BGP), "load_pct=1", "resets=1", *networks)
        assert outcome.state is Verdict.PASS
        times.append(outcome.tables[0].rows[0]["reset_ms_avg"])
    near, far = times
    assert near == pytest.approx(300, abs=0.2)
    assert isinstance(far, float) and 1000 < far < 3000


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ((), ("advertised_prefix=64",)),
        ((), ("advertised_networks=2", "frame_format=ipv4")),
        ((), ("advertised_networks=2", "ip_mix=50:50")),
        ((), ("advertised_networks=2", "reset_type=power", "power_off_s=0.5")),
        ((("hold_time_s: 9, bfd: {interval_ms: 150, multiplier: 3}", "hold_time_s: 3"),), ("advertised_networks=2",)),
        ((("interval_ms: 150, multiplier: 3", "interval_ms: 1000, multiplier: 5"),), ("advertised_networks=2",)),
        ((("reset: {time_s: 0.3}", "reset: {time_s: 0.01}"),), ("advertised_networks=2",)),
        ((("reset: {time_s: 0.3}", "reset: {time_s: 4}"),), ("advertised_networks=2",)),
    ],
)
def test_a_reset_trial_is_long_enough_for_announced_routes_by_default(
    changes: tuple[tuple[str, str], ...], settings: tuple[str, ...]
) -> None:
    outcome = run("reset", changed(BGP, *changes), "load_pct=0.1", "resets=1", "sample_ms=100", *settings)
    assert (outcome.state, outcome.findings) == (Verdict.PASS, ())
    (row,) = outcome.tables[0].rows
    assert isinstance(row["reset_ms_avg"], float)
    assert row["reset_ms_avg"] > 1000


def test_sessions_whose_end_nobody_notices_do_not_come_back() -> None:
    deaf = changed(BGP, ("hold_time_s: 9, bfd: {interval_ms: 150, multiplier: 3}", "hold_time_s: 0"))
    with pytest.raises(ParameterError, match="stations do not notice that a reset has ended their sessions"):
        run("reset", deaf, "load_pct=1", "resets=1", "advertised_networks=2")
    near = run("reset", deaf, "load_pct=1", "resets=1")
    assert (near.state, near.tables[0].rows[0]["state"]) == (Verdict.PASS, "PASS")


def test_a_command_that_resets_a_router_leaves_bgp_its_time_too() -> None:
    durations = []
    for networks in (0, 2):
        test, bed = find_test("rfc5180.reset"), bed_of(shipped(BGP))
        asked = (*QUICK, "reset_cmd=true", "load_pct=1", f"advertised_networks={networks}")
        parameters = resolve(test.name, test.parameters, asked)
        test.check(bed, parameters)
        durations.append(after_ns(bed, parameters))
    # BFD 450 ms, 1 s to the next attempt to connect, 1 s for it, 1 s from the announcements to the use of the routes.
    assert durations == [60_000_000_000, 63_450_000_000]
