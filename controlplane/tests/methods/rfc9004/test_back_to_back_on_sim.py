"""RFC 9004 on simulated devices: the result for a queue of Q frames in closed form.

A queue of Q frames behind an output that takes ``T_out`` per frame, filled every ``T_in``: the fluid formula
``b2b = Q / (1 - rho)`` with ``rho = T_in / T_out`` counts neither the frame that is on the wire beside the queue nor
that a frame leaves the queue when its preamble starts, while it takes its place when its first bit could leave.
Frame k (from 0) finds room when ``k T_in >= (k - Q) T_out - preamble``, so the longest burst without loss is

    1 + floor((Q T_out + preamble) / (T_out - T_in))

which is 1 frame and ``preamble / (T_out - T_in)`` frames above the fluid formula: 3 frames at every frame size where
the overhead of the output is 24 bytes instead of 20. The tester adds the error of its departures: late ones or, on
ports that can send a gap below 96 bits, early ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil, floor

import pytest
from support.networks import parsed, shipped, switch
from support.runs import run_on_sim

from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.rfc9004.back_to_back import BackToBack, burst_spec
from p4mesh.methods.rfc9004.buffer_times import hidden_share, without_buffer
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import NS_PER_S, frame_time_ns, max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.verdict import Verdict

GIGABIT = 10**9
BY_LOSS = ("sustained=false",)
SUSTAINED = ("sustained=true",)
"""Throughput as short trials find it where queues are not watched."""
QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")
WHITE_RABBIT = 64, 128, 1
"""Queue, gap in bits and clock offset in ppm of the outputs of ``wrs-18x1g``."""


def device(rate_bps: int, queue: int, ifg_bits: int) -> Topology:
    tick_ps = 1000 if rate_bps <= GIGABIT else 10
    port = f"ifg_bits: {ifg_bits}, queue_frames: {queue}"
    return parsed(switch(ports=2, rates_bps=rate_bps, port=port, tester=f"clock_tick_ps: {tick_ps}"))


def output_ns(size: int, rate_bps: int, ifg_bits: int, clock_ppm: int = 0) -> Fraction:
    """The time of a frame at the output."""
    return frame_time_ns(size, rate_bps, 8 + Fraction(ifg_bits, 8)) / (1 + Fraction(clock_ppm, 10**6))


def longest_burst(size: int, rate_bps: int, queue: int, ifg_bits: int, clock_ppm: int = 0) -> int:
    """The closed form of the module's docstring."""
    out_ns = output_ns(size, rate_bps, ifg_bits, clock_ppm)
    preamble_ns = Fraction(64 * NS_PER_S, rate_bps)
    return 1 + floor((queue * out_ns + preamble_ns) / (out_ns - frame_time_ns(size, rate_bps)))


class Bursts:
    """Single bursts from port 1 to port 2."""

    def __init__(self, measurer: TrialEngine, size: int, rate_bps: int) -> None:
        self._measurer = measurer
        self._size = size
        self._mesh = Mesh((Leg(Pairs(), (1,), (2,)),), rate_bps)
        self._parameters = resolve(BackToBack.name, BackToBack.parameters, QUICK)
        self.departure_error_ns = Fraction(0)
        """Largest delay of a departure of the last burst."""

    def lost(self, frames: int) -> int:
        fps = max_rate_fps(self._size, self._mesh.line_rate_bps)
        result = self._measurer.measure(burst_spec(self._mesh, self._size, frames, fps, self._parameters))
        assert result.status is Verdict.MEASURED, result.reason
        self.departure_error_ns = Fraction(result.pacing[0].departure_error_ns)
        return result.lost_frames


@contextmanager
def bursts(topology: Topology, size: int, rate_bps: int) -> Iterator[Bursts]:
    with open_measurer(topology) as measurer:
        yield Bursts(measurer, size, rate_bps)


@pytest.mark.parametrize(("size", "fluid"), [(64, 1408), (1518, 24672)])
def test_the_closed_form_is_three_frames_above_the_published_fluid_formula(size: int, fluid: int) -> None:
    rho = max_rate_fps(size, GIGABIT, 24) / max_rate_fps(size, GIGABIT)
    assert 64 / (1 - rho) == fluid
    assert longest_burst(size, GIGABIT, queue=64, ifg_bits=128) == fluid + 3
    # The corrected time of 3 frames more is 96 ns more than Q / max_fps: 43.0 and 787 us either way.
    more_s = (fluid + 3) / max_rate_fps(size, GIGABIT) * (1 - rho)
    assert more_s == pytest.approx({64: 43.0e-6, 1518: 787e-6}[size], rel=0.003)


@pytest.mark.parametrize(
    ("rate_bps", "queue", "ifg_bits", "size"),
    [
        (GIGABIT, 64, 128, 64),
        (GIGABIT, 64, 128, 1518),
        (10**7, 5, 160, 512),
        (10**10, 100, 200, 128),
        (25 * 10**9, 0, 160, 64),
        (4 * 10**11, 1000, 400, 256),
    ],
)
def test_a_modelled_queue_reads_the_closed_form(rate_bps: int, queue: int, ifg_bits: int, size: int) -> None:
    """Never less; more by no more than the tester's departures may be late."""
    form = longest_burst(size, rate_bps, queue, ifg_bits)
    gain_ns = output_ns(size, rate_bps, ifg_bits) - frame_time_ns(size, rate_bps)
    with bursts(device(rate_bps, queue, ifg_bits), size, rate_bps) as sent:
        assert sent.lost(form) == 0
        late = sent.departure_error_ns / gain_ns
        assert sent.lost(form + 1 + ceil(late)) >= 1


