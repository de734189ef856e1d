"""Every Linux part forwards a full mesh of counted frames, each frame to its receiver and to nobody else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.frames import FORMATS
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4, Frame
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
PORTS = (1, 2, 3, 4)
FRAMES = 200
SWITCHES = (
    ("bridge-4x10m", "bridge"),
    ("bridge-4x10m", "openvswitch"),
    ("p4-l2-4ports", "simple_switch_grpc"),
    ("p4-l2-4ports", "p4mesh_switch"),
)
ROUTERS = (
    ("router-4x1g", "linux"),
    ("router-4x1g", "frr"),
    ("p4-l3-4ports", "simple_switch_grpc"),
    ("p4-l3-4ports", "p4mesh_switch"),
)


@pytest.mark.parametrize(("topology", "part"), SWITCHES)
def test_a_switch_forwards_a_full_mesh(topology: str, part: str) -> None:
    with open_measurer(shipped_on(topology, part), "live") as measurer:
        check_full_mesh(measurer, UDP_OVER_IPV4, routed=False)


@pytest.mark.parametrize(("topology", "part"), ROUTERS)
def test_a_router_forwards_a_full_mesh_of_ipv4_and_of_ipv6(topology: str, part: str) -> None:
    with open_measurer(shipped_on(topology, part), "live") as measurer:
        for ip_version in (4, 6):
            check_full_mesh(measurer, FORMATS[ip_version], routed=True)


def check_full_mesh(measurer: TrialEngine, headers: Frame, *, routed: bool) -> None:
    stream = Stream("mesh", 128, Fraction(200), FRAMES, FullMesh(), PORTS, PORTS, headers, routed=routed)
    learning = Learning(wait_ns=200_000_000)
    spec = TrialSpec("mesh", (stream,), 10**9, learning, settle_ns=300_000_000, restabilise_ns=0, per_flow=True)
    result = valid(lambda: measurer.measure(spec))
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (4 * FRAMES, 4 * FRAMES, 0)
    assert len(result.flows) == 12
