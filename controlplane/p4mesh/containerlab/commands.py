"""The commands of a node that give its interfaces addresses, tags and routes: ``ip`` and ``vtysh``, as in labs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from ipaddress import ip_address, ip_interface
from itertools import pairwise

from p4mesh.containerlab.configured import Configured
from p4mesh.containerlab.links import Address

_VTYSH = "vtysh"
_LINE_OF_VTYSH = re.compile(r"""-c\s+(?:'([^']*)'|"([^"]*)")""")
_SEPARATORS = re.compile(r"[;&|\n'\"()]+")


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
    for command in commands:
        _, vtysh, lines = command.partition(_VTYSH)
        if vtysh:
            found.read_frr("\n".join("".join(quoted) for quoted in _LINE_OF_VTYSH.findall(lines)))
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