def test_a_burst_of_one_frame_more_than_the_closed_form_loses_a_frame() -> None:
    form = longest_burst(64, GIGABIT, queue=64, ifg_bits=128)
    with bursts(device(GIGABIT, 64, 128), 64, GIGABIT) as sent:
        assert (sent.lost(form), sent.lost(form + 1)) == (0, 1)


@pytest.mark.parametrize("size", [64, 1518])
def test_the_white_rabbit_switch_reads_the_closed_form_within_the_pacing_of_the_tester(size: int) -> None:
    """Its tester may send gaps of 88 bits: a frame whose departure is late comes nearer to the next one."""
    form = longest_burst(size, GIGABIT, *WHITE_RABBIT)
    gain_ns = output_ns(size, GIGABIT, *WHITE_RABBIT[1:]) - frame_time_ns(size, GIGABIT)
    assert form == {64: 1411, 1518: 24684}[size], "a clock 1 ppm faster is 9 frames at 1518 bytes"
    with bursts(shipped("wrs-18x1g"), size, GIGABIT) as sent:
        sent.lost(1)
        early = ceil(sent.departure_error_ns / gain_ns)
        assert early < 20
        assert sent.lost(form - early) == 0
        assert sent.lost(form + 1 + early) >= 1


def test_short_throughput_trials_are_repeated_until_the_buffer_time_is_exact() -> None:
    """A queue of 8 frames: trials of 2,000 frames see 0.4 % too much of 4.5 %, those of 17,900 frames 0.045 %."""
    settings = ("repetitions=2", "burst_max_frames=400", "scaled_frames=2000", *BY_LOSS, "search_resolution_pct=0.001")
    results, outcome, trials = run_on_sim(BackToBack(), device(GIGABIT, 8, 128), (64,), *settings, *QUICK)
    (row,) = outcome.tables[0].rows
    burst = longest_burst(64, GIGABIT, queue=8, ifg_bits=128)
    assert row["burst_frames_avg"] == burst == 179
    exact_s = float(Fraction(burst, 22) / max_rate_fps(64, GIGABIT))
    assert row["corrected_buffer_s"] == pytest.approx(exact_s, rel=0.011)
    lengths = [spec.streams[0].frame_count for spec, _ in trials if spec.label.startswith("throughput")]
    assert max(lengths) > 17_000 and lengths[0] == 2000
    assert next(iter(results.values())).throughput.trial_frames == 17_900, "179 frames are 1 % of them"
    assert all("not sustained" in text for text in outcome.findings)
    (found,) = results.values()
    assert found.throughput.search.trials == len(lengths)
    assert row["trials"] == len(trials) == len(lengths) + sum(search.trials for search in found.searches)
    assert all(search.trials > len(search.steps.split(",")) for search in found.searches), "lossy steps are repeated"


def test_a_sustained_throughput_needs_no_longer_search_for_the_buffer_time() -> None:
    settings = ("repetitions=1", "burst_max_frames=400", "scaled_frames=3000", "search_resolution_pct=0.01")
    results, outcome, _ = run_on_sim(BackToBack(), device(GIGABIT, 8, 128), (64,), *settings, *QUICK)
    exact_s = float(Fraction(179, 22) / max_rate_fps(64, GIGABIT))
    assert outcome.tables[0].rows[0]["corrected_buffer_s"] == pytest.approx(exact_s, rel=0.005)
    (found,) = results.values()
    assert found.throughput.trial_frames is None and not outcome.findings


@pytest.mark.parametrize(
    ("queue", "ifg_bits", "resolution_pct", "step_frames", "settings"),
    [
        (8, 128, 0.01, 1, SUSTAINED),
        (8, 128, 0.01, 16, BY_LOSS),
        (8, 128, 1, 1, BY_LOSS),
        (40, 400, 0.01, 1, BY_LOSS),
        (40, 400, 1, 16, SUSTAINED),
    ],
)
def test_errors_of_buffer_times_cover_the_closed_form(
    queue: int, ifg_bits: int, resolution_pct: float, step_frames: int, settings: tuple[str, ...]
) -> None:
    """At a resolution of 1 %, a throughput of 95.5 % makes the corrected time right to a quarter."""
    steps = (f"search_resolution_pct={resolution_pct}", f"burst_step_frames={step_frames}", "repetitions=1")
    asked = (*steps, "burst_max_frames=1000", "scaled_frames=4000", *settings, *QUICK)
    _, outcome, _ = run_on_sim(BackToBack(), device(GIGABIT, queue, ifg_bits), (64,), *asked)
    row = {key: float(value) for key, value in outcome.tables[0].rows[0].items() if isinstance(value, int | float)}
    burst, line_fps = longest_burst(64, GIGABIT, queue, ifg_bits), max_rate_fps(64, GIGABIT)
    share = frame_time_ns(64, GIGABIT) / output_ns(64, GIGABIT, ifg_bits)
    corrected_s = float(burst / line_fps * (1 - share))
    assert row["burst_frames_avg"] == pytest.approx(burst, abs=row["burst_error_frames"])
    assert row["implied_buffer_s"] == pytest.approx(float(burst / line_fps), abs=row["implied_error_s"])
    assert row["corrected_buffer_s"] == pytest.approx(corrected_s, abs=row["corrected_error_s"])
    assert row["actual_buffer_s"] == pytest.approx(corrected_s / float(share), abs=row["actual_error_s"])
    if resolution_pct == 0.01 and step_frames == 1 and settings != BY_LOSS:
        assert row["corrected_error_s"] < 0.06 * row["corrected_buffer_s"], "a bucket of a burst is not excluded"


