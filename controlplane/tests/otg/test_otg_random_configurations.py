"""Random configurations: each is taken, or refused with a message; none ends in an error of ours.

Method: a configuration of all kinds of elements, of which some fields get other values, elements come in addition or
are taken away. P4MESH_OTG_CONFIGURATIONS=5000 tries as many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from snappi import otg_pb2 as pb2
from support.otg_configuration import NUMBERS, REALS, TEXTS, usual

from p4mesh.errors import P4MeshError
from p4mesh.otg.elements import OtgErrors
from p4mesh.otg.locations import Topologies
from p4mesh.otg.pace import TimeMode
from p4mesh.otg.session import Session
from p4mesh.shipped import shipped
from p4mesh.target.table import TARGETS
from p4mesh.topology import load_topology

COUNT = int(os.environ.get("P4MESH_OTG_CONFIGURATIONS", "60"))


def parts(message: Any) -> Iterator[Any]:
    """Yield a message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                yield from parts(part)


def change(message: Any, random: Random) -> None:
    """Give a field of a message another value, an element more, or take it away."""
    fields = message.DESCRIPTOR.fields
    if not fields:
        return
    field = random.choice(fields)
    if random.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is not None:
        part = getattr(message, field.name)
        if field.is_repeated:
            if part and random.random() < 0.5:
                part.add().CopyFrom(random.choice(part))
                return
            part = part.add()
        else:
            part.SetInParent()
        choose(part, random)
    elif field.is_repeated:
        getattr(message, field.name).extend(value_of(field, random) for _ in range(random.randint(1, 3)))
    else:
        setattr(message, field.name, value_of(field, random))
        choose(message, random, field.name)


def choose(message: Any, random: Random, wanted: str = "") -> None:
    """Let the choice of a message, where it has one, name an element that is then there."""
    choices = message.DESCRIPTOR.fields_by_name.get("choice")
    if choices is not None and choices.enum_type is not None:
        names = [value.name for value in choices.enum_type.values if value.number]
        name = wanted if wanted in names else random.choice(names)
        message.choice = choices.enum_type.values_by_name[name].number
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is not None and field.message_type is not None and not field.is_repeated:
            getattr(message, name).SetInParent()
            choose(getattr(message, name), random)


def value_of(field: Any, random: Random) -> Any:
    if field.enum_type is not None:
        return random.choice(field.enum_type.values).number
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return random.choice(TEXTS)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return random.random() < 0.5
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return random.choice(REALS)
    bits = 31 if field.cpp_type == FieldDescriptor.CPPTYPE_INT32 else 32
    fitting = [number for number in NUMBERS if "64" in str(field.type) or number < 1 << bits]
    return random.choice(fitting)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    topologies = Topologies(load_topology("back-to-back"), shipped("topologies"))
    opened = Session(TARGETS["sim"], topologies, TimeMode.FAST)
    opened.open()
    yield opened
    opened.close()


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_configuration_is_taken_or_refused(session: Session, seed: int) -> None:
    random, config = Random(seed), usual()
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        change(random.choice(list(parts(config))), random)
    try:
        session.set_config(config)
        session.set_control_state(start())
    except OtgErrors as errors:
        assert all(error.message for error in errors.errors)
    except P4MeshError as error:
        assert error.message


def start() -> pb2.ControlState:
    control = pb2.ControlState()
    control.choice = pb2.ControlState.Choice.traffic
    control.traffic.choice = pb2.StateTraffic.Choice.flow_transmit
    control.traffic.flow_transmit.state = pb2.StateTrafficFlowTransmit.State.start
    return control
