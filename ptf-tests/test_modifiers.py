"""Field modifiers: a header field changes from frame to frame by rule, list or pseudo-random value."""

from __future__ import annotations

import zlib

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from streams import StreamTest, stream

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6, Frame, IPv4, IPv6, Modifiable, ethernet, ipv4, ipv6, udp, vlan
from p4mesh.tester.stations import station
from p4mesh.traffic import patterns
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, ValueList

FRAMES = 7
IPV4_FIELDS = {
    ethernet.DESTINATION: (0, 6),
    ethernet.SOURCE: (6, 12),
    ipv4.SOURCE: (26, 30),
    ipv4.DESTINATION: (30, 34),
    udp.SOURCE: (34, 36),
    udp.DESTINATION: (36, 38),
}
TAGGED_IPV6_FIELDS = {
    vlan.OUTER: (14, 16),
    vlan.INNER: (18, 20),
    ipv6.SOURCE: (42, 46),
    ipv6.DESTINATION: (58, 62),
    udp.SOURCE: (62, 64),
    udp.DESTINATION: (64, 66),
}
"""Bytes of the field in a frame, the low 32 bits of an IPv6 address."""
MAC_FIELDS = (ethernet.DESTINATION, ethernet.SOURCE)
CHECKSUMS: dict[type, tuple[int, int]] = {IPv4: (24, 25), IPv6: (68, 69)}
RULES: tuple[Progression | ValueList | PseudoRandom, ...] = (
    Progression(count=5, step=0x3FFF_FFFF),
    Progression(count=6, step=-3),
    ValueList((7, 0xFFFF_FFFF_FFFF, 0x0203_0405_0607)),
    PseudoRandom(seed=0x1234_5678, mask=0xFFFF_FFFF, count=4),
)


def added(values: Progression | ValueList | PseudoRandom, k: int) -> int:
    """The number that a rule adds to the field of frame ``k``."""
    if isinstance(values, Progression):
        return (k % values.count * values.step + (1 << 31)) % (1 << 32) - (1 << 31)
    if isinstance(values, ValueList):
        return values.values[k % len(values.values)]
    step = k % values.count
    return zlib.crc32(values.seed.to_bytes(4, "big") + step.to_bytes(4, "big")) & values.mask


class ModifierTest(StreamTest):
    """Runs one stream from port 1 to port 2 with modifiers."""

    __test__ = False

    def run_modified(self, count: int, *modifiers: FieldModifier) -> list[bytes]:
        self.run_streams(stream(patterns.Pairs(), count, tx_ports=(1,), rx_ports=(2,), modifiers=modifiers))
        return self.received(1, count)

    def added_to_mac(self, mac: bytes, addend: int) -> int:
        """An address with an addend, of which a program may take the low bits only."""
        address, size = int.from_bytes(mac, "big"), 1 << self.bench.mac_addend_bits
        return address - address % size + (address + addend) % size


class EveryFieldChangesByEveryRule(ModifierTest):
    """Goal: each field follows each rule, wraps after its count and at the width of the field, and no
    other byte changes but checksums and the signature. Method: four ports, each with another rule."""

    __test__ = True

    def runTest(self) -> None:
        for headers, first_checked, fields in (
            (UDP_OVER_IPV4, 42, IPV4_FIELDS),
            (UDP_OVER_IPV6.tagged(4000, 20), 70, TAGGED_IPV6_FIELDS),
        ):
            for field, (begin, end) in fields.items():
                with self.subTest(field=field):
                    self._change(headers, field, slice(begin, end), first_checked)

    def _change(self, headers: Frame, field: Modifiable, place: slice, header_bytes: int) -> None:
        self.run_streams(
            *(
                stream(
                    patterns.Pairs(),
                    FRAMES,
                    name=f"s{port}",
                    tx_ports=(port,),
                    rx_ports=(port % 4 + 1,),
                    frame=headers,
                    frame_size_bytes=128,
                    modifiers=(FieldModifier(field, values),),
                )
                for port, values in enumerate(RULES, 1)
            )
        )
        for port, values in enumerate(RULES, 1):
            frames = self.received(port, FRAMES)
            bits = field.width_bits
            if field in MAC_FIELDS:
                bits = self.bench.mac_addend_bits
            numbers = [int.from_bytes(frame[place], "big") % (1 << bits) for frame in frames]
            self.assertEqual(
                [(number - numbers[0]) % (1 << bits) for number in numbers],
                [(added(values, k) - added(values, 0)) % (1 << bits) for k in range(FRAMES)],
                (field, values),
            )
            changing = {*range(place.start, place.stop), *CHECKSUMS[type(headers.network)]}
            kept = {bytes(b for k, b in enumerate(frame[:header_bytes]) if k not in changing) for frame in frames}
            self.assertEqual(len(kept), 1, (field, values))
        self.expect_nothing()


