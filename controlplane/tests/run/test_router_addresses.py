"""Stations are in the networks of their routers; a router without a network for one is named before the run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import parsed

from p4mesh.cli.main import main
from p4mesh.errors import TopologyError
from p4mesh.run import RunOptions, run
from p4mesh.run.router_addresses import strange_addresses
from p4mesh.shipped import topology_names
from p4mesh.tester.stations import station, stations_of
from p4mesh.topology.loader import load_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

LAB = """\
name: lab
tester:
  ports: [{numbers: 1-2, rate_bps: 1000000000}]
nodes:
  - name: r
    device: router
    ports: [{numbers: 1-2, rate_bps: 1000000000}]
    interfaces:
      - {port: 1, mac: "02:00:00:00:aa:01", addresses: [198.18.1.1/24]}
      - {port: 2, mac: "02:00:00:00:aa:02", addresses: [10.0.2.254/32]}
links: [{from: tester:1-2, to: r:1-2}]
"""
PROBLEM = "r:2 has 10.0.2.254/32, and the tester asks for 198.18.2.1 or 2001:2:0:2::1"


def test_a_routed_test_does_not_begin(tmp_path: Path) -> None:
    options = RunOptions("rfc2544.throughput", parsed(LAB), "64", ("routed=true",), tmp_path / "run", jobs=1)
    with pytest.raises(TopologyError) as caught:
        run(options)
    assert caught.value.message.endswith(f": {PROBLEM}")
    assert caught.value.hint == "give the interface 198.18.2.1/24"
    assert not (tmp_path / "run").exists()


def test_topology_check_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    assert main(["topology", "check", str(tmp_path / "lab.yaml")]) == 0
    assert f"  no routed test can run: {PROBLEM}; give the interface 198.18.2.1/24\n" in capsys.readouterr().out


def test_a_router_that_needs_no_question_may_have_any_address() -> None:
    fixed = LAB.replace("numbers: 1-2, rate_bps: 1000000000}]\nnodes", FIXED)
    assert list(strange_addresses(parsed(fixed))) == []


FIXED = 'numbers: 1-2, router_mac: "02:00:00:00:aa:02", rate_bps: 1000000000}]\nnodes'


@pytest.mark.parametrize("name", topology_names())
def test_shipped_routers_have_the_addresses_that_the_tester_asks_for(name: str) -> None:
    assert list(strange_addresses(load_topology(name))) == []


def lab(first: str, second: str) -> str:
    return LAB.replace("198.18.1.1/24", first).replace("10.0.2.254/32", second)


def test_stations_take_the_networks_of_their_routers() -> None:
    one, two = stations_of(parsed(lab("10.0.1.254/24", '10.0.2.1/24, "2001:db8:2::1/64"'))).values()
    assert (str(one.ipv4), str(one.router_ipv4)) == ("10.0.1.1", "10.0.1.254")
    assert (str(two.ipv4), str(two.router_ipv4)) == ("10.0.2.2", "10.0.2.1")
    assert (str(two.ipv6), str(two.router_ipv6)) == ("2001:db8:2::2", "2001:db8:2::1")
    assert one.ipv6 == station(1).ipv6, "the router has no network of IPv6 there"
    usual = stations_of(parsed(lab("198.18.1.1/24", "198.18.2.1/24")))
    assert usual == {port: station(port) for port in (1, 2)}


MACS = 'numbers: 1-2, station_mac: "02:00:00:00:0b:01,02:00:00:00:0B:02", rate_bps: 1000000000}]\nnodes'
SWITCH = """\
name: switched
tester:
  ports: [{numbers: 1-2, rate_bps: 1000000000}]
nodes:
  - {name: s, device: ethernet_switch, ports: [{numbers: 1-2, rate_bps: 1000000000}]}
links: [{from: tester:1-2, to: s:1-2}]
"""


def with_macs(topology: str) -> str:
    return topology.replace("numbers: 1-2, rate_bps: 1000000000}]\nnodes", MACS)


@pytest.mark.parametrize("routed", [True, False])
def test_stations_have_the_macs_of_the_file(routed: bool, tmp_path: Path) -> None:
    """They are learned, and asked for: no frame is flooded, and none goes to another address."""
    text = with_macs(lab("198.18.1.1/24", "198.18.2.1/24") if routed else SWITCH)
    topology = parsed(text)
    assert [here.mac.hex(":") for here in stations_of(topology).values()] == ["02:00:00:00:0b:01", "02:00:00:00:0b:02"]
    stream = Stream("both", 128, Fraction(10_000), 50, Pairs(), (1, 2), (2, 1), routed=routed)
    with open_measurer(topology) as measurer:
        result = measurer.measure(TrialSpec("macs", (stream,), 5_000_000))
    assert (result.status, result.rx_frames, result.flooded_frames) == (Verdict.MEASURED, 100, 0)


def test_topology_check_shows_the_stations_of_every_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lab.yaml").write_text(with_macs(SWITCH))
    assert main(["topology", "check", str(tmp_path / "lab.yaml")]) == 0
    shown = capsys.readouterr().out
    assert "  tester:1 p1: station 02:00:00:00:0b:01, 198.18.1.2, 2001:2:0:1::2\n" in shown
    assert "  tester:2 p2: station 02:00:00:00:0b:02, 198.18.2.2, 2001:2:0:2::2\n" in shown


@pytest.mark.parametrize("frame_format", ["ipv4", "ipv6"])
def test_nobody_renumbers_a_lab(frame_format: str, tmp_path: Path) -> None:
    """Ports with networks of their own, in both directions, over a model of a router."""
    topology = parsed(lab('10.0.1.254/24, "2001:db8:1::1/64"', '192.0.2.1/30, "2001:db8:2::1/64"'))
    settings = ("scaled_frames=100", "search_resolution_pct=20", f"frame_format={frame_format}")
    options = RunOptions("rfc2544.throughput", topology, "128", settings, tmp_path / "run", jobs=1)
    assert run(options).outcome.state is Verdict.MEASURED
