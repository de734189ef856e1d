"""Burst arithmetic of RFC 2889 appendix A and the addresses of RFC 4814, 2544 and 5180."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.burst_oracle import plan_bursts

from p4mesh.traffic import addresses
from p4mesh.traffic.addresses import MAX_ADVERTISED_PORT, host_in_network, ipv6_host_behind, random_offsets
from p4mesh.traffic.random_numbers import splitmix64


def test_burst_vector_of_the_methodology() -> None:
    plan = plan_bursts(64, 50, 24, 10_000_000, 10 * 10**9)
    assert plan.tx_time_ns == Fraction("1603200")
    assert plan.inter_burst_gap_ns == Fraction("1622400")
    assert plan.burst_count == 3101


def test_bursts_at_full_load_leave_one_gap_between_them() -> None:
    assert plan_bursts(64, 100, 24, 10_000_000, 10**9).inter_burst_gap_ns == 9600


def test_mac_addresses_carry_the_port_and_are_unicast() -> None:
    seen = set()
    for port in (1, 18, 256, 65535):
        for host in range(50):
            mac = addresses.station_mac(port, host)
            assert mac[0] & 0x03 == 0, "neither group nor locally administered"
            assert int.from_bytes(mac[1:3], "big") == port
            seen.add(mac)
    assert len(seen) == 200


def test_mac_addresses_are_the_same_in_every_trial_and_differ_by_seed() -> None:
    assert addresses.station_mac(7) == addresses.station_mac(7)
    assert addresses.station_mac(7) != addresses.station_mac(7, seed=1)


def test_ip_addresses_stay_in_the_benchmarking_networks() -> None:
    assert str(addresses.station_ipv4(18)) == "198.18.18.2"
    assert str(addresses.station_ipv4(18, output_half=True)) == "198.19.18.2"
    assert str(addresses.station_ipv6(1)) == "2001:2:0:1::2"
    assert str(addresses.station_ipv6(1, output_half=True)) == "2001:2:0:8001::2"


@pytest.mark.parametrize("port", [0, 256])
def test_ports_without_an_ipv4_network_are_refused(port: int) -> None:
    with pytest.raises(ValueError, match=r"1\.\.255"):
        addresses.station_ipv4(port)


@pytest.mark.parametrize(
    ("port", "bits", "host"),
    [
        (3, 48, "2001:2:3:8000::2"),
        (3, 64, "2001:2:0:8003::2"),
        (3, 126, "2001:2:0:c003::2"),
        (1, 128, "2001:2:0:e001::2"),
        (MAX_ADVERTISED_PORT, 128, "2001:2:0:ffff::2"),
    ],
)
def test_hosts_behind_a_port_are_in_networks_that_lie_apart_by_their_length(port: int, bits: int, host: str) -> None:
    assert str(ipv6_host_behind(port, bits)) == host


def test_hosts_in_many_networks_have_their_port_and_network_in_their_address() -> None:
    assert [str(host_in_network(port, 4, number)) for port, number in ((1, 0), (256, 255))] == [
        "10.0.0.2",
        "10.255.255.2",
    ]
    assert str(host_in_network(3, 6, 7)) == "2001:2:3:7::2"
    for port, number in ((0, 0), (257, 0), (1, -1), (1, 256)):
        with pytest.raises(ValueError, match="no network"):
            host_in_network(port, 4, number)
    for port, bits in ((0, 64), (MAX_ADVERTISED_PORT + 1, 64), (1, 63)):
        with pytest.raises(ValueError, match="no host behind"):
            ipv6_host_behind(port, bits)


def test_random_numbers_are_those_of_splitmix64() -> None:
    """The first numbers of seeds 0 and 1234567, as published with other implementations."""
    assert (splitmix64(0), splitmix64(1234567)) == (0xE220A8397B1DCDAF, 6457827717110365317)
    offsets = random_offsets(1000, 1)
    assert len(set(offsets)) == 1000 and max(offsets) < 1 << 24 and max(offsets) > 1 << 23
    assert offsets[:10] == random_offsets(10, 1) != random_offsets(10, 2)
