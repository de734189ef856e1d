"""RFC 2889 5.3 on two simulated switches and an uplink: the results are those of the uplink's capacity."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import changed
from support.runs import run_on_sim

from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.multiple_devices import MultipleDevices

UPLINK = "numbers: 3, rate_bps: 1000000000"


def run(uplink_bps: int, *settings: str) -> Outcome:
    topology = changed("two-switches", (UPLINK, UPLINK.replace(str(10**9), str(uplink_bps))))
    quick = ("scaled_frames=5000", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "sweep_start_pct=100")
    return run_on_sim(MultipleDevices(), topology, (128,), *quick, *settings)[1]


@pytest.mark.parametrize(
    ("uplink_bps", "local", "limit_pct"),
    [
        (10**9, "false", Fraction(50)),
        (10**9, "true", Fraction(75)),  # 2 of 3 destinations are behind the uplink: 2 ports x 2/3 = 4/3 lines
        (10**10, "false", Fraction(100)),
        (10**10, "true", Fraction(100)),
    ],
)
def test_the_uplink_limits_what_two_switches_carry(uplink_bps: int, local: str, limit_pct: Fraction) -> None:
    highest = min(float(limit_pct) + 0.2, 100)
    bounds = (f"search_min_pct={float(limit_pct) - 0.3}", f"search_initial_pct={highest}", f"search_max_pct={highest}")
    outcome = run(uplink_bps, f"local_traffic={local}", *bounds, "search_resolution_pct=0.5")
    throughput, forwarding = (
        next(table for table in outcome.tables if table.name == name).rows[0]
        for name in ("mesh_throughput", "forwarding_rate")
    )
    assert throughput["theoretical_pct"] == limit_pct
    assert throughput["load_pct"] == pytest.approx(float(limit_pct), abs=0.4)
    assert throughput["uplink_mbps"] == uplink_bps / 10**6
    assert throughput["local_traffic"] == {"true": "on", "false": "off"}[local]
    # At line rate the outputs get what the uplink and the local traffic give them; queues add a little.
    assert forwarding["frmol_fps"] == pytest.approx(forwarding["theoretical_fps"], rel=0.01)
