"""The preprocessor of P4 sources, as far as those of the project use it: macros, conditions and own includes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)")
_DEFINE = re.compile(r"(\w+)(\(([^)]*)\))?\s*(.*)", re.S)
_PIECE = re.compile(r"[A-Za-z_]\w*|\d\w*|\s+|.", re.S)
_PASTE = re.compile(r"\s*##\s*")


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...] | None
    body: str


@cache
def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


@cache
def _lines(text: str) -> list[str]:
    """Lines without comments."""
    return _COMMENT.sub(" ", text).replace("\\\n", " ").splitlines()


class Preprocessor:
    """``number_of`` gives the value of a constant expression, in which a name without a macro is 0."""

    def __init__(self, defines: Mapping[str, int], number_of: Callable[[str], int]) -> None:
        self._macros = {name: _Macro(None, str(value)) for name, value in defines.items()}
        self._number_of = number_of

    def text_of(self, path: Path) -> str:
        """The text of a file with its includes; those of the compiler, in angle brackets, are left out."""
        lines = _lines(path.read_text())
        found: list[str] = []
        pending: list[str] = []
        taken: list[bool] = []

        def flush() -> None:
            found.append(self._expanded("\n".join(pending), frozenset()))
            pending.clear()

        for line in lines:
            matched = _DIRECTIVE.match(line)
            if matched is None:
                if all(taken):
                    pending.append(line)
                continue
            flush()
            kind, rest = matched[1], matched[2].strip()
            if kind in ("if", "ifdef", "ifndef"):
                taken.append(all(taken) and self._holds(kind, rest))
            elif kind == "else":
                taken[-1] = all(taken[:-1]) and not taken[-1]
            elif kind == "endif":
                taken.pop()
            elif all(taken):
                self._directive(kind, rest, path, found)
        flush()
        return "\n".join(found)

    def _directive(self, kind: str, rest: str, path: Path, found: list[str]) -> None:
        if kind == "include":
            if rest.startswith('"'):
                found.append(self.text_of((path.parent / rest.strip('"')).resolve()))
        elif kind == "undef":
            self._macros.pop(rest, None)
        else:
            assert kind == "define", f"{path}: #{kind} is not understood"
            matched = _DEFINE.fullmatch(rest)
            assert matched
            names = tuple(name.strip() for name in matched[3].split(",")) if matched[2] else None
            self._macros[matched[1]] = _Macro(names, matched[4].strip())

    def _holds(self, kind: str, rest: str) -> bool:
        if kind == "if":
            expanded = self._expanded(rest, frozenset())
            return self._number_of(re.sub(r"\b[A-Za-z_]\w*", "0", expanded)) != 0
        return (rest in self._macros) == (kind == "ifdef")

    def _expanded(self, text: str, hidden: frozenset[str]) -> str:
        pieces = _pieces(text)
        if self._macros.keys().isdisjoint(pieces):
            return text
        out: list[str] = []
        place = 0
        while place < len(pieces):
            piece = pieces[place]
            place += 1
            macro = None if piece in hidden else self._macros.get(piece)
            if macro is None:
                out.append(piece)
            elif macro.parameters is None:
                out.append(self._expanded(macro.body, hidden | {piece}))
            else:
                first = place
                while first < len(pieces) and pieces[first].isspace():
                    first += 1
                if first == len(pieces) or pieces[first] != "(":
                    out.append(piece)
                    continue
                arguments, place = _arguments(pieces, first)
                out.append(self._expanded(self._filled(macro, arguments, hidden), hidden | {piece}))
        return "".join(out)

    def _filled(self, macro: _Macro, arguments: list[str], hidden: frozenset[str]) -> str:
        assert macro.parameters is not None
        raw = dict(zip(macro.parameters, arguments, strict=True))
        parts = [part.strip() if "##" in macro.body else part for part in _PASTE.split(macro.body)]
        filled = ""
        for number, part in enumerate(parts):
            pieces = _pieces(part)
            for place, piece in enumerate(pieces):
                pasted = (number > 0 and place == 0) or (number < len(parts) - 1 and place == len(pieces) - 1)
                if piece in raw:
                    filled += raw[piece] if pasted else self._expanded(raw[piece], hidden)
                else:
                    filled += piece
        return filled


def _arguments(pieces: list[str], first: int) -> tuple[list[str], int]:
    """The arguments of a call whose bracket is at ``first``, and the place behind it."""
    depth, arguments = 0, [""]
    for place in range(first, len(pieces)):
        piece = pieces[place]
        depth += (piece == "(") - (piece == ")")
        if depth == 0:
            return [argument.strip() for argument in arguments], place + 1
        if piece == "," and depth == 1:
            arguments.append("")
        elif place > first:
            arguments[-1] += piece
    raise AssertionError("a call of a macro does not end")