class ValuesAreAddedToTheStation(ModifierTest):
    """Goal: a modifier adds to the address of the station: its first value is not a special case."""

    __test__ = True

    def runTest(self) -> None:
        (frame,) = self.run_modified(1, FieldModifier(ethernet.SOURCE, ValueList((0xFC0000ABCDEF,))))
        self.assertEqual(int.from_bytes(frame[6:12], "big"), self.added_to_mac(station(1).mac, 0xFC0000ABCDEF))


class ProgressionWraps(ModifierTest):
    """Goal: UDP destination +0, +3, +6, +9, +0, ...; source +0, -1, -2, +0, ..."""

    __test__ = True

    def runTest(self) -> None:
        up = FieldModifier(udp.DESTINATION, Progression(4, 3))
        down = FieldModifier(udp.SOURCE, Progression(3, -1))
        frames = [Ether(frame) for frame in self.run_modified(9, up, down)]
        self.assertEqual([frame[UDP].dport - 20001 for frame in frames], [0, 3, 6, 9, 0, 3, 6, 9, 0])
        self.assertEqual([frame[UDP].sport - 20001 for frame in frames], [0, -1, -2, 0, -1, -2, 0, -1, -2])


class RulesOfOneFieldAddUp(ModifierTest):
    """Goal: a progression and a list in one field: each frame has the sum of what both add."""

    __test__ = True

    def runTest(self) -> None:
        rules = (
            FieldModifier(udp.DESTINATION, Progression(2, 3)),
            FieldModifier(udp.DESTINATION, ValueList((0, 0, 100))),
        )
        frames = [Ether(frame) for frame in self.run_modified(6, *rules)]
        self.assertEqual([frame[UDP].dport - 20001 for frame in frames], [0, 3, 100, 3, 0, 103])


class ListGivesItsValuesInTurn(ModifierTest):
    """Goal: source MAC addresses from a list, as RFC 4814 needs them."""

    __test__ = True

    def runTest(self) -> None:
        values = (0x020304050607, 0xFC0000ABCDEF, 5)
        frames = self.run_modified(7, FieldModifier(ethernet.SOURCE, ValueList(values)))
        expected = [self.added_to_mac(station(1).mac, values[k % 3]) for k in range(7)]
        self.assertEqual([int.from_bytes(frame[6:12], "big") for frame in frames], expected)


class RandomIsTheChecksumOfSeedAndStep(ModifierTest):
    """Goal: pseudo-random IPv4 addresses, reproducible by the controller, with a valid checksum."""

    __test__ = True

    def runTest(self) -> None:
        seed, mask = 0x12345678, 0x0000FFFF
        frames = self.run_modified(5, FieldModifier(ipv4.DESTINATION, PseudoRandom(seed, mask)))
        values = [zlib.crc32(seed.to_bytes(4, "big") + k.to_bytes(4, "big")) & mask for k in range(5)]
        origin = int(station(2).ipv4)
        self.assertEqual([int.from_bytes(frame[30:34], "big") for frame in frames], [origin + v for v in values])
        self.assertEqual(len(set(values)), 5)
        for frame in frames:
            header = IP(frame[14:34])
            sent = header.chksum
            header.chksum = None
            self.assertEqual(IP(bytes(header)).chksum, sent)
