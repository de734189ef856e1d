"""What the controller does with single frames around the test streams: it is the stations of routed streams,
finds their routers, sends the frames that a trial asks for, and counts what comes back to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.neighbours import ETHERTYPES, Endpoint, answer, question, router_mac, udp_ends
from p4mesh.tester.stations import Station, station
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.stream import Stream

_ATTEMPTS = 3
_RESOLUTION_NS = 10_000_000
"""Time that a device gets to answer ARP or neighbour discovery."""
_POLL_NS = 20_000_000
"""How often devices get answers during transmission."""


class PacketService:
    """Packet I/O of one trial after the other; idle in trials without routed streams and controller's frames."""

    def __init__(self, dataplane: DataPlane, wait: Callable[[int | Fraction], None], ports: Sequence[int]) -> None:
        self._dataplane = dataplane
        self._wait = wait
        self._ports = ports
        self._stations: dict[int, Station] = {}
        self._routers: dict[tuple[int, int], bytes] = {}
        self._asked: set[Endpoint] = set()
        self._active = False
        self.answered_frames = 0
        """Datagrams from where the controller's frames of the last transmission went."""

    def begin(self, streams: tuple[Stream, ...], frames: Sequence[ControllerFrame]) -> tuple[tuple[Stream, ...], str]:
        """Return the streams with the routers' addresses, and which router did not answer, or an empty text.

        Every station of a routed stream asks, receivers too: their routers then know them.
        """
        routed = [stream for stream in streams if stream.routed]
        self._active = bool(routed or frames)
        self._asked.clear()
        self._dataplane.punt(ETHERTYPES if self._active else ())
        wanted = {
            (port, stream.template.ip_version or 4)
            for stream in routed
            for port in (*stream.tx_ports, *stream.rx_ports)
        }
        self._stations = {port: station(port) for port, _ in wanted}
        self._routers = known = self._ask(wanted) if wanted else {}
        missing = sorted(wanted - known.keys())
        if missing:
            port, version = missing[0]
            asked = station(port).router_ipv4 if version == 4 else station(port).router_ipv6
            return streams, f"no router answers for {asked} on port {port}; {len(missing)} of {len(wanted)} are silent"
        addressed = tuple(
            replace(stream, router_macs=tuple(known[port, stream.template.ip_version or 4] for port in stream.tx_ports))
            if stream.routed
            else stream
            for stream in streams
        )
        return addressed, ""

    def transmission(
        self, end_ns: int, frames: Sequence[tuple[int, ControllerFrame]], wait: Callable[[int], None]
    ) -> None:
        """Let ``end_ns`` pass by ``wait``, send each of ``frames`` at its time, answer devices meanwhile."""
        self._asked |= {pair[1] for _, frame in frames if (pair := udp_ends(frame.payload)) is not None}
        events: list[tuple[int, ControllerFrame | None]] = [*frames]
        if self._active:
            events += [(at_ns, None) for at_ns in range(_POLL_NS, end_ns, _POLL_NS)]
        now_ns = 0
        for at_ns, frame in sorted(events, key=lambda event: event[0]):
            wait(at_ns - now_ns)
            now_ns = at_ns
            if frame is None:
                self.serve()
            else:
                self._dataplane.send(frame.port, self._addressed(frame))
        wait(end_ns - now_ns)

    def serve(self) -> None:
        """Answer what devices have asked so far, and count what else has come."""
        if self._active:
            ends = [udp_ends(frame) for _, frame in self._take()]
            self.answered_frames += sum(pair is not None and pair[0] in self._asked for pair in ends)

    def _addressed(self, frame: ControllerFrame) -> bytes:
        routers = [mac for (port, _), mac in sorted(self._routers.items()) if port == frame.port]
        if not frame.to_device or not routers:
            return frame.payload
        return routers[0] + frame.payload[len(routers[0]) :]

    def _ask(self, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """Return the MAC address of the router of each (port, IP version) that answered."""
        known: dict[tuple[int, int], bytes] = {}
        for _ in range(_ATTEMPTS):
            for port, version in sorted(wanted - known.keys()):
                self._dataplane.send(port, question(self._stations[port], version))
            self._wait(_RESOLUTION_NS)
            for port, frame in self._take():
                for version in (4, 6):
                    mac = router_mac(frame, self._stations[port], version) if port in self._stations else None
                    if mac is not None:
                        known[port, version] = mac
            if wanted <= known.keys():
                break
        return known

    def _take(self) -> list[tuple[int, bytes]]:
        """Return all frames that came to the controller, after devices that asked for a station got their answer."""
        frames = self._dataplane.take_punted(self._ports)
        for port, frame in frames:
            reply = answer(frame, self._stations[port]) if port in self._stations else None
            if reply is not None:
                self._dataplane.send(port, reply)
        return frames
