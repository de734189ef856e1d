"""Metric tags on the headers that the frames of a flow come with: ``egress_packet``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.header_table import HEADERS
from p4mesh.otg.patterns import Tag, read_bits
from p4mesh.tester.received_fields import MOST_BITS, MOST_RANGES, RECEIVED_FIELDS, ReceivedBits

_Fields = Any
"""Fields of the tester that follow each other, or an object of the API with such fields."""
_OCTET = ("dscp", "ecn")
_FIELDS: Mapping[str, Mapping[str, _Fields]] = {
    "ethernet": {"dst": ("destination",), "src": ("source",)},
    "vlan": {"priority": ("priority",), "cfi": ("drop_eligible",), "id": ("vid",)},
    "mpls": {
        "label": ("label",),
        "traffic_class": ("traffic_class",),
        "bottom_of_stack": ("bottom",),
        "time_to_live": ("ttl",),
    },
    "ipv4": {
        "priority": {"raw": _OCTET, "dscp": {"phb": ("dscp",), "ecn": ("ecn",)}},
        "src": ("source",),
        "dst": ("destination",),
    },
    "ipv6": {
        "traffic_class": _OCTET,
        "flow_label": ("flow_label",),
        "dst": ("destination",),
    },
}
"""Fields of the API that can have tags."""
_UNSET = ("0", "16", "64", "0.0.0.0", "::0", "00:00:00:00:00:00")
"""Values of the API where none is given."""


@dataclass(frozen=True)
class EgressTag:
    """Name of a tag, and its bits."""

    name: str
    bits: ReceivedBits


def read_egress_tags(headers: Sequence[Element], path: str) -> tuple[EgressTag, ...]:
    """Read the list ``egress_packet`` of a flow; raises OtgError for tags that the tester cannot tell apart."""
    tags: list[EgressTag] = []
    kinds = []
    for header in headers:
        with header.whole():
            kind = header.choice(*HEADERS, default="ethernet")
            with header.element(kind).whole() as inner:
                found = list(_tags(inner, kind, _FIELDS.get(kind, {})))
        if found and kind in kinds:
            raise refusal(
                header.path, f"has tags, and another {kind} is in front of it", "tags on the first of its kind"
            )
        kinds.append(kind)
        tags += found
    ranges = ranges_of(tags)
    bits = sum(it.count for it in ranges)
    if len(ranges) > MOST_RANGES or bits > MOST_BITS or len({it.header for it in ranges}) > 1:
        what = f"has tags on {bits} bits of {', '.join(dict.fromkeys(it.header for it in ranges))}"
        raise refusal(path, what, f"up to {MOST_BITS} bits of one header, in {MOST_RANGES} places")
    return tuple(tags)


def ranges_of(tags: Sequence[EgressTag]) -> list[ReceivedBits]:
    """Bits of tags; those that follow each other are one range."""
    ranges: list[ReceivedBits] = []
    for it in (tag.bits for tag in tags):
        if ranges and (ranges[-1].header, ranges[-1].first + ranges[-1].count) == (it.header, it.first):
            ranges[-1] = ReceivedBits(it.header, ranges[-1].first, ranges[-1].count + it.count)
        else:
            ranges.append(it)
    return ranges


def values_of(tags: Sequence[EgressTag], number: int) -> tuple[Tag, ...]:
    """Values of tags in the number that their bits make, the first tag the highest."""
    left, values = sum(tag.bits.count for tag in tags), []
    for tag in tags:
        left -= tag.bits.count
        values.append((tag.name, f"0x{number >> left & ((1 << tag.bits.count) - 1):x}"))
    return tuple(values)


def _tags(element: Element, kind: str, fields: Mapping[str, _Fields]) -> Iterator[EgressTag]:
    widths = RECEIVED_FIELDS.get(kind, {})
    for key, names in fields.items():
        if key not in element:
            continue
        with element.element(key).whole() as inner:
            if isinstance(names, Mapping):
                inner.text("choice")
                yield from _tags(inner, kind, names)
                continue
            inner.choice("value", "auto", default="value")
            if "value" in inner and inner.text("value") not in _UNSET:
                raise refusal(inner.at("value"), "has no effect", "metric_tags alone")
            before = list(widths)[: list(widths).index(names[0])]
            for tag in inner.elements("metric_tags"):
                name, offset, count = read_bits(tag, sum(widths[name] for name in names))
                yield EgressTag(name, ReceivedBits(kind, sum(widths[name] for name in before) + offset, count))
