"""Echoes between devices of the Open Traffic Generator API, in VLANs and from loopbacks.

Method: two devices on the ends of a wire, each the gateway of the other; and a router of the simulation.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.otg import TRANSPORTS, OtgServer, errors_of, flow_metrics, serving_otg, transmit, two_ports

ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("2001:db8::1", "2001:db8::2")}
LOOPBACKS = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8:1::1", "2001:db8:1::2")}


def two_devices(api: Any, *, vlans: tuple[list[int], list[int]] = ([], [])) -> Any:
    """A configuration with devices d1 and d2, their addresses of both versions and loopbacks."""
    config = two_ports(api)
    for place in (0, 1):
        device = config.devices.add(name=f"d{place + 1}")
        ethernet = device.ethernets.add(name=f"e{place + 1}", mac=f"02:00:00:00:00:0{place + 1}")
        ethernet.connection.port_name = f"p{place + 1}"
        for number, vid in enumerate(vlans[place]):
            ethernet.vlans.add(name=f"d{place + 1}.vlan{number}", id=vid, priority=3)
        for version, key in ((4, "ipv4"), (6, "ipv6")):
            own, other = ADDRESSES[version][place], ADDRESSES[version][1 - place]
            getattr(ethernet, f"{key}_addresses").add(name=f"d{place + 1}.{key}", address=own, gateway=other)
            loopbacks = getattr(device, f"{key}_loopbacks")
            loopbacks.add(name=f"d{place + 1}.lo{version}", eth_name=ethernet.name, address=LOOPBACKS[version][place])
    return config


def ping(api: Any, version: int, *requests: tuple[str, str]) -> list[tuple[str, str, str]]:
    action = api.control_action()
    kind = f"ipv{version}"
    for source, destination in requests:
        getattr(action.protocol, kind).ping.requests.add(src_name=source, dst_ip=destination)
    answer = getattr(api.set_control_action(action).response.protocol, kind)
    return [(it.src_name, it.dst_ip, it.result) for it in answer.ping.responses]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("vids", [[], [100], [4000, 7]])
def test_devices_answer_each_other(server: OtgServer, transport: str, version: int, vids: list[int]) -> None:
    """The gateway, its loopback, a loopback from a loopback, and an address that nobody has."""
    api = server.api(transport)
    api.set_config(two_devices(api, vlans=(vids, vids)))
    near, far, nobody = ADDRESSES[version][1], LOOPBACKS[version][1], f"{ADDRESSES[version][1]}9"
    asked = [(f"d1.ipv{version}", near), (f"d1.ipv{version}", far), (f"d1.lo{version}", far)]
    found = ping(api, version, *asked, (f"d1.ipv{version}", nobody))
    assert found == [(*pair, "succeeded") for pair in asked] + [(f"d1.ipv{version}", nobody, "failed")]


@pytest.mark.parametrize("vids", [([100], [101]), ([100], []), ([], [100]), ([100, 7], [100]), ([7, 100], [100, 7])])
def test_devices_in_other_vlans_do_not_answer(server: OtgServer, vids: tuple[list[int], list[int]]) -> None:
    api = server.api()
    api.set_config(two_devices(api, vlans=vids))
    (answer,) = ping(api, 4, ("d1.ipv4", ADDRESSES[4][1]))
    assert answer[2] == "failed"


def test_a_router_answers_and_forwards() -> None:
    """The router is host 1 of the network of each port; a device of another port is behind it."""
    with serving_otg("router-4x1g") as server:
        api = server.api()
        config = two_ports(api)
        for number in (1, 2):
            ethernet = config.devices.add(name=f"d{number}").ethernets.add(name=f"e{number}")
            ethernet.mac, ethernet.connection.port_name = f"02:00:00:00:00:0{number}", f"p{number}"
            ethernet.ipv4_addresses.add(name=f"i{number}", address=f"198.18.{number}.9", gateway=f"198.18.{number}.1")
        api.set_config(config)
        asked = [("i1", "198.18.2.9"), ("i2", "198.18.1.9")]
        assert ping(api, 4, *asked) == [(*pair, "succeeded") for pair in asked]


@pytest.mark.parametrize("version", [4, 6])
def test_flows_go_between_loopbacks_in_a_vlan(server: OtgServer, version: int) -> None:
    api = server.api()
    config = two_devices(api, vlans=([100], [100]))
    flow = config.flows.add(name="f")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"d1.lo{version}"], [f"d2.lo{version}"]
    stack = flow.packet.ethernet().vlan()
    if version == 4:
        stack.ipv4().udp()
    else:
        stack.ipv6().udp()
    flow.packet[1].id.value = 100
    flow.rate.pps, flow.duration.fixed_packets.packets, flow.metrics.enable = 1000, 100, True
    flow.size.fixed = 128
    config.captures.add(name="c", port_names=["p2"])
    api.set_config(config)
    transmit(api, "start")
    metrics = [flow_metrics(api)["f"] for _ in range(4)]
    assert (metrics[-1].frames_tx, metrics[-1].frames_rx) == (100, 100)


def test_pings_of_strangers_are_refused(server: OtgServer) -> None:
    api = server.api()
    api.set_config(two_devices(api))
    (told,) = errors_of(lambda: ping(api, 6, ("d1.ipv4", "2001:db8::2")))
    assert told.startswith("protocol.ipv6.ping.requests[0].src_name 'd1.ipv4' is no IPv6 address of a device (valid: ")
    (told,) = errors_of(lambda: ping(api, 4, *[("d1.ipv4", "10.0.0.2")] * 65))
    assert told == "protocol.ipv4.ping.requests are 65 (valid: up to 64)"


def test_bgp_is_spoken_in_a_vlan(server: OtgServer) -> None:
    api = server.api()
    config = two_devices(api, vlans=([100], [100]))
    for place, device in enumerate(config.devices):
        device.bgp.router_id = ADDRESSES[4][place]
        peer = device.bgp.ipv4_interfaces.add(ipv4_name=f"d{place + 1}.ipv4").peers.add(name=f"peer{place + 1}")
        peer.set(peer_address=ADDRESSES[4][1 - place], as_type=peer.EBGP, as_number=65001 + place)
    api.set_config(config)
    control = api.control_state()
    control.protocol.all.state = "start"
    api.set_control_state(control)
    request = api.metrics_request()
    request.bgpv4.peer_names = []
    for _ in range(10):
        states = [metric.session_state for metric in api.get_metrics(request).bgpv4_metrics]
        if states == ["up", "up"]:
            break
    assert states == ["up", "up"]
