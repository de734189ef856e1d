"""The links of a namespace, as the kernel tells them to pyroute2 too."""

from __future__ import annotations

import pytest
from support.linux_devices import needs_root
from support.networks import TOPOLOGIES

from p4mesh.errors import TargetError
from p4mesh.network.carriers import Carrier, carriers
from p4mesh.network.netlink import opened
from p4mesh.network.netns import NetnsNetwork
from p4mesh.topology.loader import load_topology


@needs_root
def test_every_interface_has_its_carrier_and_the_changes_of_it() -> None:
    with NetnsNetwork(load_topology(TOPOLOGIES / "bridge-4x10m.yaml")) as network:
        before = network.carriers()
        for up in (False, True, False):
            network.set_links(up, "live")
        after = network.carriers()
        found = carriers(network.namespace)
        with opened(network.namespace) as kernel:
            told = {
                link.get("ifname"): Carrier(
                    bool(link["flags"] & 1 and link["flags"] >> 16 & 1), link.get("carrier_changes")
                )
                for link in kernel.route.get_links()
            }
    assert found == told
    assert {up for up, _ in before.values()} == {True}
    assert after == {port: (False, losses + 2) for port, (_, losses) in before.items()}
    with pytest.raises(TargetError, match="network namespace p4mesh-nowhere: No such file"):
        carriers("p4mesh-nowhere")
