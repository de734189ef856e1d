"""Executes controls of a program for Tofino, one frame at a time, on registers that stay.

It knows P4_16 and the additions of TNA: registers with register actions, counters and hashes. It does not
model the chip: the capacity and order of stages, and the comparison in a stateful ALU. A table that the controller
fills has the entries that it is given; all others have their own. Parsers and deparsers are in p4_frames.py.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from support.p4_syntax import ControlTree, Node, ProgramTree

MatchKey = tuple[int, int]
"""Value and mask."""
Entry = tuple[Sequence[MatchKey], tuple[str, Sequence[int]]]
"""Keys, and the action with its arguments."""
Entries = Mapping[str, Sequence[Entry]]
"""By name of the table as P4Info has it, such as ``TesterIngress.reception.receiver``; the first that matches wins."""
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "|+|": operator.add, "|-|": operator.sub, "*": operator.mul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


class Number:
    """A number of so many bits, which stays as it is; without a width it takes that of the other operand."""

    __slots__ = ("is_signed", "value", "width")

    def __init__(self, value: int, width: int | None = None, is_signed: bool = False) -> None:
        if width is not None:
            value &= (1 << width) - 1
            if is_signed and value >> (width - 1):
                value -= 1 << width
        self.value, self.width, self.is_signed = value, width, is_signed

    @property
    def bits(self) -> int:
        """The number without a sign."""
        return self.value if self.width is None else self.value & ((1 << self.width) - 1)


class Struct:
    """A struct or a header."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.members = members
        self.is_valid = False

    def set(self, name: str, value: int) -> None:
        """Give a member a value of its own width."""
        self.members[name] = _like(self.members[name], value)

    def values(self) -> dict[str, int]:
        """The values of members that are numbers."""
        return {name: member.bits for name, member in self.members.items()}


class Program:
    """The types and constants of a program.

    ``fills_containers``: its parser writes the bytes in front of a test frame's flow into the upper half of the cell's
    number, as that of Tofino 1 does.
    """

    def __init__(self, tree: ProgramTree, fills_containers: bool = False) -> None:
        self.tree = tree
        self.fills_containers = fills_containers
        self.frame_bytes = 0
        """Length of the frame that is in the program, with FCS."""
        self.constants = {
            name: number_of(value).value for name, (_, value) in tree.constants.items() if value[0] == "number"
        }

        self.named = {"true": Number(1, 1), "false": Number(0, 1)}
        """Constants that have been used."""
        self._zeros: dict[str, Any] = {}
        """Types without arguments that have been used."""

    def resolved(self, of_type: Node) -> Node:
        """A type without the names of typedefs."""
        while of_type[0] in self.tree.types:
            of_type = self.tree.types[of_type[0]]
        return of_type

    def new(self, of_type: Node) -> Any:
        """Zeros of a type."""
        if of_type[0] == "stack":
            return [self.new(of_type[1]) for _ in range(of_type[2])]
        if of_type[1]:
            return self._made(of_type)
        if of_type[0] not in self._zeros:
            self._zeros[of_type[0]] = self._made(of_type)
        return _copied(self._zeros[of_type[0]])

    def _made(self, of_type: Node) -> Any:
        name, arguments = self.resolved(of_type)
        if name in self.tree.structs:
            return Struct({member: self.new(kind) for member, kind in self.tree.structs[name]})
        return Number(0, arguments[0] if arguments else 1, name == "int")

    def struct(self, name: str) -> Struct:
        """Zeros of a struct."""
        found = self.new((name, []))
        assert isinstance(found, Struct)
        return found

    def converted(self, value: Any, of_type: Node) -> Any:
        """A value as a type has it."""
        if not isinstance(value, Number):
            return value
        name, arguments = self.resolved(of_type)
        width, is_signed = arguments[0] if arguments else 1, name == "int"
        return value if (value.width, value.is_signed) == (width, is_signed) else Number(value.value, width, is_signed)


def _copied(value: Any) -> Any:
    """A value whose members can be given others."""
    if isinstance(value, Number):
        return value
    if isinstance(value, list):
        return [_copied(element) for element in value]
    return Struct({name: _copied(member) for name, member in value.members.items()})


