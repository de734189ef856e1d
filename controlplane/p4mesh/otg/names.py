"""Names of a configuration: those of ports are unique among ports, those of flows among flows, and so on.

A device and its parts have names of one kind, as flows are between any of them. Public scripts give devices the names
of their ports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from p4mesh.otg.elements import refusal

# Metric tags have names, too, which belong to their flow.
_NAMED = ("ports", "layer1", "captures", "devices", "flows")


def require_names(data: Mapping[str, Any]) -> None:
    """Raise OtgError for a name that two elements of a kind have: requests could not tell them apart."""
    for key in _NAMED:
        owners: dict[str, str] = {}
        for place, element in enumerate(data.get(key, ())):
            path = f"{key}[{place}]"
            for name, where in _names_of(element, path, key == "devices"):
                if other := owners.get(name):
                    raise refusal(f"{where}.name", f"'{name}' is the name of {other}, too", "a name of its own")
                owners[name] = where


def _names_of(value: Any, path: str, inside: bool) -> Iterator[tuple[str, str]]:
    """Names of an element, and with ``inside`` of its parts, each with the path of what has it."""
    if isinstance(value, Mapping):
        if isinstance(value.get("name"), str):
            yield value["name"], path
        if inside:
            for key, part in value.items():
                yield from _names_of(part, f"{path}.{key}", inside)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _names_of(part, f"{path}[{place}]", inside)
