"""Loads the engine, the compiled part of P4Mesh, and says what to do where it does not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p4mesh.errors import EngineMissingError
from p4mesh.shipped import IS_CHECKOUT

if TYPE_CHECKING:
    from types import ModuleType


def load_engine() -> ModuleType:
    """The module; raises EngineMissingError."""
    try:
        from p4mesh import _engine
    except ImportError as error:
        raise EngineMissingError(f"p4mesh._engine does not load: {error}", hint=engine_hint()) from None
    return _engine


def engine_hint() -> str:
    """How the engine gets there: it is built in a checkout, and comes with an installed package."""
    return "build it with: make setup" if IS_CHECKOUT else "install p4mesh again, as a wheel for this machine"
