"""Stations whose routers are silent connect again, the less often the more of them there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs
from support.networks import shipped

from p4mesh.tester.responders.base import Outgoing
from p4mesh.tester.responders.bgp_peers import BgpPeers
from p4mesh.tester.responders.port_hosts import station_hosts
from p4mesh.tester.stations import station

MS = 1_000_000
ARP, SOURCE_PORT = 0x0806, slice(34, 36)


@pytest.mark.parametrize(("sessions", "attempts"), [(2, 4), (64, 2)])
def test_attempts_of_many_stations_keep_apart(sessions: int, attempts: int) -> None:
    settings = shipped("router-4x1g-bgp").bgp
    assert settings is not None
    stations = {(port, 4): station(port) for port in range(1, 1 + sessions)}
    peers = BgpPeers(stations, structs.replace(settings, bfd=None), 1, 0)
    routers = station_hosts(
        [replace(station(port), mac=b"\x02\0\0\0\0\x01", ipv4=station(port).router_ipv4) for port, _ in stations]
    )
    ports: set[bytes] = set()
    leaving: list[Outgoing] = list(peers.begin())
    for now_ns in range(0, 3_500 * MS, 20 * MS):
        while leaving:
            sent = leaving.pop()
            if int.from_bytes(sent.frame[12:14], "big") != ARP:
                ports |= {sent.frame[SOURCE_PORT]} if sent.port == 1 else set()
            for reply in routers.on_frame(sent.port, sent.frame, now_ns):
                leaving += peers.on_frame(sent.port, reply.frame, now_ns)
        leaving += peers.on_time(now_ns)
    assert len(ports) == attempts
