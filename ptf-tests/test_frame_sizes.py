"""Frame sizes in turn: every copy of a seed of full length leaves cut to the next size of its port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from struct import unpack_from

from scapy.utils import checksum
from streams import StreamTest, signature_of, stream

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, DestinationOptions, Frame, HopByHop, IPv4
from p4mesh.tester.frames import FCS_BYTES, SIGNATURE_BYTES
from p4mesh.traffic import patterns
from p4mesh.traffic.stream import Stream

IPV4_BYTES, IPV6_BYTES, UDP_BYTES = 20, 40, 8


class SizesTest(StreamTest):
    """Skips programs that send each frame as long as its seed."""

    __test__ = False

    def setUp(self) -> None:
        super().setUp()
        if "FRAME_SIZES" not in self.contract.constants:
            self.skipTest("the program does not cut frames")


def in_turn(sizes: Sequence[int], count: int, **changes: object) -> Stream:
    """A stream from port 1 to port 2 with frames of these sizes."""
    one = {"tx_ports": (1,), "rx_ports": (2,), "frame_size_bytes": max(sizes), "sizes_in_turn_bytes": tuple(sizes)}
    return stream(patterns.Pairs(), count, **(one | changes))


class SizesLeaveInTurnWithRightLengthsAndChecksums(SizesTest):
    """Goal: the frames have the sizes of the stream in their order, again and again, of odd length too; lengths of IP
    and UDP, checksums, signature and payload are those of a frame that was made with that size."""

    __test__ = True

    def runTest(self) -> None:
        sizes = (128, 111, 300, 108, 1518, 127)
        for headers, header_bytes in (
            (UDP_OVER_IPV4, 14),
            (UDP_OVER_IPV4.tagged(7), 18),
            (UDP_OVER_IPV6, 14),
            (UDP_OVER_IPV6.tagged(4000, 20).extended((HopByHop(), DestinationOptions())), 22),
            (PLAIN, 14),
        ):
            with self.subTest(frame=headers):
                self.run_streams(in_turn(sizes, 2 * len(sizes) + 1, frame=headers))
                frames = self.received(1, 2 * len(sizes) + 1)
                self.assertEqual([len(frame) + FCS_BYTES for frame in frames], [*sizes, *sizes, sizes[0]])
                for frame in frames:
                    payload = self._payload(headers, frame[header_bytes:])
                    self.assertEqual(payload[SIGNATURE_BYTES:], bytes(k & 0xFF for k in range(len(payload) - 18)))
        self.expect_nothing()

    def _payload(self, headers: Frame, packet: bytes) -> bytes:
        """The bytes behind UDP, or behind Ethernet; checks lengths and checksums on the way."""
        if headers.network is None:
            return packet
        if isinstance(headers.network, IPv4):
            self.assertEqual(unpack_from(">H", packet, 2)[0], len(packet))
            self.assertEqual(checksum(packet[:IPV4_BYTES]), 0)
            udp = packet[IPV4_BYTES:]
            self.assertEqual(unpack_from(">H", udp, 6)[0], 0)
        else:
            self.assertEqual(unpack_from(">H", packet, 4)[0], len(packet) - IPV6_BYTES)
            udp = packet[IPV6_BYTES + 8 * len(headers.extensions) :]
            pseudo_header = packet[8:40] + len(udp).to_bytes(4, "big") + bytes([0, 0, 0, 17])
            self.assertEqual(checksum(pseudo_header + udp), 0)
        self.assertEqual(unpack_from(">H", udp, 4)[0], len(udp))
        return udp[UDP_BYTES:]


class EveryDestinationGetsEverySize(SizesTest):
    """Goal: also where the numbers of destinations and sizes have a common factor, each destination gets each size
    equally often; each port has a turn of its own, which begins anew with the next trial."""

    __test__ = True

    def runTest(self) -> None:
        for sizes in ((100, 101, 102), (100, 101, 102, 103, 104, 105), (100, 101)):
            with self.subTest(sizes=sizes):
                # In a mesh of four ports each has three destinations.
                count = 3 * len(sizes)
                mesh = stream(patterns.FullMesh(), count, frame_size_bytes=sizes[-1], sizes_in_turn_bytes=sizes)
                self.run_streams(mesh)
                for port in mesh.tx_ports:
                    frames = self.received(port, count)
                    found = [len(frame) + FCS_BYTES for frame in frames]
                    self.assertEqual(found[: min(3, len(sizes))], list(sizes[: min(3, len(sizes))]))
                    pairs = Counter((signature_of(frame).flow, size) for frame, size in zip(frames, found, strict=True))
                    self.assertEqual(set(pairs.values()), {1})
                    self.assertEqual(len(pairs), count)
        self.expect_nothing()


class StreamsWithoutTurnsKeepTheirLength(SizesTest):
    """Goal: a stream of one size beside one with sizes in turn, on the same port, is not cut."""

    __test__ = True

    def runTest(self) -> None:
        plain = stream(patterns.Pairs(), 8, name="plain", tx_ports=(1,), rx_ports=(2,), frame_size_bytes=200)
        self.run_streams(plain, in_turn((64, 65), 8))
        found = Counter(len(frame) + FCS_BYTES for frame in self.received(1, 16))
        self.assertEqual(found, {200: 8, 64: 4, 65: 4})
