"""The commands of a node that give its interfaces addresses, tags and routes: those of ``ip``, as labs write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from itertools import pairwise

from p4mesh.containerlab.links import Address

_SEPARATORS = re.compile(r"[;&|\n'\"()]+")


@dataclass
class Configured:
    """Effect of the commands of a node."""

    addresses: dict[str, list[Address]] = field(default_factory=dict)
    """Of each interface."""
    tags: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Of a VLAN interface: the interface below, and the identifier."""
    gateways: list[IPv4Address | IPv6Address] = field(default_factory=list)
    """Next hops of routes."""

    def at(self, interface: str) -> tuple[list[Address], int]:
        """Addresses at an interface with the VLAN in which they are; 0: untagged."""
        tagged = ((name, tag) for name, (below, tag) in self.tags.items() if below == interface)
        for name, tag in ((interface, 0), *tagged):
            if name in self.addresses:
                return self.addresses[name], tag
        return [], 0


@cache
def configured(commands: tuple[str, ...]) -> Configured:
    """Read the commands; whatever they do beside that is not looked at."""
    found = Configured()
    for words in _commands_of_ip(commands):
        device = _after(words, "dev")
        if _begin(words, "address", "add", "replace") and device:
            found.addresses.setdefault(device, []).extend(_addresses(words[2:]))
        elif _begin(words, "link", "add") and "vlan" in words and _after(words, "id").isdecimal():
            name = _after(words, "name") or words[2]
            found.tags[name] = (_after(words[2:], "link"), int(_after(words, "id")))
        elif _begin(words, "route", "add", "replace"):
            try:
                found.gateways.append(ip_address(_after(words, "via")))
            except ValueError:
                continue
    return found


def _commands_of_ip(commands: Sequence[str]) -> Iterator[list[str]]:
    for command in commands:
        for part in _SEPARATORS.split(command):
            words = part.split()
            if "ip" in words:
                yield [word for word in words[words.index("ip") + 1 :] if not word.startswith("-")]


def _begin(words: list[str], subject: str, *verbs: str) -> bool:
    """Whether these are words of ``ip``, which may be cut short."""
    return len(words) > 2 and subject.startswith(words[0]) and any(verb.startswith(words[1]) for verb in verbs)


def _after(words: list[str], key: str) -> str:
    return next((value for word, value in pairwise(words) if word == key), "")


def _addresses(words: Sequence[str]) -> Iterator[Address]:
    for word in words:
        if "/" in word:
            try:
                yield ip_interface(word)
            except ValueError:
                continue
