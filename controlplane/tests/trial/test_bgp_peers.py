"""Stations tell their routers by BGP which networks are behind them, before the streams of each trial."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.frames import FORMATS
from support.networks import changed, shipped

from p4mesh.tester.routing_service import networks_behind
from p4mesh.tester.stations import destinations_of
from p4mesh.topology import Topology
from p4mesh.traffic.addresses import host_in_network
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ROUTER = "router-4x1g-bgp"
FRAMES = 300


def trial(ip_version: int, prefix_bits: int, number: int = 1) -> TrialSpec:
    headers = FORMATS[ip_version]
    stream = Stream(
        "s",
        128,
        Fraction(100_000),
        FRAMES,
        Pairs(),
        (1, 2),
        (3, 4),
        headers,
        routed=True,
        advertised_prefix_bits=prefix_bits,
    )
    return TrialSpec("routed", (stream,), 3_000_000, Learning(wait_ns=1_000_000), number=number)


def to_networks(ip_version: int, networks: int) -> TrialSpec:
    """A full mesh in which every port sends to one network of each other port."""
    ports = (1, 2, 3, 4)
    stream = Stream(
        "s",
        128,
        Fraction(100_000),
        FRAMES,
        FullMesh(),
        ports,
        ports,
        FORMATS[ip_version],
        routed=True,
        advertised_networks=networks,
    )
    return TrialSpec("mesh", (stream,), 3_000_000, Learning(wait_ns=1_000_000), per_flow=True)


def measure(topology: Topology, *specs: TrialSpec) -> list[TrialResult]:
    with open_measurer(topology) as measurer:
        return [measurer.measure(spec) for spec in specs]


@pytest.mark.parametrize(("ip_version", "prefix_bits"), [(4, 64), (6, 48), (6, 64), (6, 126), (6, 128)])
def test_frames_reach_hosts_in_networks_that_were_announced(ip_version: int, prefix_bits: int) -> None:
    (result,) = measure(shipped(ROUTER), trial(ip_version, prefix_bits))
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (2 * FRAMES, 2 * FRAMES, 0)
    assert result.latency is not None
    # The frame is stored, and takes 3000 ns. Messages of BGP and BFD may be before it.
    assert result.latency.min_ns == pytest.approx(8 * 128 + 3000, abs=12)


def test_without_sessions_the_router_has_no_way_to_these_networks() -> None:
    (result,) = measure(replace(shipped(ROUTER), bgp=None), trial(6, 64))
    assert result.status is Verdict.INVALID
    assert "did not arrive through the router" in result.reason


def test_a_session_that_does_not_come_up_makes_the_trial_invalid_with_the_reason() -> None:
    (result,) = measure(changed(ROUTER, ("198.18.3.2, as: 64515", "198.18.3.2, as: 7")), trial(4, 64))
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("no BGP session over IPv4 on port 3: the neighbour ends the session: ")
    assert "BadPeerAs" in result.reason
    assert result.reason.endswith("; 1 of 4 sessions are not up")


def test_a_trial_does_not_depend_on_those_before_it() -> None:
    first, second = measure(shipped(ROUTER), trial(6, 64, 1), trial(6, 64, 2))
    (alone,) = measure(shipped(ROUTER), trial(6, 64, 2))
    assert first.status is second.status is Verdict.MEASURED
    assert (second.rx_frames, second.latency) == (alone.rx_frames, alone.latency)


@pytest.mark.parametrize("ip_version", [4, 6])
def test_a_full_mesh_uses_every_network_that_was_announced(ip_version: int) -> None:
    spec = to_networks(ip_version, 3)
    (result,) = measure(shipped(ROUTER), spec)
    assert (result.status, result.lost_frames, result.flooded_frames) == (Verdict.MEASURED, 0, 0)
    assert {(flow.tx_port, flow.rx_port) for flow in result.flows} == {
        (tx, rx) for tx in range(1, 5) for rx in range(1, 5) if tx != rx
    }
    (stream,) = spec.streams
    routed = replace(stream, router_macs=(bytes(6),) * 4)
    hosts = {
        (to.port, to.ipv4 if ip_version == 4 else to.ipv6)
        for source in range(4)
        for to in destinations_of(routed, source)
    }
    wanted = {(port, host_in_network(port, ip_version, number)) for port in range(1, 5) for number in range(3)}
    assert hosts == wanted


def test_networks_of_a_port_are_apart_from_those_of_all_others() -> None:
    for version in (4, 6):
        networks = [network for port in (1, 2, 255, 256) for network in networks_behind(port, version, 8)]
        assert len(networks) == len({str(network) for network in networks}) == 32
        assert not any(one.overlaps(other) for one in networks for other in networks if one is not other)


def test_a_session_that_drops_during_the_trial_makes_it_invalid_with_the_reason() -> None:
    """The router's look-up is overloaded: it drops BFD packets like all others, so the session ends."""
    overloaded = ("capacity_fps: 4000000, overload_pass_ppm: 600000", "capacity_fps: 2000, overload_pass_ppm: 0")
    stream = replace(trial(4, 64).streams[0], rate_fps=Fraction(3000), frame_count=2400)
    spec = TrialSpec("overload", (stream,), 800_000_000, Learning(wait_ns=1_000_000))
    (result,) = measure(changed(ROUTER, overloaded), spec)
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("the BGP session over IPv4 on port 1 ended during the trial: ")
    assert "BfdDown" in result.reason
    assert result.tx_frames == 2 * 2400
