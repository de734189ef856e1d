"""The Open Traffic Generator API on Linux interfaces: the same scripts as on the simulation, in real time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.linux_devices import needs_root
from support.otg import OtgServer, add_flow, errors_of, flow_metrics, port_metrics, serving_otg, transmit, two_ports
from support.otg_bgp import protocols, switch_peers, two_speakers

pytestmark = [pytest.mark.live, needs_root]
EXAMPLES = Path(__file__).parents[3] / "examples" / "otg"
VETH = ("p4mesh-otg-a", "p4mesh-otg-b")


@pytest.fixture(scope="module")
def wire() -> Iterator[OtgServer]:
    with serving_otg("back-to-back", "--target", "live") as served:
        yield served


@pytest.fixture
def veth() -> Iterator[tuple[str, str]]:
    subprocess.run(["ip", "link", "add", VETH[0], "type", "veth", "peer", "name", VETH[1]], check=True)
    for name in VETH:
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    yield VETH
    subprocess.run(["ip", "link", "del", VETH[0]], check=True)


def ended(api: Any, name: str) -> Any:
    for _ in range(100):
        metric = flow_metrics(api)[name]
        if metric.transmit == "stopped" and metric.frames_rx == metric.frames_tx:
            break
        time.sleep(0.1)
    return metric


def test_the_script_of_examples_loses_nothing_on_veth(wire: OtgServer) -> None:
    words = [sys.executable, str(EXAMPLES / "loss_and_latency.py"), wire.places["http"]]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "p1 to p2: stopped, 3000 sent, 3000 received, loss 0 %" in shown


def test_a_second_is_a_second_of_the_wall_clock(wire: OtgServer) -> None:
    api = wire.api()
    config = two_ports(api)
    add_flow(config, "endless", pps=1000)
    api.set_config(config)
    transmit(api, "start")
    before = flow_metrics(api)["endless"].frames_tx
    time.sleep(2)
    after = flow_metrics(api)["endless"].frames_tx
    transmit(api, "stop")
    assert after - before == pytest.approx(2000, rel=0.2)


def test_locations_are_interfaces_of_the_machine(veth: tuple[str, str]) -> None:
    options = ("--target", "live", "--interfaces", ",".join(veth))
    with serving_otg("", *options) as server:
        api = server.api("grpc")
        config = api.config()
        config.ports.port(name="p1", location=veth[0]).port(name="p2", location=veth[1])
        add_flow(config, "f").duration.fixed_packets.packets = 500
        api.set_config(config)
        transmit(api, "start")
        assert ended(api, "f").frames_rx == 500


def test_the_link_of_a_port_goes_down_and_comes_up(veth: tuple[str, str]) -> None:
    """Goal: frames are lost while it is down and no longer; interfaces of the machine are up afterwards."""
    with serving_otg("", "--target", "live", "--interfaces", ",".join(veth)) as server:
        api = server.api()
        config = api.config()
        config.ports.port(name="p1", location=veth[0]).port(name="p2", location=veth[1])
        add_flow(config, "f", pps=500)
        api.set_config(config)
        transmit(api, "start")
        for name in ("p1", "p2"):
            frames_are_lost_while_down(api, name, ["p1", "p2"])
        switch_link(api, "p1", "down")
    shown = subprocess.run(["ip", "-br", "link", "show", "up"], capture_output=True, text=True, check=True).stdout
    assert all(f"{name}@" in shown for name in veth)


@pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not installed")
def test_links_to_devices_go_down_and_come_up_on_bmv2() -> None:
    with serving_otg("bridge-4x10m", "--target", "bmv2") as server:
        api = server.api()
        config = two_ports(api)
        add_flow(config, "f", pps=50)
        api.set_config(config)
        transmit(api, "start")
        for name in ("p1", "p2"):
            frames_are_lost_while_down(api, name, [name])
    with serving_otg("back-to-back", "--target", "bmv2") as server:
        api = server.api()
        api.set_config(two_ports(api))
        (told,) = errors_of(lambda: switch_link(api, "p1", "down"))
        assert told.startswith("switching the link of port 1 is not supported on bmv2: no device is at its cable")


def frames_are_lost_while_down(api: Any, name: str, ports_down: list[str]) -> None:
    """Goal: frames leave, and arrive again when the link is up; ``ports_down`` have none meanwhile."""
    switch_link(api, name, "down")
    time.sleep(0.5)
    down = flow_metrics(api)["f"]
    assert [it.name for it in port_metrics(api).values() if it.link == "down"] == ports_down
    time.sleep(0.5)
    still = flow_metrics(api)["f"]
    assert (still.frames_rx, still.frames_tx > down.frames_tx) == (down.frames_rx, True)
    switch_link(api, name, "up")
    ends_s = time.monotonic() + 20
    while flow_metrics(api)["f"].frames_rx < down.frames_rx + 20:
        assert time.monotonic() < ends_s
    assert {it.link for it in port_metrics(api).values()} == {"up"}


def switch_link(api: Any, name: str, state: str) -> None:
    control = api.control_state()
    control.port.link.set(state=state, port_names=[name])
    api.set_control_state(control)


def test_a_peer_that_is_down_stays_down_until_it_is_up(wire: OtgServer) -> None:
    """Method: the other peer, which connects every second, is refused for three seconds."""
    api = wire.api()
    config, _ = two_speakers(api)
    api.set_config(config)
    protocols(api, "start")
    assert states(api, "up") == [("up", 0), ("up", 0)]
    switch_peers(api, "down", "peer2")
    assert states(api, "down") == [("down", 1), ("down", 1)]
    time.sleep(3)
    assert states(api, "down") == [("down", 1), ("down", 1)]
    switch_peers(api, "up", "peer2")
    assert states(api, "up") == [("up", 1), ("up", 1)]
    protocols(api, "stop")


def test_frames_are_counted_by_the_bits_that_they_come_with(wire: OtgServer) -> None:
    api = wire.api()
    config = two_ports(api)
    flow = add_flow(config, "f")
    flow.packet[1].priority.raw.values = [0xB8, 0x01]
    flow.egress_packet.ethernet().ipv4()[-1].priority.raw.metric_tags.add(name="octet")
    flow.duration.fixed_packets.packets = 500
    api.set_config(config)
    transmit(api, "start")
    found = {part.tags[0].value.hex: part.frames_rx for part in ended(api, "f").tagged_metrics}
    assert found == {"0xb8": 250, "0x1": 250}


def states(api: Any, awaited: str) -> list[tuple[str, int]]:
    """States and flaps of the peers, once they have the state that is awaited."""
    request = api.metrics_request()
    request.bgpv4.peer_names = []
    for _ in range(100):
        metrics = api.get_metrics(request).bgpv4_metrics
        if {metric.session_state for metric in metrics} == {awaited}:
            break
        time.sleep(0.1)
    return [(metric.session_state, metric.session_flap_count) for metric in metrics]
