"""Two protocols that P4Mesh does not have, each declared as one of its own would be; prints stacks in hex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6, Ethernet, Frame, IPv4, Layer
from p4mesh.layers.layer import Numbers, bits


@dataclass(frozen=True)
class EtherIp(Layer):
    """RFC 3378: an Ethernet frame in IP."""

    kind: ClassVar[str] = "etherip"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.IP_PROTOCOL: 97}
    version: int = bits(4, 3)
    reserved: int = bits(12)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        return Ethernet


@dataclass(frozen=True)
class ServiceInstance(Layer):
    """IEEE 802.1ah: the tag of a provider's backbone, in front of an Ethernet frame."""

    kind: ClassVar[str] = "service_instance"
    numbers: ClassVar[Mapping[Numbers, int]] = {Numbers.ETHERTYPE: 0x88E7}
    priority: int = bits(3)
    flags: int = bits(5)
    instance: int = bits(24)

    def next_kind(self, inside: bytes) -> type[Layer] | None:
        return Ethernet


PAYLOAD = bytes(range(64))
FRAMES = (
    Frame((Ethernet(), IPv4(), EtherIp(), *UDP_OVER_IPV4.tagged(9).layers)),
    Frame((Ethernet(), ServiceInstance(3, instance=0xABCDEF), *UDP_OVER_IPV6.layers)),
)

if __name__ == "__main__":
    for frame in FRAMES:
        written = frame.write(PAYLOAD)
        assert Frame.read(written) == (frame, PAYLOAD)
        print(written.hex())
