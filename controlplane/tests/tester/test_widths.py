"""The largest of everything: ports of 800 Gbit/s, frames of 16,000 bytes, trials as long as a time stamp holds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import parsed, switch

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.tester.stream_checks import require_frame_sizes, require_stamps
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

FASTEST_BPS = 800 * 10**9


def sent(size: int, rate_fps: Fraction, frames: int) -> Stream:
    return Stream("s", size, rate_fps, frames, Pairs(), (1, 2), (2, 1))


@pytest.mark.parametrize("rate_bps", [10**9, FASTEST_BPS])
@pytest.mark.parametrize("size", [64, LARGEST_FRAME_BYTES])
def test_the_fastest_ports_and_the_longest_frames_have_the_latency_of_the_closed_form(rate_bps: int, size: int) -> None:
    topology = parsed(
        switch("latency_ns: 500", ports=2, rates_bps=rate_bps, tester="clock_tick_ps: 10", link="latency_ns: 0")
    )
    rate_fps = max_rate_fps(size, rate_bps)
    with open_measurer(topology) as measurer:
        spec = TrialSpec("t", (sent(size, rate_fps, 500),), int(500 * 10**9 / rate_fps), Learning(wait_ns=0))
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.rx_frames, result.lost_frames) == (1000, 0)
    assert result.latency is not None
    assert result.latency.min_ns == pytest.approx(500 + 8 * size * 10**9 / rate_bps, abs=0.02)


@pytest.mark.parametrize(("tick_ps", "holds_s"), [(1000, Fraction(2**48, 10**9)), (10, Fraction(2**48, 10**11))])
def test_a_trial_that_is_longer_than_a_time_stamp_is_refused(tick_ps: int, holds_s: Fraction) -> None:
    frames = int(holds_s * 1000)
    require_stamps([sent(64, Fraction(1000), frames)], tick_ps)
    with pytest.raises(ParameterError, match=r"a time stamp of 48 bits holds (281,474\.9|2,814\.7)") as caught:
        require_stamps([sent(64, Fraction(1000), frames + 1)], tick_ps)
    assert caught.value.hint is not None and "clock_tick_ps" in caught.value.hint


def test_frames_that_a_target_does_not_carry_are_refused() -> None:
    require_frame_sizes([sent(9216, Fraction(1), 1)], 9216, "live")
    with pytest.raises(UnsupportedError, match="not supported on live: stream 's' has frames of 9217 bytes"):
        require_frame_sizes([sent(9217, Fraction(1), 1)], 9216, "live")
    with pytest.raises(UnsupportedError, match="not supported on sim") as caught:
        require_frame_sizes([sent(16001, Fraction(1), 1)], 16000, "sim")
    assert caught.value.hint == "frame sizes up to 16000 B"
