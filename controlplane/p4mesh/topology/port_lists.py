"""Lists of ports as files have them, such as ``1-4,7``."""

from __future__ import annotations

from p4mesh.config_files.yaml_source import Path, YamlSource
from p4mesh.errors import TopologyError


def numbers_in(text: str) -> list[int]:
    """The numbers of a list in its order; the schema has seen its form."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def checked_numbers(source: YamlSource, path: Path, text: str, lowest: int, highest: int) -> list[int]:
    """The numbers of a list; raises TopologyError where they are none of ``lowest`` to ``highest``."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = (int(number) if len(number) < 10 else -1 for number in (first, last or first))
        if not lowest <= low <= high <= highest:
            raise TopologyError(
                f"{source.where(path)}: '{part[:20]}' is not a range of ports", hint=f"ports are {lowest} to {highest}"
            )
    return numbers_in(text)
