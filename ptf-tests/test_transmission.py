"""Transmission: seeds become test frames with the right addresses, order, sequence and count."""

from __future__ import annotations

import itertools
from fractions import Fraction

from base import TesterTest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from signature import Signature
from streams import PORTS, StreamTest, signature_of, stream

from p4mesh.traffic.stream import Burst, FrameTemplate, PatternKind
from p4mesh.trial.frames import seed_payload
from p4mesh.trial.stations import station


class WithoutStreamEntrySeedsEnd(TesterTest):
    """Goal: the empty table stops a seed at its first pass and counts it; nothing leaves."""

    def runTest(self) -> None:
        self.tester.inject_seed(0, seed_payload(FrameTemplate(), 64), 0, 1)
        self.bench.settle()
        self.expect_nothing()
        self.assert_reasons(unknown_stream=1)


class FullMeshFollowsTheStandard(StreamTest):
    """Goal: every port visits the others in the order of RFC 2889 5.1.3 and sends exactly N frames."""

    __test__ = True

    def runTest(self) -> None:
        plan = self.run_streams(stream(PatternKind.FULL_MESH, 7))
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
        self.assert_reasons(transmitted=28, request_done=1, unknown_stream=plan.streams[0].seeds)


class RotationVisitsTheReceivers(StreamTest):
    """Goal: partial mesh of RFC 2889 5.4: dst(i, k) = r[(i - 1 + k) mod K]."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(stream(PatternKind.ROTATE, 5, tx_ports=(1, 2), rx_ports=(3, 4)))
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
            stream(PatternKind.PAIRS, 2, tx_ports=(1,), rx_ports=(2,), frame_size_bytes=128),
            stream(
                PatternKind.PAIRS,
                2,
                tx_ports=(3,),
                rx_ports=(4,),
                frame_size_bytes=97,
                template=FrameTemplate(ip_version=6),
            ),
        )
        for frame in self.received(1, 2):
            self.assertEqual(len(frame), 124)
            self.assertEqual(frame[14:34], bytes(_without_checksum(IP(frame[14:34]), "chksum"))[:20])
            self.assertEqual(frame[42:60], bytes(_without_checksum(signature_of(frame), "check")))
        for frame in self.received(3, 2):
            self.assertEqual(len(frame), 93)
            packet = Ether(frame)
            self.assertEqual(packet[IPv6].plen, 93 - 14 - 40)
            sent = packet[UDP].chksum
            packet[UDP].chksum = None
            self.assertEqual(Ether(bytes(packet))[UDP].chksum, sent)


class PlainAndTaggedFramesKeepTheirHeaders(StreamTest):
    """Goal: VLAN tags and plain Ethernet frames leave as their template says."""

    __test__ = True

    def runTest(self) -> None:
        plain = FrameTemplate(ip_version=None)
        tagged = FrameTemplate(ip_version=4, vlan_ids=(10, 20))
        self.run_streams(
            stream(PatternKind.PAIRS, 1, tx_ports=(1,), rx_ports=(2,), template=plain),
            stream(PatternKind.PAIRS, 1, tx_ports=(3,), rx_ports=(4,), template=tagged, frame_size_bytes=72),
        )
        (frame,) = self.received(1, 1)
        self.assertEqual(frame[12:14], b"\xff\xff")
        self.assertEqual(Signature(frame[14:32]).magic, 0x504D)
        (frame,) = self.received(3, 1)
        self.assertEqual(frame[12:22].hex(), "8100000a810000140800")
        self.expect_nothing()


class StartOffsetDelaysAPort(StreamTest):
    """Goal: a port with an offset starts later and still sends its full count."""

    __test__ = True

    def runTest(self) -> None:
        self.run_streams(
            stream(PatternKind.FULL_MESH, 6, start_offset_ns=(0, 0, 20_000_000, 0)),
        )
        stamps = {}
        for source in PORTS:
            frames = self.received(source, 6)
            stamps[source] = signature_of(frames[0]).transmit_time
        delay_ms = (stamps[3] - stamps[1]) * self.bench.tick_ps / 1e9
        self.assertAlmostEqual(delay_ms, 20, delta=0.01 if self.bench.exact else 8)
        self.expect_nothing()


class BurstsLeaveBackToBack(StreamTest):
    """Goal: RFC 2889 appendix A: bursts of 4 with a pause, 10 frames in all, mean rate kept."""

    __test__ = True

    def runTest(self) -> None:
        if not self.bench.exact:
            self.skipTest("bursts at minimum gap need virtual time or hardware")
        self.run_streams(stream(PatternKind.PAIRS, 10, tx_ports=(1,), rx_ports=(2,), burst=Burst(4)))
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
            made = stream(PatternKind.PAIRS, 3000, tx_ports=(1,), rx_ports=(2,), rate_fps=rate)
            plan = self.run_streams(made)
            stamps = [signature_of(frame).transmit_time for frame in self.bench.captured(1)]
            self.assertEqual(len(stamps), 3000)
            interval = Fraction(10**9) / rate
            offsets = [stamp - k * interval for k, stamp in enumerate(stamps)]
            round_ns = 500 + 84 * 8 / 100
            self.assertLess(max(offsets) - min(offsets), round_ns + plan.streams[0].seeds + 1, rate)


class ExtensionHeadersAreChained(StreamTest):
    """Goal: IPv6 extension headers of RFC 5180 stay in front of UDP, and reception finds the signature."""

    __test__ = True

    def runTest(self) -> None:
        chain = FrameTemplate(ip_version=6, ipv6_extensions=("routing", "destination", "fragment"))
        self.run_streams(
            stream(PatternKind.PAIRS, 1, tx_ports=(1,), rx_ports=(2,), template=chain, frame_size_bytes=200)
        )
        (frame,) = self.received(1, 1)
        self.assertEqual(len(frame), 196)
        # IPv6 at 14, routing (24 bytes) at 54, destination options at 78, fragment at 86, UDP at 94.
        self.assertEqual([frame[20], frame[54], frame[78], frame[86]], [43, 60, 44, 17])
        self.assertEqual(frame[102:104], b"\x50\x4d")
        self.send(2, frame)
        self.assertEqual(self.records()["frames"][0], 1)


def _without_checksum(packet: object, field: str) -> object:
    """Return the packet with a checksum that Scapy computes again."""
    setattr(packet, field, None)
    return packet
