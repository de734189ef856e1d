"""Headers of flows of the Open Traffic Generator API: frames leave as configured, which Scapy reads from captures."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.utils import rdpcap
from support.otg import OtgServer, flow_metrics, transmit, two_ports

from p4mesh.tester.frames import FCS_BYTES, SIGNATURE_BYTES


def sent(
    server: OtgServer, headers: Callable[[Any], object], payload: Callable[[Any], object] | None = None
) -> list[Any]:
    """Four frames of a flow with these headers and payload, all of which have arrived."""
    api = server.api()
    config = two_ports(api)
    flow = config.flows.add(name="f")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    headers(flow.packet)
    if payload:
        payload(flow.payload)
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 256, 100, 4
    flow.metrics.enable = True
    config.captures.add(name="c", port_names=["p2"])
    api.set_config(config)
    control = api.control_state()
    control.port.capture.state = "start"
    api.set_control_state(control)
    transmit(api, "start")
    for _ in range(10):
        metric = flow_metrics(api)["f"]
    assert (metric.frames_tx, metric.frames_rx) == (4, 4)
    request = api.capture_request()
    request.port_name = "p2"
    return list(rdpcap(io.BytesIO(api.get_capture(request).read())))


def test_tcp_with_flags_and_ports_that_change(server: OtgServer) -> None:
    def headers(packet: Any) -> None:
        _, _, tcp = packet.ethernet().ipv4().tcp()
        tcp.ctl_syn.value, tcp.window.value, tcp.seq_num.value = 1, 1000, 7
        tcp.src_port.values = [80, 443]
        tcp.dst_port.decrement.set(start=9000, step=10, count=3)

    frames = sent(server, headers)
    assert [(frame[TCP].sport, frame[TCP].dport) for frame in frames] == [
        (80, 9000),
        (443, 8990),
        (80, 8980),
        (443, 9000),
    ]
    assert {(str(frame[TCP].flags), frame[TCP].window, frame[TCP].seq) for frame in frames} == {("S", 1000, 7)}


def test_ip_alone_and_its_fields(server: OtgServer) -> None:
    def headers(packet: Any) -> None:
        _, _, ipv4 = packet.ethernet().vlan().ipv4()
        packet[1].id.value, packet[1].priority.value = 7, 3
        ipv4.priority.dscp.phb.value, ipv4.time_to_live.value, ipv4.dont_fragment.value = 46, 9, 1
        ipv4.src.value, ipv4.dst.value = "10.1.2.3", "10.4.5.6"

    frame = sent(server, headers)[0]
    assert (frame[Dot1Q].vlan, frame[Dot1Q].prio, frame[IP].src, frame[IP].dst) == (7, 3, "10.1.2.3", "10.4.5.6")
    assert (frame[IP].tos, frame[IP].ttl, str(frame[IP].flags)) == (46 << 2, 9, "DF")


@pytest.mark.parametrize(("header", "name"), [("ipv4", "header_checksum"), ("udp", "checksum")])
def test_a_checksum_that_is_to_be_bad_is(server: OtgServer, header: str, name: str) -> None:
    def headers(packet: Any) -> None:
        _, ipv4, udp = packet.ethernet().ipv4().udp()
        getattr({"ipv4": ipv4, "udp": udp}[header], name).generated = "bad"

    layer = {"ipv4": IP, "udp": UDP}[header]
    for frame in sent(server, headers):
        written = frame[layer].chksum
        del frame[layer].chksum
        assert written not in (0, Ether(bytes(frame))[layer].chksum)


def test_vxlan_with_an_inner_frame(server: OtgServer) -> None:
    def headers(packet: Any) -> None:
        _, outer, udp, vxlan, _, inner, _ = packet.ethernet().ipv4().udp().vxlan().ethernet().ipv4().udp()
        outer.src.value, outer.dst.value, udp.dst_port.value, vxlan.vni.value = "1.1.1.1", "1.1.1.2", 4789, 77
        inner.src.value, inner.dst.value = "2.2.2.1", "2.2.2.2"

    frame = sent(server, headers)[0]
    assert (frame[IP].dst, frame[UDP].dport, frame[VXLAN].vni) == ("1.1.1.2", 4789, 77)
    assert frame[VXLAN][IP].src == "2.2.2.1"


@pytest.mark.parametrize(
    ("headers", "layer"),
    [
        (lambda packet: packet.ethernet().ipv4().icmp(), ICMP),
        (lambda packet: packet.ethernet().mpls().ipv4().udp(), MPLS),
        (lambda packet: packet.ethernet().ipv4().gre().ipv4().udp(), GRE),
        (lambda packet: packet.ethernet().ipv6().udp(), IPv6),
    ],
)
def test_other_headers_are_read_as_such(server: OtgServer, headers: Callable[[Any], object], layer: type) -> None:
    assert all(frame.haslayer(layer) for frame in sent(server, headers))


@pytest.mark.parametrize(
    ("content", "fill"), [(b"hello", bytes(3)), (b"29 bytes, as in its examples.", bytes(3)), (b"k" * 124, b"")]
)
def test_custom_bytes_stand_in_front_of_the_payload(server: OtgServer, content: bytes, fill: bytes) -> None:
    def headers(packet: Any) -> None:
        packet.ethernet().ipv4().udp().custom()[-1].bytes = content.hex()

    assert bytes(sent(server, headers)[0][UDP].payload).startswith(content + fill + b"PM")


def test_gtp_in_udp(server: OtgServer) -> None:
    def headers(packet: Any) -> None:
        _, _, udp, gtp, _, _ = packet.ethernet().ipv4().udp().gtpv1().ipv4().udp()
        udp.dst_port.value, gtp.message_type.value, gtp.teid.value = 2152, 255, 9

    frame = sent(server, headers)[0]
    assert (frame[GTP_U_Header].teid, frame[GTP_U_Header].gtp_type) == (9, 255)


PAYLOADS: dict[str, tuple[Callable[[Any], object], bytes]] = {
    "left_out": (id, bytes(200)),
    "increment_byte": (lambda payload: setattr(payload, "choice", "increment_byte"), bytes(range(200))),
    "decrement_byte": (lambda payload: setattr(payload, "choice", "decrement_byte"), bytes(range(255, 55, -1))),
    "increment_word": (
        lambda payload: setattr(payload, "choice", "increment_word"),
        b"".join(number.to_bytes(2, "big") for number in range(100)),
    ),
    "decrement_word": (
        lambda payload: setattr(payload, "choice", "decrement_word"),
        b"".join(number.to_bytes(2, "big") for number in range(0xFFFF, 0xFFFF - 100, -1)),
    ),
    "fixed": (lambda payload: payload.fixed.set(pattern="cafe01"), b"\xca\xfe\x01" * 66 + b"\xca\xfe"),
    "fixed_once": (lambda payload: payload.fixed.set(pattern="cafe", repeat=False), b"\xca\xfe" + bytes(198)),
}


@pytest.mark.parametrize("kind", PAYLOADS)
@pytest.mark.parametrize("version", [4, 6])
def test_the_payload_follows_the_signature(server: OtgServer, kind: str, version: int) -> None:
    """256 bytes, less the headers, the signature and the FCS; the checksum of UDP over IPv6 covers the payload."""

    def headers(packet: Any) -> None:
        if version == 4:
            packet.ethernet().ipv4().udp()
        else:
            packet.ethernet().ipv6().udp()

    payload, expected = PAYLOADS[kind]
    for frame in sent(server, headers, payload):
        raw = frame.original[-frame[UDP].len - FCS_BYTES : -FCS_BYTES]
        found = raw[8 + SIGNATURE_BYTES :]
        assert len(found) > 160
        assert found == expected[: len(found)]
        if version == 6:
            without = UDP(raw[:6] + bytes(2) + raw[8:])
            del without.chksum
            anew = IPv6(bytes(IPv6(src=frame[IPv6].src, dst=frame[IPv6].dst) / without))
            assert anew[UDP].chksum == frame[UDP].chksum
