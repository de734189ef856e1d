"""Removes networks: interfaces of this machine go back first, then everything else goes."""

from __future__ import annotations

import shutil

from p4mesh.network import namespaces
from p4mesh.network.borrowed import give_back


def remove_network_namespace(name: str) -> None:
    """Give back the interfaces of a namespace, then remove it with everything in it; one that is gone is no error.

    Raises TargetError where that is not allowed.
    """
    give_back(name)
    namespaces.remove(name)


def remove_abandoned() -> tuple[str, ...]:
    """Remove the namespaces of runs whose process is gone, with the processes in them; return their names.

    Raises TargetError where that is not allowed.
    """
    names = namespaces.abandoned()
    for name in names:
        remove_network_namespace(name)
        shutil.rmtree(namespaces.STATE / name, ignore_errors=True)
    return names
