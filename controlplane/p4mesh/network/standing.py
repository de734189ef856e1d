"""Networks that stay up between commands, by the names of their topologies.

Each has a record in /run/p4mesh, written once it is complete. What has namespaces and no record was left by a command
that was killed on the way.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from p4mesh.errors import TopologyError
from p4mesh.network.namespaces import STANDING, STATE, existing
from p4mesh.network.netlink import opened
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.removal import remove_network_namespace
from p4mesh.topology.model import TESTER, Topology

_RECORD = "network.json"
_LONGEST_NAME = 40


@dataclass(frozen=True)
class StandingNetwork:
    """A network that is up."""

    name: str
    topology: str
    """File that it was made of."""
    namespaces: dict[str, str]
    """Namespace of the tester and of each node."""
    parts: dict[str, str]
    """The parts that stand for each node."""


def bring_up(topology: Topology) -> StandingNetwork:
    """Build the network of a topology and leave it; raises TopologyError where one of this name is up."""
    name = name_of(topology)
    if any(network.name == name for network in list_networks()):
        raise TopologyError(f"network '{topology.name}' is up already", hint=f"p4mesh net down {topology.source}")
    NetnsNetwork.check(topology)
    remove_unfinished()
    network = NetnsNetwork(topology, name)
    try:
        network.build()
    except BaseException:
        network.__exit__(RuntimeError, None, None)
        raise
    record = StandingNetwork(
        name=name,
        topology=str(Path(topology.source).resolve()),
        namespaces={TESTER: network.namespace} | {node.device.name: node.namespace for node in network.nodes},
        parts={node.device.name: node.software for node in network.nodes},
    )
    _record_of(name).parent.mkdir(parents=True, exist_ok=True)
    _record_of(name).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    network.stay()
    return record


def bring_down(topology: Topology) -> StandingNetwork:
    """Remove the network of a topology; raises TopologyError where it is not up."""
    found = next((network for network in list_networks() if network.name == name_of(topology)), None)
    if found is None:
        raise TopologyError(f"network '{topology.name}' is not up", hint="p4mesh net status lists those that are")
    # The record goes first: from here on the network is unfinished, and net clean removes the rest.
    _record_of(found.name).unlink()
    NetnsNetwork(topology, found.name).__exit__(None, None, None)
    _remove_all(found.name)
    return found


def list_networks() -> tuple[StandingNetwork, ...]:
    """The networks that are up."""
    records = sorted(STATE.glob(f"{STANDING}*/{_RECORD}"))
    found = (StandingNetwork(**json.loads(record.read_text(encoding="utf-8"))) for record in records)
    names = set(existing())
    return tuple(network for network in found if names.issuperset(network.namespaces.values()))


def remove_unfinished() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove the namespaces of networks that never came up, or were not removed to the end.

    Return their names, and what could not be given back.
    """
    complete = {name for network in list_networks() for name in network.namespaces.values()}
    left = tuple(name for name in existing() if name.startswith(STANDING) and name not in complete)
    lost: tuple[str, ...] = ()
    for name in left:
        lost += remove_network_namespace(name)
    for directory in STATE.glob(f"{STANDING}*"):
        if not any(network.name == directory.name for network in list_networks()):
            shutil.rmtree(directory, ignore_errors=True)
    return left, lost


def interfaces_of(namespace: str) -> dict[str, bool]:
    """The interfaces of a namespace, each with whether its link is up."""
    with opened(namespace) as kernel:
        return {name: link["up"] for name, link in kernel.links().items() if name != "lo"}


def name_of(topology: Topology) -> str:
    """The name of the network of a topology."""
    return STANDING + re.sub(r"[^a-z0-9_-]+", "-", topology.name.lower())[:_LONGEST_NAME]


def _record_of(name: str) -> Path:
    return STATE / name / _RECORD


def _remove_all(name: str) -> None:
    for namespace in existing():
        if namespace == name or namespace.startswith(f"{name}-"):
            remove_network_namespace(namespace)
