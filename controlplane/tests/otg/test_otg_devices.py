"""Devices of the Open Traffic Generator API: they find their gateways, answer others, and flows go between them.

Method: two devices on the ends of a server, each the gateway of the other; and a router of the simulation between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.otg import OtgServer, errors_of, flow_metrics, serving_otg, transmit, two_ports

MACS = {1: "02:00:00:00:00:01", 2: "02:00:00:00:00:02"}


@pytest.fixture(scope="module")
def router() -> Iterator[OtgServer]:
    with serving_otg("router-4x1g") as served:
        yield served


def add_device(config: Any, number: int, addresses: tuple[str, str], gateways: tuple[str, str]) -> None:
    """Add device dN on port pN with an IPv4 and an IPv6 address."""
    ethernet = config.devices.add(name=f"d{number}").ethernets.add(name=f"d{number}.eth", mac=MACS[number])
    ethernet.connection.port_name = f"p{number}"
    ethernet.ipv4_addresses.add(name=f"d{number}.v4", address=addresses[0], gateway=gateways[0])
    ethernet.ipv6_addresses.add(name=f"d{number}.v6", address=addresses[1], gateway=gateways[1])


def add_device_flow(config: Any, name: str, tx: list[str], rx: list[str], *, version: int = 4) -> Any:
    flow = config.flows.add(name=name)
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = tx, rx
    if version == 4:
        flow.packet.ethernet().ipv4().udp()
    else:
        flow.packet.ethernet().ipv6().udp()
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 128, 1000, 100
    flow.metrics.enable = flow.metrics.loss = True
    return flow


def protocols(api: Any, state: str) -> None:
    control = api.control_state()
    control.protocol.all.state = state
    api.set_control_state(control)


def neighbors(api: Any, kind: str) -> dict[str, tuple[str, str]]:
    request = api.states_request()
    getattr(request, f"{kind}_neighbors").ethernet_names = []
    states = getattr(api.get_states(request), f"{kind}_neighbors")
    return {state.ethernet_name: (getattr(state, f"{kind}_address"), state.link_layer_address) for state in states}


def received(api: Any) -> dict[str, tuple[int, float]]:
    for _ in range(10):
        metrics = flow_metrics(api).values()
        if all(metric.transmit == "stopped" for metric in metrics):
            break
    return {metric.name: (metric.frames_rx, metric.loss) for metric in metrics}


def test_devices_find_each_other_and_flows_go_between_them(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    add_device(config, 1, ("10.0.0.1", "2001:db8::1"), ("10.0.0.2", "2001:db8::2"))
    add_device(config, 2, ("10.0.0.2", "2001:db8::2"), ("10.0.0.1", "2001:db8::1"))
    add_device_flow(config, "v4", ["d1.v4"], ["d2.v4"]).tx_rx.device.bidirectional = True
    add_device_flow(config, "v6", ["d1"], ["d2"], version=6)
    api.set_config(config)
    assert neighbors(api, "ipv4") == {"d1.eth": ("10.0.0.2", MACS[2]), "d2.eth": ("10.0.0.1", MACS[1])}
    assert neighbors(api, "ipv6") == {"d1.eth": ("2001:db8::2", MACS[2]), "d2.eth": ("2001:db8::1", MACS[1])}
    transmit(api, "start")
    assert received(api) == {"v4": (100, 0), "v6": (100, 0)}


def test_as_many_addresses_as_there_can_be_know_their_gateways_at_once(server: OtgServer) -> None:
    """All but one behind the same gateway, whose own question is answered through the port that asks the others."""
    api = server.api()
    config = two_ports(api)
    ethernets = [(1, f"10.1.{number >> 8}.{number & 255}", "10.2.0.1") for number in range(1, 2048)]
    for place, (port, address, gateway) in enumerate([*ethernets, (2, "10.2.0.1", "10.1.0.1")]):
        mac = f"02:00:00:00:{place >> 8:02x}:{place & 255:02x}"
        ethernet = config.devices.add(name=f"d{place}").ethernets.add(name=f"e{place}", mac=mac)
        ethernet.connection.port_name = f"p{port}"
        ethernet.ipv4_addresses.add(name=f"v{place}", address=address, gateway=gateway, prefix=8)
    api.set_config(config)
    assert len(neighbors(api, "ipv4")) == 2048


def test_a_flow_to_a_gateway_that_does_not_answer_is_not_started(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    add_device(config, 1, ("10.0.0.1", "2001:db8::1"), ("10.0.0.9", "2001:db8::9"))
    add_device(config, 2, ("10.0.0.2", "2001:db8::2"), ("10.0.0.1", "2001:db8::1"))
    add_device_flow(config, "v4", ["d1.v4"], ["d2.v4"])
    api.set_config(config)
    (told,) = errors_of(lambda: transmit(api, "start"))
    assert told.startswith("flow 'v4': the gateway 10.0.0.9 of d1.v4 has not answered")


def test_flows_go_through_a_router_to_the_devices_behind_it(router: OtgServer) -> None:
    """The router is host 1 of the network of each port (RFC 2544 C.2.2, RFC 5180 5.2), and answers ARP and ND."""
    api = router.api()
    config = two_ports(api)
    add_device(config, 1, ("198.18.1.9", "2001:2:0:1::9"), ("198.18.1.1", "2001:2:0:1::1"))
    add_device(config, 2, ("198.18.2.9", "2001:2:0:2::9"), ("198.18.2.1", "2001:2:0:2::1"))
    add_device_flow(config, "v4", ["d1"], ["d2"])
    add_device_flow(config, "v6", ["d2.v6"], ["d1.v6"], version=6)
    api.set_config(config)
    assert set(neighbors(api, "ipv4")) == {"d1.eth", "d2.eth"}
    transmit(api, "start")
    assert received(api) == {"v4": (100, 0), "v6": (100, 0)}


def add_peer(config: Any, number: int, own_as: int, neighbour: str, first: str, routes: int) -> None:
    """Let device dN speak BGP, and announce networks of 24 bits from ``first`` on."""
    device = config.devices[number - 1]
    device.bgp.router_id = device.ethernets[0].ipv4_addresses[0].address
    peer = device.bgp.ipv4_interfaces.add(ipv4_name=f"d{number}.v4").peers.add(name=f"peer{number}")
    peer.set(peer_address=neighbour, as_type=peer.EBGP, as_number=own_as)
    peer.v4_routes.add(name=f"routes{number}").addresses.add(address=first, prefix=24, count=routes)


def sessions(api: Any) -> dict[str, tuple[str, int, int]]:
    request = api.metrics_request()
    request.bgpv4.peer_names = []
    metrics = api.get_metrics(request).bgpv4_metrics
    return {it.name: (it.session_state, it.routes_advertised, it.routes_received) for it in metrics}


def settled(api: Any, expected: dict[str, tuple[str, int, int]]) -> dict[str, tuple[str, int, int]]:
    """The sessions when they are as expected, or after ten polls."""
    for _ in range(10):
        found = sessions(api)
        if found == expected:
            break
    return found


def set_routes(api: Any, state: str, *names: str) -> None:
    control = api.control_state()
    control.protocol.route.state, control.protocol.route.names = state, list(names)
    api.set_control_state(control)


def test_devices_are_peers_of_each_other(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    add_device(config, 1, ("10.0.0.1", "2001:db8::1"), ("10.0.0.2", "2001:db8::2"))
    add_device(config, 2, ("10.0.0.2", "2001:db8::2"), ("10.0.0.1", "2001:db8::1"))
    add_peer(config, 1, 65001, "10.0.0.2", "10.1.0.0", 3)
    add_peer(config, 2, 65002, "10.0.0.1", "10.2.0.0", 5)
    add_device_flow(config, "to the routes", ["d1"], ["routes2"])
    api.set_config(config)
    protocols(api, "start")
    both = {"peer1": ("up", 3, 5), "peer2": ("up", 5, 3)}
    assert settled(api, both) == both
    transmit(api, "start")
    assert received(api) == {"to the routes": (100, 0)}
    set_routes(api, "withdraw", "routes2")
    assert settled(api, {"peer1": ("up", 3, 0), "peer2": ("up", 0, 3)}) == {
        "peer1": ("up", 3, 0),
        "peer2": ("up", 0, 3),
    }
    set_routes(api, "advertise", "routes2")
    assert settled(api, both) == both
    protocols(api, "stop")
    assert sessions(api) == {"peer1": ("down", 0, 0), "peer2": ("down", 0, 0)}


def test_a_router_forwards_to_routes_that_a_device_has_announced() -> None:
    """The router of the topology has AS 64512 and takes the stations 198.18.P.2 of AS 64512 + P as neighbours."""
    with serving_otg("router-4x1g-bgp") as server:
        api = server.api()
        config = two_ports(api)
        for number in (1, 2):
            own, router = (f"198.18.{number}.{host}" for host in (2, 1))
            add_device(config, number, (own, f"2001:2:0:{number}::2"), (router, f"2001:2:0:{number}::1"))
            add_peer(config, number, 64512 + number, router, f"10.{number}.0.0", 4)
        add_device_flow(config, "there", ["d1"], ["routes2"])
        api.set_config(config)
        protocols(api, "start")
        expected = {"peer1": ("up", 4, 4), "peer2": ("up", 4, 4)}
        assert settled(api, expected) == expected
        transmit(api, "start")
        assert received(api) == {"there": (100, 0)}
        set_routes(api, "withdraw", "routes2")
        flow_metrics(api), flow_metrics(api)
        transmit(api, "start")
        assert received(api) == {"there": (0, 100)}


def test_a_longest_packet_bounds_nothing_and_is_warned_of(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    add_device(config, 1, ("192.0.2.1", "2001:db8::1"), ("192.0.2.2", "2001:db8::2"))
    assert not api.set_config(config).warnings, "what snappi gives by itself is no wish"
    config.devices[0].ethernets[0].mtu = 9000
    config.layer1.add(name="l1", port_names=["p1"], mtu=9000)
    told = api.set_config(config).warnings
    assert [text.split()[0] for text in told] == ["layer1[0].mtu", "devices[0].ethernets[0].mtu"]
