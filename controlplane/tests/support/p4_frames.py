"""Parsers and deparsers of a program for Tofino: bits to headers, headers to bits, and checksums between.

The chip takes a frame apart behind its intrinsic metadata, and puts what the parser has not taken behind the headers
that the deparser emits. Limits of the chip's parser (depth, extractions for each state) are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.p4_interpreter import (
    Control,
    MatchKey,
    Mirror,
    Program,
    Struct,
    Writer,
    function_lines,
    indented,
    zeros,
)
from support.p4_syntax import ParserState, ParserTree


class TooShort(Exception):
    """A parser has come to the end of a frame."""


class Frame:
    """A frame that is taken apart, behind a number of so many bits."""

    def __init__(self, head: int, head_bits: int, frame: bytes) -> None:
        self._place = -head_bits % 8
        self._bytes = head.to_bytes((head_bits + 7) // 8, "big") + frame

    def lookahead(self, width: int) -> int:
        """The bits that follow."""
        end = self._place + width
        if end > 8 * len(self._bytes):
            raise TooShort
        return int.from_bytes(self._bytes[self._place // 8 : (end + 7) // 8], "big") >> (-end % 8) & ((1 << width) - 1)

    def take(self, width: int) -> int:
        taken = self.lookahead(width)
        self._place += width
        return taken

    def extract(self, header: Struct) -> None:
        header.fill(self.take(header.width))
        header.is_valid = True

    def rest(self) -> bytes:
        """Bytes that the parser has not read."""
        assert self._place % 8 == 0, "headers are whole bytes"
        return self._bytes[self._place // 8 :]


class Emitted:
    """A frame that is put together."""

    def __init__(self) -> None:
        self._joined = self._bits = 0

    def emit(self, header: Struct | list[Struct]) -> None:
        for one in header if isinstance(header, list) else [header]:
            if one.is_valid:
                self._joined = self._joined << one.width | one.joined()
                self._bits += one.width

    def bytes(self) -> bytes:
        assert self._bits % 8 == 0, "headers are whole bytes"
        return self._joined.to_bytes(self._bits // 8, "big")


class Parser:
    """A parser; ``value_sets`` has the members of each of its value sets."""

    def __init__(self, program: Program, name: str, value_sets: Mapping[str, Sequence[MatchKey]]) -> None:
        make = program.maker(name, lambda: _ParserWriter(program, program.tree.parsers[name]).lines())
        self._parse = make(value_sets)

    def parse(self, frame: Frame) -> tuple[Any, Struct, Struct]:
        """Headers, metadata of the program, and intrinsic metadata; raise TooShort for a frame that ends."""
        headers, local, standard = self._parse(frame)
        return headers, local, standard


class _ParserWriter(Writer):
    """Writes ``make(value_sets)``, which returns the function that parses a frame."""

    def __init__(self, program: Program, tree: ParserTree) -> None:
        super().__init__(program, {name: program.kind(kind) for _, kind, name in tree.parameters})
        self._tree = tree
        self.names |= {name: kind[0] for kind, _, name, _ in tree.instances}

    def lines(self) -> list[str]:
        """The text of ``make``; a state is a function that returns the following one."""
        found = ["accept_ = None"]
        for name, kind in self.names.items():
            found.append(f"{name}_ = " + (f"value_sets.get({name!r}, ())" if kind == "value_set" else "None"))
        for name, state in self._tree.states.items():
            found += self.function(name, [], self._state(state))
        found += self.function("parse", ["frame"], self._parse())
        return function_lines("make", "value_sets", [*found, "return parse_"])

    def _parse(self) -> list[str]:
        packet, *outputs = (f"{name}_" for _, _, name in self._tree.parameters)
        fresh = {name: f"{kind}()" for name, kind in self.names.items() if kind == "Checksum"}
        fresh |= {name: zeros(self.names[name]) for _, _, name in self._tree.parameters[1:]}
        self._changed |= {self._tree.parameters[0][2], *fresh}
        return [
            f"{packet} = frame",
            *(f"{name}_ = {made}" for name, made in fresh.items()),
            *("state = start_", "while state is not None:", "    state = state()", f"return {', '.join(outputs)}"),
        ]

    def _state(self, state: ParserState) -> list[str]:
        lines = self.block(state.statements) + self.keys(state.keys)
        for matches, following in state.transitions:
            fits = "True" if matches in ([], [("name", "default")]) else self.fits(state.keys, matches)
            lines += [f"if {fits}:", *indented([f"return {following}_"])]
        return [*lines, "raise AssertionError('no transition fits')"]


class Deparser:
    """A deparser."""

    def __init__(self, program: Program, name: str) -> None:
        self._control = Control(program, program.tree.controls[name], {})

    def deparse(self, headers: Struct, local: Struct, verdict: Struct) -> bytes:
        """The headers in front of what the parser has left."""
        frame = Emitted()
        self._control.apply(frame, headers, local, verdict)
        return frame.bytes()

    def take_copies(self) -> list[tuple[int, bytes]]:
        """The copies of the last frame: session, and what stands in front."""
        mirrors = [one for one in self._control.instances.values() if isinstance(one, Mirror)]
        found = [copy for mirror in mirrors for copy in mirror.copies]
        for mirror in mirrors:
            mirror.copies.clear()
        return found
