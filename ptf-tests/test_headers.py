"""Frames with any headers: every stack leaves as its layers say, and is found again where it arrives."""

from __future__ import annotations

from dataclasses import replace

from scapy.layers.inet6 import IPv6 as ScapyIPv6
from scapy.layers.inet6 import IPv6ExtHdrRouting, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from streams import StreamTest, stream
from support.stacks import STACKS

from p4mesh.layers import Ethernet, Frame, IPv4, IPv6, Modifiable
from p4mesh.layers.layer import BAD_CHECKSUM
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.frames import FCS_BYTES, SIGNATURE_BYTES, bytes_before_signature
from p4mesh.tester.seed_layout import layout_of
from p4mesh.tester.stations import station
from p4mesh.traffic import patterns
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, ValueList

FRAME_BYTES = 402
FRAMES = 4
END = bytes.fromhex("060000000009")


class HeadersTest(StreamTest):
    """Skips programs that send UDP over IP only."""

    __test__ = False

    def setUp(self) -> None:
        super().setUp()
        if "IN_TUNNEL" not in self.contract.constants:
            self.skipTest("the program takes no other headers")

    def sent(self, frame: Frame, *modifiers: FieldModifier) -> list[bytes]:
        """Run a stream from port 1 to port 2; return its frames."""
        one = {"tx_ports": (1,), "rx_ports": (2,), "frame_size_bytes": FRAME_BYTES}
        self.run_streams(stream(patterns.Pairs(), FRAMES, frame=frame, modifiers=modifiers, **one))
        return self.received(1, FRAMES)

    def addressed(self, frame: Frame) -> Frame:
        """Give a frame the addresses of stations where the data plane writes them."""
        sender, receiver = station(1), station(2)
        layers = list(frame.layers)
        for place, layer in enumerate(layers):
            if isinstance(layer, Ethernet):
                layers[place] = replace(
                    layer, destination=layer.destination or receiver.mac, source=layer.source or sender.mac
                )
            elif layer is frame.network and isinstance(layer, IPv4):
                layers[place] = replace(layer, source=sender.ipv4, destination=receiver.ipv4)
            elif layer is frame.network and isinstance(layer, IPv6):
                destination = frame.destination_of_path or receiver.ipv6
                layers[place] = replace(layer, source=sender.ipv6, destination=destination)
        return Frame(tuple(layers))

    def assert_whole(self, got: bytes, frame: Frame) -> None:
        """Assert that a frame has these headers, with all lengths and checksums, and the payload."""
        balance, behind = got[frame.header_bytes : bytes_before_signature(frame)], got[bytes_before_signature(frame) :]
        signature = behind[:SIGNATURE_BYTES]
        self.assertEqual(signature[:2], b"PM")
        rest = bytes(k & 0xFF for k in range(len(behind) - SIGNATURE_BYTES - frame.trailer_bytes))
        self.assertEqual(got.hex(), self.addressed(frame).write(balance + signature + rest).hex())

    def assert_checksums(self, got: bytes) -> None:
        """Assert that Scapy writes the same lengths and checksums; a checksum of UDP of 0 is none."""
        packet = Ether(got)
        for layer in packet.iterpayloads():
            for name in ("chksum", "cksum", "len", "plen"):
                routing = isinstance(layer, IPv6ExtHdrRouting | IPv6ExtHdrSegmentRouting)
                if layer.fields.get(name) and not routing and layer.name not in ("GTP-U Header", "PPP over Ethernet"):
                    delattr(layer, name)
        self.assertEqual(bytes(packet).hex(), got.hex())


class EveryStackLeavesAsItsLayersSayAndIsFoundAgain(HeadersTest):
    """Goal: headers, lengths, checksums at every layer, signature and payload are those of the layers with addresses of
    stations; a port that gets such a frame measures it."""

    __test__ = True

    def runTest(self) -> None:
        for name, layers in STACKS.items():
            with self.subTest(stack=name):
                frame = Frame(layers)
                frames = self.sent(frame)
                self.assertEqual({len(got) + FCS_BYTES for got in frames}, {FRAME_BYTES})
                for got in frames:
                    self.assert_whole(got, frame)
                    if name != "the port of a tunnel":
                        # Scapy takes the payload for a tunnel.
                        self.assert_checksums(got)
                    self.send(2, got)
                self.assertEqual(self.records()["frames"].sum(), FRAMES)
        self.expect_nothing()


