"""What a check is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from p4mesh.topology.model import Topology


class Health(str, Enum):
    """State of one thing that a target needs."""

    OK = "ok"
    LIMITED = "limited"
    """Tests run, but not all of them, or not as well."""
    MISSING = "missing"
    """No test runs on this target."""


@dataclass(frozen=True)
class Finding:
    """The answer of a check."""

    about: str
    """What was looked at, in a few words."""
    health: Health
    found: str
    """What is there, such as a version; what is wrong where something is."""
    mend: str = ""
    """What to do about it; needed unless everything is well."""


@dataclass(frozen=True)
class Asked:
    """What the user wants to know."""

    topology: Topology | None = None
    """The set-up to look at; None where the user has named none."""


Check = Callable[[Asked], Iterable[Finding]]
"""Looks at one thing. An error that it raises is a finding, too: its message and its hint."""
