"""Parsers and deparsers of a program for Tofino: bits to headers, headers to bits, and checksums between.

The chip takes a frame apart behind its intrinsic metadata, and puts what the parser has not taken behind the headers
that the deparser emits. Limits of the chip's parser (depth, extractions for each state) are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from support.p4_interpreter import (
    Control,
    Entries,
    Execution,
    Extern,
    MatchKey,
    Number,
    Program,
    Struct,
    fits,
    joined_bits,
)
from support.p4_syntax import Node, ParserTree

Reference = Callable[..., Any]
_WORD = 0xFFFF
_MOST_MIRRORED_BITS = 8 * 28


class TooShort(Exception):
    """A parser has come to the end of a frame."""


class Bits(Extern):
    """A frame that is taken apart."""

    def __init__(self, value: int, size: int) -> None:
        self._value, self._left = value, size

    def _take(self, width: int) -> int:
        if width > self._left:
            raise TooShort
        self._left -= width
        taken = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return taken

    def extract(self, header: Reference) -> None:
        found = header()
        for name, number in found.members.items():
            found.set(name, self._take(number.width))
        found.is_valid = True

    def advance(self, width: Reference) -> None:
        self._take(width().value)

    def lookahead(self, zeros: Any) -> Any:
        """The part that follows, in the form of a number or a struct."""
        before = self._value, self._left
        if isinstance(zeros, Struct):
            self.extract(lambda: zeros)
        else:
            zeros = Number(self._take(zeros.width), zeros.width)
        self._value, self._left = before
        return zeros

    def rest(self) -> bytes:
        """Bytes that the parser has not read."""
        return self._value.to_bytes(self._left // 8, "big")


class Emitted(Extern):
    """A frame that is put together."""

    def __init__(self) -> None:
        self._numbers: list[Number] = []

    def emit(self, header: Reference) -> None:
        found = header()
        for one in found if isinstance(found, list) else [found]:
            if one.is_valid:
                self._numbers += one.members.values()

    def bytes(self) -> bytes:
        size = sum(number.width or 0 for number in self._numbers)
        assert size % 8 == 0, "headers are whole bytes"
        return joined_bits(self._numbers).to_bytes(size // 8, "big")


class Mirror(Extern):
    """Copies of the frame that the gress has received: the session of each, and what stands in front of it."""

    def __init__(self) -> None:
        self.copies: list[tuple[int, bytes]] = []

    def emit(self, session: Reference, fields: Reference) -> None:
        numbers = list(fields())
        size = sum(number.width or 0 for number in numbers)
        assert size % 8 == 0 and size <= _MOST_MIRRORED_BITS, "what a mirror puts in front is whole bytes, and not many"
        self.copies.append((session().value, joined_bits(numbers).to_bytes(size // 8, "big")))


class Checksum(Extern):
    """The Internet checksum; ``subtract`` leaves what a frame adds to it beside the fields that are taken out."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, fields: Reference) -> None:
        self._sum = _added(self._sum, _sum_of(fields()))

    def subtract(self, fields: Reference) -> None:
        self._sum = _added(self._sum, _sum_of(fields()) ^ _WORD)

    def subtract_all_and_deposit(self, field: Reference) -> None:
        """Hand over the sum; nothing is extracted behind it."""
        field(Number(self._sum, 16))

    def verify(self) -> Number:
        """1 for a wrong checksum."""
        return Number(self._sum != _WORD, 1)

    def update(self, fields: Reference, zeros_as_ones: Reference = lambda: Number(0, 1)) -> Number:
        found = _sum_of(fields()) ^ _WORD
        return Number(_WORD if found == 0 and zeros_as_ones().value else found, 16)


def _sum_of(fields: Any) -> int:
    numbers = list(fields.members.values()) if isinstance(fields, Struct) else list(fields)
    size = sum(number.width or 0 for number in numbers)
    assert size % 16 == 0, "fields of a checksum are whole words"
    joined, total = joined_bits(numbers), 0
    while joined:
        total = _added(total, joined & _WORD)
        joined >>= 16
    return total


def _added(first: int, second: int) -> int:
    total = first + second
    return (total & _WORD) + (total >> 16)


class _ValueSet:
    def __init__(self, members: Sequence[MatchKey]) -> None:
        self.members = members

    def has(self, key: int) -> bool:
        return any(key & mask == value & mask for value, mask in self.members)


class Parser:
    """A parser; ``value_sets`` has the members of each of its value sets."""

    def __init__(self, program: Program, name: str, value_sets: Mapping[str, Sequence[MatchKey]]) -> None:
        self.program = program
        self.tree: ParserTree = program.tree.parsers[name]
        self.instances: dict[str, Any] = {}
        self._value_sets = {name: _ValueSet(members) for name, members in value_sets.items()}

    def parse(self, frame: Bits) -> tuple[Struct, Struct, Struct]:
        """Headers, metadata of the program, and intrinsic metadata; raise TooShort for a frame that ends."""
        self.instances = {name: Checksum() for kind, _, name, _ in self.tree.instances if kind[0] == "Checksum"}
        (_, _, packet), *outputs = self.tree.parameters
        names: dict[str, Any] = {packet: frame}
        for _, kind, name in outputs:
            names[name] = self.program.new(kind)
        execution, state = Execution(self, [names]), "start"
        while state not in ("accept", "reject"):
            found = self.tree.states[state]
            execution.run(found.statements)
            keys = [execution.value(key).bits for key in found.keys]
            state = next(
                following
                for matches, following in found.transitions
                if not keys or matches == [("name", "default")] or self._fit(execution, keys, matches)
            )
        assert state == "accept", "no parser of the tester rejects"
        headers, local, standard = (names[name] for _, _, name in outputs)
        return headers, local, standard

    def _fit(self, execution: Execution, keys: list[int], matches: list[Node]) -> bool:
        return all(
            self._value_sets[match[1]].has(key)
            if match[0] == "name" and match[1] in self._value_sets
            else fits(key, execution.match_key(match))
            for key, match in zip(keys, matches, strict=True)
        )


class Deparser:
    """A deparser."""

    def __init__(self, program: Program, name: str) -> None:
        entries: Entries = {}
        self._control = Control(
            program, program.tree.controls[name], entries, externs={"Checksum": Checksum, "Mirror": Mirror}
        )

    def deparse(self, headers: Struct, local: Struct, verdict: Struct) -> bytes:
        """The headers in front of what the parser has left."""
        frame = Emitted()
        self._control.apply([lambda given=given: given for given in (frame, headers, local, verdict)])
        return frame.bytes()

    def take_copies(self) -> list[tuple[int, bytes]]:
        """The copies of the last frame: session, and what stands in front."""
        mirrors = [one for one in self._control.instances.values() if isinstance(one, Mirror)]
        found = [copy for mirror in mirrors for copy in mirror.copies]
        for mirror in mirrors:
            mirror.copies.clear()
        return found
