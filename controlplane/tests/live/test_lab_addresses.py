"""Routers of a lab keep their addresses: the stations of the tester are in their networks, on sim and on Linux."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.linux_devices import needs_root, valid
from support.networks import parsed

from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6
from p4mesh.layers.frame import Frame
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import TrialSpec

pytestmark = [pytest.mark.live, needs_root]
LAB = """\
name: lab
tester:
  ports: [{numbers: 1-2, rate_bps: 1000000000}]
nodes:
  - name: r
    device: router
    ports: [{numbers: 1-2, rate_bps: 1000000000}]
    interfaces:
      - {port: 1, mac: "02:00:00:00:aa:01", addresses: [10.0.1.254/24, "2001:db8:1::1/64"]}
      - {port: 2, mac: "02:00:00:00:aa:02", addresses: [192.0.2.1/30, "2001:db8:2::ff/64"]}
links: [{from: tester:1-2, to: r:1-2}]
"""


@pytest.mark.parametrize("frame", [UDP_OVER_IPV4, UDP_OVER_IPV6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("target", ["sim", "live"])
def test_frames_come_through_a_router_with_addresses_of_its_own(frame: Frame, target: str) -> None:
    stream = Stream("both ways", 256, Fraction(200), 100, Pairs(), (1, 2), (2, 1), frame, routed=True)
    spec = TrialSpec("lab", (stream,), 500_000_000, settle_ns=300_000_000)
    with open_measurer(parsed(LAB), target) as measurer:
        result = valid(lambda: measurer.measure(spec))
    assert (result.tx_frames, result.rx_frames) == (200, 200)