class TheOuterFrameGoesToTheEndOfItsTunnel(HeadersTest):
    """Goal: a frame in a frame has the addresses of stations, and the outer one the destination that it is given."""

    __test__ = True

    def runTest(self) -> None:
        bridged = STACKS["vxlan"]
        for outer, inner in (
            (Ethernet(destination=END), Ethernet()),
            (Ethernet(), Ethernet(destination=END, source=END)),
        ):
            frame = Frame((outer, *bridged[1:4], inner, *bridged[5:]))
            for got in self.sent(frame):
                self.assert_whole(got, frame)


class TheDestinationIsTheActiveSegment(HeadersTest):
    """Goal: where segments are left in front of UDP, IPv6 leads to the active one, or to the one that is given where
    the list is reduced; checksums cover the last one (RFC 8754 4.1, RFC 8200 8.1)."""

    __test__ = True

    def runTest(self) -> None:
        first, last = "2001:db8:1::e", "2001:db8:2::1"
        for text, destination in (
            (f"ipv6/segment_routing(segments={last} {first}, segments_left=1)/udp", first),
            (f"ipv6(destination={first})/segment_routing(segments={last}, segments_left=1)/tcp", first),
            (f"ipv6/segment_routing(segments={last} {first})/udp", str(station(2).ipv6)),
        ):
            with self.subTest(stack=text):
                frame = frame_of_text(text)
                for got in self.sent(frame):
                    packet = Ether(got)
                    self.assertEqual(packet[ScapyIPv6].dst, destination)
                    self.assertEqual(packet[ScapyIPv6].src, str(station(1).ipv6))
                    self.assert_whole(got, frame)
                    self.assert_checksums(got)


def added(values: Progression | ValueList, k: int) -> int:
    """The number that is added to the field of frame ``k``."""
    return k % values.count * values.step if isinstance(values, Progression) else values.values[k % len(values.values)]


class FieldsOfAnyLayerChange(HeadersTest):
    """Goal: a field takes its values in turn and no other byte changes but checksums and the signature; checksums fit.
    Method: the field is changed in the layers by hand, and the whole frame compared."""

    __test__ = True

    def runTest(self) -> None:
        for name, stack, values in (
            ("mpls[0].label", "labels", Progression(3, 5)),
            ("mpls.ttl", "labels", Progression(3, 5)),
            ("vxlan.vni", "vxlan", ValueList((0, 0xFFFFFF, 7))),
            ("udp[0].source", "vxlan", PseudoRandom(seed=9, mask=0x3FFF)),
            ("ipv4[0].source", "vxlan", Progression(3, 257)),
            ("vlan.vid", "vxlan", Progression(4, 16)),
            ("gtpu.teid", "gtp-u", Progression(4, -1)),
            ("ipv6[0].destination", "gre with key", Progression(3)),
            ("gre.key", "gre with key", Progression(3)),
            ("geneve.vni", "geneve", Progression(3)),
            ("tcp.source", "tcp over ipv6", Progression(3, 11)),
            ("tcp.sequence", "tcp", Progression(3, 0x10000)),
            ("tcp.flags", "tcp", ValueList((0, 1, 2))),
            ("icmp.identifier", "icmp", Progression(3)),
            ("icmpv6.sequence", "icmpv6", Progression(3)),
            ("ipv4.dscp", "tcp", Progression(4, 10)),
            ("ipv4.ttl", "icmp", Progression(4, -10)),
            ("ipv6.flow_label", "tcp over ipv6", Progression(4, 0x1001)),
            ("service_tag.vid", "provider tag", Progression(4)),
        ):
            with self.subTest(field=name):
                frame, field = Frame(STACKS[stack]), Modifiable.of_name(name)
                place = frame.place_of(field)
                assert place is not None
                addressed = self.addressed(frame)
                base = int(getattr(addressed.layers[place], field.field) or 0)
                for number, got in enumerate(self.sent(frame, FieldModifier(field, values))):
                    signature = got[frame.header_bytes :][:SIGNATURE_BYTES]
                    rest = bytes(k & 0xFF for k in range(len(got) - frame.header_bytes - SIGNATURE_BYTES))
                    changed = Frame.read(got)[0].layers[place]
                    value = getattr(changed, field.field)
                    if not isinstance(values, PseudoRandom):
                        size = 1 << field.width_bits
                        self.assertEqual(int(value or 0) % size, (base + added(values, number)) % size)
                    layers = list(addressed.layers)
                    layers[place] = replace(layers[place], **{field.field: value})
                    self.assertEqual(got.hex(), Frame(tuple(layers)).write(signature + rest).hex())


