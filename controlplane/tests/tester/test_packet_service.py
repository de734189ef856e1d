"""Protocols on tester ports: frames and timers are served when they come, on sim to the picosecond of virtual time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.networks import parsed, wire

from p4mesh.errors import InternalError, UnsupportedError
from p4mesh.p4runtime import P4RuntimeError
from p4mesh.target.sim import SimTarget
from p4mesh.tester.opening import open_tester
from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.responders import Outgoing, PuntRule
from p4mesh.tester.stations import station

CABLE_NS = 137
FRAME_BYTES = 100
QUESTIONS = 120
ONE_WAY_NS = 8 * (8 + FRAME_BYTES + 4) + CABLE_NS
"""Preamble, frame and FCS at 1 Gbit/s, and the cable: ingress sees a frame when its last bit is there."""
MS = 1_000_000


class Echo:
    """A station that answers ICMP echo requests (RFC 792)."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen = 0

    def wants(self) -> Collection[PuntRule]:
        return (PuntRule.of(port=self.port, ether_type=0x0800),)

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        packet = Ether(frame)
        if port != self.port or packet[ICMP].type != 8:
            return ()
        self.seen += 1
        header = IP(src=packet[IP].dst, dst=packet[IP].src)
        reply = ICMP(type=0, id=packet[ICMP].id, seq=packet[ICMP].seq) / packet[ICMP].payload
        return (Outgoing(port, bytes(Ether(src=packet.dst, dst=packet.src) / header / reply)),)

    def next_event(self) -> int | None:
        return None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        return ()


class Ping:
    """A station that sends a number of echo requests, one per interval, and takes the time until their answers."""

    def __init__(self, port: int, begin_ns: int, interval_ns: int, number: int) -> None:
        self.port = port
        self.sent: list[int] = []
        self.round_trips_ns: list[int] = []
        self._due = [begin_ns + place * interval_ns for place in range(number)]

    def wants(self) -> Collection[PuntRule]:
        return (PuntRule.of(port=self.port, ether_type=(0x0800, 0xFFFF)),)

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        packet = Ether(frame)
        if port == self.port and packet[ICMP].type == 0:
            self.round_trips_ns.append(now_ns - self.sent[packet[ICMP].seq])
        return ()

    def next_event(self) -> int | None:
        return self._due[0] if self._due else None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        self._due.pop(0)
        self.sent.append(now_ns)
        peer = station(self.port + 1)
        header = Ether(src=station(self.port).mac, dst=peer.mac) / IP(
            src=str(station(self.port).ipv4), dst=str(peer.ipv4)
        )
        packet = header / ICMP(type=8, id=self.port, seq=len(self.sent) - 1)
        packet /= Raw(bytes(FRAME_BYTES - len(packet)))
        return (Outgoing(self.port, bytes(packet)),)


@contextmanager
def service() -> Iterator[PacketService]:
    with open_tester(SimTarget, parsed(wire(latency_ns=CABLE_NS, pairs=2))) as tester:
        yield tester.packets


def test_a_reply_takes_the_time_of_the_wires_whenever_the_question_comes() -> None:
    """No step of any size is in it: the intervals have no common measure with each other, nor with a round number."""
    with service() as packets:
        begin_ns = packets.now_ns
        first, second = Ping(1, begin_ns + 7, 3_333_331, 20), Ping(3, begin_ns + 1_000_003, 7_654_321, 9)
        packets.attach(first, second, Echo(2), Echo(4))
        packets.wait(100 * MS)
        assert packets.now_ns == begin_ns + 100 * MS
        assert first.round_trips_ns == [2 * ONE_WAY_NS] * 20
        assert second.round_trips_ns == [2 * ONE_WAY_NS] * 9
        assert first.sent == [begin_ns + 7 + place * 3_333_331 for place in range(20)], (
            "timers are met to the nanosecond"
        )


