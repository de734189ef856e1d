"""The flows of a configuration as streams of the tester, and what is to be measured of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.headers import Address, FlowHeaders, flow_headers
from p4mesh.otg.ports import Port
from p4mesh.otg.rates import frame_sizes, timing
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.tester.stations import station
from p4mesh.traffic.addresses import OwnAddresses
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream


@dataclass(frozen=True)
class Measured:
    """Contents of the metrics of a flow beside frames and bytes."""

    enabled: bool
    loss: bool = False
    timestamps: bool = False
    latency: str = ""
    """Mode of the latency; empty: none."""


@dataclass(frozen=True)
class Flow:
    """One flow: a stream for each pair of ends."""

    name: str
    streams: tuple[Stream, ...]
    measured: Measured
    port_tx: str
    """Names of the ports; several are joined by commas."""
    port_rx: str

    @property
    def stream_names(self) -> tuple[str, ...]:
        """Names of its streams on the tester."""
        return tuple(stream.name for stream in self.streams)


def read_flow(element: Element, ports: Mapping[str, Port]) -> Flow:
    """Read one flow; raises OtgError for what the tester does not have."""
    with element.whole():
        name = element.text("name")
        pairs = _pairs(element.element("tx_rx"), ports)
        headers = flow_headers(element.elements("packet"))
        sizes = frame_sizes(element.element("size"))
        smallest = minimum_frame_bytes(headers.frame)
        if min(sizes) < smallest:
            what = f"has frames of {min(sizes)} bytes, and its headers, signature and FCS need {smallest}"
            raise refusal(element.at("size"), what, f"{smallest} bytes or more")
        measured = _measured(element.element("metrics"))
        streams = tuple(
            _stream(name if len(pairs) == 1 else f"{name} ({tx.name} to {rx.name})", element, tx, rx, headers, sizes)
            for tx, rx in pairs
        )
    joined = (",".join(dict.fromkeys(pair[place].name for pair in pairs)) for place in (0, 1))
    return Flow(name, streams, measured, *joined)


def _pairs(element: Element, ports: Mapping[str, Port]) -> list[tuple[Port, Port]]:
    with element.whole():
        element.choice("port", default="port")
        with element.element("port").whole() as inner:
            names = inner.texts("rx_names") or [inner.text("rx_name")]
            sender = _port(inner.at("tx_name"), inner.text("tx_name"), ports)
            inner.text("rx_name")
            receivers = [_port(f"{inner.at('rx_names')}[{place}]", name, ports) for place, name in enumerate(names)]
    if len(receivers) > 1:
        raise refusal(inner.at("rx_names"), f"has {len(receivers)} ports", "one port")
    return [(sender, receiver) for receiver in receivers]


def _port(path: str, name: str, ports: Mapping[str, Port]) -> Port:
    if name not in ports:
        raise refusal(path, f"'{name}' is no port", list(ports))
    return ports[name]


def _measured(element: Element) -> Measured:
    with element.whole():
        enabled = element.flag("enable")
        with element.element("latency").whole() as latency:
            mode = latency.text("mode", "store_forward") if latency.flag("enable") else ""
            latency.text("mode")
        with element.element("predefined_metric_tags").whole() as tags:
            tags.require("rx_name", False)
        return Measured(enabled, element.flag("loss"), element.flag("timestamps"), mode)


def _stream(name: str, element: Element, tx: Port, rx: Port, headers: FlowHeaders, sizes: tuple[int, ...]) -> Stream:
    timed = timing(element, sizes, tx.tester.rate_bps)
    return Stream(
        name=name,
        frame_size_bytes=max(sizes),
        rate_fps=timed.rate_fps,
        frame_count=timed.frames,
        pattern=Pairs(),
        tx_ports=(tx.number,),
        rx_ports=(rx.number,),
        frame=headers.frame,
        burst=timed.burst,
        start_offset_ns=(timed.delay_ns,) if timed.delay_ns else (),
        modifiers=headers.modifiers,
        source_mac=headers.source_mac,
        destination_mac=headers.destination_mac,
        own_addresses=_addresses(tx, headers.source) + _addresses(rx, headers.destination),
        sizes_in_turn_bytes=sizes if len(sizes) > 1 else (),
        received_at_any_address=True,
    )


def _addresses(port: Port, address: Address | None) -> tuple[OwnAddresses, ...]:
    if address is None:
        return ()
    usual = station(port.number)
    if isinstance(address, IPv4Address):
        return (OwnAddresses(port.number, address, usual.ipv6),)
    return (OwnAddresses(port.number, usual.ipv4, address),)
