"""Flows to any of several ports: each frame counts at the port that it comes to. A router of the simulation decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.otg import OtgServer, add_flow, errors_of, flow_metrics, serving_otg, transmit

ROUTER_MAC = "02:00:00:00:01:01"


@pytest.fixture(scope="module")
def server() -> Iterator[OtgServer]:
    with serving_otg("router-4x1g") as served:
        yield served


def routed(api: Any) -> Any:
    """A configuration with ports p1 to p3, and a device behind p2 and p3 that answers the router."""
    config = api.config()
    for number in (1, 2, 3):
        config.ports.port(name=f"p{number}", location=str(number))
    for number in (2, 3):
        ethernet = config.devices.add(name=f"d{number}").ethernets.add(
            name=f"e{number}", mac=f"02:00:00:00:00:0{number}"
        )
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv4_addresses.add(name=f"i{number}", address=f"198.18.{number}.9", gateway=f"198.18.{number}.1")
    return config


def add_routed_flow(config: Any, name: str, receivers: list[str], addresses: list[str]) -> Any:
    flow = add_flow(config, name)
    flow.packet[0].dst.value = ROUTER_MAC
    flow.packet[1].src.value, flow.packet[1].dst.values = "198.18.1.9", addresses
    flow.tx_rx.port.rx_names = receivers
    flow.metrics.predefined_metric_tags.rx_name = True
    flow.duration.fixed_packets.packets = 90
    return flow


def ended(api: Any) -> dict[str, Any]:
    transmit(api, "start")
    for _ in range(20):
        metrics = flow_metrics(api)
        if {metric.transmit for metric in metrics.values()} == {"stopped"}:
            return metrics
    raise AssertionError("flows do not end")


def by_receiver(metric: Any) -> dict[str, int]:
    return {part.tags[0].value.str: part.frames_rx for part in metric.tagged_metrics}


def test_frames_count_where_they_come(server: OtgServer) -> None:
    """A third of the frames goes to another network: of the first flow its port is one of those named."""
    api = server.api()
    config = routed(api)
    add_routed_flow(config, "both", ["p2", "p3"], ["198.18.2.9", "198.18.3.9", "198.18.2.9"])
    add_routed_flow(config, "one", ["p2"], ["198.18.3.9", "198.18.2.9", "198.18.2.9"])
    api.set_config(config)
    metrics = ended(api)
    both, one = metrics["both"], metrics["one"]
    assert (both.frames_tx, both.frames_rx, both.loss, both.port_rx) == (90, 90, 0, "p2,p3")
    assert by_receiver(both) == {"p2": 60, "p3": 30}
    assert {part.frames_tx for part in both.tagged_metrics} == {None}
    assert (one.frames_tx, one.frames_rx, one.port_rx) == (90, 60, "p2")
    assert one.loss == pytest.approx(100 / 3)
    assert both.latency.minimum_ns > 3000


def test_flows_between_devices_go_beside_them(server: OtgServer) -> None:
    api = server.api()
    config = routed(api)
    add_routed_flow(config, "both", ["p2", "p3"], ["198.18.2.9", "198.18.3.9"])
    flow = config.flows.add(name="devices")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["d2"], ["d3"]
    flow.packet.ethernet().ipv4().udp()
    flow.rate.pps, flow.duration.fixed_packets.packets, flow.metrics.enable = 1000, 50, True
    api.set_config(config)
    metrics = ended(api)
    assert by_receiver(metrics["both"]) == {"p2": 45, "p3": 45}
    assert (metrics["devices"].frames_rx, metrics["devices"].port_rx) == (50, "p3")


def test_a_flow_cannot_come_back_to_its_port(server: OtgServer) -> None:
    api = server.api()
    config = routed(api)
    add_routed_flow(config, "f", ["p2", "p1"], ["198.18.2.9"])
    (told,) = errors_of(lambda: api.set_config(config))
    assert told == "flows[0].tx_rx.port.rx_names are p2, p1 (valid: other ports than that of tx_name, each once)"
