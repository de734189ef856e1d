"""A configuration of the API as what the tester is to have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from snappi import otg_pb2 as pb2

from p4mesh.errors import OtgError
from p4mesh.otg.captures import Capture, read_captures
from p4mesh.otg.devices import MOST_ADDRESSES, Devices, read_devices
from p4mesh.otg.elements import MOST_ERRORS, Element, OtgErrors, refusal
from p4mesh.otg.flows import Flow, read_flow
from p4mesh.otg.names import require_names
from p4mesh.otg.ports import Port, read_layer1, read_ports
from p4mesh.otg.validation import violations
from p4mesh.topology import Topology
from p4mesh.traffic.stream import MOST_STREAMS

_MOST_PORTS = 512
Read = TypeVar("Read")


@dataclass(frozen=True)
class Configuration:
    """Ports and flows that were read, and what the client is to be warned of."""

    ports: Mapping[str, Port] = field(default_factory=dict)
    devices: Devices = field(default_factory=Devices)
    flows: tuple[Flow, ...] = ()
    captures: Mapping[str, Capture] = field(default_factory=dict)
    """Settings by the name of the port."""
    warnings: tuple[str, ...] = ()
    starts_protocols: bool = False
    """Whether devices speak at once."""


def read_configuration(message: pb2.Config, topology: Topology) -> Configuration:
    """Read a configuration; raises OtgErrors with all that is wrong, as far as it can be told."""
    _require_few(message)
    data = validated(message)
    root = Element(data, "")
    errors: list[OtgError] = []

    def attempt(read: Callable[..., Read], *given: Any) -> Read | None:
        try:
            return read(*given)
        except OtgError as error:
            errors.append(error)
            return None

    attempt(require_names, data)
    ports = attempt(read_ports, root.elements("ports"), topology) or {}
    warnings: list[str] = []
    flows = []
    devices = Devices()
    captures: dict[str, Capture] = {}
    starts = attempt(_starts_protocols, root.element("options")) or False
    if not errors:
        warnings = attempt(read_layer1, root.elements("layer1"), ports) or []
        captures = attempt(read_captures, root.elements("captures"), ports, warnings) or {}
        devices = attempt(read_devices, root.elements("devices"), ports) or devices
        # Flows between devices that could not be read would add nothing but more errors.
        given = root.elements("flows")
        places = topology.tester_ports
        flows = [attempt(read_flow, element, ports, devices, places) for element in given] if not errors else []
        # Elements that nobody has read are not supported.
        attempt(root.close)
    if errors:
        raise OtgErrors(errors[:MOST_ERRORS])
    found = tuple(flow for flow in flows if flow)
    if any(flow.has_several_receivers for flow in found):
        # A port finds the flow of a frame in one way.
        found = tuple(flow.to_any_receiver() for flow in found)
    told = (*warnings, *devices.warnings, *(warning for flow in found for warning in flow.warnings))
    return Configuration(ports, devices, found, captures, told, starts)


def _require_few(message: pb2.Config) -> None:
    """Raise OtgErrors for more elements than the tester can have, before all of them are read, which takes a while."""
    addresses = sum(
        len(device.ipv4_loopbacks)
        + len(device.ipv6_loopbacks)
        + sum(len(ethernet.ipv4_addresses) + len(ethernet.ipv6_addresses) for ethernet in device.ethernets)
        for device in message.devices
    )
    bounds = (
        ("ports", f"are {len(message.ports):,}", len(message.ports), _MOST_PORTS, "the program"),
        ("devices", f"are {len(message.devices):,}", len(message.devices), MOST_ADDRESSES, "the server"),
        ("devices", f"have {addresses:,} addresses", addresses, MOST_ADDRESSES, "the server"),
        ("flows", f"are {len(message.flows):,}", len(message.flows), MOST_STREAMS, "the program"),
    )
    errors = [
        refusal(key, what, f"up to {most:,}, which {who} takes")
        for key, what, count, most, who in bounds
        if count > most
    ]
    if errors:
        raise OtgErrors(errors)


def validated(message: pb2.Config) -> Mapping[str, Any]:
    """The JSON of a configuration that the API finds valid; raises OtgErrors."""
    data = json_of(message)
    errors = list(islice(violations(message.DESCRIPTOR, data), MOST_ERRORS))
    if errors:
        raise OtgErrors(errors)
    return data


def json_of(message: Message) -> Mapping[str, Any]:
    """The JSON of a message; raises OtgErrors for elements that this version of the API does not have.

    Words that are ``unspecified`` are taken out of it: clients in Go send them where nothing was given.
    """
    unknown = [
        refusal(path or "the request", "has elements of a newer version of the API", "those of the server's version")
        for path in islice(_with_unknown_fields(message, ""), MOST_ERRORS)
    ]
    if unknown:
        raise OtgErrors(unknown)
    _take_out_unspecified(message)
    data: Mapping[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return data


def _take_out_unspecified(message: Message) -> None:
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for part in value if descriptor.is_repeated else [value]:
                _take_out_unspecified(part)
        elif descriptor.enum_type is not None and not descriptor.is_repeated and not value:
            message.ClearField(descriptor.name)


def _with_unknown_fields(message: Message, path: str) -> Iterator[str]:
    """Yield the paths of messages with fields that this version does not have."""
    if len(UnknownFieldSet(message)):
        yield path
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            at = f"{path}.{descriptor.name}" if path else descriptor.name
            for place, part in enumerate(value if descriptor.is_repeated else [value]):
                yield from _with_unknown_fields(part, f"{at}[{place}]" if descriptor.is_repeated else at)


def _starts_protocols(element: Element) -> bool:
    with element.whole():
        with element.element("port_options").whole() as ports:
            ports.require("data_integrity", False)
            ports.flag("location_preemption")
        with element.element("protocol_options").whole() as protocols:
            return protocols.flag("auto_start_all")
