"""Results on a router that has no room for the announced networks."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from p4mesh import RunOptions, run
from p4mesh.run.single import FinishedRun
from p4mesh.verdict import Verdict

TOPOLOGY = Path(__file__).parents[3] / "topologies" / "router-4x1g-bgp.yaml"
QUICK = ("learning_wait_ms=1", "settle_ms=10", "restabilise_ms=1")
CONVERGENCE = (*QUICK, "networks=3", "traffic_first_ms=50", "time_limit_ms=600", "stream_fps=200")


def measure(folder: Path, limits: dict[int, int], test: str, size: str, *settings: str) -> FinishedRun:
    """Run a test on a router with these limits by IP version."""
    text = TOPOLOGY.read_text()
    for version, most in {4: 128_000, 6: 80_000}.items():
        known = f"max_ipv{version}_routes: {most}"
        assert known in text
        text = text.replace(known, f"max_ipv{version}_routes: {limits.get(version, most)}")
    topology = folder / "limited.yaml"
    topology.write_text(text)
    return run(RunOptions(test, topology, size, settings, folder / "run", 1))


def told(version: int, networks: int, limit: int, trials: str) -> str:
    """The finding on refused networks."""
    return (
        f"device 'router' refused {networks} of the announced IPv{version} networks, its limit is {limit} "
        f"IPv{version} routes (in {trials} trials); frames to refused networks are lost"
    )


def test_loss_to_networks_that_were_refused_is_explained_at_the_top(tmp_path: Path) -> None:
    asked = ("routed=true", "advertised_networks=3", "pattern=full_mesh", "scaled_frames=60")
    found = measure(tmp_path, {6: 9}, "rfc5180.hop_by_hop", "128", *QUICK, *asked)
    (table,) = [table for table in found.outcome.tables if table.name == "hop_by_hop"]
    # Of four ports with three networks each, the last one's were refused: a quarter of the frames goes there.
    assert [row["loss_pct"] for row in table.rows] == [pytest.approx(25, abs=1)] * len(table.rows)
    trials = len(table.rows)
    assert found.outcome.findings[0] == told(6, 3, 9, f"{trials} of {trials}")
    with (found.directory / "refused_routes.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row == {
        "unit": "128B/hop_by_hop",
        "device": "router",
        "ip_version": "6",
        "limit_routes": "9",
        "refused_networks": "3",
        "refusing_trials": str(trials),
        "trials": str(trials),
    }
    assert "refused 3 of the announced IPv6 networks" in (found.directory / "report.html").read_text()
    with (found.directory / "trials.jsonl").open() as file:
        results = [json.loads(line)["result"] for line in file]
    refused = {"device": "router", "ip_version": 6, "networks": 3, "limit": 9}
    assert [result["refused_routes"] for result in results] == [[refused]] * trials


def test_a_trial_that_does_not_begin_says_that_routes_were_refused(tmp_path: Path) -> None:
    asked = ("routed=true", "advertised_networks=3", "pattern=full_mesh", "scaled_frames=60")
    found = measure(tmp_path, {4: 5, 6: 7}, "rfc5180.throughput", "128", *QUICK, *asked, "ip_mix=50:50")
    assert found.outcome.state is Verdict.INVALID
    assert found.outcome.findings[:2] == (told(4, 7, 5, "1 of 1"), told(6, 5, 7, "1 of 1"))
    reason = found.outcome.findings[2]
    assert "learning not verified" in reason
    assert reason.endswith(
        "; device 'router' refused 7 of the announced IPv4 networks, its limit is 5 IPv4 routes"
        "; device 'router' refused 5 of the announced IPv6 networks, its limit is 7 IPv6 routes"
    )


@pytest.mark.parametrize(
    ("change", "refused", "finding"),
    [
        ("announcement", 3, "traffic did not follow the change on 3 of 6 routes"),
        ("withdrawal", 3, "no traffic came on 3 of 6 routes before the change"),
        ("flap", 3, "no traffic came on 3 of 6 routes before the change"),
        ("loss_of_link", 3, "no traffic came on 3 of 6 routes before the change"),
        ("silence", 3, "no traffic came on 3 of 6 routes before the change"),
    ],
)
def test_routes_that_were_refused_have_no_time_of_convergence(
    tmp_path: Path, change: str, refused: int, finding: str
) -> None:
    asked = (*CONVERGENCE, "flap_ms=100") if change == "flap" else CONVERGENCE
    found = measure(tmp_path, {4: 12 - refused}, f"convergence.{change}", "128", *asked)
    assert found.outcome.state is Verdict.FAIL
    assert found.outcome.findings == (told(4, refused, 12 - refused, "1 of 1"), f"128 B, trial 1: {finding}")
    (row,) = found.outcome.tables[0].rows
    assert (row["routes"], row["converged_routes"]) == (6, 3)
    first = row["first_route_ms"]
    assert isinstance(first, float)
    assert first >= -5, "a route that was never used has no time, least of all one before the change"


def test_a_router_with_room_refuses_nothing(tmp_path: Path) -> None:
    found = measure(tmp_path, {4: 12}, "convergence.withdrawal", "128", *CONVERGENCE)
    assert (found.outcome.state, found.outcome.findings) == (Verdict.PASS, ())
    assert not (found.directory / "refused_routes.csv").exists()
    assert "refused_routes" not in (found.directory / "trials.jsonl").read_text()
