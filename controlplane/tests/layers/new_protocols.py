"""Three protocols that P4Mesh does not have, each declared as one of its own would be; prints stacks in hex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6, Ethernet, Frame, IPv4, IPv6, Layer, Udp
from p4mesh.layers.layer import Numbers, Surroundings, bits, computed, tail


@dataclass(frozen=True)
class Vxlan(Layer):
    """RFC 7348."""

    kind: ClassVar[str] = "vxlan"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.UDP_PORT: 4789}
    flags: int = bits(8, 0x08)
    reserved: int = bits(24)
    vni: int = bits(24)
    reserved_byte: int = bits(8)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        return Ethernet


@dataclass(frozen=True)
class Mpls(Layer):
    """RFC 3032: the last label of a stack says so; what follows shows by its first four bits."""

    kind: ClassVar[str] = "mpls"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.ETHERTYPE: 0x8847}
    label: int = bits(20)
    traffic_class: int = bits(3)
    bottom: int | None = computed(1)
    ttl: int = bits(8, 64)

    def completed(self, around: Surroundings) -> Mpls:
        return super().completed(around).filled(bottom=not isinstance(around.following, Mpls))

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        networks: dict[int, type[Layer]] = {4: IPv4, 6: IPv6}
        return networks.get(inside[0] >> 4) if self.bottom and inside else Mpls


@dataclass(frozen=True)
class Custom(Layer):
    """Bytes of one's own."""

    kind: ClassVar[str] = "custom"
    content: bytes = tail(b"")


PAYLOAD = bytes(range(64))
FRAMES = (
    Frame((*UDP_OVER_IPV6.changed(Udp, source=7).layers, Vxlan(vni=0xABCDEF), *UDP_OVER_IPV4.tagged(9).layers)),
    Frame((Ethernet(), Mpls(100, 3), Mpls(16), Mpls(0xFFFFF, ttl=1), *UDP_OVER_IPV6.layers[1:])),
)

if __name__ == "__main__":
    for frame in FRAMES:
        written = frame.write(PAYLOAD)
        assert Frame.read(written) == (frame, PAYLOAD)
        print(written.hex())
    print(Frame((Ethernet(ether_type=0x88B5), Custom(b"own"))).write(b"").hex())