class _Hash:
    def __init__(self, width: int, algorithm: str) -> None:
        self.width, self.algorithm = width, algorithm

    def get(self, fields: tuple[Number, ...]) -> Number:
        width = sum(field.width or 0 for field in fields)
        joined = joined_bits(fields)
        if self.algorithm == "CRC32":
            return Number(zlib.crc32(joined.to_bytes(width // 8, "big")), self.width)
        assert self.algorithm == "IDENTITY", self.algorithm
        return Number(joined, self.width)


class Extern:
    """An object with methods that take references: called, they return a value; called with one, they store it."""


class Counter(dict[int, int]):
    """Frames by cell, and their bytes with FCS."""

    def __init__(self) -> None:
        super().__init__()
        self.octets: dict[int, int] = {}

    def count(self, cell: int, size: int) -> None:
        self[cell] = self.get(cell, 0) + 1
        self.octets[cell] = self.octets.get(cell, 0) + size

    def clear(self) -> None:
        super().clear()
        self.octets.clear()


class _Register:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.cells: dict[int, Any] = {}


class Control:
    """A control with its registers and counters."""

    def __init__(
        self,
        program: Program,
        tree: ControlTree,
        entries: Entries,
        constructor: Sequence[int] = (),
        path: str = "",
        externs: Mapping[str, Callable[[], Extern]] | None = None,
    ) -> None:
        self.program, self.tree, self.entries = program, tree, entries
        self._path = path or tree.name
        self._externs = externs or {}
        names = {name: Number(value, 32) for (_, _, name), value in zip(tree.constructor, constructor, strict=True)}
        self.constants: list[dict[str, Any]] = [names]
        self.instances = {instance[2]: self._instance(*instance) for instance in self.tree.instances}
        self._own_entries: dict[str, list[tuple[list[MatchKey | None], Node]]] = {}

    def _instance(self, kind: Node, arguments: list[Node], own_name: str, body: Node) -> Any:
        name, types = kind
        if name in self._externs:
            return self._externs[name]()
        if name == "Register":
            return _Register(lambda: self.program.new(types[0]))
        if name == "RegisterAction":
            return (arguments[0][1], *body)
        if name == "Counter":
            return Counter()
        if name == "Hash":
            return _Hash(types[0][1][0], arguments[0][2])
        execution = Execution(self, self.constants)
        sizes = [execution.value(argument).value for argument in arguments]
        path = f"{self._path}.{own_name}"
        return Control(self.program, self.program.tree.controls[name], self.entries, sizes, path)

    def entries_of(self, table: str) -> Sequence[Entry] | None:
        """The entries that the controller has given a table; None: it has its own."""
        return self.entries.get(f"{self._path}.{table}")

    def own_entries_of(self, table: str) -> list[tuple[list[MatchKey | None], Node]]:
        """The entries that a table has of itself: keys, None where any fits, and the call of an action."""
        if table not in self._own_entries:
            execution = Execution(self, self.constants)
            self._own_entries[table] = [
                ([execution.match_key(match) for match in own], call) for own, call in self.tree.tables[table].entries
            ]
        return self._own_entries[table]

    def apply(self, arguments: Sequence[Callable[..., Any]]) -> None:
        """Execute for one frame. An argument returns its value when called, and takes one when called with it."""
        names: dict[str, Any] = {}
        for (direction, kind, name), argument in zip(self.tree.parameters, arguments, strict=True):
            names[name] = self.program.new(kind) if direction == "out" else argument()
        execution = Execution(self, [*self.constants, names])
        for kind, name, value in self.tree.variables:
            names[name] = self.program.new(kind) if value is None else self._initial(execution, value, kind)
        execution.run(self.tree.apply)
        for (direction, _, name), argument in zip(self.tree.parameters, arguments, strict=True):
            if direction in ("out", "inout") and not isinstance(names[name], Struct):
                argument(names[name])

    def _initial(self, execution: Execution, value: Node, kind: Node) -> Any:
        given = execution.value(value)
        if isinstance(given, tuple):
            struct = self.program.new(kind)
            for name, number in zip(struct.members, given, strict=True):
                struct.set(name, number.value)
            return struct
        return self.program.converted(given, kind)


class Execution:
    """Statements in the scopes of names, the innermost last; ``control`` may be a parser."""

    def __init__(self, control: Any, scopes: list[dict[str, Any]]) -> None:
        self._control = control
        self._program = control.program
        self._scopes = scopes

    def run(self, statements: list[Node]) -> None:
        for statement in statements:
            _STATEMENTS[statement[0]](self, *statement[1:])

    def _block(self, statements: list[Node]) -> None:
        self.run(statements)

    def _if(self, condition: Node, then: Node, otherwise: Node) -> None:
        self.run([then if self.value(condition).value else otherwise])

    def _variable(self, kind: Node, name: str, value: Node) -> None:
        given = self._program.new(kind) if value is None else self._program.converted(self.value(value), kind)
        self._scopes[-1][name] = given

    def _do(self, expression: Node) -> None:
        self.value(expression)

    def _assign(self, target: Node, value: Node) -> None:
        self._store(target, self.value(value))

    def _store(self, target: Node, value: Any) -> None:
        kind = target[0]
        if kind == "slice":
            old, high, low = self.value(target[1]), self.value(target[2]).value, self.value(target[3]).value
            mask = ((1 << (high - low + 1)) - 1) << low
            self._store(target[1], Number(old.value & ~mask | value.value << low & mask, old.width))
        elif kind == "name":
            scope = self._scope_of(target[1])
            assert scope is not None, target[1]
            scope[target[1]] = value if isinstance(value, Struct) else _like(scope[target[1]], value.value)
        else:
            self.value(target[1]).set(target[2], value.value)

    def _scope_of(self, name: str) -> dict[str, Any] | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope
        return None

    # Values

    def value(self, expression: Node) -> Any:
        return _VALUES[expression[0]](self, *expression[1:])

    def _value_of_number(self, *literal: Any) -> Number:
        return _literal(*literal)

    def _value_of_name(self, name: str) -> Any:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        known = self._program.named
        if name not in known:
            kind, value = self._program.tree.constants[name]
            known[name] = self._program.converted(self.value(value), kind)
        return known[name]

    def _value_of_member(self, of: Node, name: str) -> Any:
        return self.value(of).members[name]

    def _value_of_index(self, of: Node, place: Node) -> Any:
        return self.value(of)[self.value(place).value]

    def _value_of_slice(self, of: Node, high: Node, low: Node) -> Number:
        first, last = self.value(low).value, self.value(high).value
        return Number(self.value(of).bits >> first, last - first + 1)

    def _value_of_cast(self, kind: Node, of: Node) -> Any:
        return self._program.converted(self.value(of), kind)

    def _value_of_lookahead(self, of: Node, kind: Node) -> Any:
        return self.value(of).lookahead(self._program.new(kind))

    def _value_of_list(self, elements: list[Node]) -> tuple[Any, ...]:
        return tuple(self.value(element) for element in elements)

    def _value_of_unary(self, operator: str, of: Node) -> Number:
        value = self.value(of)
        if operator == "!":
            return Number(not value.value, 1)
        return Number(~value.value if operator == "~" else -value.value, value.width, value.is_signed)

    def _value_of_binary(self, operator: str, left: Node, right: Node) -> Number:
        first = self.value(left)
        if operator in ("&&", "||"):
            decided = bool(first.value) == (operator == "||")
            return Number(bool(first.value) if decided else bool(self.value(right).value), 1)
        second = self.value(right)
        if operator == "++":
            return Number(first.bits << second.width | second.bits, first.width + second.width)
        if operator in ("<<", ">>"):
            by = second.value
            return Number(first.value << by if operator == "<<" else first.value >> by, first.width, first.is_signed)
        return _combined(operator, first, second)

    # Calls

    def _value_of_call(self, called: Node, arguments: list[Node]) -> Any:
        if called[0] == "name":
            return self._act(called[1], [self.value(argument) for argument in arguments])
        _, of, method = called
        if method in ("setValid", "setInvalid"):
            self.value(of).is_valid = method == "setValid"
            return None
        if method == "isValid":
            return Number(self.value(of).is_valid, 1)
        name = of[1]
        scope = self._scope_of(name) if of[0] == "name" else None
        extern = scope[name] if scope is not None else self._control.instances.get(name)
        if isinstance(extern, Extern):
            return getattr(extern, method)(*(self._reference(argument) for argument in arguments))
        if method == "predicate":
            holds = [bool(self.value(argument).value) for argument in arguments]
            return Number(1 << (holds[0] + 2 * holds[1]), 8)
        if name in self._control.tree.tables:
            return self._match(name)
        instance = self._control.instances[name]
        if isinstance(instance, Control):
            return instance.apply([self._reference(argument) for argument in arguments])
        if method == "count":
            return instance.count(self.value(arguments[0]).value, self._program.frame_bytes)
        if method == "get":
            return instance.get(self.value(arguments[0]))
        assert method == "execute", f"'{method}' is not understood"
        return self._execute(instance, self.value(arguments[0]).value)

    def _reference(self, argument: Node) -> Callable[..., Any]:
        def reference(*given: Any) -> Any:
            if given:
                self._store(argument, given[0])
                return None
            return self.value(argument)

        return reference

    def _execute(self, action: Any, cell: int) -> Any:
        register_name, parameters, body = action
        register = self._control.instances[register_name]
        names = {parameters[0][2]: register.cells.get(cell, None) or register.make()}
        for _, kind, name in parameters[1:]:
            names[name] = self._program.new(kind)
        Execution(self._control, [*self._scopes, names]).run(body)
        register.cells[cell] = names[parameters[0][2]]
        return names[parameters[1][2]] if len(parameters) > 1 else None

    def _act(self, name: str, arguments: list[Any]) -> None:
        if name == "NoAction":
            return
        parameters, body = self._control.tree.actions[name]
        names = {
            parameter: self._program.converted(argument, kind)
            for (_, kind, parameter), argument in zip(parameters, arguments, strict=True)
        }
        Execution(self._control, [*self._scopes, names]).run(body)

    def _match(self, name: str) -> Struct:
        """Apply a table, and return whether an entry has matched, as member ``hit``."""
        table = self._control.tree.tables[name]
        keys = [self.value(key).bits for key in table.keys]
        given = self._control.entries_of(name)
        if given is not None:
            for matches, (action, arguments) in given:
                if _all_fit(keys, matches):
                    self._act(action, [Number(argument) for argument in arguments])
                    return Struct({"hit": Number(1, 1)})
        else:
            for own, call in self._control.own_entries_of(name):
                if _all_fit(keys, own):
                    self.value(call)
                    return Struct({"hit": Number(1, 1)})
        if table.default is not None:
            self.value(table.default)
        return Struct({"hit": Number(0, 1)})

    def match_key(self, match: Node) -> MatchKey | None:
        """Value and mask of what an entry or a select has; None: any key fits."""
        if match in (("name", "_"), ("name", "default")):
            return None
        if match[0] == "masked":
            return self.value(match[1]).value, self.value(match[2]).value
        return self.value(match).value, -1


def fits(key: int, match: MatchKey | None) -> bool:
    """Whether a key has the bits that a value and a mask ask for."""
    return match is None or key & match[1] == match[0] & match[1]


def _all_fit(keys: Sequence[int], matches: Sequence[MatchKey | None]) -> bool:
    for key, match in zip(keys, matches, strict=True):
        if match is not None and (key ^ match[0]) & match[1]:
            return False
    return True


def _methods(prefix: str) -> dict[str, Callable[..., Any]]:
    """The methods of an execution by the kind of node that they are for."""
    return {name.removeprefix(prefix): of for name, of in vars(Execution).items() if name.startswith(prefix)}


_STATEMENTS, _VALUES = _methods("_"), _methods("_value_of_")
_literal = cache(Number)


def joined_bits(fields: Sequence[Number]) -> int:
    """Numbers one after the other."""
    joined = 0
    for number in fields:
        joined = joined << (number.width or 0) | number.bits
    return joined


def number_of(expression: Node) -> Number:
    """The value of an expression of numbers."""
    kind, *rest = expression
    if kind == "number":
        return Number(*rest)
    assert kind == "binary", f"'{kind}' is no expression of numbers"
    operator, left, right = rest
    first, second = number_of(left), number_of(right)
    if operator in ("<<", ">>"):
        return Number(first.value << second.value if operator == "<<" else first.value >> second.value)
    return _combined(operator, first, second)


def _combined(sign: str, left: Number, right: Number) -> Number:
    width, is_signed = left.width or right.width, left.is_signed or right.is_signed
    if left.width is not None and right.width is not None:
        assert (left.width, left.is_signed) == (right.width, right.is_signed), f"widths differ at {sign}"
    first, second = (
        number.value if number.width is not None else Number(number.value, width, is_signed).value
        for number in (left, right)
    )
    if sign in _COMPARISONS:
        return _literal(int(_COMPARISONS[sign](first, second)), 1)
    result = _ARITHMETIC[sign](first, second)
    if sign in ("|+|", "|-|"):
        assert width is not None
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
        result = max(low, min(high, result))
    return Number(result, width, is_signed)


def _like(old: Number, value: int) -> Number:
    return Number(value, old.width, old.is_signed)
