"""Rates and losses leave out what the bucket of a token bucket of the kernel lets through at first.

Goal: the rate and the bucket are those of ``tc``, on every target with interfaces. What a device loses evenly is no
transient.
"""

from __future__ import annotations

import shutil
from fractions import Fraction

import pytest
from support.forwarder import ROUND, Fault, forwarding
from support.hand_made import machine
from support.linux_devices import ATTEMPTS, RATE_BPS, TARGETS, needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.methods.results.metrics import rate_metrics
from p4mesh.network.nodes.base import run_command
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
SIZE_BYTES, FCS_BYTES = 256, 4
BUCKET_BYTES = 100 * 1024
RATES_FPS = {"live": 4000, "bmv2": 1000}
DURATION_S = 4


def spec_of(rate_fps: int, *, learns: bool = True, burst: Burst | None = None) -> TrialSpec:
    stream = Stream(
        "one way", SIZE_BYTES, Fraction(rate_fps), DURATION_S * rate_fps, Pairs(), (1,), (2,), UDP_OVER_IPV4, burst
    )
    return TrialSpec(
        "overload",
        (stream,),
        DURATION_S * 10**9,
        Learning(enabled=learns),
        settle_ns=600_000_000,
        restabilise_ns=0,
        watch_queues=True,
    )


@pytest.mark.skipif(shutil.which("tc") is None, reason="tc is not installed")
@pytest.mark.parametrize("burst_frames", [1, 20])
@pytest.mark.parametrize("target", TARGETS)
def test_a_bucket_is_measured_and_left_out(target: str, burst_frames: int) -> None:
    """Half of the load passes; the queue of the kernel is as long as the bucket, and late at the end."""
    # simple_switch has no passes for bursts at the rate of the line.
    burst = Burst(burst_frames, Fraction(4 * RATES_FPS[target])) if burst_frames > 1 else None
    spec = spec_of(RATES_FPS[target], burst=burst)
    frame_bytes = SIZE_BYTES - FCS_BYTES
    half_fps = RATES_FPS[target] // 2
    with open_measurer(shipped_on("bridge-4x10m", "bridge", (str(RATE_BPS), "100000000")), target) as measurer:
        namespace = measurer.tester.target
        assert isinstance(namespace, NamespaceTarget)
        limit = ("rate", f"{half_fps * frame_bytes * 8}bit", "burst", str(BUCKET_BYTES), "latency", "1ms")
        node = namespace.network.node("bridge")
        run_command(node.command("tc", "qdisc", "add", "dev", "p2", "root", "tbf", *limit))
        bucket_frames = BUCKET_BYTES / frame_bytes
        answers = []
        for _ in range(ATTEMPTS):
            # The queue of the bridge drains while a busy machine lets the sender wait.
            result = valid(lambda: measurer.measure(spec))
            rates = rate_metrics(spec, result, 10**8)
            most = float(rates.forwarding_error_fps) + 0.01 * half_fps
            wrong = [abs(frames / bucket_frames - 1) > 0.1 for frames in (rates.early_frames, rates.late_frames)]
            answers.append((result.transient, rates))
            if not any(wrong) and abs(rates.forwarding_fps - half_fps) <= most:
                return
    raise AssertionError(f"{half_fps} frames/s, {bucket_frames:.0f} frames early and late: {answers}")


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_lost_evenly_is_no_transient(target: str) -> None:
    faults = dict.fromkeys((1, 4, 7), Fault.LOSS)
    with machine(pairs=2) as here:
        for end in ("b1", "b2"):
            here.ip("link", "set", end, "up")
        access = "af_packet" if target == "live" else None
        with (
            forwarding(here.name, ("b1", "b2"), faults),
            open_measurer(topology_of(shipped_on("back-to-back"), access, "a1,a2"), target) as measurer,
        ):

            def once() -> TrialResult:
                return measurer.measure(spec_of(RATES_FPS[target] // 10, learns=False))

            result = valid(once)
    assert result.lost_frames == len(faults) * result.tx_frames // ROUND
    assert result.transient is None or not result.transient.frames
