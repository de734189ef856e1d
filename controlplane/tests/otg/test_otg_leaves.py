"""Every property of a configuration has an effect, is refused with its place, or is warned of: none is ignored.

Method: small configurations, in which each property in turn gets values that the API finds valid, and each object that
is not there is added with what it requires. What is read then is not what was read before, or there is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest
import snappi
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from snappi import otg_pb2 as pb2
from support.otg_configuration import usual

from p4mesh.otg.configuration import Configuration, read_configuration
from p4mesh.otg.elements import OtgErrors
from p4mesh.topology import load_topology

TOPOLOGY = load_topology("back-to-back")
Path = tuple[str | int, ...]
FORMATS = {
    "mac": ["02:00:00:00:00:0a", "02:00:00:00:00:0b"],
    "ipv4": ["10.0.0.77", "10.0.0.78"],
    "ipv6": ["2001:db8::77", "2001:db8::78"],
    "hex": ["ab", "cd"],
    "oid": ["1.3", "1.4"],
}
TEXTS = ("zz", "p1", "e1", "v41", "10.0.0.77", "2001:db8::77", "x8100")
NUMBERS = (1, 3, 7, 100, 70_000, (1 << 31) - 1)
WITHOUT_EFFECT = {
    ".name": "a label",
    ".auto": "chosen by the tester, for a client to read",
    ".step": "of one value",
    ".next_hop_address_type": "of a next hop that is given",
    ".include_multi_exit_discriminator": "there is none to be left out",
    ".weight": "of one size",
    ".inter_burst_gap.bytes": "of bursts of one frame that the rate has apart",
    "location_preemption": "of the session",
    "egress_packet[0].vlan.cfi.metric_tags[0].offset": "the first of one bit",
    "egress_packet[0].mpls.bottom_of_stack.metric_tags[0].offset": "the first of one bit",
}
"""Ends of the paths of properties that may be ignored, and why."""


def configuration(*kinds: str) -> dict[str, Any]:
    """The JSON of two ports and a flow with headers of these kinds."""
    packet = [{"choice": kind, kind: {"bytes": "11223344"} if kind == "custom" else {}} for kind in kinds]
    flow = {"name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}}, "packet": packet}
    sizes = {"size": {"choice": "fixed", "fixed": 512}, "rate": {"choice": "pps", "pps": 100}}
    ports = [{"name": f"p{number}", "location": str(number)} for number in (1, 2)]
    metrics = {"enable": True, "latency": {"enable": True}}
    return {"ports": ports, "flows": [{**flow, **sizes, "metrics": metrics}]}


def with_devices() -> dict[str, Any]:
    """The JSON of two ports and devices that speak BGP."""
    config: dict[str, Any] = json_format.MessageToDict(usual(), preserving_proto_field_name=True)
    kept = {key: config[key] for key in ("ports", "devices", "captures", "layer1")}
    device = kept["devices"][0]
    device["ipv6_loopbacks"] = [{"name": "lo6", "eth_name": "e1", "address": "2001:db8:1::1"}]
    peer = {"name": "peer6", "peer_address": "2001:db8::2", "as_type": "ebgp", "as_number": 65001}
    peer["v6_routes"] = [{"name": "routes6", "addresses": [{"address": "2001:db8:2::"}]}]
    device["bgp"]["ipv6_interfaces"] = [{"ipv6_name": "v61", "peers": [peer]}]
    return kept


def read(data: Mapping[str, Any]) -> Configuration | list[str]:
    """The configuration as it is read, or the errors."""
    try:
        return read_configuration(json_format.ParseDict(data, pb2.Config()), TOPOLOGY)
    except OtgErrors as errors:
        return [error.message for error in errors.errors]


def values(field: FieldDescriptor, model: Any) -> list[Any]:
    """Values that the API finds valid for a property."""
    details = model._TYPES[field.name]
    if "enum" in details:
        return list(details["enum"])
    kind = details["itemtype"] if field.is_repeated else details["type"]
    if kind is bool:
        return [True, False]
    if kind is int:
        least, most = details.get("minimum", 1), details.get("maximum", NUMBERS[-1])
        return [number for number in dict.fromkeys((least, *NUMBERS, most)) if least <= number <= most]
    if kind is float:
        return [0.5, 3, 50]
    form = details.get("itemformat", details.get("format"))
    return FORMATS[form] if form in FORMATS else list(TEXTS)


def required(descriptor: Descriptor) -> dict[str, Any]:
    """The JSON of an object with what it requires."""
    model, data = getattr(snappi, descriptor.name), {}
    for name in model._REQUIRED:
        field = descriptor.fields_by_name[name]
        value = required(field.message_type) if field.message_type else values(field, model)[0]
        data[name] = [value] if field.is_repeated else value
    return data


def ignored(data: dict[str, Any], path: Path, descriptor: Descriptor) -> Iterator[str]:
    """Yield the paths of properties of an object, and of those in it, of which several values are taken in vain."""
    model, before = getattr(snappi, descriptor.name), read(data)
    choices = descriptor.fields_by_name.get("choice")
    kinds = [value.name for value in choices.enum_type.values] if choices else []
    for field in descriptor.fields:
        if field is choices:
            continue
        at = (*path, field.name)
        if field.message_type is None:
            if in_vain_with(
                before,
                (
                    changed(data, path, field.name, [value] if field.is_repeated else value, kinds)
                    for value in values(field, model)
                ),
            ):
                yield ".".join(map(str, at))
            continue
        inner = data
        if not item(data, path).get(field.name):
            added = required(field.message_type)
            inner = changed(data, path, field.name, [added] if field.is_repeated else added, kinds)
        after = read(inner)
        # An object that is warned of as a whole has no effect in any way.
        if isinstance(after, Configuration) and (inner is data or not warned(after) - warned(before)):
            yield from ignored(inner, (*at, 0) if field.is_repeated else at, field.message_type)


def in_vain_with(before: Configuration | list[str], tried: Iterable[dict[str, Any]]) -> bool:
    """Whether more than one value is taken, and none of them changes anything; the first that does is enough."""
    taken = 0
    for one in tried:
        result = read(one)
        if isinstance(result, Configuration):
            if result != before:
                return False
            taken += 1
    return taken > 1


def warned(read_before: Configuration | list[str]) -> set[str]:
    return set(read_before.warnings) if isinstance(read_before, Configuration) else set()


def item(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def changed(data: dict[str, Any], path: Path, name: str, value: Any, kinds: Sequence[str]) -> dict[str, Any]:
    """The configuration with a property, which is the choice where it is one of the kinds."""
    copied = deepcopy(data)
    found = item(copied, path)
    if name in kinds:
        for kind in kinds:
            found.pop(kind, None)
        found["choice"] = name
    found[name] = value
    return copied


HEADERS = {
    "ethernet": ("ethernet",),
    "vlan": ("ethernet", "vlan", "ipv4", "udp"),
    "ipv4": ("ethernet", "ipv4", "udp"),
    "udp": ("ethernet", "ipv4", "udp"),
    "ipv6": ("ethernet", "ipv6", "tcp"),
    "tcp": ("ethernet", "ipv6", "tcp"),
    "icmp": ("ethernet", "ipv4", "icmp"),
    "icmpv6": ("ethernet", "ipv6", "icmpv6"),
    "vxlan": ("ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "udp"),
    "mpls": ("ethernet", "mpls", "ipv4", "udp"),
    "gre": ("ethernet", "ipv4", "gre", "ipv4", "udp"),
    "gtpv1": ("ethernet", "ipv4", "udp", "gtpv1", "ipv4", "udp"),
    "custom": ("ethernet", "ipv4", "udp", "custom"),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_every_property_of_a_header_has_an_effect_or_is_refused(kind: str) -> None:
    kinds = HEADERS[kind]
    path = ("flows", 0, "packet", kinds.index(kind), kind)
    descriptor = pb2.FlowHeader.DESCRIPTOR.fields_by_name[kind].message_type
    assert in_vain(configuration(*kinds), path, descriptor) == []


@pytest.mark.parametrize(
    "field", [it for it in pb2.Flow.DESCRIPTOR.fields if it.name != "packet"], ids=lambda it: it.name
)
def test_every_property_of_a_flow_has_an_effect_or_is_refused(field: FieldDescriptor) -> None:
    data = configuration("ethernet", "ipv4", "udp")
    if field.message_type is None:
        return
    added = required(field.message_type)
    data["flows"][0].setdefault(field.name, [added] if field.is_repeated else added)
    path = ("flows", 0, field.name, *([0] if field.is_repeated else []))
    assert in_vain(data, path, field.message_type) == []


@pytest.mark.parametrize(
    "field", [it for it in pb2.Config.DESCRIPTOR.fields if it.name != "flows"], ids=lambda it: it.name
)
def test_every_property_of_the_rest_has_an_effect_or_is_refused(field: FieldDescriptor) -> None:
    data = with_devices()
    added = required(field.message_type)
    data.setdefault(field.name, [added] if field.is_repeated else added)
    assert in_vain(data, (field.name, *([0] if field.is_repeated else [])), field.message_type) == []


def in_vain(data: dict[str, Any], path: Path, descriptor: Descriptor) -> list[str]:
    """The paths of what is ignored, and should not be."""
    return [it for it in ignored(data, path, descriptor) if not it.endswith(tuple(WITHOUT_EFFECT))]