@pytest.mark.parametrize("frames", [1000, 5000])
def test_a_buffer_that_delays_no_frame_is_within_the_error(frames: int) -> None:
    """A look-up at 67.2 % of line forgives some 64 frames: a throughput of 71.7 % was taken for sustained."""
    forgiving = parsed(switch("lookup: {capacity_fps: 1000000}", ports=2, rates_bps=GIGABIT))
    asked = (f"scaled_frames={frames}", "repetitions=1", "burst_max_frames=1000")
    _, outcome, _ = run_on_sim(BackToBack(), forgiving, (64,), *asked, *QUICK)
    row = {key: float(value) for key, value in outcome.tables[0].rows[0].items() if isinstance(value, int | float)}
    burst = row["burst_frames_avg"]
    assert burst * 0.328 == pytest.approx(64, abs=1)
    corrected_s = burst * 0.328 / float(max_rate_fps(64, GIGABIT))
    assert row["corrected_buffer_s"] == pytest.approx(corrected_s, abs=row["corrected_error_s"])
    assert row["actual_buffer_s"] == pytest.approx(corrected_s / 0.672, abs=row["actual_error_s"])


def test_the_share_that_short_trials_hide_is_that_of_the_throughput_they_read() -> None:
    rho, queue, frames = Fraction(21, 22), 64, 10_000
    burst = queue / (1 - rho)
    read = rho / (1 - queue / Fraction(frames))
    assert without_buffer(read, burst, frames) == rho
    assert 0 < (read - rho) / (1 - rho) < hidden_share(burst, frames)


def test_trials_become_ten_times_as_long_at_most_and_what_is_left_is_said() -> None:
    """179 frames of a queue of 8: 1 % asks for 17,900 frames, trials of 300 frames become 3,000."""
    settings = ("repetitions=1", "burst_max_frames=400", "scaled_frames=300", *BY_LOSS, "search_resolution_pct=0.01")
    _, outcome, trials = run_on_sim(BackToBack(), device(GIGABIT, 8, 128), (64,), *settings, *QUICK)
    filling, told = outcome.findings
    assert "not sustained" in filling
    assert "may read 6.0 % too short, as throughput trials of 3,000 frames" in told
    lengths = [spec.streams[0].frame_count for spec, _ in trials if spec.label.startswith("throughput")]
    assert 2800 < max(lengths) <= 3000


def test_a_duration_of_the_users_is_kept_and_what_it_hides_is_said() -> None:
    settings = ("repetitions=1", "burst_max_frames=400", "duration_ms=1.344", *BY_LOSS, "search_resolution_pct=0.01")
    _, outcome, trials = run_on_sim(BackToBack(), device(GIGABIT, 8, 128), (64,), *settings, *QUICK)
    assert outcome.findings[1:] == (
        "64 B: the corrected buffer may read 8.9 % too short, as throughput trials of 2,000 frames end before the "
        "buffer is full; raise scaled_frames or duration_ms",
    )
    assert max(spec.streams[0].frame_count for spec, _ in trials if spec.label.startswith("throughput")) == 2000


def test_a_burst_longer_than_the_trials_leaves_the_least_throughput_open() -> None:
    """The tag of 4 bytes lets 276 of 280 through, so a queue of 64 frames takes 64 x 280 / 4 of them."""
    vlans = "{port: 1, mode: {access: 100}}, {port: 2, mode: {trunk: {vids: [100]}}}"
    topology = parsed(switch(f"vlans: {{ports: [{vlans}]}}", ports=2, rates_bps=10**8, port="queue_frames: 64"))
    asked = ("scaled_frames=1000", "repetitions=1", "search_resolution_pct=1", *QUICK)
    (row,) = run_on_sim(BackToBack(), topology, (256,), *asked)[1].tables[0].rows
    assert row["burst_frames_avg"] == pytest.approx(64 * 280 / 4, abs=4)
    buffer_s = 64 * 280 * 8 / 10**8 * 276 / 280
    assert row["corrected_buffer_s"] == pytest.approx(buffer_s, abs=float(str(row["corrected_error_s"])))
    assert row["actual_buffer_s"] is not None and row["actual_error_s"] is None