class AWrongChecksumIsWrongInEveryFrame(HeadersTest):
    """Goal: the checksum that is to be wrong is, by Scapy's opinion too; no other byte differs from right frames."""

    __test__ = True

    def runTest(self) -> None:
        for stack, place in (
            ("ipv4 options", 1),
            ("tcp behind options", 2),
            ("provider tag", 3),
            ("provider tag", 4),
            ("own bytes in udp", 2),
            ("tcp over ipv6", 4),
            ("icmp", 2),
            ("icmpv6", 2),
            ("vxlan", 1),
            ("vxlan", 2),
            ("vxlan", 7),
            ("geneve", 2),
            ("geneve", 5),
            ("geneve", 6),
            ("gre", 1),
            ("tunnels in tunnels", 2),
            ("tunnels in tunnels", 6),
            ("tunnels in tunnels", 9),
        ):
            with self.subTest(stack=stack, layer=place):
                layers = STACKS[stack]
                (bad,) = Frame((layers[place],)).changed(type(layers[place]), checksum=BAD_CHECKSUM).layers
                wrong = Frame((*layers[:place], bad, *layers[place + 1 :]))
                for got in self.sent(wrong):
                    # That of UDP in front of a tunnel is the same in all frames.
                    kept = (
                        Frame.read(got)[0].layers[place]
                        if layout_of(wrong).places[place].header == "first_udp"
                        else None
                    )
                    self.assert_whole(got, Frame((*layers[:place], kept or wrong.layers[place], *layers[place + 1 :])))
                    with self.assertRaises(AssertionError):
                        self.assert_checksums(got)
                    self.send(2, got)
                self.assertEqual(self.records()["frames"].sum(), FRAMES)


class AsManyFieldsChangeAsTheProgramHasModifiers(HeadersTest):
    """Goal: four fields of different layers take their values at the same time, each in its own turn, and start again
    with the next stream."""

    __test__ = True

    def runTest(self) -> None:
        changes: dict[str, Progression | ValueList] = {
            "vlan.vid": Progression(3),
            "udp[0].source": Progression(4, 3),
            "vxlan.vni": ValueList((0, 5, 9)),
            "ipv6.flow_label": Progression(2),
        }
        frame = Frame(STACKS["vxlan"])
        modifiers = [FieldModifier(Modifiable.of_name(name), values) for name, values in changes.items()]
        for count in (3, 4):
            with self.subTest(modifiers=count):
                for number, got in enumerate(self.sent(frame, *modifiers[:count])):
                    layers = list(self.addressed(frame).layers)
                    for modifier in modifiers[:count]:
                        place, name = frame.place_of(modifier.field), modifier.field.field
                        assert place is not None
                        assert not isinstance(modifier.values, PseudoRandom)
                        base = getattr(layers[place], name)
                        layers[place] = replace(layers[place], **{name: base + added(modifier.values, number)})
                    signature = got[frame.header_bytes :][:SIGNATURE_BYTES]
                    rest = bytes(k & 0xFF for k in range(len(got) - frame.header_bytes - SIGNATURE_BYTES))
                    self.assertEqual(got.hex(), Frame(tuple(layers)).write(signature + rest).hex())
