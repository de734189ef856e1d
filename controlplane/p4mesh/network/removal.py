"""Removes networks: interfaces of this machine go back first, then everything else goes."""

from __future__ import annotations

import shutil

from p4mesh.network import namespaces
from p4mesh.network.borrowed import give_back


def remove_network_namespace(name: str) -> tuple[str, ...]:
    """Give back the interfaces of a namespace, then remove it with everything in it; one that is gone is no error.

    Return what could not be given back, and why. Raises TargetError where removal is not allowed.
    """
    lost = give_back(name)
    namespaces.remove(name)
    return lost


def remove_network(network: str) -> tuple[str, ...]:
    """Remove all namespaces of a network, the tester's first, with its files; return what could not be given back."""
    lost = remove_network_namespace(network)
    for name in namespaces.existing():
        if name.startswith(f"{network}-"):
            lost += remove_network_namespace(name)
    shutil.rmtree(namespaces.STATE / network, ignore_errors=True)
    return lost


def remove_abandoned() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove the namespaces of runs whose process is gone, with the processes in them.

    Return their names, and what could not be given back. Raises TargetError where that is not allowed.
    """
    names = namespaces.abandoned()
    lost: list[str] = []
    for name in names:
        lost += remove_network_namespace(name)
        shutil.rmtree(namespaces.STATE / name, ignore_errors=True)
    return names, tuple(lost)
