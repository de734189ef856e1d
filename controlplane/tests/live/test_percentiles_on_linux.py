"""Percentiles where time is real: their bins, behind a device that holds each frame for 2 ms."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.forwarder import forwarding
from support.hand_made import machine
from support.linux_devices import TARGETS, needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.measurement import latency_stats
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, pytest.mark.wall_clock, needs_root]
DELAY_NS = 2_000_000
FRAMES, RATE_FPS = 2000, 1000
WIDTH = 1.01 / 512
"""Of a bin, as a share of its latency, which is without the delays of departures."""


@pytest.mark.parametrize("target", TARGETS)
def test_bins_are_a_five_hundredth_of_their_latency(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forwarder holds each frame for 2 ms or longer; half of the frames are below the median."""
    monkeypatch.setattr(latency_stats, "MOST_BINS", 1 << 14)  # none is joined with another
    monkeypatch.setattr(latency_stats, "_MOST_BINS_OF_A_TRIAL", 1 << 14)
    stream = Stream("one way", 128, Fraction(RATE_FPS), FRAMES, Pairs(), (1,), (2,), UDP_OVER_IPV4)
    spec = TrialSpec(
        "held",
        (stream,),
        FRAMES * 10**9 // RATE_FPS,
        Learning(enabled=False),
        settle_ns=200_000_000,
        restabilise_ns=0,
        histograms=HistogramPer.STREAM,
    )
    with machine(pairs=2) as here:
        for end in ("b1", "b2"):
            here.ip("link", "set", end, "up")
        access = "af_packet" if target == "live" else None
        with (
            forwarding(here.name, ("b1", "b2"), {}, DELAY_NS / 1e9),
            open_measurer(topology_of(shipped_on("back-to-back"), access, "a1,a2"), target) as measurer,
        ):
            result = valid(lambda: measurer.measure(spec))
            tick_ns = measurer.tester.tick_ps / 1000
    (latency,) = (found.latency for found in result.histograms)
    bins = latency.bins
    assert bins is not None and sum(bins.frames) == FRAMES
    (median_ns,) = (value for percent, value in latency.percentiles_ns if percent == 50)
    below = sum(frames for high, frames in zip(bins.high_ns, bins.frames, strict=True) if high <= median_ns)
    above = sum(frames for low, frames in zip(bins.low_ns, bins.frames, strict=True) if low > median_ns)
    assert median_ns >= DELAY_NS
    assert max(below, above) <= FRAMES / 2
    for low, high in zip(bins.low_ns, bins.high_ns, strict=True):
        assert high - low <= max(tick_ns, WIDTH * low)
