"""Reads configurations of the API key by key: what nobody asks for is refused, with its path and what is valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from p4mesh.errors import OtgError

MOST_ERRORS = 20
"""Errors that a request is told at most."""
_SHOWN = 20
"""Characters of a text that an error shows."""


class OtgErrors(OtgError):
    """Several elements that cannot be used, each with its path and what is valid."""

    def __init__(self, errors: Sequence[OtgError]) -> None:
        super().__init__("; ".join(error.message for error in errors), hint=errors[0].hint)
        self.errors = errors


class Element:
    """One object of a configuration, as the JSON of the API has it, with its path."""

    def __init__(self, data: Mapping[str, Any], path: str) -> None:
        self._data = data
        self.path = path
        self._asked: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def at(self, key: str) -> str:
        """Path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str, default: str = "") -> str:
        return str(self._take(key, default))

    def integer(self, key: str, default: int = 0) -> int:
        """Whole number; those of 64 bits are texts in JSON."""
        return int(self._take(key, default))

    def number(self, key: str, default: int = 0) -> Fraction:
        """Number as its decimal text says, such as 0.1; raises OtgError for one without end and for none."""
        number = Decimal(str(self._take(key, default)))
        if not number.is_finite():
            raise refusal(self.at(key), "is not a number", "a finite number")
        return Fraction(number)

    def flag(self, key: str, default: bool = False) -> bool:
        return bool(self._take(key, default))

    def octets(self, key: str, default: str = "") -> bytes:
        """Bytes in hex; raises OtgError for a text that is none."""
        text = self.text(key, default)
        try:
            return bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            raise refusal(
                self.at(key), f"'{text[:_SHOWN]}' is not in hex", "pairs of hex digits, such as 00ff"
            ) from None

    def address(self, key: str, default: str = "") -> IPv4Address | IPv6Address:
        """IP address; raises OtgError for a text that is none."""
        text = self.text(key, default)
        try:
            return ip_address(text)
        except ValueError:
            raise refusal(
                self.at(key), f"'{text[:_SHOWN]}' is no IP address", "an address, such as 192.0.2.1"
            ) from None

    def texts(self, key: str) -> list[str]:
        return [str(item) for item in self._take(key, [])]

    def integers(self, key: str) -> list[int]:
        return [int(item) for item in self._take(key, [])]

    def element(self, key: str) -> Element:
        """Object of a key; an empty one where it is left out."""
        return Element(self._take(key, {}), self.at(key))

    def elements(self, key: str) -> list[Element]:
        """Objects of a list."""
        return [Element(item, f"{self.at(key)}[{place}]") for place, item in enumerate(self._take(key, []))]

    def choice(self, *valid: str, default: str) -> str:
        """The kind that ``choice`` names, or else the one that is given.

        Raises OtgError for one that is not among the valid ones, and for another one beside it.
        """
        given = [key for key in valid if key in self]
        chosen = self.text("choice", given[0] if given else default)
        if not chosen:
            raise refusal(self.at("choice"), "is left out", valid)
        if chosen not in valid:
            raise refusal(self.at(chosen), "is not supported", valid)
        if others := [key for key in given if key != chosen]:
            raise refusal(self.at(others[0]), f"is not the choice, which is {chosen}", [chosen])
        # The chosen key is asked for by who reads it.
        self._asked.extend(valid)
        return chosen

    def one_of(self, key: str, *valid: str) -> str:
        """One of a few words; raises OtgError where it is left out, or another one."""
        found = self.text(key)
        if found not in valid:
            raise refusal(self.at(key), f"is {found}" if found else "is left out", valid)
        return found

    def require(self, key: str, *valid: object, what: str = "is not supported") -> None:
        """Raise OtgError unless the value of a key is left out or one of the valid ones."""
        if key in self._data and self._take(key, None) not in valid:
            raise refusal(self.at(key), what, [str(value).lower() for value in valid])
        self._asked.append(key)

    def require_left(self, *valid: object) -> None:
        """Raise OtgError unless the values of all keys that nobody has asked for are valid ones."""
        for key in self._data:
            if key not in self._asked:
                self.require(key, *valid)

    @contextmanager
    def whole(self) -> Iterator[Element]:
        """Yield the element to be read; afterwards raise OtgError for a key that nobody has asked for."""
        yield self
        self.close()

    def close(self) -> None:
        """Raise OtgError for a key that nobody has asked for."""
        for key in self._data:
            if key not in self._asked:
                raise refusal(self.at(key), "is not supported", dict.fromkeys(self._asked))

    def _take(self, key: str, default: Any) -> Any:
        self._asked.append(key)
        return self._data.get(key, default)


def refusal(path: str, what: str, valid: Iterable[str]) -> OtgError:
    """Error on an element: where, what, and what is valid there."""
    text = valid if isinstance(valid, str) else ", ".join(valid)
    return OtgError(f"{path} {what}", hint=f"valid: {text}" if text else "leave it out")
