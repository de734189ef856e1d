"""Transmission: seeds become test frames with the right addresses, order, sequence and count."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import cast

from base import TesterTest
from benches import EngineBench
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import checksum
from signature import Signature
from streams import PORTS, StreamTest, signature_of, stream

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, DestinationOptions, Ethernet, Fragment, Frame, IPv4, Udp
from p4mesh.layers import IPv6 as IPv6Layer
from p4mesh.layers.extension import extension_of
from p4mesh.layers.network import NetworkLayer
from p4mesh.tester.entries import PlanEntries
from p4mesh.tester.frames import seed_payload
from p4mesh.tester.plan import Plan
from p4mesh.tester.stations import station
from p4mesh.traffic import patterns
from p4mesh.traffic.stream import Burst


class WithoutStreamEntrySeedsEnd(TesterTest):
    """Goal: the empty table stops a seed at its first pass and counts it; nothing leaves."""

    def runTest(self) -> None:
        self.tester.inject_seed(0, seed_payload(UDP_OVER_IPV4, 64), 0, 1)
        self.bench.settle()
        self.expect_nothing()
        self.assert_reasons(unknown_stream=1)


class FullMeshFollowsTheStandard(StreamTest):
    """Goal: every port visits the others in the order of RFC 2889 5.1.3 and sends exactly N frames."""

    __test__ = True

    def runTest(self) -> None:
        plan = self.run_streams(stream(patterns.FullMesh(), 7))
        for source in PORTS:
            frames = self.received(source, 7)
            order = [1 + (source + k % 3) % 4 for k in range(7)]
            self.assertEqual([Ether(f).dst for f in frames], [station(p).mac.hex(":") for p in order])
            self.assertEqual([IP(f[14:]).dst for f in frames], [str(station(p).ipv4) for p in order])
            self.assertEqual({Ether(f).src for f in frames}, {station(source).mac.hex(":")})
            self.assertEqual([signature_of(f).sequence for f in frames], [k // 3 for k in range(7)])
            self.assertEqual([signature_of(f).flow for f in frames], [(source - 1) * 3 + k % 3 for k in range(7)])
            self.assertEqual({signature_of(f).run for f in frames}, {self.run_id})
        self.expect_nothing()
        self.assert_reasons(transmitted=28, request_done=2, unknown_stream=plan.streams[0].seeds)


class RotationVisitsTheReceivers(StreamTest):
    """Goal: partial mesh of RFC 2889 5.4: dst(i, k) = r[(i - 1 + k) mod K]."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(stream(patterns.Rotate(), 5, tx_ports=(1, 2), rx_ports=(3, 4)))
        for source in (1, 2):
            frames = self.received(source, 5)
            order = [(3, 4)[(source - 1 + k) % 2] for k in range(5)]
            self.assertEqual([Ether(f).dst for f in frames], [station(p).mac.hex(":") for p in order])
        self.expect_nothing()


