"""Headers that a program of the tester takes: those that its parser finds the signature behind, unchanged (p4src)."""

from __future__ import annotations

import re

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Frame, IPv4, IPv6, Udp
from p4mesh.layers.extension import extension_kinds
from p4mesh.layers.ipv4 import MORE_FRAGMENTS
from p4mesh.layers.layer import Layer, Role

_EXTENSION = "|".join(extension_kinds())
_STACKS = re.compile(rf"ethernet( vlan){{0,2}}(( ipv4 gre)?( ipv4| ipv6( ({_EXTENSION}))*) udp)?")
"""Names of the layers, the outermost first."""
_VALID = (
    "Ethernet, up to two VLAN tags, then nothing or UDP over IPv4 or IPv6 with extension headers, also in GRE over IPv4"
)
_LONGEST_EXTENSION_BYTES = 32


def require_sendable(stream: str, frame: Frame) -> None:
    """Raise ParameterError for headers that no program of the tester sends as they are."""
    kinds = " ".join(layer.kind for layer in frame.layers)
    if not _STACKS.fullmatch(kinds):
        raise ParameterError(
            f"stream '{stream}': the tester does not send frames of {kinds.replace(' ', ', ')}", hint=f"use {_VALID}"
        )
    if frame.wrong_fields:
        raise ParameterError(
            f"stream '{stream}': {', '.join(frame.wrong_fields)} cannot be given",
            hint="leave it out: the tester writes lengths and checksums",
        )
    for layer in frame.layers:
        if problem := _problem(frame, layer):
            raise ParameterError(f"stream '{stream}': {layer.kind} {problem[0]}", hint=problem[1])


def _problem(frame: Frame, layer: Layer) -> tuple[str, str] | None:
    """Say why a layer cannot be sent, and what can; None where it can."""
    for name, wire in layer.wires:
        value = getattr(layer, name)
        if wire.role is Role.NEXT and value is not None and not isinstance(layer, Udp):
            return f"has {name}={value}", "leave it open: it names the layer that follows"
        if wire.role is Role.ADDRESS and value is not None and (isinstance(layer, Ethernet) or layer is frame.network):
            return f"has {name}={value}", "leave it open: frames have the addresses of stations"
    if isinstance(layer, IPv4) and (layer.options or layer.fragment_offset or layer.flags & MORE_FRAGMENTS):
        return "has options or is a fragment", "use whole packets without options"
    if isinstance(layer, IPv4 | IPv6) and layer.version != type(layer)().version:
        return f"has version={layer.version}", f"use {type(layer)().version}"
    if layer in frame.extensions and layer.header_bytes > _LONGEST_EXTENSION_BYTES:
        return f"has {layer.header_bytes} bytes", f"use {_LONGEST_EXTENSION_BYTES} bytes or less"
    return None
