"""Captures of the Open Traffic Generator API: the frames that came to a port, read by Scapy."""

from __future__ import annotations

import io
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap
from support.otg import TRANSPORTS, OtgServer, add_flow, errors_of, flow_metrics, transmit, two_ports


def set_capture(api: Any, state: str) -> None:
    control = api.control_state()
    control.port.capture.state = state
    api.set_control_state(control)


def captured(api: Any, port: str) -> list[Any]:
    request = api.capture_request()
    request.port_name = port
    return list(rdpcap(io.BytesIO(api.get_capture(request).read())))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_frames_are_captured_as_they_came(server: OtgServer, transport: str, form: str) -> None:
    api = server.api(transport)
    config = two_ports(api)
    flow = add_flow(config, "f", size=200, pps=100)
    flow.packet[2].src_port.increment.set(start=5000, step=1, count=4)
    flow.packet[2].dst_port.values = [7, 9]
    flow.duration.fixed_packets.packets = 8
    capture = config.captures.add(name="c", port_names=["p2"])
    capture.format = form
    api.set_config(config)
    set_capture(api, "start")
    transmit(api, "start")
    while flow_metrics(api)["f"].transmit != "stopped":
        pass
    set_capture(api, "stop")
    packets = captured(api, "p2")
    assert [(packet[UDP].sport, packet[UDP].dport) for packet in packets] == [
        (5000 + place % 4, (7, 9)[place % 2]) for place in range(8)
    ]
    assert {(packet[Ether].src, packet[IP].dst, len(packet)) for packet in packets} == {
        ("02:00:00:00:00:01", "10.0.0.2", 200)
    }
    times_s = [float(packet.time) for packet in packets]
    assert times_s[-1] - times_s[0] == pytest.approx(0.07, abs=1e-5)


def test_a_port_without_a_capture_has_none(server: OtgServer) -> None:
    api = server.api()
    api.set_config(two_ports(api))
    (told,) = errors_of(lambda: captured(api, "p1"))
    assert told == "'p1' has no capture (valid: none is configured)"