class ChecksumsAreValid(StreamTest):
    """Goal: IPv4 header, UDP over IPv6 and signature carry correct checksums and lengths."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(
            stream(patterns.Pairs(), 2, tx_ports=(1,), rx_ports=(2,), frame_size_bytes=128),
            stream(
                patterns.Pairs(),
                2,
                tx_ports=(3,),
                rx_ports=(4,),
                frame_size_bytes=97,
                frame=UDP_OVER_IPV6,
            ),
        )
        for frame in self.received(1, 2):
            self.assertEqual(len(frame), 124)
            self.assertEqual(frame[14:34], bytes(_without_checksum(IP(frame[14:34]), "chksum"))[:20])
            covered = frame[42:58] + (frame[60:] if self.contract.check_covers_payload else b"")
            self.assertEqual(signature_of(frame).check, checksum(covered))
        for frame in self.received(3, 2):
            self.assertEqual(len(frame), 93)
            packet = Ether(frame)
            self.assertEqual(packet[IPv6].plen, 93 - 14 - 40)
            sent = packet[UDP].chksum
            packet[UDP].chksum = None
            self.assertEqual(Ether(bytes(packet))[UDP].chksum, sent)


class PlainAndTaggedFramesKeepTheirHeaders(StreamTest):
    """Goal: VLAN tags and plain Ethernet frames leave as their headers say."""

    __test__ = True

    def runTest(self) -> None:
        plain = PLAIN
        tagged = UDP_OVER_IPV4.tagged(10, 20)
        self.run_streams(
            stream(patterns.Pairs(), 1, tx_ports=(1,), rx_ports=(2,), frame=plain),
            stream(patterns.Pairs(), 1, tx_ports=(3,), rx_ports=(4,), frame=tagged, frame_size_bytes=72),
        )
        (frame,) = self.received(1, 1)
        self.assertEqual(frame[12:14], b"\xff\xff")
        self.assertEqual(Signature(frame[14:32]).magic, 0x504D)
        (frame,) = self.received(3, 1)
        self.assertEqual(frame[12:22].hex(), "8100000a810000140800")
        self.expect_nothing()


class HeadersLeaveAsTheirLayersSay(StreamTest):
    """Goal: no field of a header changes on the way but addresses, and every length and checksum is right."""

    __test__ = True

    def runTest(self) -> None:
        wanted = {
            1: UDP_OVER_IPV4.changed(IPv4, dscp=46, ecn=1, identification=0x1234, flags=2, ttl=1).tagged(7, priority=5),
            2: UDP_OVER_IPV6.changed(IPv6Layer, dscp=10, ecn=3, flow_label=0xABCDE, ttl=255).changed(Udp, source=1),
            3: UDP_OVER_IPV6.extended((DestinationOptions(), Fragment(identification=0xDEADBEEF))).tagged(1, 2),
        }
        self.run_streams(
            *(
                stream(
                    patterns.Pairs(),
                    1,
                    name=f"s{port}",
                    tx_ports=(port,),
                    rx_ports=(4,),
                    frame=headers,
                    frame_size_bytes=151,
                )
                for port, headers in wanted.items()
            )
        )
        for port, headers in wanted.items():
            (sent,) = self.received(port, 1)
            found, _ = Frame.read(sent)
            self.assertEqual(found.wrong_fields, ())
            without = found.changed(Ethernet, source=None, destination=None)
            self.assertEqual(without.changed(NetworkLayer, source=None, destination=None), headers)
        self.expect_nothing()


class InPhaseSendsTheSameSequence(StreamTest):
    """Goal: RFC 2544 16: all sources send the same sequence of destinations."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(stream(patterns.InPhase(), 5, tx_ports=(1, 2), rx_ports=(3, 4)))
        for source in (1, 2):
            order = [(3, 4)[k % 2] for k in range(5)]
            self.assertEqual([Ether(f).dst for f in self.received(source, 5)], [station(p).mac.hex(":") for p in order])
        self.expect_nothing()


class GroupsHaveOneAddress(StreamTest):
    """Goal: broadcast and multicast frames go to their group address, in one flow per source."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(
            stream(patterns.Broadcast(), 3, name="all", tx_ports=(1,), rx_ports=PORTS),
            stream(patterns.Multicast(), 3, name="v4", tx_ports=(2,), rx_ports=PORTS),
            stream(
                patterns.Multicast((patterns.GroupRange("ff05::1:3"),)),
                3,
                name="v6",
                tx_ports=(3,),
                rx_ports=PORTS,
                frame_size_bytes=128,
                frame=UDP_OVER_IPV6,
            ),
        )
        groups = {1: "ff:ff:ff:ff:ff:ff", 2: "01:00:5e:01:01:01", 3: "33:33:00:01:00:03"}
        for source, group in groups.items():
            frames = self.received(source, 3)
            self.assertEqual({Ether(frame).dst for frame in frames}, {group})
            self.assertEqual({Ether(frame).src for frame in frames}, {station(source).mac.hex(":")})
        self.assertEqual(Ether(frames[0])[IPv6].dst, "ff05::1:3")
        self.expect_nothing()


class FramesHaveTheirLength(StreamTest):
    """Goal: undersize, legal and oversize frames leave with the length of their stream."""

    __test__ = True

    def runTest(self) -> None:
        for size in (40, 63, 64, 1518, 1519, 9216):
            if size < self.bench.shortest_frame_bytes:
                continue
            plain = PLAIN
            self.run_streams(
                stream(patterns.Pairs(), 2, tx_ports=(1,), rx_ports=(2,), frame=plain, frame_size_bytes=size)
            )
            self.assertEqual([len(frame) for frame in self.received(1, 2)], [size - 4] * 2)
        self.expect_nothing()


class CopiesWithoutEntriesAreDropped(StreamTest):
    """Goal: a copy of a seed without transmitter, and one without destination, end with their reasons."""

    __test__ = True

    def runTest(self) -> None:
        def lose(plan: Plan) -> None:
            entries = PlanEntries(self.client.schema, self.contract).of(plan)
            place = plan.streams[0].transmitters[1].list_base + 1
            lost = [entries["transmitter", 1], entries["destination", place]]
            self.client.delete(lost)
            self.addCleanup(self.client.insert, lost)

        pairs = stream(patterns.Pairs(), 5, tx_ports=(1, 3), rx_ports=(2, 4))
        plan = self.run_streams(pairs, before_start=lose)
        self.expect_nothing()
        self.assert_reasons(
            unknown_transmitter=5, no_destination=5, request_done=2, unknown_stream=plan.streams[0].seeds
        )


class DeparturesOutsideAreDropped(StreamTest):
    """Goal: departures before a port's offset and behind its last frame end with their reason."""

    __test__ = True

    def runTest(self) -> None:
        plan = self.run_streams(
            stream(patterns.Pairs(), 4, tx_ports=(1, 3), rx_ports=(2, 4), start_offset_ns=(0, 30_000_000))
        )
        self.assertEqual([len(self.received(port, 4)) for port in (1, 3)], [4, 4])
        self.expect_nothing()
        self.assert_reasons(transmitted=8, outside_start_stop=6, request_done=2, unknown_stream=plan.streams[0].seeds)


