"""Packets of Scapy as frames of streams, for users' scripts. Scapy itself is not imported: the script has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from p4mesh.errors import ParameterError
from p4mesh.layers.frame import Frame

_NO_ADDRESS = {"Ether": "00:00:00:00:00:00", "IP": "0.0.0.0", "IPv6": "::"}
"""Address of zeros by name of the layer. Scapy looks up addresses that are left open: on this machine, or in the
network."""
_UDP_WITHOUT_CHECKSUM = 0


class Packet(Protocol):
    """The part of a packet of Scapy that is needed here."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Values that were given."""

    def copy(self) -> Packet:
        """Copy the packet with its payload."""

    def iterpayloads(self) -> Iterator[Packet]:
        """Yield the packet, its payload, the payload of that, and so on."""

    def summary(self) -> str:
        """Name its layers in a line."""

    def __bytes__(self) -> bytes:
        """Build it."""


def frame_of_packet(packet: Packet) -> Frame:
    """Make the headers of a stream of a packet that begins with ``Ether``.

    The tester writes its own payload, and the addresses of its stations. So the packet has no payload, and neither MAC
    addresses nor addresses in its innermost IP layer. Raises ParameterError for a packet that is not so, has a layer
    that P4Mesh does not know, or lengths or checksums that do not fit.
    """
    named = f"packet {packet.summary()}"
    own = packet.copy()
    layers = [(type(layer).__name__, layer) for layer in own.iterpayloads()]
    addressed = [(kind, layer) for kind, layer in layers if kind in _NO_ADDRESS]
    for place, (kind, layer) in enumerate(addressed):
        is_of_a_station = kind == "Ether" or place == len(addressed) - 1
        for side in ("src", "dst"):
            if is_of_a_station and layer.fields.get(side, _NO_ADDRESS[kind]) != _NO_ADDRESS[kind]:
                raise ParameterError(
                    f"{named}: {kind}.{side} is {layer.fields[side]}, but frames have the addresses of stations",
                    hint=f"leave it out, or delete it: del packet[{kind}].{side}; addresses of a stream's own are its "
                    "source_mac, destination_mac and modifiers",
                )
            if side not in layer.fields:
                setattr(layer, side, _NO_ADDRESS[kind])
    network = ""
    for kind, layer in layers:
        network = kind if kind in ("IP", "IPv6") else network
        if kind == "UDP" and network == "IP" and "chksum" not in layer.fields:
            # As the tester sends UDP over IPv4: Scapy would compute a checksum, which would count as a wrong field.
            layer.chksum = _UDP_WITHOUT_CHECKSUM  # type: ignore[attr-defined]
    frame, rest = Frame.read(bytes(own))
    kinds = ", ".join(layer.kind for layer in frame.layers) or "nothing"
    if rest:
        raise ParameterError(
            f"{named}: {len(rest)} bytes behind {kinds} are no header that P4Mesh knows",
            hint="leave out the payload, which is the tester's own, and layers that docs/API.md does not list",
        )
    if frame.wrong_fields:
        raise ParameterError(
            f"{named}: {', '.join(frame.wrong_fields)} do not fit the packet",
            hint="leave lengths and checksums to Scapy",
        )
    return frame
