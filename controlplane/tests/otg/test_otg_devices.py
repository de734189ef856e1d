"""Devices of the Open Traffic Generator API: they find their gateways, answer others, and flows go between them.

Method: two devices on the ends of a wire, each the gateway of the other; and a router of the simulation between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.otg import OtgServer, errors_of, flow_metrics, serving_otg, transmit, two_ports

MACS = {1: "02:00:00:00:00:01", 2: "02:00:00:00:00:02"}


@pytest.fixture(scope="module")
def wire() -> Iterator[OtgServer]:
    with serving_otg("back-to-back") as served:
        yield served


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


def test_devices_find_each_other_and_flows_go_between_them(wire: OtgServer) -> None:
    api = wire.api()
    config = two_ports(api)
    add_device(config, 1, ("10.0.0.1", "2001:db8::1"), ("10.0.0.2", "2001:db8::2"))
    add_device(config, 2, ("10.0.0.2", "2001:db8::2"), ("10.0.0.1", "2001:db8::1"))
    add_device_flow(config, "v4", ["d1.v4"], ["d2.v4"]).tx_rx.device.bidirectional = True
    add_device_flow(config, "v6", ["d1"], ["d2"], version=6)
    api.set_config(config)
    assert neighbors(api, "ipv4") == {}
    (told,) = errors_of(lambda: transmit(api, "start"))
    assert "the gateway 10.0.0.2 of d1.v4 has not answered" in told
    protocols(api, "start")
    assert neighbors(api, "ipv4") == {"d1.eth": ("10.0.0.2", MACS[2]), "d2.eth": ("10.0.0.1", MACS[1])}
    assert neighbors(api, "ipv6") == {"d1.eth": ("2001:db8::2", MACS[2]), "d2.eth": ("2001:db8::1", MACS[1])}
    transmit(api, "start")
    assert received(api) == {"v4": (100, 0), "v6": (100, 0)}
    protocols(api, "stop")


def test_flows_go_through_a_router_to_the_devices_behind_it(router: OtgServer) -> None:
    """The router is host 1 of the network of each port (RFC 2544 C.2.2, RFC 5180 5.2), and answers ARP and ND."""
    api = router.api()
    config = two_ports(api)
    add_device(config, 1, ("198.18.1.9", "2001:2:0:1::9"), ("198.18.1.1", "2001:2:0:1::1"))
    add_device(config, 2, ("198.18.2.9", "2001:2:0:2::9"), ("198.18.2.1", "2001:2:0:2::1"))
    add_device_flow(config, "v4", ["d1"], ["d2"])
    add_device_flow(config, "v6", ["d2.v6"], ["d1.v6"], version=6)
    config.options.protocol_options.auto_start_all = True
    api.set_config(config)
    assert set(neighbors(api, "ipv4")) == {"d1.eth", "d2.eth"}
    transmit(api, "start")
    assert received(api) == {"v4": (100, 0), "v6": (100, 0)}
    protocols(api, "stop")