class StartOffsetDelaysAPort(StreamTest):
    """Goal: ports with offsets start later, by whole departures or not, and still send their full count."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(
            stream(patterns.FullMesh(), 6, start_offset_ns=(0, 3_456_000, 20_000_000, 64_000)),
        )
        stamps = {}
        for source in PORTS:
            frames = self.received(source, 6)
            stamps[source] = signature_of(frames[0]).transmit_time
        for port, asked_ms in ((2, 3.456), (3, 20), (4, 0.064)):
            delay_ms = (stamps[port] - stamps[1]) * self.bench.tick_ps / 1e9
            if self.bench.exact:
                self.assertAlmostEqual(delay_ms, asked_ms, delta=0.001)
        # A wall clock that runs late makes up for it: only the order is sure.
        self.assertLess(stamps[1], stamps[3])
        self.expect_nothing()


class BurstsLeaveBackToBack(StreamTest):
    """Goal: RFC 2889 appendix A: bursts of 4 with a pause, 10 frames in all, mean rate kept."""

    __test__ = True

    def runTest(self) -> None:
        if not self.bench.exact:
            self.skipTest("bursts at minimum gap need virtual time or hardware")
        self.run_streams(stream(patterns.Pairs(), 10, tx_ports=(1,), rx_ports=(2,), burst=Burst(4)))
        stamps = [signature_of(frame).transmit_time for frame in self.received(1, 10)]
        gaps = [later - sooner for sooner, later in itertools.pairwise(stamps)]
        wire_ns = 84 * 8 / 10
        self.assertTrue(all(gap <= wire_ns + 1000 for k, gap in enumerate(gaps) if k % 4 != 3), gaps)
        self.assertAlmostEqual(stamps[8] - stamps[0], 80_000_000, delta=2000)


class DeparturesKeepTheirIdealTimes(StreamTest):
    """Goal: the k-th departure is within one pass of its ideal time, without drift, at awkward rates.

    Method: time stamps of all frames; the ideal times are fitted to them from below.
    """

    __test__ = True

    def runTest(self) -> None:
        if not self.bench.exact:
            self.skipTest("exact times need virtual time or hardware")
        for rate in (Fraction(123_457), Fraction(10**9, 700_001), Fraction(1_000_003, 7)):
            made = stream(patterns.Pairs(), 3000, tx_ports=(1,), rx_ports=(2,), rate_fps=rate)
            plan = self.run_streams(made)
            stamps = [signature_of(frame).transmit_time for frame in cast(EngineBench, self.bench).captured(1)]
            self.assertEqual(len(stamps), 3000)
            interval = Fraction(10**9) / rate
            offsets = [stamp - k * interval for k, stamp in enumerate(stamps)]
            round_ns = 500 + 84 * 8 / 100
            self.assertLess(max(offsets) - min(offsets), round_ns + plan.streams[0].seeds + 1, rate)


class CountsGoOnBeyond32Bits(StreamTest):
    """Goal: a port sends its exact number of frames when 32 bits cannot count them, as one at 100G
    does after half a minute. Method: registers are set to just below 2^32, then the stream starts."""

    __test__ = True

    def runTest(self) -> None:
        if not self.bench.exact:
            self.skipTest("simple_switch_grpc cannot write registers")
        beyond = 1 << 32

        def almost_there(_: Plan) -> None:
            for register, cell in (("departures.cells", 1), ("flow_sequence.cells", 0)):
                self.client.modify([self.client.schema.register(register, cell, beyond - 3)])

        endless = stream(patterns.Pairs(), beyond + 2, tx_ports=(1,), rx_ports=(2,))
        self.run_streams(endless, duration_s=Fraction(1), before_start=almost_there)
        frames = self.received(1, 5)
        self.assertEqual([signature_of(f).sequence for f in frames], [beyond - 3, beyond - 2, beyond - 1, 0, 1])
        self.expect_nothing()
        records = self.records()
        self.assertEqual(records["flow_sequence"][0], beyond + 2)
        self.assertGreater(records["departures"][1], beyond + 50)


class ExtensionHeadersAreChained(StreamTest):
    """Goal: IPv6 extension headers of RFC 5180 stay in front of UDP, and reception finds the signature."""

    __test__ = True

    def runTest(self) -> None:
        names: tuple[str, ...] = ("routing", "destination", "fragment")
        # IPv6 at 14, routing (24 bytes) at 54, destination options at 78, fragment at 86, UDP at 94.
        places, numbers = [20, 54, 78, 86], [43, 60, 44, 17]
        if self.bench.long_extension_is_last:
            # Destination options at 54, routing at 62, and UDP at 86, in front of 8 bytes less.
            names, places, numbers = ("destination", "routing"), [20, 54, 62], [60, 43, 17]
        chain = UDP_OVER_IPV6.extended([extension_of(kind) for kind in names])
        self.run_streams(stream(patterns.Pairs(), 1, tx_ports=(1,), rx_ports=(2,), frame=chain, frame_size_bytes=200))
        (frame,) = self.received(1, 1)
        self.assertEqual(len(frame), 196)
        self.assertEqual([frame[place] for place in places], numbers)
        behind_udp = 102 if len(names) > 2 else 94
        self.assertEqual(frame[behind_udp : behind_udp + 2], b"\x50\x4d")
        self.send(2, frame)
        self.assertEqual(self.records()["frames"][0], 1)


class AuthenticatedAndEncapsulatedFramesHaveAddressesAndChecksums(StreamTest):
    """Goal: behind an authentication header or an encapsulation egress finds UDP, whose checksum is right.

    Method: seeds with raw headers. The trailer of an encapsulation is behind UDP, and its sum is zero: targets that
    sum up the whole payload get the checksum of UDP.
    """

    __test__ = True

    def runTest(self) -> None:
        authentication = bytes([17, 4]) + bytes(22)
        encapsulation = bytes.fromhex("c6120102 00000001")
        trailer = bytes.fromhex("0011 0000 ffee")  # no padding, UDP; the rest is the integrity value
        for first, chain, behind in ((51, authentication, b""), (50, encapsulation, trailer)):
            self.run_streams(
                stream(
                    patterns.Pairs(),
                    2,
                    tx_ports=(1,),
                    rx_ports=(2,),
                    frame=UDP_OVER_IPV6,
                    frame_size_bytes=128 + len(chain) + len(behind),
                ),
                payload_of=lambda _, parts=(first, chain, behind): _behind_ipv6(*parts),  # type: ignore[misc]
            )
            for frame in self.received(1, 2):
                self.assertEqual(len(frame), 124 + len(chain) + len(behind))
                self.assertEqual(frame[54 : 54 + len(chain)], chain)
                self.assertEqual(frame[len(frame) - len(behind) :], behind)
                self.assertEqual(Ether(frame).dst, station(2).mac.hex(":"))
                udp = frame[54 + len(chain) : len(frame) - len(behind)]
                pseudo_header = frame[22:54] + len(udp).to_bytes(4, "big") + bytes([0, 0, 0, 17])
                self.assertEqual(checksum(pseudo_header + udp), 0)
                self.send(2, frame)


def _behind_ipv6(first: int, chain: bytes, behind: bytes) -> bytes:
    """A seed of 128 bytes with ``chain`` in front of UDP and ``behind`` at its end."""
    seed = bytearray(seed_payload(UDP_OVER_IPV6, 128))
    seed[18:20] = (int.from_bytes(seed[18:20], "big") + len(chain) + len(behind)).to_bytes(2, "big")
    seed[20] = first
    return bytes(seed[:54]) + chain + bytes(seed[54:]) + behind


def _without_checksum(packet: Packet, field: str) -> Packet:
    """The packet with a checksum that Scapy computes again."""
    setattr(packet, field, None)
    return packet
