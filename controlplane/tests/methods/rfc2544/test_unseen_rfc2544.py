"""RFC 2544 on random devices: any rate, frame size, queue, overhead and latency, against closed forms.

A frame takes ``T_in`` of the tester's line and ``T_out`` of the device's output, behind which Q frames wait beside the
one on the wire; a frame leaves the queue with its preamble (``test_back_to_back_on_sim``). Departures of the tester
are late by its pacing error at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from random import Random

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.methods.base import Method
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import frame_time_ns, serialization_ns
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

RATES_BPS = (10**7, 10**8, 10**9, 25 * 10**8, 10**10, 25 * 10**9, 4 * 10**10, 10**11, 4 * 10**11)
PREAMBLE_BITS = 64
QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")
ONE_WAY = "bidirectional=false"
FRAMES = 2000
SEEDS = range(3)


@dataclass(frozen=True)
class Unseen:
    """A device and the frame size that it is tested with."""

    rate_bps: int
    size: int
    queue: int
    ifg_bits: int
    latency_ns: float

    @classmethod
    def of(cls, seed: int) -> Unseen:
        random = Random(seed)
        return cls(
            random.choice(RATES_BPS),
            random.choice([64, 90, 128, 300, 777, 1518, 9216]),
            random.choice([1, 5, 17, 64, 200]),
            random.choice([100, 104, 128, 200, 400]),
            random.choice([0, 350.5, 12_345]),
        )

    @property
    def in_ns(self) -> Fraction:
        return frame_time_ns(self.size, self.rate_bps)

    @property
    def out_ns(self) -> Fraction:
        return frame_time_ns(self.size, self.rate_bps, 8 + Fraction(self.ifg_bits, 8))

    @property
    def room_ns(self) -> Fraction:
        """Delay behind the ideal time at which the first frame is lost."""
        return self.queue * self.out_ns + Fraction(PREAMBLE_BITS * 10**9, self.rate_bps)

    @property
    def reset_s(self) -> float:
        return float(400 * self.in_ns / 10**9)

    @property
    def topology(self) -> Topology:
        # The longer a frame, the fewer rounds of a seed: slow lines would have many idle ones.
        loop_ns = float(self.in_ns / 8) if self.in_ns > 4000 else min(500.0, float(self.in_ns / 8))
        tick_ps = 1000 if self.rate_bps <= 10**9 else 10
        return parsed(
            switch(
                f"latency_ns: {self.latency_ns}, reset: {{time_s: {self.reset_s}}}",
                ports=2,
                rates_bps=self.rate_bps,
                port=f"ifg_bits: {self.ifg_bits}, queue_frames: {self.queue}",
                tester=f"clock_tick_ps: {tick_ps}, loop: {{rate_bps: 400000000000, latency_ns: {loop_ns}}}",
            )
        )

    def lossless(self, load_pct: Fraction, frames: int, more_ns: Fraction) -> bool:
        """Whether a trial with room for ``frames`` at line rate loses none of those at ``load_pct``."""
        sent = floor(frames * load_pct / 100)
        return (sent - 1) * (self.out_ns - self.in_ns * 100 / load_pct) <= self.room_ns + more_ns

    def accepted(self, frames: int) -> int:
        """Frames of a burst that come through."""
        started = floor(((frames - 1) * self.in_ns + self.room_ns - self.queue * self.out_ns) / self.out_ns) + 1
        return min(frames, started + self.queue)


def error_ns(trials: list[tuple[TrialSpec, TrialResult]]) -> Fraction:
    """Largest delay that a departure may have had."""
    return max(Fraction(paced.departure_error_ns) for _, result in trials for paced in result.pacing)


@pytest.mark.parametrize("seed", SEEDS)
def test_throughput_is_where_the_queue_begins_to_lose(seed: int) -> None:
    device = Unseen.of(seed)
    settings = (
        f"scaled_frames={FRAMES}",
        "search_resolution_pct=0.01",
        "confirm_factor=2",
        "sustained=false",
        ONE_WAY,
        *QUICK,
    )
    _, outcome, trials = run_on_sim(Throughput(), device.topology, (device.size,), *settings)
    (row,) = outcome.tables[0].rows
    near_ns = error_ns(trials) + device.out_ns
    assert device.lossless(Fraction(str(row["throughput_pct"])), 2 * FRAMES, near_ns)
    if row["upper_pct"] is None:
        assert row["throughput_pct"] == 100
    else:
        assert not device.lossless(Fraction(str(row["upper_pct"])), 2 * FRAMES, -near_ns)


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_at_line_rate_is_what_neither_left_nor_waits(seed: int) -> None:
    device = Unseen.of(seed)
    settings = (f"scaled_frames={FRAMES}", "step_pct=10", "sustained=false", ONE_WAY, *QUICK)
    _, outcome, trials = run_on_sim(FrameLoss(), device.topology, (device.size,), *settings)
    row = outcome.tables[0].rows[0]
    assert (row["load_pct"], row["tx_frames"]) == (100, FRAMES)
    assert abs(int(str(row["rx_frames"])) - device.accepted(FRAMES)) <= 1 + error_ns(trials) / device.out_ns


@pytest.mark.parametrize("seed", SEEDS)
def test_latency_of_an_idle_device_is_its_own_and_the_frame(seed: int) -> None:
    """Store and forward: last bit in to last bit out."""
    device = Unseen.of(seed)
    settings = ("scaled_frames=200", "search_max_pct=10", "search_initial_pct=10", ONE_WAY, *QUICK)
    _, outcome, _ = run_on_sim(Latency(), device.topology, (device.size,), *settings)
    row = outcome.tables[0].rows[0]
    expected_us = device.latency_ns / 1000 + float(serialization_ns(device.size, device.rate_bps)) / 1000
    tick_us = device.topology.clock_tick_ps / 1e6
    assert (row["definition"], row["load_pct"]) == ("LILO", 10)
    for key in ("min_us", "avg_us", "max_us"):
        assert row[key] == pytest.approx(expected_us, abs=2 * tick_us)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reset_takes_as_long_as_the_device_says(seed: int) -> None:
    device = Unseen.of(seed)
    settings = ("scaled_frames=1000", "load_pct=50", "resets=1", ONE_WAY, *QUICK)
    _, outcome, _ = run_on_sim(Reset(), device.topology, (device.size,), *settings)
    (row,) = next(table for table in outcome.tables if table.name == "reset").rows
    assert row["state"] == "PASS"
    assert row["reset_ms_avg"] == pytest.approx(1000 * device.reset_s, abs=float(str(row["resolution_ms"])))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_output_queue_recovers_at_once_where_it_can_be_overloaded(seed: int) -> None:
    """At half the rate a frame leaves the full queue before the next one comes."""
    device = Unseen.of(seed)
    settings = (f"scaled_frames={FRAMES}", "runs=2", *QUICK)
    _, outcome, _ = run_on_sim(SystemRecovery(), device.topology, (device.size,), *settings)
    (row,) = next(table for table in outcome.tables if table.name == "system_recovery").rows
    overload_frames = 10 * FRAMES
    hidden = device.accepted(overload_frames) == overload_frames
    if row["state"] == "PASS":
        assert (row["recovery_us_avg"], row["recovery_us_max"]) == (0, 0)
        assert ("the overload lost no frame" in str(row.get("reason"))) == hidden
    else:
        assert device.lossless(Fraction(100), FRAMES, Fraction(0))


def fastest(rate_bps: int) -> Topology:
    port = "ifg_bits: 128, queue_frames: 64"
    return parsed(switch(ports=2, rates_bps=rate_bps, port=port, tester="clock_tick_ps: 10"))


@pytest.mark.parametrize("test", [Throughput(), Latency(), SystemRecovery()])
def test_the_loop_has_room_for_the_streams_of_the_fastest_lines(test: Method) -> None:
    """Both directions at line rate, three streams one after the other, an overload and what follows it."""
    topology = fastest(8 * 10**11)
    settings = ["scaled_frames=1500", "search_resolution_pct=5", "sustained=false", *QUICK]
    if isinstance(test, SystemRecovery):
        settings.append("runs=2")
    _, outcome, trials = run_on_sim(test, topology, (64,), *settings)
    assert outcome.state in (Verdict.PASS, Verdict.MEASURED)
    assert max(sum(paced.loop_share_pct for paced in result.pacing) for _, result in trials) <= 100.001


@pytest.mark.parametrize(
    ("rate_bps", "loop_bps"),
    [
        (10**9, 4 * 10**11),
        (10**11, 4 * 10**11),
        (2 * 10**11, 8 * 10**11),
        (4 * 10**11, 16 * 10**11),
        (8 * 10**11, 32 * 10**11),
    ],
)
def test_the_loop_is_four_times_the_fastest_line_from_400_gbit_on(rate_bps: int, loop_bps: int) -> None:
    assert fastest(rate_bps).loop.rate_bps == loop_bps


@pytest.mark.parametrize("size", [64, 16_000])
def test_ports_of_800_gigabit_carry_frames_of_any_length_as_their_gap_leaves(size: int) -> None:
    """24 bytes beside a frame, and a device that stores it: 10 ps is the resolution of the time stamps."""
    settings = ("search_resolution_pct=0.1", "scaled_frames=5000", *QUICK)
    _, outcome, _ = run_on_sim(Latency(), fastest(8 * 10**11), (size,), *settings)
    rows = {table.name: table.rows[0] for table in outcome.tables if table.rows}
    truth_pct, found = 100 * (size + 20) / (size + 24), rows["throughput"]
    assert found["throughput_pct"] <= truth_pct <= (found["upper_pct"] or 100)
    assert rows["latency"]["min_us"] == pytest.approx(8 * size / 800 / 1000, abs=2e-5)
