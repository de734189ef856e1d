"""Resolves the ports that a user names: numbers, ranges, and names of groups, roles, layers and devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from p4mesh.errors import UsageError
from p4mesh.methods.bed import Port

ALL = "all"
Place = Sequence[str | int]
Complain = Callable[[Place, str, str], UsageError]
"""Makes the error of a place in what the user wrote, from what is wrong there and what is valid."""
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


class PortNames:
    """The names that a user has for the ports of a tester."""

    def __init__(
        self, ports: Sequence[Port], complain: Complain, groups: Mapping[str, int | str] | None = None
    ) -> None:
        """``groups`` are names of the user's own; raises what ``complain`` makes where one of them is taken."""
        self._complain = complain
        self._numbers = tuple(port.number for port in ports)
        self._names: dict[str, tuple[int, ...]] = {ALL: self._numbers}
        self._kinds: dict[str, str] = {ALL: "word"}
        for kind, of_port in (
            ("role", {port.number: port.role for port in ports}),
            ("layer", {port.number: port.layer for port in ports}),
            ("device", {port.number: port.attached_to for port in ports}),
        ):
            for name in filter(None, dict.fromkeys(of_port.values())):
                numbers = tuple(number for number, found in of_port.items() if found == name)
                if self._names.setdefault(name, numbers) != numbers:
                    # A layer that is called like a device with other ports: neither can be meant alone.
                    self._names[name] = ()
                self._kinds.setdefault(name, kind)
        self._add_groups(groups or {})

    def ports(self, text: int | str, place: Place) -> tuple[int, ...]:
        """The ports of a text in its order; raises an error for unknown names, and ports named twice."""
        found: list[int] = []
        for word in str(text).split(","):
            for number in self._of_word(word.strip(), place):
                if number in found:
                    raise self._complain(place, f"port {number} is named twice", "name each port once")
                found.append(number)
        return tuple(found)

    def _add_groups(self, groups: Mapping[str, int | str]) -> None:
        made: dict[str, tuple[int, ...]] = {}
        for name, text in groups.items():
            if name in self._names:
                raise self._complain(
                    ("groups", name), f"'{name}' is a {self._kinds[name]} of the topology", "choose another name"
                )
            made[name] = self.ports(text, ("groups", name))
        self._names |= made
        self._kinds |= dict.fromkeys(made, "group")

    def _of_word(self, word: str, place: Place) -> tuple[int, ...]:
        if found := _RANGE.fullmatch(word):
            first, last = int(found[1]), int(found[2] or found[1])
            if first > last:
                raise self._complain(place, f"{word} counts down", f"write {last}-{first}")
            wanted = range(first, last + 1)
            if missing := sorted(set(wanted) - set(self._numbers)):
                of_range = f" of {word}" if first < last else ""
                ports = f"the topology has ports 1 to {max(self._numbers)}"
                raise self._complain(place, f"there is no port {missing[0]}{of_range}", ports)
            return tuple(wanted)
        if word not in self._names:
            known = ", ".join(f"{name} ({self._kinds[name]})" for name in sorted(self._names))
            raise self._complain(
                place, f"nothing is called '{word[:40]}'", f"ports are 1 to {max(self._numbers)}, or {known}"
            )
        if not self._names[word]:
            raise self._complain(
                place, f"'{word}' is the name of two different sets of ports", "name the ports by their numbers"
            )
        return self._names[word]
