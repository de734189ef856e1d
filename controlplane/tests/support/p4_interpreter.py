"""Executes controls of a program for Tofino, one frame at a time, on registers that stay.

It knows P4_16 and the additions of TNA: registers with register actions, counters and hashes. It does not
model the chip: the capacity and order of stages, and the comparison in a stateful ALU. A table that the controller
fills has the entries that it is given; all others have their own. Parsers and deparsers are in p4_frames.py.

Each control is written once as functions of Python, for walking its tree for each frame takes ten times as long. There,
numbers are integers as their type has them, a name of the program has ``_`` behind it, and widths are checked before.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from support.p4_syntax import ControlTree, Node, Parameter, ProgramTree

MatchKey = tuple[int, int]
"""Value and mask."""
Entry = tuple[Sequence[MatchKey], tuple[str, Sequence[int]]]
"""Keys, and the action with its arguments."""
Entries = Mapping[str, Sequence[Entry]]
"""By name of the table as P4Info has it, such as ``TesterIngress.reception.receiver``; the first that matches wins."""
Kind = Any
"""Of a value: :class:`Bits`, a class of structs, a list of the kind and size of a stack; other things have a name."""
_MOST_MIRRORED_BITS = 8 * 28
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")


class Bits(NamedTuple):
    """A number of so many bits; without a width it takes that of the other operand."""

    width: int | None = None
    is_signed: bool = False

    def wrapped(self, source: str) -> str:
        """An expression whose value has this type."""
        if self.width is None:
            return source
        if self.is_signed:
            half = 1 << (self.width - 1)
            return f"((({source}) + {half} & {2 * half - 1}) - {half})"
        return f"(({source}) & {(1 << self.width) - 1})"

    def limits(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        assert self.width is not None
        half = 1 << (self.width - 1)
        return (-half, half - 1) if self.is_signed else (0, 2 * half - 1)


TRUTH = Bits(1)


class Value(NamedTuple):
    """An expression of Python, and the kind of its value."""

    source: str
    kind: Kind

    def to(self, kind: Kind) -> str:
        """The expression whose value has another type."""
        if not isinstance(kind, Bits) or self.kind == kind:
            return self.source
        assert isinstance(self.kind, Bits), f"{self.source} is no number"
        fits = not (self.kind.is_signed or kind.is_signed) and 0 < (self.kind.width or 0) <= (kind.width or 0)
        return self.source if fits else kind.wrapped(self.source)


class Struct:
    """A struct or a header, whose members have ``_`` behind their names."""

    __slots__ = ("is_valid",)
    is_valid: bool
    kinds: dict[str, Kind]
    width: int
    """Bits, where all members are numbers."""

    def set(self, name: str, value: int) -> None:
        """Give a member a value of its own width."""
        setattr(self, name + "_", value & ((1 << self.kinds[name].width) - 1))

    def values(self) -> dict[str, int]:
        """The values of members, which are numbers."""
        return {name: getattr(self, name + "_") for name in self.kinds}

    def fill(self, bits: int) -> Struct:
        """Give all members their part of so many bits."""
        raise NotImplementedError

    def joined(self) -> int:
        """The bits of all members one after the other."""
        raise NotImplementedError

    def set_valid(self, is_valid: bool) -> None:
        self.is_valid = is_valid


def _struct_class(name: str, kinds: dict[str, Kind], known: dict[str, type[Struct]]) -> type[Struct]:
    """The class of a struct; that of numbers can be filled and joined."""
    made: dict[str, Any] = {"kinds": kinds, "__slots__": [f"{member}_" for member in kinds]}
    starts = ["self.is_valid = False", *(f"self.{member}_ = {zeros(kind)}" for member, kind in kinds.items())]
    functions = [("__init__", "self", starts)]
    if all(isinstance(kind, Bits) for kind in kinds.values()):
        assert not any(kind.is_signed for kind in kinds.values()), f"{name} has a number with a sign"
        left = made["width"] = sum(kind.width for kind in kinds.values())
        takes, joined = [], "0"
        for member, kind in kinds.items():
            left -= kind.width
            takes.append(f"self.{member}_ = bits >> {left} & {(1 << kind.width) - 1}")
            joined = f"({joined} << {kind.width} | self.{member}_)"
        functions += [("fill", "self, bits", [*takes, "return self"]), ("joined", "self", [f"return {joined}"])]
    for function, parameters, lines in functions:
        names: dict[str, Any] = dict(known)
        exec("\n".join(function_lines(function, parameters, lines)), names)
        made[function] = names[function]
    return type(name, (Struct,), made)


def zeros(kind: Kind) -> str:
    """An expression for a value whose numbers are 0."""
    if isinstance(kind, Bits):
        return "0"
    return f"{kind.__name__}()" if isinstance(kind, type) else f"[{zeros(kind[0])} for _ in range({kind[1]})]"


def function_lines(name: str, parameters: str, lines: Iterable[str]) -> list[str]:
    """A function of Python."""
    return [f"def {name}({parameters}):", *indented(lines)]


def indented(lines: Iterable[str]) -> list[str]:
    """Lines one level deeper; ``pass`` where there are none."""
    return [f"    {line}" for line in lines] or ["    pass"]


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
        self.structs: dict[str, type[Struct]] = {}
        for name, members in tree.structs.items():
            self.structs[name] = _struct_class(name, {member: self.kind(of) for member, of in members}, self.structs)
        self.named = {"true": Value("True", TRUTH), "false": Value("False", TRUTH)}
        """Constants."""
        self.constants: dict[str, int] = {}
        expressions = Writer(self, {})
        for name, (of_type, value) in tree.constants.items():
            kind = self.kind(of_type)
            self.constants[name] = number = eval(expressions.value(value).to(kind))
            self.named[name] = Value(str(number), kind)
        self._made: dict[str, Callable[..., Any]] = {}

    def kind(self, of_type: Node) -> Kind:
        """A type without the names of typedefs."""
        if of_type[0] == "stack":
            return [self.kind(of_type[1]), of_type[2]]
        while of_type[0] in self.tree.types:
            of_type = self.tree.types[of_type[0]]
        name, arguments = of_type
        if name in ("bit", "int", "bool"):
            return Bits(arguments[0] if arguments else 1, name == "int")
        return self.structs.get(name, name)

    def struct(self, name: str) -> Struct:
        """Zeros of a struct."""
        return self.structs[name]()

    def maker(self, name: str, write: Callable[[], list[str]]) -> Callable[..., Any]:
        """The function ``make`` of lines that are written once."""
        if name not in self._made:
            known: dict[str, Any] = {**self.structs, "program": self, "Checksum": Checksum, "has": has}
            exec(_compiled(name, "\n".join(write())), known)
            self._made[name] = known["make"]
        return self._made[name]


@cache
def _compiled(name: str, text: str) -> CodeType:
    """The code of a control: programs that differ in a few lines have most of their controls in common."""
    return compile(text, f"<{name}>", "exec")


class _Hash:
    def __init__(self, algorithm: str) -> None:
        assert algorithm in ("CRC32", "IDENTITY"), algorithm
        self._is_crc = algorithm == "CRC32"

    def get(self, joined: int, width: int) -> int:
        return zlib.crc32(joined.to_bytes(width // 8, "big")) if self._is_crc else joined


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


class Mirror:
    """Copies of the frame that the gress has received: the session of each, and what stands in front of it."""

    def __init__(self) -> None:
        self.copies: list[tuple[int, bytes]] = []

    def emit(self, session: int, joined: int, width: int) -> None:
        self.copies.append((session, joined.to_bytes(width // 8, "big")))


class Checksum:
    """The Internet checksum; ``subtract`` leaves what a frame adds to it beside the fields that are taken out."""

    def __init__(self) -> None:
        self.sum = 0

    def add(self, words: int) -> None:
        self.sum = _sum_of(self.sum + _sum_of(words))

    def subtract(self, words: int) -> None:
        self.sum = _sum_of(self.sum + (_sum_of(words) ^ 0xFFFF))

    def is_wrong(self) -> bool:
        return self.sum != 0xFFFF

    def update(self, words: int, zeros_as_ones: int = 0) -> int:
        found = _sum_of(words) ^ 0xFFFF
        return 0xFFFF if found == 0 and zeros_as_ones else found


def _sum_of(words: int) -> int:
    """The sum of 16-bit words, whose carries are added."""
    return words % 0xFFFF or (0xFFFF if words else 0)


class Register:
    """Cells that have been written: numbers or structs."""

    def __init__(self) -> None:
        self.cells: dict[int, Any] = {}


class Control:
    """A control with its registers and counters; ``apply`` takes a value for each parameter, and returns numbers."""

    def __init__(self, program: Program, tree: ControlTree, entries: Entries, path: str = "") -> None:
        self._program, self._entries, self._path = program, entries, path or tree.name
        self.instances = {name: self._instance(kind[0], sizes, name) for kind, sizes, name, _ in tree.instances}
        make = program.maker(tree.name, lambda: ControlWriter(program, tree).lines())
        self.apply: Callable[..., Any] = make(self.instances, entries, self._path)

    def _instance(self, kind: str, arguments: list[Node], name: str) -> Any:
        if kind == "Hash":
            return _Hash(arguments[0][2])
        if kind in _EXTERNS:
            return _EXTERNS[kind]()
        return Control(self._program, self._program.tree.controls[kind], self._entries, f"{self._path}.{name}")


_EXTERNS: dict[str, Callable[[], Any]] = {
    "Register": Register, "RegisterAction": lambda: None, "Counter": Counter, "Checksum": Checksum, "Mirror": Mirror,
}  # fmt: skip


class Writer:
    """Writes functions of a control or a parser, whose ``names`` are known in each of them."""

    def __init__(self, program: Program, names: dict[str, Kind]) -> None:
        self.program, self.names = program, names
        self._own: dict[str, Kind] = {}
        """Names of the function that is being written."""
        self._changed: set[str] = set()
        """Names of the control that it gives a value."""

    def function(self, name: str, parameters: Iterable[str], lines: list[str]) -> list[str]:
        """The function whose lines have been written."""
        rebound = [f"nonlocal {', '.join(f'{name}_' for name in sorted(self._changed))}"] if self._changed else []
        self._own, self._changed = {}, set()
        return function_lines(f"{name}_", ", ".join(parameters), rebound + lines)

    def block(self, statements: list[Node]) -> list[str]:
        """Statements of the function that is being written."""
        return [line for kind, *parts in statements for line in getattr(self, f"_{kind}")(*parts)]

    _block = block

    def _if(self, condition: Node, then: Node, otherwise: Node) -> list[str]:
        lines = [f"if {self.value(condition).source}:", *indented(self.block([then]))]
        return lines + (["else:", *indented(found)] if (found := self.block([otherwise])) else [])

    def _variable(self, kind: Node, name: str, value: Node) -> list[str]:
        self._own[name] = self.program.kind(kind)
        return [f"{name}_ = {self.initial(self._own[name], value)}"]

    def initial(self, kind: Kind, value: Node) -> str:
        """The first value of a variable."""
        if value is None:
            return zeros(kind)
        if isinstance(kind, Bits):
            return self.value(value).to(kind)
        members = zip(value[1], kind.kinds.values(), strict=True)
        parts = [Value(self.value(element).to(member), member) for element, member in members]
        return f"{kind.__name__}().fill({self._joined(parts).source})"

    def _assign(self, target: Node, value: Node) -> list[str]:
        return [self.store(target, self.value(value))]

    def store(self, target: Node, value: Value) -> str:
        """The statement that gives a variable, a member or a slice of one a value."""
        old = self.value(target[1] if target[0] == "slice" else target)
        if target[0] == "slice":
            low, high = self.number(target[3]), self.number(target[2])
            mask = ((1 << (high - low + 1)) - 1) << low
            merged = f"{old.source} & {old.kind.limits()[1] & ~mask} | {value.source} << {low} & {mask}"
            return self.store(target[1], Value(merged, old.kind))
        if target[0] == "name" and target[1] not in self._own:
            self._changed.add(target[1])
        return f"{old.source} = {value.to(old.kind)}"

    def _do(self, call: Node) -> list[str]:
        _, called, arguments = call
        if called[0] == "member" and called[2] == "subtract_all_and_deposit":
            return [self.store(arguments[0], Value(f"{self.value(called[1]).source}.sum", Bits(16)))]
        control = self.value(called[1]).kind if called[0] == "member" and called[2] == "apply" else None
        if not isinstance(control, ControlTree):
            return [self.value(call).source]
        outputs = [
            (argument, self.program.kind(kind))
            for (direction, kind, _), argument in zip(control.parameters, arguments, strict=True)
            if direction == "inout" and isinstance(self.program.kind(kind), Bits)
        ]
        results = [Value(f"result_{place}", kind) for place, (_, kind) in enumerate(outputs)]
        given = ", ".join(self.value(argument).source for argument in arguments)
        taken = "".join(f"{result.source}, " for result in results) + "= " * bool(results)
        return [f"{taken}{called[1][1]}_({given})"] + [
            self.store(target, result) for (target, _), result in zip(outputs, results, strict=True)
        ]

    # Values

    def value(self, expression: Node) -> Value:
        """An expression of the function that is being written."""
        found: Value = getattr(self, f"_value_of_{expression[0]}")(*expression[1:])
        return found

    def number(self, expression: Node) -> int:
        """The value of an expression of constants."""
        return int(eval(self.value(expression).source))

    def match_key(self, match: Node) -> MatchKey | None:
        """Value and mask of what an entry or a select has; None: any key fits."""
        if match in (("name", "_"), ("name", "default")):
            return None
        return (self.number(match[1]), self.number(match[2])) if match[0] == "masked" else (self.number(match), -1)

    def fits(self, keys: Sequence[Node], matches: Sequence[Node]) -> str:
        """The condition under which variables ``key_0`` and so on match."""
        conditions = []
        for place, (_, match) in enumerate(zip(keys, matches, strict=True)):
            if match[0] == "name" and self.names.get(match[1]) == "value_set":
                conditions.append(f"has({match[1]}_, key_{place})")
            elif found := self.match_key(match):
                masked = f"key_{place}" if found[1] == -1 else f"key_{place} & {found[1]}"
                conditions.append(f"{masked} == {found[0] & found[1]}")
        return " and ".join(conditions) or "True"

    def keys(self, keys: Sequence[Node]) -> list[str]:
        """Statements that give the variables ``key_0`` and so on their values."""
        return [f"key_{place} = {self._unsigned(self.value(key))}" for place, key in enumerate(keys)]

    def _unsigned(self, value: Value) -> str:
        assert isinstance(value.kind, Bits), f"{value.source} is no number"
        return value.to(Bits(value.kind.width))

    def _value_of_number(self, value: int, width: int | None) -> Value:
        return Value(str(value), Bits(width))

    def _value_of_name(self, name: str) -> Value:
        for known in (self._own, self.names):
            if name in known:
                return Value(f"{name}_", known[name])
        return self.program.named[name]

    def _value_of_member(self, of: Node, name: str) -> Value:
        found = self.value(of)
        if found.kind == "hit":
            return Value(found.source, TRUTH)
        return Value(f"{found.source}.{name}_", found.kind.kinds[name])

    def _value_of_index(self, of: Node, place: Node) -> Value:
        found = self.value(of)
        return Value(f"{found.source}[{self.number(place)}]", found.kind[0])

    def _value_of_slice(self, of: Node, high: Node, low: Node) -> Value:
        first, last = self.number(low), self.number(high)
        kind = Bits(last - first + 1)
        return Value(kind.wrapped(f"{self.value(of).source} >> {first}"), kind)

    def _value_of_cast(self, of_type: Node, of: Node) -> Value:
        kind = self.program.kind(of_type)
        return Value(self.value(of).to(kind), kind)

    def _value_of_lookahead(self, of: Node, of_type: Node) -> Value:
        kind = self.program.kind(of_type)
        seen = f"{self.value(of).source}.lookahead({kind.width})"
        return Value(seen if isinstance(kind, Bits) else f"{kind.__name__}().fill({seen})", kind)

    def _value_of_list(self, elements: list[Node]) -> Value:
        return self._joined([self.value(element) for element in elements])

    def _joined(self, parts: list[Value]) -> Value:
        """Bits one after the other."""
        joined, width = "0", 0
        for value in parts:
            assert isinstance(value.kind, Bits) and value.kind.width, f"{value.source} has no width"
            joined, width = f"({joined} << {value.kind.width} | {self._unsigned(value)})", width + value.kind.width
        return Value(joined, Bits(width))

    def _value_of_unary(self, sign: str, of: Node) -> Value:
        value = self.value(of)
        if sign == "!":
            return Value(f"(not {value.source})", TRUTH)
        if sign == "~" and value.kind.width and not value.kind.is_signed:
            return Value(f"({value.source} ^ {value.kind.limits()[1]})", value.kind)
        return Value(value.kind.wrapped(sign + value.source), value.kind)

    def _value_of_binary(self, sign: str, left: Node, right: Node) -> Value:
        first, second = self.value(left), self.value(right)
        if sign in ("&&", "||"):
            assert first.kind == second.kind == TRUTH, f"{sign} between numbers"
            return Value(f"({first.source} {'and' if sign == '&&' else 'or'} {second.source})", TRUTH)
        if sign == "++":
            return self._value_of_list([left, right])
        if sign in ("<<", ">>"):
            return Value(first.kind.wrapped(f"{first.source} {sign} {second.source}"), first.kind)
        kinds = first.kind, second.kind
        if None not in (kinds[0].width, kinds[1].width):
            assert kinds[0] == kinds[1], f"widths differ at {first.source} {sign} {second.source}"
        kind = Bits(kinds[0].width or kinds[1].width, kinds[0].is_signed or kinds[1].is_signed)
        joined = f"({first.to(kind)} {sign.strip('|') or sign} {second.to(kind)})"
        if sign in _COMPARISONS:
            return Value(joined, TRUTH)
        if sign in ("|+|", "|-|"):
            low, high = kind.limits()
            return Value(f"max({low}, min({high}, {joined}))", kind)
        return Value(joined if sign in "&|^" else kind.wrapped(joined), kind)

    def _value_of_call(self, called: Node, arguments: list[Node]) -> Value:
        given = [self.value(argument) for argument in arguments]
        sources = [value.source for value in given]
        if called[0] == "name":
            return Value(f"{called[1]}_({', '.join(sources)})", None)
        _, of, method = called
        if method == "predicate":
            return Value(f"(1 << {sources[0]} + 2 * {sources[1]})", Bits(8))
        object_, width = self.value(of), getattr(given[-1].kind, "width", 0) if given else 0
        if method in ("add", "subtract", "update"):
            assert given[0].kind.width % 16 == 0, "fields of a checksum are whole words"
            sources[0] += "" if isinstance(given[0].kind, Bits) else ".joined()"
        if object_.kind == "Mirror":
            assert width % 8 == 0 and width <= _MOST_MIRRORED_BITS, "a mirror puts whole bytes in front, and not many"
        written, kind = _CALLS[f"{object_.kind}.{method}" if object_.kind == "Mirror" else method]
        source = written.format(*sources, of=object_.source, width=width, all=", ".join(sources))
        if kind != "own":
            return Value(source, kind)
        return Value(object_.kind.wrapped(source) if method == "get" else source, object_.kind)


_CALLS: dict[str, tuple[str, Kind]] = {
    "setValid": ("{of}.set_valid(True)", None),
    "setInvalid": ("{of}.set_valid(False)", None),
    "isValid": ("{of}.is_valid", TRUTH),
    "apply": ("{of}()", "hit"),
    "count": ("{of}.count({0}, program.frame_bytes)", None),
    "get": ("{of}.get({0}, {width})", "own"),
    "execute": ("{of}({0})", "own"),
    "extract": ("{of}.extract({0})", None),
    "advance": ("{of}.take({0})", None),
    "emit": ("{of}.emit({0})", None),
    "Mirror.emit": ("{of}.emit({all}, {width})", None),
    "add": ("{of}.add({0})", None),
    "subtract": ("{of}.subtract({0})", None),
    "update": ("{of}.update({all})", Bits(16)),
    "verify": ("{of}.is_wrong()", TRUTH),
}
"""Methods of things of TNA: the call in Python, and the kind of its value; ``own``: that of the thing."""


class ControlWriter(Writer):
    """Writes ``make(instances, entries, path)``, which returns the function ``apply`` of a control."""

    def __init__(self, program: Program, tree: ControlTree) -> None:
        super().__init__(program, {name: program.kind(kind) for _, kind, name in tree.parameters})
        self._tree = tree
        self.names |= {name: program.kind(kind) for kind, name, _ in tree.variables}
        self._variables = list(self.names)
        self.names |= dict.fromkeys(tree.tables, "table")
        for (kind, types), _, name, body in tree.instances:
            known = body[0][1][1] if body and len(body[0]) > 1 else types[0] if kind == "Hash" else None
            self.names[name] = program.kind(known) if known else program.tree.controls.get(kind, kind)

    def lines(self) -> list[str]:
        """The text of ``make``."""
        tree, found = self._tree, [f"{name}_ = None" for name in self._variables]
        for (kind, types), arguments, name, body in tree.instances:
            if kind == "RegisterAction":
                found += self._register_action(name, f"{arguments[0][1]}_", self.program.kind(types[0]), *body)
            else:
                part = {"Register": ".cells"}.get(kind, ".apply" if kind in self.program.tree.controls else "")
                found.append(f"{name}_ = instances[{name!r}]{part}")
        actions: dict[str, tuple[list[Parameter], list[Node]]] = {"NoAction": ([], []), **tree.actions}
        for name, (parameters, body) in actions.items():
            self._own = {parameter: self.program.kind(kind) for _, kind, parameter in parameters}
            widths = [f"{one}_ = {Value(f'{one}_', Bits()).to(kind)}" for one, kind in self._own.items()]
            found += self.function(name, [f"{one}_" for one in self._own], widths + self.block(body))
        found.append(f"actions = {{{', '.join(f'{name!r}: {name}_' for name in actions)}}}")
        for name in tree.tables:
            found += self.function(name, [], self._table(name))
        found += self.function("apply", [f"given_{name}" for _, _, name in tree.parameters], self._apply())
        return function_lines("make", "instances, entries, path", [*found, "return apply_"])

    def _register_action(
        self, name: str, cells: str, kind: Kind, parameters: list[Parameter], body: list[Node]
    ) -> list[str]:
        self._own = {parameter: self.program.kind(of_type) for _, of_type, parameter in parameters}
        old, *result = (f"{parameter}_" for parameter in self._own)
        lines = [f"{old} = {cells}.get(cell) or {zeros(kind)}", *(f"{one} = 0" for one in result), *self.block(body)]
        return self.function(name, ["cell"], [*lines, f"{cells}[cell] = {old}", *(f"return {one}" for one in result)])

    def _table(self, name: str) -> list[str]:
        """Statements that tell whether an entry has matched."""
        table = self._tree.tables[name]
        places = range(len(table.keys))
        pattern = "".join(f"(value_{place}, mask_{place}), " for place in places)
        differs = " or ".join(f"(key_{place} ^ value_{place}) & mask_{place}" for place in places) or "False"
        lines = [
            *self.keys(table.keys),
            f"given = entries.get(path + {'.' + name!r})",
            f"for ({pattern}), (action, arguments) in given or ():",
            *indented([f"if not ({differs}):", *indented(["actions[action](*arguments)", "return True"])]),
        ]
        own: list[str] = []
        for matches, call in table.entries:
            hit = indented([self.value(call).source, "return True"])
            own += [f"if {self.fits(table.keys, matches)}:", *hit]
        if own:
            lines += ["if given is None:", *indented(own)]
        return [*lines, *([self.value(table.default).source] if table.default else []), "return False"]

    def _apply(self) -> list[str]:
        tree = self._tree
        self._changed.update(self._variables)
        given = {name: Value(f"given_{name}", Bits()).to(self.names[name]) for _, _, name in tree.parameters}
        given |= {name: self.initial(self.names[name], value) for _, name, value in tree.variables}
        results = [
            f"{name}_, "
            for direction, _, name in tree.parameters
            if direction == "inout" and isinstance(self.names[name], Bits)
        ]
        lines = [f"{name}_ = {value}" for name, value in given.items()]
        return [*lines, *self.block(tree.apply), f"return {''.join(results)}"]


def has(members: Iterable[MatchKey], key: int) -> bool:
    """Whether a value set has a member that fits."""
    return any((key ^ value) & mask == 0 for value, mask in members)


def number_of(expression: Node) -> int:
    """The value of an expression of numbers."""
    return Writer(Program(ProgramTree()), {}).number(expression)
