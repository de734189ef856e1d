"""Acts for the test stations around the streams of a trial: finds the routers of routed streams, answers devices that
ask for a station, sends the single frames that a trial asks for, and counts their answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.responders import Outgoing
from p4mesh.tester.responders.port_hosts import outgoing, station_hosts
from p4mesh.tester.stations import Station, station
from p4mesh.traffic.addresses import OwnAddresses
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.stream import Stream

Neighbour = tuple[int, int]
"""Port and IP version."""

_ANSWERED_NS = tuple(10_000_000 << attempt for attempt in range(7))
"""Times that a device gets to answer ARP or neighbour discovery, attempt by attempt: 1.27 s in all, since the way to it
may take tens of milliseconds."""


class StationService:
    """The stations of one trial after the other; idle without routed streams and frames of the controller."""

    def __init__(
        self, packets: PacketService, routers: Mapping[int, bytes], stations: Mapping[int, Station] | None = None
    ) -> None:
        """``routers``: MAC addresses of routers that need not be asked for, by port; ``stations``: None: the usual."""
        self._packets = packets
        self._fixed = routers
        self._of_ports = stations or {}
        self._given: dict[Neighbour, bytes] = {}
        self._stations = station_hosts([])

    @property
    def answered_frames(self) -> int:
        """Datagrams from destinations of the controller's frames, since :meth:`forget_answers`."""
        return self._stations.hosts.answers

    def forget_answers(self) -> None:
        """Begin to count answers anew."""
        self._stations.hosts.forget_answers()

    def begin(self, streams: tuple[Stream, ...], frames: Sequence[ControllerFrame]) -> tuple[tuple[Stream, ...], str]:
        """Gives the streams the addresses of their routers, and a sentence on a router that is silent, or no text.

        Every station of a routed stream asks, receivers too: their routers then know them. For frames to many, those
        stations ask that are the end of a tunnel.
        """
        wanted = {neighbour for stream in streams for neighbour in _asking(stream)}
        self._given = {neighbour: self._fixed[neighbour[0]] for neighbour in wanted if neighbour[0] in self._fixed}
        self._packets.detach(self._stations)
        self._stations = station_hosts([self._station(port) for port in sorted({port for port, _ in wanted})])
        if wanted or frames:
            self._packets.attach(self._stations)
        missing = sorted(self._find_routers(wanted))
        if missing:
            port, version = missing[0]
            asked = self._station(port).router_ipv4 if version == 4 else self._station(port).router_ipv6
            return streams, f"no router answers for {asked} on port {port}; {len(missing)} of {len(wanted)} are silent"
        known = self._routers()
        return tuple(self._with_addresses(stream, known) for stream in streams), ""

    def send_later(self, after_ns: int, frame: ControllerFrame) -> None:
        """Send a frame once this much time has passed, unless the packet I/O is told to forget it."""
        self._stations.hosts.expect_answer(frame.payload)
        self._packets.send_later(after_ns, Outgoing(frame.port, self._addressed(frame)))

    def _station(self, port: int) -> Station:
        return self._of_ports.get(port) or station(port)

    def _with_addresses(self, stream: Stream, routers: Mapping[Neighbour, bytes]) -> Stream:
        own = self._own_addresses(stream)
        if not stream.routed:
            return replace(stream, own_addresses=own) if own else stream
        macs = tuple(routers[port, _ip_version(stream)] for port in stream.tx_ports)
        return replace(stream, router_macs=macs, own_addresses=own)

    def _own_addresses(self, stream: Stream) -> tuple[OwnAddresses, ...]:
        stations = [self._station(port) for port in sorted({*stream.tx_ports, *stream.rx_ports})]
        given = [(item, item.mac if item.mac != station(item.port).mac else b"") for item in stations]
        return tuple(
            OwnAddresses(item.port, item.ipv4, item.ipv6, mac)
            for item, mac in given
            if mac or (item.routers and stream.routed)
        )

    def _find_routers(self, wanted: set[Neighbour]) -> set[Neighbour]:
        """Ask for the routers; return those that have not answered."""
        missing = wanted - self._routers().keys()
        for answered_ns in _ANSWERED_NS:
            if not missing:
                break
            self._packets.send(outgoing(self._stations.hosts.questions(sorted(missing))))
            self._packets.wait(answered_ns)
            self._packets.serve()
            missing = wanted - self._routers().keys()
        return missing

    def _routers(self) -> dict[Neighbour, bytes]:
        """Routers that are known: those that the topology gives, and those that have answered."""
        return self._stations.hosts.routers | self._given

    def _addressed(self, frame: ControllerFrame) -> bytes:
        routers = [mac for (port, _), mac in sorted(self._routers().items()) if port == frame.port]
        if not frame.to_device or not routers:
            return frame.payload
        return routers[0] + frame.payload[len(routers[0]) :]


def _ip_version(stream: Stream) -> int:
    """IP version of the headers by which a router forwards the frames of a stream; tunnels have IPv4."""
    return 4 if stream.pattern.to_many else stream.address_version


def _asking(stream: Stream) -> Iterator[Neighbour]:
    """Yield the stations that ask for their router."""
    senders = stream.tx_ports if stream.routed else ()
    receivers = stream.rx_ports if stream.received_in_tunnel or (stream.routed and not stream.pattern.to_many) else ()
    for port in (*senders, *receivers):
        yield port, _ip_version(stream)
