"""Test parameters declared as data: one declaration serves validation, ``p4mesh tests`` and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from p4mesh import numerals
from p4mesh.errors import ParameterError
from p4mesh.quantities import typed_text

Value = bool | int | str | Fraction

_LONGEST_SHOWN = 60
HIGHEST_PORT = 8_191


class Kind(str, Enum):
    """Type of a parameter's value."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    TEXT = "text"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a test: name, unit, type, default, range and where the RFC asks for it."""

    name: str
    kind: Kind
    default: Value
    unit: str
    section: str
    summary: str
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    choices: tuple[str, ...] = ()
    """Words that are valid: all of them for a choice, beside the range for a number."""
    real_time: Value | None = None
    """Default on targets whose time is real; None where it is the same."""
    is_command: bool = False
    """The text is a command that runs on the machine of the user."""
    role: int = 0
    """Place of the port that has this role by default among those that take part, from 1; 0: the value is no port."""

    def default_in(self, *, real_time: bool, ports: Sequence[int] = ()) -> Value:
        """The default on a target in virtual or in real time, with these ports of the tester."""
        if 0 < self.role <= len(ports):
            return ports[self.role - 1]
        return self.default if self.real_time is None or not real_time else self.real_time

    @property
    def valid(self) -> str:
        """The accepted values in words, with the unit."""
        if self.kind is Kind.BOOLEAN:
            return "true or false"
        if self.kind is Kind.CHOICE:
            return "one of " + ", ".join(self.choices)
        if self.kind is Kind.TEXT:
            return "a text"
        word = "an integer" if self.kind is Kind.INTEGER else "a number"
        unit = f" {self.unit}" if self.unit else ""
        words = "".join(f", or {choice}" for choice in self.choices)
        return f"{word} in {show(self.minimum)}..{show(self.maximum)}{unit}{words}"

    def parse(self, text: str) -> Value:
        """The value of ``text``; raises ParameterError with the valid range."""
        value = self._convert(text.strip())
        if value is None:
            raise ParameterError(f"--set {self.name}={shortened(text)}: not valid", hint=f"{self.name} is {self.valid}")
        return value

    def _convert(self, text: str) -> Value | None:
        if self.kind is Kind.BOOLEAN:
            return {"true": True, "false": False}.get(text.lower())
        if self.kind is Kind.TEXT:
            return text
        if self.kind is Kind.CHOICE or text in self.choices:
            return text if text in self.choices else None
        number = _number(text)
        if number is None:
            return None
        if self.minimum is not None and number < self.minimum:
            return None
        if self.maximum is not None and number > self.maximum:
            return None
        if self.kind is Kind.DECIMAL:
            return number
        return int(number) if number.denominator == 1 else None


def shortened(text: str) -> str:
    """The text of a user, shortened for a message."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _number(text: str) -> Fraction | None:
    """An exact number; None for a text that is no number, or that has more digits than any parameter needs."""
    try:
        return numerals.decimal(text)
    except ValueError:
        return None


def show(value: Value | None) -> str:
    """A value as a user would write it: decimals without trailing zeros, true/false."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return typed_text(value)
    return str(value)


@dataclass(frozen=True)
class ParameterSet:
    """Values of all parameters of one test."""

    values: Mapping[str, Value]

    def number(self, name: str) -> Fraction:
        """A numeric parameter as an exact rational."""
        value = self.values[name]
        assert isinstance(value, int | Fraction) and not isinstance(value, bool), name
        return Fraction(value)

    def integer(self, name: str) -> int:
        """An integer parameter."""
        value = self.values[name]
        assert isinstance(value, int) and not isinstance(value, bool), name
        return value

    def flag(self, name: str) -> bool:
        """A boolean parameter."""
        value = self.values[name]
        assert isinstance(value, bool), name
        return value

    def is_word(self, name: str) -> bool:
        """Whether a parameter that takes numbers or words holds a word."""
        return isinstance(self.values[name], str)

    def text(self, name: str) -> str:
        """A choice or a text."""
        value = self.values[name]
        assert isinstance(value, str), name
        return value

    def shown(self) -> dict[str, str]:
        """Every value as text, for the configuration echo."""
        return {name: show(value) for name, value in self.values.items()}


