"""Names of a package that load the module behind them when they are asked for first."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazily(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The ``__getattr__`` of ``package``: ``modules`` says which names are in which of its modules."""
    homes = {name: module for module, names in modules.items() for name in names}

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return attribute
