"""Frames for any program: its parser is walked at random, and each header is filled on the way.

Fields that a state selects on get one of the values of its transitions; other fields get a value of
the pool of their name, so that tables filled from the same pools are hit, or any value.
"""

from __future__ import annotations

import random
from typing import Any

from harness.layout import edge_value

_MAX_STATES = 24
_POOL_SIZE = 4


class Pools:
    """A few values for each name and width, made when they are first asked for."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._values: dict[tuple[str, int], list[int]] = {}

    def of(self, name: str, width: int) -> list[int]:
        """The values of a name."""
        key = (name, width)
        if key not in self._values:
            self._values[key] = [edge_value(self._rng, width) for _ in range(_POOL_SIZE)]
        return self._values[key]


class GuidedFrames:
    """Makes frames for the parser of one BMv2 JSON program."""

    def __init__(self, program: dict[str, Any], rng: random.Random, pools: Pools) -> None:
        self._rng = rng
        self._pools = pools
        types = {kind["name"]: kind["fields"] for kind in program["header_types"]}
        # Headers of unions may have types that the program does not list.
        self._fields = {header["name"]: types.get(header["header_type"], []) for header in program["headers"]}
        stacks = program.get("header_stacks", [])
        self._fields |= {stack["name"]: types[stack["header_type"]] for stack in stacks}
        parser = program["parsers"][0]
        self._states = {state["name"]: state for state in parser["parse_states"]}
        self._start = parser["init_state"]

    def frame(self) -> bytes:
        """A frame that leads somewhere in the parser, sometimes cut short."""
        bits: list[tuple[int, int]] = []
        """(width, value) in wire order."""
        place: dict[tuple[str, str], int] = {}
        name: str | None = self._start
        for _ in range(_MAX_STATES):
            if name is None:
                break
            state = self._states[name]
            for operation in state["parser_ops"]:
                self._extract(operation, bits, place)
            name = self._next(state, bits, place)
        width = sum(size for size, _ in bits)
        number = 0
        for size, value in bits:
            number = number << size | value & ((1 << size) - 1)
        padding = -width % 8
        data = (number << padding).to_bytes((width + padding) // 8, "big") + self._rng.randbytes(
            self._rng.randint(0, 40)
        )
        if self._rng.randrange(10) == 0:
            data = data[: self._rng.randint(1, max(1, len(data)))]
        return data or b"\0"

    def _extract(
        self, operation: dict[str, Any], bits: list[tuple[int, int]], place: dict[tuple[str, str], int]
    ) -> None:
        if operation["op"] not in ("extract", "extract_VL"):
            return
        target = operation["parameters"][0]["value"]
        header = target if isinstance(target, str) else target[0]
        for field, width, *_ in self._fields.get(header, []):
            if width == "*":
                continue
            place[header, field] = len(bits)
            values = self._pools.of(field, width)
            value = self._rng.choice(values) if self._rng.random() < 0.6 else edge_value(self._rng, width)
            bits.append((width, value))
        if operation["op"] == "extract_VL":
            size = self._rng.randint(0, 12)
            bits.append((8 * size, self._rng.getrandbits(8 * size) if size else 0))

    def _next(
        self, state: dict[str, Any], bits: list[tuple[int, int]], place: dict[tuple[str, str], int]
    ) -> str | None:
        transition = self._rng.choice(state["transitions"])
        text = transition.get("value")
        if isinstance(text, str) and text.startswith("0x"):
            value = int(text, 16)
            if transition.get("mask"):
                value &= int(transition["mask"], 16)
            self._set_keys(state["transition_key"], value, bits, place)
        following: str | None = transition["next_state"]
        return following

    def _set_keys(
        self, keys: list[dict[str, Any]], value: int, bits: list[tuple[int, int]], place: dict[tuple[str, str], int]
    ) -> None:
        """Write the parts of a transition's value, each a whole number of bytes, into the fields of the key."""
        for key in reversed(keys):
            if key["type"] == "lookahead":
                width = key["value"][1]
                part, value = value & ((1 << (width + 7) // 8 * 8) - 1), value >> ((width + 7) // 8 * 8)
                continue
            if key["type"] not in ("field", "stack_field"):
                return
            header, field = key["value"]
            number = place.get((header, field))
            found = [size for name, size, *_ in self._fields.get(header, []) if name == field]
            if not found or found[0] == "*":
                return
            size = (found[0] + 7) // 8 * 8
            part, value = value & ((1 << size) - 1), value >> size
            if number is not None:
                bits[number] = (bits[number][0], part)
