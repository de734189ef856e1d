"""Finds Mininet for the Python that runs P4Mesh.

Debian installs it for the system's Python, and the virtual environment of P4Mesh does not see that folder. It is pure
Python, so it is loaded from there: the folder comes last in the search, and only while Mininet is loaded.
"""

from __future__ import annotations

import importlib
import sys

from p4mesh.errors import EnvironmentFault

_DEBIAN = "/usr/lib/python3/dist-packages"
_MODULES = ("mininet.net", "mininet.node", "mininet.link", "mininet.cli")


def load_mininet() -> None:
    """Load Mininet; raises EnvironmentFault where it is not installed."""
    sys.path.append(_DEBIAN)
    try:
        for module in _MODULES:
            importlib.import_module(module)
    except ImportError as error:
        raise EnvironmentFault(f"Mininet does not load: {error}", hint=_hint(error.name or "")) from None
    finally:
        sys.path.remove(_DEBIAN)


def _hint(missing: str) -> str:
    """Hint by the module that is missing, Mininet itself or one that it needs."""
    if missing.partition(".")[0] == "mininet":
        return "apt-get install mininet"
    if missing == "distutils":
        return "this Mininet needs distutils: use Python 3.11 or older, or pip install setuptools"
    return "Mininet needs this module: install it for this Python"
