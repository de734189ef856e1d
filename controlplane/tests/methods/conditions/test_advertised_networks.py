"""RFC 5180 5.2: hosts one hop behind the device, in networks of one prefix length."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from support.beds import make_bed
from support.networks import TOPOLOGIES, shipped
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.composition import Composed
from p4mesh.methods.conditions import advertised_networks
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.options.parameters import ParameterSet, resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.run.preparation import bed_of
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.addresses import ADVERTISED_PREFIX_BITS, ipv6_host_behind
from p4mesh.verdict import Verdict

RANGE = IPv6Network("2001:2::/48")
LENGTHS = (48, 64, 126, 128)
QUICK = ("scaled_frames=500", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
IPV6 = ("frame_format=ipv6", "routed=true")


def run(topology: Topology, *settings: str, size: int = 128) -> Outcome:
    return run_on_sim(Composed(FrameLoss(), (UnderConditions(),)), topology, (size,), *QUICK, *IPV6, *settings)[1]


def network_of(port: int, bits: int) -> IPv6Network:
    return IPv6Network((ipv6_host_behind(port, bits), bits), strict=False)


def test_the_lengths_are_those_of_the_rfc() -> None:
    assert ADVERTISED_PREFIX_BITS == LENGTHS


def test_sources_are_in_one_half_of_the_range_and_hosts_behind_in_the_other() -> None:
    source_half, destination_half = RANGE.subnets()
    for port in (1, 2, 511, 8191):
        assert station(port).ipv6 in source_half
        assert all(ipv6_host_behind(port, bits) in destination_half for bits in (64, 126, 128))
        assert network_of(port, 48) == IPv6Network((int(IPv6Address("2001:2::")) + (port << 80), 48))


def test_no_network_holds_a_host_of_another_port_or_length() -> None:
    """So a run of one length needs the routes of that length, whatever else the device knows."""
    hosts = {(port, bits): ipv6_host_behind(port, bits) for port in (1, 2, 255, 8191) for bits in LENGTHS}
    for port, bits in hosts:
        assert [key for key, host in hosts.items() if host in network_of(port, bits)] == [(port, bits)]
    own = [station(port).ipv6 for port in (1, 2, 255)]
    assert not any(address in network_of(port, bits) for address in own for port, bits in hosts)


@pytest.mark.parametrize(("port", "bits"), [(1, 63), (0, 64), (8192, 128)])
def test_there_are_no_hosts_elsewhere(port: int, bits: int) -> None:
    with pytest.raises(ValueError, match="no host behind port"):
        ipv6_host_behind(port, bits)


@pytest.mark.parametrize("bits", LENGTHS)
@pytest.mark.parametrize("router", ["router-4x1g", "p4-l3-4ports"])
def test_a_router_forwards_to_networks_of_every_length(router: str, bits: int) -> None:
    outcome = run(shipped(router), f"advertised_prefix={bits}", size=256)
    assert outcome.state is Verdict.MEASURED
    assert [(row["lost_frames"], row["prefix_bits"]) for row in outcome.tables[0].rows] == [(0, bits), (0, bits)]
    routes = next(table for table in outcome.tables if table.name == "routes")
    assert len(routes.rows) == 4
    for row in routes.rows:
        network = ip_network(str(row["network"]))
        assert network.prefixlen == bits
        assert ip_address(str(row["host"])) in network
        assert ip_address(str(row["next_hop"])) == station(int(str(row["port"]))).ipv6
    (told,) = (text for text in outcome.deviations if "routing protocol" in text)
    assert ("2001:2:N::/48" in told) == (bits == 48)


@pytest.mark.parametrize("bits", LENGTHS)
def test_a_router_without_the_routes_of_a_length_is_not_measured(bits: int) -> None:
    """Its routes of the other lengths do not help: the trial is INVALID before it begins."""
    text = (TOPOLOGIES / "router-4x1g.yaml").read_text()
    without = [line for line in text.splitlines() if not ("prefix:" in line and f'/{bits}"' in line)]
    assert len(text.splitlines()) - len(without) == 4
    topology = parse_topology("router.yaml", "\n".join(without))
    with pytest.raises(AssertionError, match="did not arrive through the router"):
        run(topology, f"advertised_prefix={bits}")


def test_a_mix_has_hosts_of_both_families_behind_the_device() -> None:
    outcome = run(shipped("router-4x1g"), "advertised_prefix=126", "ip_mix=50:50", size=256)
    assert {row["lost_frames"] for row in outcome.tables[0].rows} == {0}
    routes = next(table for table in outcome.tables if table.name == "routes")
    behind_1 = {row["network"]: row["next_hop"] for row in routes.rows if row["port"] == 1}
    assert behind_1 == {"198.19.1.0/24": "198.18.1.2", "2001:2:0:c001::/126": "2001:2:0:1::2"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("frame_format=ipv6",), "advertised_prefix=64 without routed=true: a bridge has no routes"),
        (("routed=true",), "advertised_prefix=64 with frame_format=ipv4"),
        ((*IPV6, "modifier=networks"), "advertised_prefix=64 with modifier=networks"),
        ((*IPV6, "mode=rfc", "tagged_network=both"), "advertised_prefix=64 with tagged_network=both"),
    ],
)
def test_networks_without_a_meaning_are_refused(settings: tuple[str, ...], message: str) -> None:
    test = Composed(Latency(), (UnderConditions(),))
    parameters = resolve(test.name, test.parameters, ("advertised_prefix=64", *settings))
    with pytest.raises(ParameterError, match=message):
        test.check(bed_of(shipped("router-4x1g")), parameters)


def set_of(*settings: str) -> ParameterSet:
    test = Composed(FrameLoss(), (UnderConditions(),))
    return resolve(test.name, test.parameters, ("routed=true", *settings))


def test_networks_are_asked_for_by_length_or_by_number() -> None:
    advertised_networks.check("t", make_bed(), set_of("advertised_networks=2"))
    with pytest.raises(ParameterError, match="t: advertised_networks=2 with advertised_prefix=64") as caught:
        advertised_networks.check(
            "t", make_bed(), set_of("frame_format=ipv6", "advertised_prefix=64", "advertised_networks=2")
        )
    assert caught.value.hint == "leave one of them out"


@pytest.mark.parametrize(
    ("settings", "last"),
    [
        (("frame_format=ipv6", "advertised_prefix=64"), 8191),
        (("frame_format=ipv6", "advertised_prefix=64", "ip_mix=50:50"), 255),
        (("advertised_networks=1",), 256),
    ],
)
def test_there_are_networks_behind_so_many_ports(settings: tuple[str, ...], last: int) -> None:
    """13 bits of IPv6, an octet of 198.19.N.0, 256 networks of 10.P.N.0 whose first port has 0."""
    advertised_networks.check("t", Bed("t", (Port(last, "p", 1),)), set_of(*settings))
    with pytest.raises(ParameterError, match=rf"there are addresses for ports 1\.\.{last}"):
        advertised_networks.check("t", Bed("t", (Port(last + 1, "p", 1),)), set_of(*settings))


@pytest.mark.parametrize(
    ("settings", "networks", "told"),
    [
        ((), [], []),
        (
            ("advertised_networks=2",),
            ["10.0.0.0/24", "10.0.1.0/24", "10.1.0.0/24", "10.1.1.0/24"],
            ["Routes of 2 networks per port are", "2 networks behind each port: its senders use them in turn."],
        ),
        (
            ("frame_format=ipv6", "advertised_prefix=126"),
            ["2001:2:0:c001::/126", "2001:2:0:c002::/126"],
            ["Routes of 126 bits are"],
        ),
        (
            ("frame_format=ipv6", "advertised_networks=1"),
            ["2001:2:1::/64", "2001:2:2::/64"],
            ["Routes of 1 networks per port are", "1 networks behind each port"],
        ),
        (
            ("frame_format=ipv6", "advertised_networks=1", "ip_mix=50:50"),
            ["10.0.0.0/24", "2001:2:1::/64", "10.1.0.0/24", "2001:2:2::/64"],
            ["Routes of 1 networks per port are", "1 networks behind each port"],
        ),
    ],
)
def test_routes_and_deviations_by_hand(settings: tuple[str, ...], networks: list[str], told: list[str]) -> None:
    bed, parameters = make_bed(2), set_of(*settings)
    tables = advertised_networks.route_tables(bed, parameters)
    assert [(table.name, table.detail) for table in tables] == ([("routes", True)] if networks else [])
    assert [row["network"] for table in tables for row in table.rows] == networks
    assert advertised_networks.uses_routes(parameters) is bool(networks)
    unknown = {name: value for name, value in parameters.values.items() if name != "advertised_networks"}
    assert not advertised_networks.uses_routes(ParameterSet(unknown)), "a test without them"
    text = " ".join(advertised_networks.deviations(bed, parameters))
    assert text.count("networks behind") == sum("networks behind" in part for part in told)
    assert [part for part in told if part not in text] == [] and bool(text) == bool(told)
    announced = advertised_networks.deviations(make_bed(2, announces_routes=True), parameters)
    assert "no routing protocol" not in " ".join(announced)


def test_a_length_out_of_the_list_is_refused_with_the_list() -> None:
    test = Composed(Throughput(), (UnderConditions(),))
    with pytest.raises(ParameterError) as caught:
        resolve(test.name, test.parameters, ("advertised_prefix=56",))
    assert "one of none, 48, 64, 126, 128" in str(caught.value.hint)


def test_a_latency_trial_to_hosts_behind_is_that_of_the_device() -> None:
    """3 us and store and forward of 256 bytes at 1 Gbit/s, as to its neighbours."""
    test = Composed(Latency(), (UnderConditions(),))
    outcome = run_on_sim(
        test,
        shipped("router-4x1g"),
        (256,),
        *QUICK,
        *IPV6,
        "advertised_prefix=128",
        "search_resolution_pct=1",
    )[1]
    row = outcome.tables[0].rows[0]
    assert (row["prefix_bits"], row["definition"]) == (128, "LILO")
    assert row["min_us"] == pytest.approx(3 + 256 * 8 / 1000, abs=0.002)
