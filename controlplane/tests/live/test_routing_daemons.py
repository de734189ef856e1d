"""FRR and BIRD learn by BGP which networks are behind the tester's stations, and traffic reaches all of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.linux_devices import available, needs_root, valid
from support.networks import shipped

from p4mesh.topology import Topology
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import FrameTemplate, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES = 100
NETWORKS = 3


@pytest.mark.parametrize("name", ["frr-4", "bird-4", "frr-16"])
def test_a_full_mesh_reaches_every_network_that_stations_announce(name: str) -> None:
    """Of IPv4, then of IPv6."""
    topology = available(shipped(name))
    with open_measurer(topology, "live") as measurer:
        for ip_version in (4, 6):
            check_full_mesh(measurer, topology, ip_version)


def check_full_mesh(measurer: TrialEngine, topology: Topology, ip_version: int) -> None:
    ports = tuple(port.number for port in topology.tester_ports)
    stream = Stream(
        "mesh",
        128,
        Fraction(100),
        FRAMES,
        FullMesh(),
        ports,
        ports,
        FrameTemplate(ip_version=ip_version),
        routed=True,
        advertised_networks=NETWORKS,
    )
    learning = Learning(wait_ns=200_000_000)
    spec = TrialSpec("mesh", (stream,), 10**9, learning, settle_ns=300_000_000, restabilise_ns=0)
    result = valid(lambda: measurer.measure(spec))
    frames = len(ports) * FRAMES
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (frames, frames, 0)
