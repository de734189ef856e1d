"""Encapsulations of the Linux kernel as devices under test: VXLAN, segments of SRv6, labels where it routes them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import pytest
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers.notation import frame_of_text
from p4mesh.network import namespaces
from p4mesh.tester.stations import station
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES = 200
SOURCE, SEGMENT = "2001:db8:7::1", "2001:db8:2::1"


LACKING = ("not supported", "No such file", "Unknown device type")
"""Words of a refusal where the kernel does not have a function."""


@contextmanager
def kernel(*commands: str) -> Iterator[TrialEngine]:
    """Yield a tester beside a router of the kernel, in whose namespace ``ip`` and ``sysctl`` have run these commands.

    Skips where the kernel does not have what they ask for.
    """
    with open_measurer(shipped_on("router-4x1g", "linux"), "live") as measurer:
        begin = f"p4mesh-{os.getpid()}-"
        (name,) = (name for name in namespaces.existing() if name.startswith(begin) and name.endswith("-router"))
        for port in (1, 2):
            there = station(port)
            for address in (there.ipv4, there.ipv6):
                done(name, f"ip neigh replace {address} lladdr {there.mac.hex(':')} dev p{port}")
        for command in commands:
            if why := done(name, command):
                assert any(words in why for words in LACKING), f"{command}: {why}"
                pytest.skip(f"kernel {os.uname().release}: {command}: {why}")
        yield measurer


def done(namespace: str, command: str) -> str:
    """Run a command in a namespace; return why it was refused."""
    ran = subprocess.run(["ip", "netns", "exec", namespace, *command.split()], capture_output=True, text=True)
    return ran.stderr.strip() if ran.returncode else ""


def assert_counted(measurer: TrialEngine, headers: str, *, routed: bool = True) -> None:
    """Assert that each frame from port 1 comes to port 2, once and whole."""
    frame = frame_of_text(headers)
    stream = Stream("one", 256, Fraction(500), FRAMES, Pairs(), (1,), (2,), frame, routed=routed)
    learning = Learning(enabled=False)
    result = valid(lambda: measurer.measure(TrialSpec("one", (stream,), 10**9, learning, 3 * 10**8, 0, per_flow=True)))
    assert (result.tx_frames, result.rx_frames, result.duplicate_frames) == (FRAMES, FRAMES, 0)
    assert (result.flooded_frames, result.corrupted_frames) == (0, 0)


SEG6 = ("sysctl -w net.ipv6.conf.all.seg6_enabled=1", "sysctl -w net.ipv6.conf.p1.seg6_enabled=1")
VIA2 = f"ip -6 route add {SEGMENT}/128 via {station(2).ipv6} dev p2"


@pytest.mark.parametrize(
    ("commands", "headers"),
    [
        pytest.param(
            (f"ip route replace 198.18.2.2/32 encap seg6 mode encap segs {SEGMENT} dev p2",), "ipv4/udp", id="source"
        ),
        pytest.param(
            ("ip -6 route add 2001:db8:1::e/128 encap seg6local action End dev p1",),
            f"ipv6(source={SOURCE}, destination=2001:db8:1::e)/"
            f"segment_routing(segments={SEGMENT} 2001:db8:1::e, segments_left=1)/ipv4/udp",
            id="end",
        ),
        pytest.param(
            (f"ip -6 route add 2001:db8:1::4/128 encap seg6local action End.DX4 nh4 {station(2).ipv4} dev p1",),
            f"ipv6(source={SOURCE}, destination=2001:db8:1::4)/"
            "segment_routing(segments=2001:db8:1::4, segments_left=0)/ipv4/udp",
            id="end_dx4",
        ),
        pytest.param(
            (f"ip -6 route add 2001:db8:1::6/128 encap seg6local action End.DX6 nh6 {station(2).ipv6} dev p1",),
            f"ipv6(source={SOURCE}, destination=2001:db8:1::6)/"
            "segment_routing(segments=2001:db8:1::6, segments_left=0)/ipv6/tcp",
            id="end_dx6",
        ),
    ],
)
def test_segments_of_the_kernel(commands: Sequence[str], headers: str) -> None:
    with kernel(*SEG6, VIA2, *commands) as measurer:
        assert_counted(measurer, headers)


BRIDGED = (
    "ip link add vx type vxlan id 5000 dstport 4789 local 198.18.2.1 remote 198.18.2.2 dev p2",
    "ip link add name bridge type bridge",
    "ip link set vx master bridge up",
    "ip addr flush dev p1",
    "ip link set p1 master bridge",
    "ip link set bridge up",
)


@pytest.mark.parametrize("headers", ["ipv4/udp", "ipv6/tcp", "ethernet(ether_type=0x88b5)"])
def test_a_bridge_of_the_kernel_puts_frames_into_vxlan(headers: str) -> None:
    with kernel(*BRIDGED) as measurer:
        assert_counted(measurer, headers, routed=False)


def test_labels_of_the_kernel() -> None:
    commands = (
        "sysctl -w net.mpls.platform_labels=1000",
        "sysctl -w net.mpls.conf.p1.input=1",
        f"ip -f mpls route add 100 as 200 via inet {station(2).ipv4} dev p2",
    )
    with kernel(*commands) as measurer:
        assert_counted(measurer, "mpls(label=100)/ipv4/udp")
