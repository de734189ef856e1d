"""Reception: every arriving frame is classified, and only expected test frames are measured."""

from __future__ import annotations

import itertools

from base import TesterTest
from scapy.layers.l2 import Ether
from signature import test_frame

STATION = "02:00:00:00:00:01"
UDP, ENCAPSULATION, AUTHENTICATION, DESTINATION = 17, 50, 51, 60
SPI_AND_SEQUENCE = bytes.fromhex("c6120102 00000001")


def authentication(successor: int, size_bytes: int) -> bytes:
    """An authentication header (RFC 4302 2) with an integrity value that looks like other headers."""
    return bytes([successor, size_bytes // 4 - 2, 0, 0]).ljust(size_bytes, b"\x3c")


class EmptyTablesDrop(TesterTest):
    """Goal: without entries nothing is measured and nothing leaves. Method: send, read counters."""

    def runTest(self) -> None:
        self.send(1, test_frame(dst=STATION, run=self.run_id))
        self.expect_nothing()
        self.assert_reasons(flooded=1)
        self.assertEqual(self.records()["frames"].sum(), 0)


class ExpectedFrameIsMeasured(TesterTest):
    """Goal: one frame to the owner of its destination is one frame of its flow, with its bytes."""

    def runTest(self) -> None:
        self.install(self.receiver(2, STATION))
        for size in (64, 128, 1518):
            self.send(
                2, test_frame(dst=STATION, size=size, run=self.run_id, flow=5, sequence=[64, 128, 1518].index(size))
            )
        self.expect_nothing()
        self.assert_reasons(expected=3)
        record = self.records()[5]
        self.assertEqual(record["frames"], 3)
        if "bytes" in (record.dtype.names or ()):
            self.assertEqual(record["bytes"], 64 + 128 + 1518)
        self.assertEqual(record["next_sequence"], 3)
        self.assertEqual(record["duplicates"] + record["reordered"], 0)


class WrongPortIsFlooded(TesterTest):
    """Goal: a test frame on a port that does not own its destination is flooded, never received."""

    def runTest(self) -> None:
        self.install(self.receiver(2, STATION))
        self.send(3, test_frame(dst=STATION, run=self.run_id))
        self.assert_reasons(flooded=1)
        self.assertEqual(self.records()["frames"].sum(), 0)


class GroupsBeyondTheFlowsAreCountedPerPort(TesterTest):
    """Goal: a frame whose cell lies behind those of the flows is counted there, and measured nowhere."""

    def runTest(self) -> None:
        if "GROUPS" not in self.contract.constants:
            self.skipTest("the program has no group counters")
        groups, flows = self.contract["GROUPS"], self.contract["FLOWS"]
        cells = {(port, flow): place * groups + flow for place, port in enumerate((1, 2)) for flow in (7, groups - 1)}
        before = dict(self.client.read_counters("group_frames", cells.values()))
        for place, port in enumerate((1, 2)):
            self.install(self.receiver(port, STATION, offset=flows + place * groups))
        for port, flow in ((1, 7), (2, 7), (2, 7), (2, groups - 1)):
            self.send(port, test_frame(dst=STATION, run=self.run_id, flow=flow))
        self.assert_reasons(expected=4)
        now = dict(self.client.read_counters("group_frames", cells.values()))
        counted = {place: now[cell].packets - before[cell].packets for place, cell in cells.items()}
        self.assertEqual(counted, {(1, 7): 1, (2, 7): 2, (1, groups - 1): 0, (2, groups - 1): 1})
        self.assertEqual(self.records()["frames"].sum(), 0)


class FramesForAnotherReceiverAreMisdirected(TesterTest):
    """Goal: a frame with the address of the port but the tag of another receiver is misdirected, whatever its flow.

    A damaged frame is damaged and one of another run is stale first; on a port that does not own the address it is
    flooded.
    """

    def runTest(self) -> None:
        self.install(self.receiver(2, STATION, tag=3))
        for tag in (0, 2, 7, 255):
            self.send(2, test_frame(dst=STATION, run=self.run_id, receiver=tag, flow=5))
        self.assert_reasons(misdirected=4)
        self.assertEqual(self.records()["frames"].sum(), 0)
        self.send(2, test_frame(dst=STATION, run=self.run_id, receiver=3, flow=5))
        self.send(2, test_frame(dst=STATION, run=self.run_id - 1, receiver=4, flow=5))
        self.send(3, test_frame(dst=STATION, run=self.run_id, receiver=4, flow=5))
        damaged = bytearray(bytes(test_frame(dst=STATION, run=self.run_id, receiver=3, flow=5)))
        damaged[45] ^= 0x04
        self.send(2, bytes(damaged))
        self.assert_reasons(misdirected=4, expected=1, stale=1, flooded=1, damaged=1)
        self.assertEqual(self.records()["frames"][5], 1)


class OldRunIsStale(TesterTest):
    """Goal: a frame of an earlier trial is stale."""

    def runTest(self) -> None:
        self.install(self.receiver(2, STATION))
        self.send(2, test_frame(dst=STATION, run=self.run_id - 1))
        self.assert_reasons(stale=1)
        self.assertEqual(self.records()["frames"].sum(), 0)


class DamagedSignatureIsNotATestFrame(TesterTest):
    """Goal: any flipped bit of the signature makes a frame damaged (or foreign, in the magic)."""

    def runTest(self) -> None:
        self.install(self.receiver(2, STATION))
        good = bytes(test_frame(dst=STATION, run=self.run_id, flow=3, sequence=7, transmit_time=12345))
        offset = 14 + 20 + 8
        for bit in range(16, 144, 7):
            frame = bytearray(good)
            frame[offset + bit // 8] ^= 0x80 >> bit % 8
            self.send(2, bytes(frame))
        self.assert_reasons(damaged=len(range(16, 144, 7)))
        self.assertEqual(self.records()["frames"].sum(), 0)


class FramesWithoutSignatureAreForeign(TesterTest):
    """Goal: frames of others are foreign, PAUSE frames are counted apart, short ones do no harm."""

    def runTest(self) -> None:
        self.send(1, Ether(dst=STATION, src=STATION, type=0x0806) / bytes(46))
        self.send(1, Ether(dst="01:80:c2:00:00:01", src=STATION, type=0x8808) / bytes(46))
        self.send(1, test_frame(dst=STATION).payload.payload.build().ljust(60, b"\x55"))
        self.send(1, bytes(range(15)))
        self.expect_nothing()
        self.assert_reasons(foreign=3, pause=1)


class EveryFrameFormatCarriesASignature(TesterTest):
    """Goal: plain Ethernet, IPv4 and IPv6 test frames are recognised, with no, one or two VLAN tags."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        tags = (b"", b"\x81\x00\x00\x0a", b"\x88\xa8\x00\x0a\x81\x00\x00\x14")
        for flow, (version, tag) in enumerate(itertools.product((None, 4, 6), tags)):
            frame = bytes(test_frame(dst=STATION, size=128, ip_version=version, run=self.run_id, flow=flow))
            self.send(1, frame[:12] + tag + frame[12:])
        self.assert_reasons(expected=9)
        self.assertEqual(list(self.records()["frames"][:9]), [1] * 9)


class EveryExtensionHeaderIsReadBehind(TesterTest):
    """Goal: authentication headers (RFC 4302, units of 4 bytes less 2) and encapsulations (RFC 4303, whose 8 bytes
    name no next header) are read behind as the others are. Method: raw headers; each names its successor.
    """

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        chains = (
            (AUTHENTICATION, authentication(UDP, 16)),
            (AUTHENTICATION, authentication(UDP, 24)),
            (AUTHENTICATION, authentication(UDP, 32)),
            (ENCAPSULATION, SPI_AND_SEQUENCE),
            (AUTHENTICATION, authentication(ENCAPSULATION, 24) + SPI_AND_SEQUENCE),
            (DESTINATION, bytes([AUTHENTICATION, 0, 1, 4, 0, 0, 0, 0]) + authentication(UDP, 24)),
            (DESTINATION, bytes([ENCAPSULATION, 0, 1, 4, 0, 0, 0, 0]) + SPI_AND_SEQUENCE),
        )
        for flow, chain in enumerate(chains):
            self.send(1, test_frame(dst=STATION, size=160, ip_version=6, extensions=chain, run=self.run_id, flow=flow))
        self.assert_reasons(expected=len(chains))
        self.assertEqual(list(self.records()["frames"][: len(chains)]), [1] * len(chains))


class OddAuthenticationHeadersAreForeign(TesterTest):
    """Goal: an authentication header that is not a multiple of 8 bytes, which IPv6 requires, hides the signature."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        for size_bytes in (12, 20, 28):
            chain = (AUTHENTICATION, authentication(UDP, size_bytes))
            self.send(1, test_frame(dst=STATION, size=160, ip_version=6, extensions=chain, run=self.run_id))
        self.assert_reasons(foreign=3)


class OffsetSeparatesReceiversOfABroadcast(TesterTest):
    """Goal: each receiver of one broadcast flow has a cell of its own."""

    def runTest(self) -> None:
        broadcast = "ff:ff:ff:ff:ff:ff"
        self.install(*(self.receiver(port, broadcast, offset=port - 1) for port in (1, 2, 3)))
        for port in (1, 2, 3):
            self.send(port, test_frame(dst=broadcast, run=self.run_id, flow=10))
        self.assert_reasons(expected=3)
        self.assertEqual(list(self.records()["frames"][10:13]), [1, 1, 1])


class UnknownFlowIsNotMeasured(TesterTest):
    """Goal: a flow number beyond the registers is counted, not written anywhere."""

    def runTest(self) -> None:
        beyond = self.contract["FLOWS"] + self.contract.constants.get("GROUPS", 0) * self.contract.constants.get(
            "GROUP_PORTS", 0
        )
        self.install(self.receiver(1, STATION, offset=beyond))
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=0))
        self.assert_reasons(unknown_flow=1)
        self.assertEqual(self.records()["frames"].sum(), 0)
