"""FRR and BIRD learn by BGP which networks are behind the tester's stations, and traffic reaches all of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.frames import FORMATS
from support.linux_devices import available, needs_root, valid
from support.networks import shipped

from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES = 100
NETWORKS = 3


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("name", ["frr-4", "bird-4", "frr-16"])
def test_a_full_mesh_reaches_every_network_that_stations_announce(name: str, ip_version: int) -> None:
    topology = available(shipped(name))
    ports = tuple(port.number for port in topology.tester_ports)
    stream = Stream(
        "mesh",
        128,
        Fraction(100),
        FRAMES,
        FullMesh(),
        ports,
        ports,
        FORMATS[ip_version],
        routed=True,
        advertised_networks=NETWORKS,
    )
    learning = Learning(wait_ns=200_000_000)
    spec = TrialSpec("mesh", (stream,), 10**9, learning, settle_ns=300_000_000, restabilise_ns=0)
    with open_measurer(topology, "live") as measurer:
        result = valid(lambda: measurer.measure(spec))
    frames = len(ports) * FRAMES
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (frames, frames, 0)