def test_many_frames_at_a_time_are_all_served() -> None:
    with service() as packets:
        ping, echo = Ping(1, packets.now_ns, 0, 0), Echo(2)
        ping._due = [packets.now_ns + number for number in range(QUESTIONS)]
        packets.attach(ping, echo)
        packets.wait(5 * MS)
        assert (echo.seen, len(ping.round_trips_ns)) == (QUESTIONS, QUESTIONS)
        # Frames leave the port one after the other; each answer meets the questions on no wire.
        assert ping.round_trips_ns[0] == 2 * ONE_WAY_NS
        assert ping.round_trips_ns[-1] - ping.round_trips_ns[0] == (QUESTIONS - 1) * (8 * (FRAME_BYTES + 4 + 20) - 1)


def test_waiting_in_parts_is_waiting_at_once() -> None:
    def run(parts: int) -> tuple[list[int], int]:
        with service() as packets:
            begin_ns = packets.now_ns
            ping = Ping(1, begin_ns + 100, 900, QUESTIONS)
            packets.attach(ping, Echo(2))
            for _ in range(parts):
                packets.wait(MS // parts)
            return ping.round_trips_ns, packets.now_ns - begin_ns

    assert run(1) == run(50)


def test_frames_that_came_unwatched_are_served_before_time_goes_on() -> None:
    with service() as packets:
        ping, echo = Ping(1, packets.now_ns, 100, 3), Echo(2)
        packets.attach(ping, echo)
        packets.wait(1)
        packets._target.wait(MS, packets._dataplane.packet_outs_sent)
        assert echo.seen == 0
        packets.serve()
        assert echo.seen == 1


def test_frames_for_later_leave_at_their_time_and_can_be_cancelled() -> None:
    with service() as packets:
        echo, request = Echo(2), bytes(Ether(dst=station(2).mac) / IP(dst="198.18.2.2") / ICMP(type=8) / bytes(60))
        packets.attach(echo)
        for after_ns in (500, 300, 2_000_000):
            packets.send_later(after_ns, Outgoing(1, request))
        packets.wait(MS)
        assert echo.seen == 2
        packets.cancel()
        packets.wait(5 * MS)
        assert echo.seen == 2


def test_only_what_somebody_wants_comes_to_the_controller() -> None:
    with service() as packets:
        echo = Echo(2)
        packets.attach(echo)
        for dst_port in (2, 4):
            frame = bytes(Ether(dst=station(dst_port).mac) / IP(dst="198.18.2.2") / ICMP(type=8) / bytes(60))
            packets.send([Outgoing(dst_port - 1, frame)])
        packets.wait(MS)
        counts = packets._dataplane.reason_counts((2, 4))
        assert (counts[2, "punted"], counts[4, "punted"], counts[4, "foreign"]) == (1, 0, 1)
        packets.detach(echo)
        packets.send([Outgoing(1, frame)])
        packets.wait(MS)
        assert packets._dataplane.reason_counts((2,))[2, "foreign"] == 1


def test_rules_have_all_keys_of_the_table() -> None:
    mac = int.from_bytes(station(2).mac, "big")
    with service() as packets:
        plane = packets._dataplane
        plane.punt([PuntRule.of(port=2, destination_mac=(mac, (1 << 48) - 1), ether_type=0x0806)])
        for dst in (station(2).mac, station(4).mac):
            packets.send([Outgoing(1, dst + bytes(6) + b"\x08\x06" + bytes(46))])
        packets.wait(MS)
        assert [frame[:6] for _, frame in plane.take_punted((2,))] == [station(2).mac]
        with pytest.raises(P4RuntimeError, match="table 'punt' has no key field 'colour'") as raised:
            plane.punt([PuntRule.of(colour=1)])
        assert raised.value.hint == "valid: destination_mac, ether_type, port"
        with pytest.raises(UnsupportedError, match="need 65 rules for frames to the controller, the program has 64"):
            plane.punt([PuntRule.of(ether_type=number) for number in range(0x0600, 0x0600 + 65)])


def test_a_timer_that_does_not_go_on_is_a_bug() -> None:
    class Stuck(Echo):
        def next_event(self) -> int | None:
            return 0

    with service() as packets:
        packets.attach(Stuck(2))
        with pytest.raises(InternalError, match="Stuck: the timer of 0 ns does not go on"):
            packets.wait(1)
