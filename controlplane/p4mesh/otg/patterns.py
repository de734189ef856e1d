"""Values of header fields: constant, listed, counting up or down, random; as the tester changes fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from math import gcd
from random import Random

from p4mesh.otg.elements import Element, refusal
from p4mesh.traffic.stream import Progression, ValueList

_MOST_VALUES = 16_384
"""Entries of one list."""
_COLONS_OF_MAC = 5
_KINDS = ("value", "values", "increment", "decrement", "random")
_WIDEST_BITS = 64

Tag = tuple[str, str]
"""Name of a metric tag, and the value that it has."""


@dataclass(frozen=True)
class FieldValues:
    """First value of a field, and what is added to it from frame to frame; None: it never changes."""

    first: int
    added: Progression | ValueList | None = None

    @property
    def period(self) -> int:
        """Frames after which the values come again."""
        if isinstance(self.added, Progression):
            return self.added.count
        return len(self.added.values) if self.added else 1

    def every(self, step: int, place: int, width_bits: int) -> FieldValues:
        """The values in every ``step``-th frame, from frame ``place`` on."""
        added, period = self.added, self.period
        if added is None or step == 1:
            return self
        if isinstance(added, Progression):
            first = (self.first + added.step * (place % period)) % (1 << width_bits)
            if period % step == 0:
                # No wrap comes between two of these frames but at the end.
                left = period // step
                return FieldValues(first, Progression(left, step * added.step) if left > 1 else None)
        found = [self._at((place + number * step) % period) for number in range(period // gcd(period, step))]
        rest = tuple((value - found[0]) % (1 << width_bits) for value in found)
        return FieldValues(found[0] % (1 << width_bits), ValueList(rest) if any(rest) else None)

    def _at(self, place: int) -> int:
        if isinstance(self.added, Progression):
            return self.first + self.added.step * place
        return self.first + (self.added.values[place] if self.added else 0)


class Patterns:
    """Reads the patterns of the headers of a flow, as they are in every ``step``-th frame, from frame ``place`` on."""

    def __init__(self, step: int = 1, place: int = 0) -> None:
        self._step, self._place = step, place
        self.apart: dict[str, int] = {}
        """Periods, by their paths, of the patterns of which each value needs a stream of its own."""
        self.tags: list[Tag] = []
        """Metric tags of these frames; they are valid once every pattern of ``apart`` is constant."""
        self.warnings: list[str] = []
        """On what has no effect."""

    def values(self, element: Element, width_bits: int, *, auto: bool = False) -> FieldValues | None:
        """Read a pattern; None without a value, and where ``auto`` leaves it to the tester."""
        with element.whole():
            found = _read(element, width_bits, auto)
            tags = element.elements("metric_tags")
            if tags and found and found.period > 1:
                self.apart[element.path] = found.period
            if found and found.period > _MOST_VALUES and found.period % self._step:
                valid = f"a multiple of {self._step}, or up to {_MOST_VALUES}"
                raise refusal(element.path, f"has {found.period} values, for {self._step} streams", valid)
            found = found and found.every(self._step, self._place, width_bits)
            for tag in tags:
                if found is None or width_bits == _WIDEST_BITS:
                    raise refusal(tag.path, "is on a field without values of its own", "fields with values")
                self.tags.append(read_tag(tag, found.first, width_bits))
        return found

    def optional_constant(self, element: Element, key: str, width_bits: int = _WIDEST_BITS) -> int | None:
        """Value of a field that the tester cannot change in a stream; None where it is left out or left to it."""
        values = self.values(element.element(key), width_bits, auto=True)
        if values and values.added is not None:
            self.apart[element.at(key)] = values.period
        return values.first if values else None

    def constant(self, element: Element, key: str, width_bits: int = _WIDEST_BITS) -> int:
        """The same; 0 where it is left out."""
        return self.optional_constant(element, key, width_bits) or 0

    def bits(self, element: Element, names: Sequence[str]) -> int:
        """Number of single bits, the highest first."""
        number = 0
        for name in names:
            number = number << 1 | self.constant(element, name, 1)
        return number


def read_tag(element: Element, value: int, width_bits: int) -> Tag:
    """Read a metric tag on some bits, by default all, of a field with this value."""
    name, offset, length = read_bits(element, width_bits)
    return name, f"0x{value >> (width_bits - offset - length) & ((1 << length) - 1):x}"


def read_bits(element: Element, width_bits: int) -> tuple[str, int, int]:
    """Read name, first bit and number of bits of a metric tag on a field."""
    with element.whole():
        name, offset = element.text("name"), element.integer("offset")
        length = element.integer("length", width_bits - offset)
    if not 1 <= length <= width_bits - offset:
        what = f"has {length} bits from bit {offset} on, of a field of {width_bits} bits"
        raise refusal(element.path, what, "bits of the field")
    return name, offset, length


def number_of(text: str) -> int:
    """Number of a value: of a MAC address, an IP address, or a number."""
    if text.count(":") == _COLONS_OF_MAC and "::" not in text:
        return int(text.replace(":", ""), 16)
    return int(ip_address(text)) if "." in text or ":" in text else int(text)


def _read(element: Element, width_bits: int, auto: bool) -> FieldValues | None:
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
    return _listed(element.path, [first + sign * step * place for place in range(count)], width_bits)


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
