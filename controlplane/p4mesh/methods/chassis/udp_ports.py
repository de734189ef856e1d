"""UDP ports of the frames of chassis tests (RFC 4814 section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p4mesh.layers import udp
from p4mesh.methods.options.parameters import ParameterSet, choice
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom
from p4mesh.trial.spec import TrialSpec

FIXED, IN_TURN, RANDOM = "fixed", "in_turn", "random"
_PORTS = 8000
_RANDOM_MASK = 0x1FFF
_FIELDS = (udp.SOURCE, udp.DESTINATION)
_MODIFIERS: dict[str, tuple[FieldModifier, ...]] = {
    FIXED: (),
    IN_TURN: tuple(FieldModifier(field, Progression(_PORTS)) for field in _FIELDS),
    RANDOM: tuple(FieldModifier(field, PseudoRandom(seed, _RANDOM_MASK)) for seed, field in enumerate(_FIELDS, 1)),
}
UDP_PORTS = choice(
    "udp_ports",
    FIXED,
    "RFC 4814 4",
    "UDP source and destination: 20001; 20001 to 28000 in turn; or 8192 from 20001 at random",
    tuple(_MODIFIERS),
)


def udp_modifiers(parameters: ParameterSet) -> tuple[FieldModifier, ...]:
    """Modifiers that change the ports of a stream from frame to frame."""
    return _MODIFIERS[parameters.text(UDP_PORTS.name)]


def with_udp_ports(spec: TrialSpec, names: Sequence[str], parameters: ParameterSet) -> TrialSpec:
    """A trial whose streams of these names have the ports that the parameters ask for."""
    modifiers = udp_modifiers(parameters)
    streams = (replace(one, modifiers=modifiers) if one.name in names else one for one in spec.streams)
    return replace(spec, streams=tuple(streams))
