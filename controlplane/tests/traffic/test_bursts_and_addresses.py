"""Burst arithmetic of RFC 2889 appendix A and the addresses of RFC 4814, 2544 and 5180."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.burst_oracle import plan_bursts

from p4mesh.traffic import addresses


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
