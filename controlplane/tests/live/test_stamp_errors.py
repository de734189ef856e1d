"""Latencies of single frames against independent captures, with the kernel's stamps on both sides of the device."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address

import numpy as np
import pytest
from msgspec import structs
from support.linux_devices import ATTEMPTS, needs_root, shipped_on

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.network.namespaces import entered
from p4mesh.target.live import LiveTarget
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stamps import KERNEL
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

pytestmark = [pytest.mark.live, pytest.mark.wall_clock, needs_root]
FRAMES, RATE_FPS = 4_000, 10_000
FIRST_GROUP = IPv4Address("225.1.0.0")
SIZE_BYTES = 64
BUFFER_BYTES = 64 << 20
FORCED_BUFFER, NANOSECOND_STAMPS = 33, 35
"""SO_RCVBUFFORCE and SO_TIMESTAMPNS of Linux, which Python does not name."""
GROUP_BYTES = slice(30, 34)
"""Destination address of IPv4 behind Ethernet."""
MEDIAN_NS, MOST_NS = 5_000, 50_000


@contextmanager
def capture(namespace: str, interface: str) -> Iterator[socket.socket]:
    """Open a socket that keeps what an interface sends and receives, with stamps, until somebody reads."""
    with entered(namespace):
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    with opened as raw:
        raw.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, BUFFER_BYTES)
        raw.setsockopt(socket.SOL_SOCKET, NANOSECOND_STAMPS, 1)
        with entered(namespace):
            raw.bind((interface, 3))
        raw.setblocking(False)
        yield raw


def stamps_of(raw: socket.socket) -> dict[str, int]:
    """Return when each test frame passed, in ns of the system clock, by its group."""
    found: dict[str, int] = {}
    while True:
        try:
            frame, beside, _, _ = raw.recvmsg(2048, 64)
        except BlockingIOError:
            return found
        group = IPv4Address(frame[GROUP_BYTES])
        if len(frame) == SIZE_BYTES - 4 and FIRST_GROUP <= group < FIRST_GROUP + FRAMES:
            ((_, _, data),) = beside
            seconds, nanoseconds = struct.unpack("qq", data)
            found[str(group)] = seconds * 10**9 + nanoseconds


def errors_ns(result: TrialResult, before: socket.socket, behind: socket.socket) -> list[float]:
    """Return how far the latency of each frame is from the difference of the captures."""
    entry, leaving = stamps_of(before), stamps_of(behind)
    latencies = {flow.part: flow.latency for flow in result.flows if flow.latency}
    assert len(latencies) == len(entry) == len(leaving) == FRAMES
    assert all(latency.count == 1 for latency in latencies.values())
    return [abs(latency.sum_ns - (leaving[group] - entry[group])) for group, latency in latencies.items()]


@pytest.mark.parametrize(("access", "arrivals"), [("af_xdp", "XDP program"), ("af_packet", KERNEL)])
def test_latencies_agree_with_captures_of_the_kernel(access: str, arrivals: str) -> None:
    """Each frame is for a group of its own, so that its latency is known by itself."""
    topology = shipped_on("bridge-4x10m", "bridge")
    topology = replace(topology, live=structs.replace(topology.live, access=access))
    pattern = Multicast((GroupRange(str(FIRST_GROUP), FRAMES),))
    stream = Stream("groups", SIZE_BYTES, Fraction(RATE_FPS), FRAMES, pattern, (1,), (2,), UDP_OVER_IPV4)
    spec = TrialSpec(
        "stamps",
        (stream,),
        FRAMES * 10**9 // RATE_FPS,
        Learning(enabled=False),
        settle_ns=200_000_000,
        restabilise_ns=0,
        per_flow=True,
    )
    tried: list[str] = []
    with open_measurer(topology, "live") as measurer:
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        namespace = target.network.node("bridge").namespace
        for _ in range(ATTEMPTS):
            with ExitStack() as stack:
                before, behind = (stack.enter_context(capture(namespace, port)) for port in ("p1", "p2"))
                result = measurer.measure(spec)
                if result.status is not Verdict.MEASURED:
                    tried.append(result.reason)
                    continue
                stamps = next(found for found in result.stamps if found.port == 1)
                assert (stamps.arrivals, stamps.departures) == (arrivals, KERNEL)
                assert stamps.samples > FRAMES / 2 and stamps.delay_avg_ns > 0
                found = errors_ns(result, before, behind)
            median_ns, most_ns = np.median(found), np.quantile(found, 0.99)
            if median_ns < MEDIAN_NS and most_ns < MOST_NS:
                return
            tried.append(f"median {median_ns:.0f} ns, 99 % {most_ns:.0f} ns")
    raise AssertionError(f"no trial has latencies with errors below the bounds: {tried}")