def resolve(
    test: str,
    declared: Iterable[Parameter],
    settings: Iterable[str],
    *,
    real_time: bool = False,
    ports: Sequence[int] = (),
) -> ParameterSet:
    """All parameter values of ``test`` from ``key=value`` settings over the defaults.

    ``real_time`` asks for the defaults of targets whose time is real; ``ports`` are those that have roles by default.
    Raises ParameterError for an unknown key, a repeated key or a value out of range.
    """
    known = {parameter.name: parameter for parameter in declared}
    values = {name: parameter.default_in(real_time=real_time, ports=ports) for name, parameter in known.items()}
    seen: set[str] = set()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set {shortened(setting)}: no '='", hint="write --set key=value")
        if name not in known:
            raise ParameterError(
                f"--set {shortened(setting)}: {test} has no parameter '{shortened(name)}'", hint=_known(known)
            )
        if name in seen:
            raise ParameterError(f"--set {setting}: '{name}' is set twice", hint="give each parameter once")
        seen.add(name)
        values[name] = known[name].parse(text)
    return ParameterSet(values)


def _known(known: Mapping[str, Parameter]) -> str:
    return "valid parameters: " + ", ".join(known)


def with_defaults(parameters: Iterable[Parameter], **defaults: Value) -> tuple[Parameter, ...]:
    """``parameters`` with other defaults; every name must be one of theirs."""
    known = tuple(parameters)
    assert set(defaults) <= {parameter.name for parameter in known}, defaults
    return tuple(replace(item, default=defaults.get(item.name, item.default)) for item in known)


def percent(name: str, default: str, section: str, summary: str, minimum: str = "0.0001") -> Parameter:
    """Declare a load in percent of line rate, on or above the 1 ppm grid."""
    return Parameter(
        name, Kind.DECIMAL, Fraction(default), "% of line rate", section, summary, Fraction(minimum), Fraction(100)
    )


def decimal(
    name: str, default: str, unit: str, section: str, summary: str, bounds: tuple[str, str], words: tuple[str, ...] = ()
) -> Parameter:
    """Declare a decimal number within inclusive ``bounds``, or one of ``words``."""
    low, high = (Fraction(bound) for bound in bounds)
    value = default if default in words else Fraction(default)
    return Parameter(name, Kind.DECIMAL, value, unit, section, summary, low, high, words)


def integer(name: str, default: int, unit: str, section: str, summary: str, bounds: tuple[int, int]) -> Parameter:
    """Declare an integer within inclusive ``bounds``."""
    low, high = (Fraction(bound) for bound in bounds)
    return Parameter(name, Kind.INTEGER, default, unit, section, summary, low, high)


def port_number(name: str, role: int, section: str, summary: str) -> Parameter:
    """Declare the port with a role: by default the one at place ``role`` of those that take part, from 1."""
    return replace(integer(name, role, "port number", section, summary, (1, HIGHEST_PORT)), role=role)


def boolean(name: str, default: bool, section: str, summary: str) -> Parameter:
    """Declare a switch."""
    return Parameter(name, Kind.BOOLEAN, default, "", section, summary)


def text(name: str, section: str, summary: str) -> Parameter:
    """Declare a text, empty unless it is given."""
    return Parameter(name, Kind.TEXT, "", "", section, summary)


def command(name: str, section: str, summary: str) -> Parameter:
    """Declare a text that runs as a command of the user's machine."""
    return replace(text(name, section, summary), is_command=True)


def choice(name: str, default: str, section: str, summary: str, choices: tuple[str, ...]) -> Parameter:
    """Declare a choice between words."""
    return Parameter(name, Kind.CHOICE, default, "", section, summary, choices=choices)
