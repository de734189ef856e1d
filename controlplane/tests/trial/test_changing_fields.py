"""Each field of each layer that can change does so by its modifier, and no other; Scapy finds every checksum right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from scapy.layers.l2 import Ether
from support.networks import shipped
from support.stacks import STACKS

from p4mesh.layers import Ethernet, Frame, IPv4, Layer, Modifiable
from p4mesh.layers.layer import changing_fields
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.contract import load_contract
from p4mesh.tester.seed_layout import field_place, fields_of
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.parts.headers import COMPARED_FRAMES
from p4mesh.trial.spec import Learning, TrialSpec

FRAMES = 3
FIELDS_OF_A_TRIAL = COMPARED_FRAMES // FRAMES
TURN_NS = 40_000
"""Time of the frames of one field."""
NOT_OF_SCAPY = ("PPP over Ethernet", "GTP-U Header")
"""Layers whose lengths or checksums Scapy does not compute as it finds them."""
FIELDS = fields_of(load_contract())


def changing(frame: Frame) -> Iterator[tuple[Modifiable, int]]:
    """Yield the fields that the program changes, with the places of their layers."""
    for place, layer in enumerate(frame.layers):
        same = [other for other in range(place) if type(frame.layers[other]) is type(layer)]
        for name, wire in changing_fields(type(layer)):
            field = Modifiable.of_name(f"{layer.kind}[{len(same)}].{name}")
            base = getattr(layer, name)
            above = isinstance(base, int) and base + step_of(field) * FRAMES >= 1 << wire.width_bits
            found = field_place(frame, field, FIELDS)
            wraps = found and found.shift + found.width_bits == found.container_bits
            if found and (wraps or (wire.width_bits > 1 and not above)):
                yield field, place


def step_of(field: Modifiable) -> int:
    """Odd flags of IPv4 would make fragments."""
    return 2 if (field.layer, field.field) == (IPv4, "flags") else 1


def number(layer: Layer, name: str) -> int:
    value = getattr(layer, name)
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)


def captured(
    measurer: TrialEngine, frame: Frame, fields: Sequence[Modifiable], into: list[bytes]
) -> Iterator[Sequence[bytes]]:
    """Send one stream for each field, which changes in it; yield the frames of each as they came."""
    for first in range(0, len(fields), FIELDS_OF_A_TRIAL):
        into.clear()
        streams = tuple(
            Stream(
                f"s{place}",
                340,
                Fraction(100_000),
                FRAMES,
                Pairs(),
                (1,),
                (2,),
                frame,
                start_offset_ns=(place * TURN_NS,),
                modifiers=(FieldModifier(field, Progression(FRAMES, step_of(field))),),
            )
            for place, field in enumerate(fields[first : first + FIELDS_OF_A_TRIAL])
        )
        spec = TrialSpec("s", streams, TURN_NS, Learning(enabled=False), 10**6, 0, received_headers="ipv4")
        result = measurer.measure(spec)
        assert result.rx_frames == len(into) == FRAMES * len(streams)
        for place in range(0, len(into), FRAMES):
            yield into[place : place + FRAMES]


def test_every_field_changes_by_its_modifier_and_checksums_are_those_of_scapy(came: list[bytes]) -> None:
    changed = 0
    # An address of the inner Ethernet header that is left open is that of the outer one.
    with open_measurer(shipped("back-to-back")) as measurer:
        for name, layers in STACKS.items():
            frame = Frame(layers)
            fields = list(changing(frame))
            captures = captured(measurer, frame, [field for field, _ in fields], came)
            for (field, place), frames in zip(fields, captures, strict=True):
                read = [Frame.read(data) for data in frames]
                values = [number(one.completed(payload).layers[place], field.field) for one, payload in read]
                steps = [(value - values[0]) % (1 << field.width_bits) for value in values]
                wanted = [step_of(field) * turn % (1 << field.width_bits) for turn in range(FRAMES)]
                assert steps == wanted, (name, field.name)
                others = [
                    [
                        getattr(layer, key)
                        for at, layer in enumerate(one.layers[: len(frame.layers)])
                        for key, wire in layer.wires
                        if (at, key) != (place, field.field)
                        and not wire.is_checksum
                        and not isinstance(layer, Ethernet)
                    ]
                    for one, _ in read
                ]
                assert others == [others[0]] * FRAMES, (name, field.name)
                # The first frame of each field is the same.
                assert bytes(recomputed(frames[-1])) == frames[-1], (name, field.name)
                changed += 1
    assert changed > 600


def recomputed(data: bytes) -> Ether:
    """The frame with checksums by Scapy."""
    packet = Ether(data)
    for layer in packet.iterpayloads():
        for key in ("chksum", "cksum"):
            # A checksum of UDP of 0 is none.
            if layer.fields.get(key) and layer.name not in NOT_OF_SCAPY:
                delattr(layer, key)
    return packet


@pytest.mark.parametrize(
    ("field", "vids"), [("vlan.vid", (200, 9)), ("vlan[0].vid", (200, 9)), ("service_tag.vid", (202, 7))]
)
def test_a_tag_of_a_provider_is_no_tag_of_a_customer(came: list[bytes], field: str, vids: tuple[int, int]) -> None:
    """Goal: a field of `vlan` changes in the layer of that name, also where a `service_tag` is in front of it."""
    frame = frame_of_text("service_tag(vid=200)/vlan(vid=7)/ipv4/udp")
    with open_measurer(shipped("back-to-back")) as measurer:
        (frames,) = captured(measurer, frame, [Modifiable.of_name(field)], came)
    assert Frame.read(frames[-1])[0].vids == vids
