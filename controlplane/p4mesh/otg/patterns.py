"""Values of header fields: constant, listed, counting up or down, random; as the tester changes fields."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from random import Random

from p4mesh.otg.elements import Element, refusal
from p4mesh.traffic.stream import Progression, ValueList

_MOST_VALUES = 16_384
"""Entries of the lists of all flows together."""
_COLONS_OF_MAC = 5
_KINDS = ("value", "values", "increment", "decrement", "random")


@dataclass(frozen=True)
class FieldValues:
    """First value of a field, and what is added to it from frame to frame; None: it never changes."""

    first: int
    added: Progression | ValueList | None = None


def number_of(text: str) -> int:
    """Number of a value: of a MAC address, an IP address, or a number."""
    if text.count(":") == _COLONS_OF_MAC and "::" not in text:
        return int(text.replace(":", ""), 16)
    return int(ip_address(text)) if "." in text or ":" in text else int(text)


def field_values(element: Element, width_bits: int, *, auto: bool = False) -> FieldValues | None:
    """Read a pattern; None without a value, and where ``auto`` leaves it to the tester.

    What is added counts modulo ``width_bits``.
    """
    with element.whole():
        if "metric_tags" in element:
            raise refusal(element.at("metric_tags"), "is not supported", "")
        kind = element.choice(*_KINDS, *(["auto"] if auto else []), default="value")
        if kind == "auto":
            return None
        if kind == "value":
            return FieldValues(number_of(element.text("value"))) if "value" in element else None
        if kind == "values":
            values = [number_of(text) for text in element.texts("values")]
        elif kind == "random":
            values = _random_values(element.element("random"), width_bits)
        else:
            return _counting(element.element(kind), width_bits, 1 if kind == "increment" else -1)
        return _listed(element.at(kind), values, width_bits)


def _counting(element: Element, width_bits: int, sign: int) -> FieldValues:
    with element.whole():
        first, step = number_of(element.text("start", "0")), number_of(element.text("step", "1"))
        count = element.integer("count", 1)
    if count <= 1 or step == 0:
        return FieldValues(first)
    if step * count < 1 << 31:
        return FieldValues(first, Progression(count, sign * step))
    # The tester adds a signed number of 32 bits; larger sums are listed.
    if count > _MOST_VALUES:
        raise refusal(element.at("count"), f"is {count} with steps of {step}", f"1 to {_MOST_VALUES}, or smaller steps")
    mask = (1 << width_bits) - 1
    return _listed(element.path, [(first + sign * step * place) & mask for place in range(count)], width_bits)


def _random_values(element: Element, width_bits: int) -> list[int]:
    with element.whole():
        lowest = number_of(element.text("min", "0"))
        highest = number_of(element.text("max")) if "max" in element else (1 << width_bits) - 1
        random, count = Random(element.integer("seed", 1)), element.integer("count", 1)
    if lowest > highest:
        raise refusal(element.at("min"), "is larger than max", "min up to max")
    if not 1 <= count <= _MOST_VALUES:
        raise refusal(element.at("count"), f"is {count}", f"1 to {_MOST_VALUES}")
    return [random.randint(lowest, highest) for _ in range(count)]


def _listed(path: str, values: list[int], width_bits: int) -> FieldValues:
    if not 1 <= len(values) <= _MOST_VALUES:
        raise refusal(path, f"has {len(values)} values", f"1 to {_MOST_VALUES}")
    first = values[0]
    added = tuple((value - first) % (1 << width_bits) for value in values)
    return FieldValues(first, ValueList(added) if any(added) else None)
