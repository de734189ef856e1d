"""Field modifiers: a header field changes from frame to frame by rule, list or pseudo-random value."""

from __future__ import annotations

import zlib

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from streams import StreamTest, stream

from p4mesh.traffic.stream import FieldModifier, ModifiedField, PatternKind, Progression, PseudoRandom, ValueList
from p4mesh.trial.stations import station


class ModifierTest(StreamTest):
    """Runs one stream from port 1 to port 2 with modifiers."""

    __test__ = False

    def run_modified(self, count: int, *modifiers: FieldModifier) -> list[bytes]:
        self.run_streams(stream(PatternKind.PAIRS, count, tx_ports=(1,), rx_ports=(2,), modifiers=modifiers))
        return self.received(1, count)


class ProgressionWraps(ModifierTest):
    """Goal: UDP destination +0, +3, +6, +9, +0, ...; source +0, -1, -2, +0, ..."""

    __test__ = True

    def runTest(self) -> None:
        up = FieldModifier(ModifiedField.UDP_DST, Progression(4, 3))
        down = FieldModifier(ModifiedField.UDP_SRC, Progression(3, -1))
        frames = [Ether(frame) for frame in self.run_modified(9, up, down)]
        self.assertEqual([frame[UDP].dport - 20001 for frame in frames], [0, 3, 6, 9, 0, 3, 6, 9, 0])
        self.assertEqual([frame[UDP].sport - 20001 for frame in frames], [0, -1, -2, 0, -1, -2, 0, -1, -2])


class ListGivesItsValuesInTurn(ModifierTest):
    """Goal: source MAC addresses from a list, as RFC 4814 needs them."""

    __test__ = True

    def runTest(self) -> None:
        values = (0x020304050607, 0xFC0000ABCDEF, 5)
        frames = self.run_modified(7, FieldModifier(ModifiedField.ETHERNET_SRC, ValueList(values)))
        origin = int.from_bytes(station(1).mac, "big")
        expected = [(origin + values[k % 3]) % (1 << 48) for k in range(7)]
        self.assertEqual([int.from_bytes(frame[6:12], "big") for frame in frames], expected)


class RandomIsTheChecksumOfSeedAndStep(ModifierTest):
    """Goal: pseudo-random IPv4 addresses, reproducible by the controller, with a valid checksum."""

    __test__ = True

    def runTest(self) -> None:
        seed, mask = 0x12345678, 0x0000FFFF
        frames = self.run_modified(5, FieldModifier(ModifiedField.IPV4_DST, PseudoRandom(seed, mask)))
        values = [zlib.crc32(seed.to_bytes(4, "big") + k.to_bytes(4, "big")) & mask for k in range(5)]
        origin = int(station(2).ipv4)
        self.assertEqual([int.from_bytes(frame[30:34], "big") for frame in frames], [origin + v for v in values])
        self.assertEqual(len(set(values)), 5)
        for frame in frames:
            header = IP(frame[14:34])
            sent = header.chksum
            header.chksum = None
            self.assertEqual(IP(bytes(header)).chksum, sent)


class EveryFieldCanBeModified(ModifierTest):
    """Goal: each field code changes its field and no other byte but checksums and signature."""

    __test__ = True

    def runTest(self) -> None:
        fields = {
            ModifiedField.ETHERNET_DST: (0, 6),
            ModifiedField.ETHERNET_SRC: (6, 12),
            ModifiedField.IPV4_SRC: (26, 30),
            ModifiedField.IPV4_DST: (30, 34),
            ModifiedField.UDP_SRC: (34, 36),
            ModifiedField.UDP_DST: (36, 38),
        }
        for field, (begin, end) in fields.items():
            first, second = self.run_modified(2, FieldModifier(field, Progression(2, 1)))
            change = int.from_bytes(second[begin:end], "big") - int.from_bytes(first[begin:end], "big")
            self.assertEqual(change, 1, field)
            same = [k for k in range(42) if not begin <= k < end and k not in (24, 25)]
            self.assertEqual([first[k] for k in same], [second[k] for k in same], field)
