"""The syntax of P4_16 as far as the program for Tofino uses it: text to trees of tuples.

Expressions: ``(number, value, width)``, ``(name, n)``, ``(member, e, n)``, ``(index, e, i)``, ``(slice, e, h, l)``,
``(call, e, arguments)``, ``(lookahead, e, type)``, ``(cast, type, e)``, ``(unary, op, e)``, ``(binary, op, a, b)``,
``(list, elements)``, ``(masked, e, mask)``. Types: ``(name, arguments)``, ``(stack, type, size)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Node = Any
Parameter = tuple[str, Node, str]
"""(direction, type, name)"""

_TOKEN = re.compile(
    r"\s+|(?P<number>\d+w0x[0-9a-fA-F_]+|\d+w\d+|0[xX][0-9a-fA-F_]+|\d+)|(?P<name>[A-Za-z_]\w*)|(?P<text>\"[^\"]*\")"
    r"|(?P<op>&&&|\|-\||\|\+\||\+\+|<<|>>|==|!=|<=|>=|&&|\|\||[-+*&|^~!<>=(){}\[\];:,.?@])"
)
_BASE_TYPES = ("bit", "int", "bool")
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("++",),
    ("+", "-", "|+|", "|-|"), ("*",),
)  # fmt: skip
_LEVEL_OF = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


@dataclass
class Table:
    """A match table; entries are those of the program itself."""

    keys: list[Node] = field(default_factory=list)
    entries: list[tuple[list[Node], Node]] = field(default_factory=list)
    default: Node = None


@dataclass
class ControlTree:
    """A control."""

    name: str
    parameters: list[Parameter]
    constructor: list[Parameter]
    actions: dict[str, tuple[list[Parameter], list[Node]]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    variables: list[tuple[Node, str, Node]] = field(default_factory=list)
    instances: list[tuple[Node, list[Node], str, Node]] = field(default_factory=list)
    """(type, arguments, name, apply of a register action)"""
    apply: list[Node] = field(default_factory=list)


@dataclass
class ParserState:
    """A state of a parser."""

    statements: list[Node]
    keys: list[Node]
    """Of its select; none for a transition to one state."""
    transitions: list[tuple[list[Node], str]]
    """(matches, next state), of which the first that fits is taken."""


@dataclass
class ParserTree:
    """A parser."""

    name: str
    parameters: list[Parameter]
    instances: list[tuple[Node, list[Node], str, Node]] = field(default_factory=list)
    states: dict[str, ParserState] = field(default_factory=dict)


@dataclass
class ProgramTree:
    """The declarations of a text."""

    types: dict[str, Node] = field(default_factory=dict)
    structs: dict[str, list[tuple[str, Node]]] = field(default_factory=dict)
    constants: dict[str, tuple[Node, Node]] = field(default_factory=dict)
    controls: dict[str, ControlTree] = field(default_factory=dict)
    parsers: dict[str, ParserTree] = field(default_factory=dict)


def parse(text: str) -> ProgramTree:
    """The declarations of a preprocessed program."""
    reader = _Reader(text, ProgramTree())
    while reader.place < len(reader.tokens):
        reader.declaration()
    return reader.program


def parse_expression(text: str) -> Node:
    return _Reader(text, ProgramTree()).expression()


@cache
def _tokens(line: str) -> list[tuple[str, str]]:
    """(kind, text) of the tokens of a line, none of which goes beyond it."""
    found, end = [], 0
    while end < len(line):
        token = _TOKEN.match(line, end)
        assert token, f"not P4: {line[end : end + 40]!r}"
        end = token.end()
        if token.lastgroup:
            found.append((token.lastgroup, token[token.lastgroup]))
    return found


class _Reader:
    def __init__(self, text: str, program: ProgramTree) -> None:
        self.place = 0
        self.program = program
        self.tokens: list[tuple[str, str]] = []
        for line in text.splitlines():
            self.tokens += _tokens(line)
        self._drop_annotations()

    def _drop_annotations(self) -> None:
        kept, place = [], 0
        while place < len(self.tokens):
            if self.tokens[place][1] != "@":
                kept.append(self.tokens[place])
                place += 1
                continue
            place += 2
            if place < len(self.tokens) and self.tokens[place][1] == "(":
                depth = 0
                while True:
                    depth += {"(": 1, ")": -1}.get(self.tokens[place][1], 0)
                    place += 1
                    if depth == 0:
                        break
        self.tokens = kept

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][1]

    def accept(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.place += 1
            return True
        return False

    def expect(self, wanted: str) -> None:
        if self.take() != wanted:
            around = " ".join(text for _, text in self.tokens[max(0, self.place - 16) : self.place + 9])
            raise AssertionError(f"'{wanted}' is expected in: {around}")

    # Declarations

    def declaration(self) -> None:
        kind = self.take()
        if kind == "const":
            of_type, name = self.type(), self.take()
            self.expect("=")
            self.program.constants[name] = (of_type, self.expression())
            self.expect(";")
        elif kind == "typedef":
            of_type = self.type()
            self.program.types[self.take()] = of_type
            self.expect(";")
        elif kind in ("struct", "header"):
            self.struct()
        elif kind == "control":
            control = self.control()
            self.program.controls[control.name] = control
        elif kind == "parser":
            parser = self.parser()
            self.program.parsers[parser.name] = parser
        else:
            assert kind in ("Pipeline", "Switch"), f"'{kind}' is not understood"
            while self.take() != ";":
                pass

    def struct(self) -> None:
        name, members = self.take(), []
        self.expect("{")
        while not self.accept("}"):
            of_type = self.type()
            members.append((self.take(), of_type))
            self.expect(";")
        self.program.structs[name] = members

    def control(self) -> ControlTree:
        control = ControlTree(self.take(), self.parameters(), self.parameters() if self.peek() == "(" else [])
        self.expect("{")
        while not self.accept("}"):
            if self.accept("action"):
                name = self.take()
                control.actions[name] = (self.parameters(), self.block())
            elif self.accept("table"):
                name = self.take()
                control.tables[name] = self.table()
            elif self.accept("apply"):
                control.apply = self.block()
            elif self._is_variable():
                control.variables.append(self.variable())
            else:
                control.instances.append(self.instance())
        return control

    def parser(self) -> ParserTree:
        parser = ParserTree(self.take(), self.parameters())
        self.expect("{")
        while not self.accept("}"):
            if self.accept("state"):
                name = self.take()
                parser.states[name] = self.state()
            else:
                parser.instances.append(self.instance())
        return parser

    def state(self) -> ParserState:
        state = ParserState([], [], [])
        self.expect("{")
        while not self.accept("transition"):
            state.statements.append(self.statement())
        if not self.accept("select"):
            state.transitions.append(([], self.take()))
            self.expect(";")
        else:
            state.keys = self.arguments()
            self.expect("{")
            while not self.accept("}"):
                match = self.expression()
                self.expect(":")
                state.transitions.append((match[1] if match[0] == "list" else [match], self.take()))
                self.expect(";")
        self.expect("}")
        return state

    def instance(self) -> tuple[Node, list[Node], str, Node]:
        of_type, arguments, name, body = self.type(), self.arguments(), self.take(), None
        if self.accept("="):
            for word in ("{", "void", "apply"):
                self.expect(word)
            body = (self.parameters(), self.block())
            self.expect("}")
        self.expect(";")
        return of_type, arguments, name, body

    def table(self) -> Table:
        table = Table()
        self.expect("{")
        while not self.accept("}"):
            self.accept("const")
            kind = self.take()
            self.expect("=")
            if kind == "size":
                self.expression()
                self.expect(";")
            elif kind == "default_action":
                table.default = self._call()
                self.expect(";")
            else:
                self.expect("{")
                while not self.accept("}"):
                    if kind == "actions":
                        self.take()
                    elif kind == "key":
                        table.keys.append(self.expression())
                        self.expect(":")
                        self.take()
                    else:
                        assert kind == "entries", f"'{kind}' of a table is not understood"
                        match = self.expression()
                        self.expect(":")
                        table.entries.append((match[1] if match[0] == "list" else [match], self._call()))
                    self.expect(";")
        return table

    def _call(self) -> Node:
        called = self.postfix()
        return called if called[0] == "call" else ("call", called, [])

    def parameters(self) -> list[Parameter]:
        self.expect("(")
        found: list[Parameter] = []
        while not self.accept(")"):
            direction = self.take() if self.peek() in ("in", "out", "inout") else ""
            of_type = self.type()
            found.append((direction, of_type, self.take()))
            self.accept(",")
        return found

    def type(self) -> Node:
        name, arguments = self.take(), []
        if self.accept("<"):
            while not self.accept(">"):
                if self.peek() == ">>":
                    self.tokens[self.place : self.place + 1] = [("op", ">"), ("op", ">")]
                    continue
                arguments.append(int(self.take()) if self.tokens[self.place][0] == "number" else self.type())
                self.accept(",")
        if self.peek() == "[" and self.tokens[self.place + 1][0] == "number":
            self.take()
            size = int(self.take())
            self.expect("]")
            return ("stack", (name, arguments), size)
        return (name, arguments)

    # Statements

    def block(self) -> list[Node]:
        self.expect("{")
        found = []
        while not self.accept("}"):
            found.append(self.statement())
        return found

    def statement(self) -> Node:
        if self.peek() == "{":
            return ("block", self.block())
        if self.accept(";"):
            return ("block", [])
        if self.accept("if"):
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            return ("if", condition, self.statement(), self.statement() if self.accept("else") else ("block", []))
        if self._is_variable():
            return ("variable", *self.variable())
        target = self.postfix()
        if self.accept("="):
            value = self.expression()
            self.expect(";")
            return ("assign", target, value)
        self.expect(";")
        return ("do", target)

    def _is_variable(self) -> bool:
        known = self.peek() in self.program.types or self.peek() in self.program.structs
        return self.peek() in _BASE_TYPES or (known and self.tokens[self.place + 1][0] == "name")

    def variable(self) -> tuple[Node, str, Node]:
        of_type, name = self.type(), self.take()
        value = self.expression() if self.accept("=") else None
        self.expect(";")
        return of_type, name, value

    # Expressions

    def expression(self) -> Node:
        found = self._binary(0)
        return ("masked", found, self._binary(0)) if self.accept("&&&") else found

    def _binary(self, level: int) -> Node:
        found = self._unary()
        while (tighter := _LEVEL_OF.get(self.peek(), -1)) >= level:
            found = ("binary", self.take(), found, self._binary(tighter + 1))
        return found

    def _unary(self) -> Node:
        if self.peek() in ("~", "!", "-"):
            return ("unary", self.take(), self._unary())
        is_cast = self.peek(1) in _BASE_TYPES or (self.peek(1) in self.program.types and self.peek(2) == ")")
        if self.peek() == "(" and is_cast:
            self.take()
            of_type = self.type()
            self.expect(")")
            return ("cast", of_type, self._unary())
        return self.postfix()

    def arguments(self, opening: str = "(", closing: str = ")") -> list[Node]:
        self.expect(opening)
        found = []
        while not self.accept(closing):
            found.append(self.expression())
            self.accept(",")
        return found

    def postfix(self) -> Node:
        found = self._primary()
        while True:
            if self.accept("."):
                name = self.take()
                if name == "lookahead":
                    self.expect("<")
                    of_type = self.type()
                    for word in (">", "(", ")"):
                        self.expect(word)
                    found = ("lookahead", found, of_type)
                else:
                    found = ("member", found, name)
                    if name == "emit" and self.accept("<"):
                        self.type()
                        self.expect(">")
            elif self.peek() == "(":
                found = ("call", found, self.arguments())
            elif self.accept("["):
                first = self.expression()
                found = ("slice", found, first, self.expression()) if self.accept(":") else ("index", found, first)
                self.expect("]")
            else:
                return found

    def _primary(self) -> Node:
        kind, text = self.tokens[self.place]
        if text == "{":
            return ("list", self.arguments("{", "}"))
        if text == "(":
            elements = self.arguments()
            return elements[0] if len(elements) == 1 else ("list", elements)
        self.take()
        if kind == "name":
            return ("name", text)
        assert kind == "number", f"'{text}' is no expression"
        width, _, digits = text.rpartition("w")
        return ("number", int(digits.replace("_", ""), 0), int(width) if width else None)
