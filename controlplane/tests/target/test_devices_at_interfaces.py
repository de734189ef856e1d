"""A device at interfaces that are there already is no node of ours: nothing connects to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from p4mesh.network.netns import NetnsNetwork
from p4mesh.target.p4_devices import P4Devices
from p4mesh.topology import load_topology


def test_devices_without_a_node_are_left_alone() -> None:
    network = cast(NetnsNetwork, SimpleNamespace(nodes=()))
    for topology in ("bridge-4x10m", "p4-l2-4ports"):
        with P4Devices(load_topology(topology), network) as devices:
            devices.require_running()
            assert devices.cause_failures(1) == 0
