"""The flows of a configuration as streams of the tester, and what is to be measured of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from itertools import product
from math import lcm

from p4mesh.errors import OtgError
from p4mesh.otg.any_receiver import AnyReceiver
from p4mesh.otg.devices import Devices
from p4mesh.otg.egress_tags import EgressTag, read_egress_tags
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.headers import Address, FlowHeaders, flow_headers
from p4mesh.otg.interfaces import Interface
from p4mesh.otg.patterns import Tag
from p4mesh.otg.payloads import read_payload
from p4mesh.otg.ports import Port, port_of
from p4mesh.otg.rates import Timing, frame_sizes, one_if_equal, sizes_in_turn, timing
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.tester.seed_layout import can_be_cut
from p4mesh.tester.stations import destinations_of, station
from p4mesh.topology import TesterPort
from p4mesh.traffic.addresses import OwnAddresses
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.patterns.base import SharedAddress
from p4mesh.traffic.stream import COUNTING, MOST_STREAMS, Stream

STORE_FORWARD = "store_forward"
_MOST_JOINED = 4096
"""Pairs of ends that are looked at; those on one port are left out."""


@dataclass(frozen=True)
class Measured:
    """Contents of the metrics of a flow beside frames and bytes."""

    enabled: bool
    loss: bool = False
    timestamps: bool = False
    latency: str = ""
    """Mode of the latency; empty: none."""
    by_receiver: bool = False
    """Whether the tagged metrics tell receivers apart."""


@dataclass(frozen=True)
class Flow:
    """One flow: streams for each pair of ends, whose frames leave in turn."""

    name: str
    streams: tuple[Stream, ...]
    tags: tuple[tuple[Tag, ...], ...]
    """Metric tags of each stream."""
    measured: Measured
    port_tx: str
    """Names of the ports; several are joined by commas."""
    port_rx: str
    receivers: Mapping[int, str]
    """Names of the ports that receive, by their numbers."""
    asking: tuple[Interface, ...] = ()
    """Interface of each stream whose gateway the frames go to; empty where the destination is given."""
    warnings: tuple[str, ...] = ()
    """Facts that a client is to know: what differs from what it asked for."""
    egress_tags: tuple[EgressTag, ...] = ()
    """Metric tags on the headers that frames come with."""

    def addressed(self, macs: Callable[[Interface], bytes | None]) -> Flow:
        """The flow to the MAC addresses of its gateways; raises OtgError where one is not known."""
        if not self.asking:
            return self
        streams = []
        for stream, interface in zip(self.streams, self.asking, strict=True):
            mac = macs(interface)
            if mac is None:
                what = f"flow '{self.name}': the gateway {interface.gateway} of {interface.name} has not answered"
                raise OtgError(what, hint="the states ipv4_neighbors and ipv6_neighbors show who answers")
            streams.append(replace(stream, destination_mac=mac))
        return replace(self, streams=tuple(streams))

    @property
    def has_several_receivers(self) -> bool:
        """Whether frames of a stream are expected at any of several ports."""
        return any(len(stream.rx_ports) > 1 for stream in self.streams)

    def to_any_receiver(self) -> Flow:
        """The flow as one of those that a port may have beside flows with several receivers."""
        return replace(self, streams=tuple(map(_to_any_receiver, self.streams)))

    @property
    def stream_names(self) -> tuple[str, ...]:
        """Names of its streams on the tester."""
        return tuple(stream.name for stream in self.streams)


@dataclass(frozen=True)
class _End:
    """One end of a flow: a port, or an interface of a device on it."""

    port: Port
    interface: Interface | None = None

    @property
    def name(self) -> str:
        return self.interface.name if self.interface else self.port.name


_Pair = tuple[_End, tuple[_End, ...]]
"""An end that sends, and those that may receive."""


@dataclass(frozen=True)
class _Part:
    """One stream of a flow."""

    name: str
    tx: _End
    rx: tuple[_End, ...]
    headers: FlowHeaders
    timed: Timing
    sizes: tuple[int, ...]


def read_flow(
    element: Element, ports: Mapping[str, Port], devices: Devices, tester_ports: Sequence[TesterPort]
) -> Flow:
    """Read one flow; raises OtgError for what the tester does not have.

    A flow to no port is expected at another one of the ``tester_ports``: the tester sends nothing to nobody.
    """
    with element.whole():
        name = element.text("name")
        ends = element.element("tx_rx")
        of_devices = ends.choice("port", "device", default="port") == "device"
        packet = element.elements("packet")
        headers = flow_headers(packet, of_devices=of_devices)
        frame = headers[0].frame
        version = frame.network.version if frame.network else None
        pairs = _device_pairs(ends, devices, version) if of_devices else _port_pairs(ends, ports, tester_ports)
        measured = _measured(element.element("metrics"))
        egress_tags = read_egress_tags(element.elements("egress_packet"), element.at("egress_packet"))
        # Stored frames: their latency is that between first bits less the time of a frame, which has one size then.
        apart = not can_be_cut(frame) or measured.latency == STORE_FORWARD
        sizes = frame_sizes(element.element("size"), apart=apart)
        smallest = max(minimum_frame_bytes(item.frame) for item in headers)
        warnings = list(headers[0].warnings)
        if min(sizes) < smallest:
            what = f"{element.at('size')} has frames of {min(sizes):,} bytes"
            warnings.append(f"{what}: they have {smallest:,}, which headers, signature and FCS need")
            sizes = one_if_equal([max(smallest, size) for size in sizes])
        if apart and len(sizes) > 1:
            if lcm(len(sizes), len(headers)) > MOST_STREAMS:
                what = f"makes {lcm(len(sizes), len(headers))} streams, one for each frame in turn"
                raise refusal(element.at("size"), what, f"up to {MOST_STREAMS}, or UDP over IP and cut_through")
            headers = flow_headers(packet, of_devices=of_devices, parts=len(sizes))
        given = element.element("payload")
        payload = read_payload(given, max(sizes)) if "payload" in element else COUNTING
        timed = timing(element, sizes, min(tx.port.tester.rate_bps for tx, _ in pairs))
        warnings += timed.warnings
    if len(pairs) * len(headers) > MOST_STREAMS:
        what = f"joins {len(pairs)} pairs of ends, each with {len(headers)} streams"
        raise refusal(ends.path, what, f"{MOST_STREAMS} streams of a flow")
    if timed.burst and len(pairs) * len(headers) > 1:
        what = f"is that of {len(pairs) * len(headers)} streams"
        raise refusal(element.at("duration.burst"), what, "two ends, and fields that change in one stream")
    parts = list(_parts(name, pairs, headers, timed, sizes))
    streams = tuple(replace(_stream(part), payload=payload) for part in parts)
    senders = dict.fromkeys(tx.port.name for tx, _ in pairs)
    receivers = {end.port.number: end.port.name for _, rx in pairs for end in rx}
    return Flow(
        name,
        streams,
        tuple(part.headers.tags for part in parts),
        measured,
        ",".join(senders),
        ",".join(receivers.values()),
        receivers,
        () if headers[0].destination_mac else tuple(part.tx.interface for part in parts if part.tx.interface),
        tuple(warnings),
        egress_tags,
    )


def _parts(
    flow: str,
    pairs: Sequence[_Pair],
    headers: Sequence[FlowHeaders],
    timed: Timing,
    sizes: Sequence[int],
) -> Iterator[_Part]:
    """Yield the streams of a flow, whose frames leave in turn: one for each pair of ends and its headers."""
    step = len(headers)
    for (tx, rx), of_pair in zip(pairs, timed.shared(len(pairs)), strict=True):
        between = f" ({tx.name} to {', '.join(end.name for end in rx)})" if len(pairs) > 1 else ""
        for place, (sent, part) in enumerate(zip(headers, of_pair.shared(step), strict=True)):
            name = f"{flow}{between}{f' part {place}' if step > 1 else ''}"
            if part.frames:
                yield _Part(name, tx, rx, sent, part, sizes_in_turn(sizes, step, place))


def _port_pairs(element: Element, ports: Mapping[str, Port], tester_ports: Sequence[TesterPort]) -> list[_Pair]:
    with element.whole(), element.element("port").whole() as inner:
        names = [name for name in (*inner.texts("rx_names"), inner.text("rx_name")) if name]
        sender = port_of(inner.at("tx_name"), inner.text("tx_name"), ports)
        receivers = [port_of(f"{inner.at('rx_names')}[{place}]", name, ports) for place, name in enumerate(names)]
        if not names:
            receivers = [Port("", "", other) for other in tester_ports if other != sender.tester][:1]
    if not receivers or sender in receivers or len(receivers) != len(set(names or [""])):
        valid = "other ports than that of tx_name, each once"
        raise refusal(inner.at("rx_names"), f"are {', '.join(names) or 'none'}", valid)
    return [(_End(sender), tuple(map(_End, receivers)))]


def _device_pairs(element: Element, devices: Devices, version: int | None) -> list[_Pair]:
    with element.whole(), element.element("device").whole() as inner:
        mode, both = inner.text("mode", "mesh"), inner.flag("bidirectional")
        senders, receivers = (_ends(inner, key, devices, version) for key in ("tx_names", "rx_names"))
    if mode == "one_to_one" and len(senders) != len(receivers):
        raise refusal(inner.at("mode"), f"joins {len(senders)} and {len(receivers)} ends", "equally many ends, or mesh")
    if mode == "mesh" and len(senders) * len(receivers) > _MOST_JOINED:
        raise refusal(inner.path, f"joins {len(senders)} and {len(receivers)} ends", f"{MOST_STREAMS} pairs of ends")
    joined = zip(senders, receivers, strict=True) if mode == "one_to_one" else product(senders, receivers)
    pairs = [(tx, rx) for tx, rx in joined if tx.port != rx.port]
    if not pairs:
        raise refusal(inner.at("rx_names"), "are on the port of tx_names", "ends on different ports")
    return [(tx, (rx,)) for tx, rx in (*pairs, *(pair[::-1] for pair in pairs if both))]


def _ends(element: Element, key: str, devices: Devices, version: int | None) -> list[_End]:
    """Interfaces of the names of a list, of the IP version of the frames."""
    found = []
    for place, name in enumerate(element.texts(key)):
        path = f"{element.at(key)}[{place}]"
        fitting = [it for it in devices.named(path, name) if version in (None, it.address.version)]
        if not fitting:
            raise refusal(path, f"'{name}' has no address of IPv{version or 4}", "an interface that fits the headers")
        found.append(_End(fitting[0].port, fitting[0]))
    return found


def _measured(element: Element) -> Measured:
    with element.whole():
        enabled = element.flag("enable")
        with element.element("latency").whole() as latency:
            mode = latency.text("mode", STORE_FORWARD) if latency.flag("enable") else ""
            latency.text("mode")
        with element.element("predefined_metric_tags").whole() as tags:
            by_receiver = tags.flag("rx_name")
        return Measured(enabled, element.flag("loss"), element.flag("timestamps"), mode, by_receiver)


def _stream(part: _Part) -> Stream:
    tx, rx, headers, timed, sizes = part.tx, part.rx[0], part.headers, part.timed, part.sizes
    source, destination = headers.source, headers.destination
    if tx.interface and rx.interface and headers.frame.network:
        source, destination = source or tx.interface.address, destination or rx.interface.address
    stream = Stream(
        name=part.name,
        frame_size_bytes=max(sizes),
        rate_fps=timed.rate_fps,
        frame_count=timed.frames,
        pattern=Pairs(),
        tx_ports=(tx.port.number,),
        rx_ports=(rx.port.number,),
        frame=headers.frame,
        burst=timed.burst,
        start_offset_ns=(timed.delay_ns,) if timed.delay_ns else (),
        modifiers=tuple(change.modifier for change in headers.changes),
        source_mac=headers.source_mac or (tx.interface.mac if tx.interface else None),
        destination_mac=headers.destination_mac or (rx.interface.mac if rx.interface else None),
        own_addresses=_addresses(tx.port, source) + _addresses(rx.port, destination),
        sizes_in_turn_bytes=sizes if len(sizes) > 1 else (),
        received_at_any_address=True,
    )
    if len(part.rx) == 1:
        return stream
    return replace(_to_any_receiver(stream), rx_ports=tuple(end.port.number for end in part.rx))


def _to_any_receiver(stream: Stream) -> Stream:
    """The stream with the address that it goes to, which many ports may have."""
    if stream.pattern.to_many:
        return stream
    (station,) = destinations_of(stream)
    address = SharedAddress(station.mac, station.ipv4, station.ipv6)
    return replace(stream, pattern=AnyReceiver(address), destination_mac=None)


def _addresses(port: Port, address: Address | None) -> tuple[OwnAddresses, ...]:
    if address is None:
        return ()
    usual = station(port.number)
    if isinstance(address, IPv4Address):
        return (OwnAddresses(port.number, address, usual.ipv6),)
    return (OwnAddresses(port.number, usual.ipv4, address),)
