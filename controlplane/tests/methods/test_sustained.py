"""Loads that only a buffer carries: no search passes them, and nothing reports them without saying so.

On fakes, a queue keeps a share of the frames by closed form; on ``sim``, devices have outputs of known rates behind
queues of 1 to 10,000 frames. ``P4MESH_QUEUE_DEVICES`` says how many seeded ones are searched (``make fuzz``).
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer
from support.networks import changed, parsed, shipped, switch
from support.queue_devices import Device
from support.runs import run_on_sim, run_unit

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.criterion import Criterion
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.traffic.line_rate import rate_at_pct
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

DEVICES = int(os.environ.get("P4MESH_QUEUE_DEVICES", "2"))
LONG_TRIALS = tuple(range(DEVICES // 5)) or (3,)
"""Seeds; of the usual ones, one with few frames in 30 s."""
PPM = Fraction(1, 1_000_000)
QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")
FINE_PCT = 0.03
FINE = (f"search_resolution_pct={FINE_PCT}", *QUICK)
SEARCHES = ("bisect", "bisect_verified", "linear_down", "combo", "mlr")
FEW = ("scaled_frames=5000",)
CAPACITY_PCT = Fraction("83.7")
TELLS_AFTER_FRAMES = 1.5
BED = make_bed(2)


class Buffered(FakeMeasurer):
    """A device with a buffer that is never full: it loses nothing, and latency tells what its queue keeps."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        stream, frames = spec.streams[-1], sum(part.frame_count for part in spec.streams)
        capacity_fps = rate_at_pct(CAPACITY_PCT, stream.frame_size_bytes, 10**9)
        excess = stream.rate_fps / capacity_fps - 1
        ppm, grown = float(excess / PPM), frames * excess
        if excess <= 50 * PPM:
            trend = QueueTrend(Trend.STEADY, excess_ppm=max(0.0, ppm))
        elif grown < TELLS_AFTER_FRAMES:
            trend = QueueTrend(Trend.UNCLEAR, excess_ppm=ppm, error_ppm=1.1 * ppm, longer=3)
        else:
            fps = float(excess * capacity_fps)
            trend = QueueTrend(Trend.FILLING, ppm, 1.0, fps, 1000 / fps, (2,))
        return replace(result, queues=trend)


def searched(*settings: str) -> tuple[dict[str, Any], Outcome, Buffered]:
    """Search the throughput of the fake; return its row, the outcome and the measurer."""
    measurer = Buffered()
    _, outcome = run_unit(Throughput(), BED, measurer, 64, *QUICK, "bidirectional=false", *settings)
    return dict(outcome.tables[0].rows[0]), outcome, measurer


@pytest.mark.parametrize("search", SEARCHES)
def test_no_search_passes_a_load_that_fills_a_queue(search: str) -> None:
    row, outcome, _ = searched(f"search_method={search}", "search_step_pct=1", "mlr_exceed_pct=0")
    width = {"linear_down": 1, "mlr": Fraction("0.5")}.get(search, Fraction("0.1"))
    unseen = Fraction("0.005") if search == "mlr" else Fraction("0.000001")
    assert CAPACITY_PCT - width - Fraction("0.005") <= row["throughput_pct"] <= CAPACITY_PCT + unseen
    assert row["carried_pct"] <= CAPACITY_PCT + Fraction("0.000001")
    assert not any("sustained" in text for text in outcome.findings)


def test_a_trial_that_is_too_short_is_repeated_longer_at_its_load() -> None:
    _, outcome, measurer = searched("scaled_frames=1000", "search_resolution_pct=0.01", "confirm_factor=1")
    (trials,) = (table.rows for table in outcome.tables if table.name == "search_trials")
    unclear = [number for number, row in enumerate(trials) if row["verdict"] == "UNCLEAR"]
    assert unclear, "an excess of 0.1 % keeps one of a thousand frames"
    longest_ms = MOST_LENGTHENING * 0.672
    for number in unclear:
        first, second = trials[number], trials[number + 1]
        if float(str(first["duration_ms"])) < longest_ms:
            assert first["load_pct"] == second["load_pct"]
            assert float(str(second["duration_ms"])) > 1.1 * float(str(first["duration_ms"]))
    assert len(trials) == len(measurer.specs)


def of_method(method: Method, *settings: str) -> tuple[Outcome, Buffered]:
    """Run a test on the fake; return the outcome and the measurer."""
    measurer = Buffered()
    _, outcome = run_unit(method, BED, measurer, 64, *QUICK, "bidirectional=false", *settings)
    return outcome, measurer


def test_a_load_of_a_sweep_that_cannot_be_judged_is_measured_longer() -> None:
    """At 84 %, one frame of 280 stays in the queue: 300 frames show less than two of them."""
    settings = ("scaled_frames=300", "step_pct=4", "full_sweep=true")
    outcome, measurer = of_method(FrameLoss(), *settings)
    rows = {row["load_pct"]: row for row in outcome.tables[0].rows}
    assert {row["queues"] for load, row in rows.items() if load >= 84} == {"filling"}
    assert {row["queues"] for load, row in rows.items() if load <= 80} == {"steady"}
    lengths = [spec.duration_ns for spec in measurer.specs]
    assert len(lengths) == len(rows) + 1 and lengths[-1] == 3 * lengths[0], "84 % alone, after all loads"
    outcome, measurer = of_method(FrameLoss(), *settings, "sustained=false")
    assert {spec.duration_ns for spec in measurer.specs} == {lengths[0]}
    assert {row["queues"] for row in outcome.tables[0].rows} >= {"too short to tell"}


def test_latency_is_read_from_a_trial_that_is_long_enough_to_tell() -> None:
    settings = ("scaled_frames=150", "search_max_pct=84", "search_initial_pct=84", "search_min_pct=84")
    _, measurer = of_method(Latency(), *settings, "acceptable_loss_pct=1", "confirm_factor=1")
    asked = [spec for spec in measurer.specs if spec.label.startswith("latency")]
    assert [spec.duration_ns // asked[0].duration_ns for spec in asked] == [1, 3]
    assert {spec.departure_error_ns for spec in asked} == {20}
    assert {spec.departure_error_ns for spec in measurer.specs if spec not in asked} == {None}


def test_the_longest_trial_decides_by_what_is_certain() -> None:
    row, outcome, measurer = searched("scaled_frames=10", "search_resolution_pct=0.01", "confirm_factor=1")
    longest_frames = max(spec.streams[0].frame_count for spec in measurer.specs)
    assert 9 * MOST_LENGTHENING <= longest_frames <= 10 * MOST_LENGTHENING + 1
    assert row["throughput_pct"] < 84.2, "320 frames show 0.5 %"
    assert row["carried_pct"] <= CAPACITY_PCT, "what the trial does not exclude"
    assert any("too short to tell" in text for text in outcome.findings)


def test_an_acceptable_loss_is_one_that_a_full_buffer_would_have() -> None:
    row, _, _ = searched("acceptable_loss_pct=0.5")
    assert row["throughput_pct"] == pytest.approx(83.7 / 0.995, abs=0.11)


@pytest.mark.parametrize(("queue_frames", "found"), [(1024, 100), (10**5, 91)])
def test_copies_that_a_full_queue_loses_are_no_limit(queue_frames: int, found: int) -> None:
    """A tenth of the frames comes twice, so from 90.91 % on a queue fills. Full, it has a place for each frame that is
    no copy, as one leaves meanwhile: a long trial passes 100 %. One of 100,000 places is not full in any trial.
    """
    device = switch("impairments: {duplicate_ppb: 100000000}", ports=2, port=f"queue_frames: {queue_frames}", seed=1)
    outcome = run_on_sim(Throughput(), parsed(device), (64,), *QUICK, "scaled_frames=1000", "search_resolution_pct=1")[
        1
    ]
    row = outcome.tables[0].rows[0]
    assert (row["throughput_pct"], row.get("upper_pct")) == (pytest.approx(found, abs=1.5), None)
    told = [text for text in outcome.findings if "a device that loses only such copies carries more" in text]
    assert (len(told), row.get("reason", "")) == ((0, "") if found == 100 else (1, "at least"))


def test_unless_it_is_asked_for_a_queue_that_fills_is_a_finding() -> None:
    row, outcome, _ = searched("sustained=false")
    assert row["throughput_pct"] == 100
    (finding,) = (text for text in outcome.findings if "sustained" in text)
    assert "64 B, throughput at 100 %: not sustained: 194,743 ppm" in finding
    assert "queue to port 2; a buffer of 1,000 frames is full after 4.123 ms" in finding


def test_where_time_is_real_the_loss_decides_unless_the_user_says_otherwise() -> None:
    for method in (Throughput(), FullyMeshed(), Broadcast(), Latency()):
        assert resolve(method.name, method.parameters, ()).flag("sustained")
        assert not resolve(method.name, method.parameters, (), real_time=True).flag("sustained")


@pytest.mark.parametrize(
    ("trend", "verdict"), [(Trend.STEADY, "PASS"), (Trend.FILLING, "FAIL"), (Trend.UNCLEAR, "UNCLEAR")]
)
def test_a_lost_frame_needs_no_queue_that_fills(trend: Trend, verdict: str) -> None:
    result = Buffered().measure(Device().spec(Fraction(1)))
    seen = replace(result, queues=QueueTrend(trend, excess_ppm=100.0))
    assert Criterion(sustained=True)(seen) is Verdict(verdict)
    assert Criterion(sustained=True)(replace(seen, lost_frames=1)) is Verdict.FAIL
    assert Criterion(sustained=False)(seen) is Verdict.PASS


def near(limit_pct: float, around_pct: float = 0.06) -> tuple[str, str, str]:
    """The bounds of a search that ends at a limit after few trials, and whose middle is above it."""
    low, high = round(limit_pct - around_pct, 2), min(100.0, round(limit_pct + 1.2 * around_pct, 2))
    return (f"search_min_pct={low}", f"search_initial_pct={high}", f"search_max_pct={high}")


def queued(seed: int) -> Device:
    """A device whose queue holds 1 to 10,000 frames."""
    draw = random.Random(seed)
    return Device(
        ports=draw.choice((2, 4)),
        rate_bps=draw.choice((10**7, 10**9, 10**10)),
        ifg_bits=draw.randint(100, 400),
        clock_ppm=round(draw.uniform(-100, 100), 1),
        queue_frames=round(10 ** draw.uniform(0, 4)),
        pattern=draw.choice((FullMesh(), Pairs())),
        frame_size_bytes=draw.choice((64, 200, 1518)),
    )


def found_pct(device: Device, *settings: str) -> float:
    """The throughput that a search finds, to 0.03 %."""
    method = FullyMeshed() if isinstance(device.pattern, FullMesh) else Throughput()
    own = ("parts=throughput",) if isinstance(method, FullyMeshed) else ("confirm_factor=1",)
    _, outcome, _ = run_on_sim(method, device.topology, (device.frame_size_bytes,), *own, *FINE, *settings)
    (row,) = (table.rows[0] for table in outcome.tables if table.name == "searches")
    found = row["lower_pct"]
    assert isinstance(found, float)
    return found


def found_near(device: Device) -> float:
    """The throughput of a search between half a percent below what a device sustains and a little more above."""
    return found_pct(device, *near(float(device.sustained_pct), 0.5))


@pytest.mark.parametrize("seed", range(DEVICES))
def test_throughput_of_seeded_devices_is_the_sustained_rate_whatever_the_queue_holds(seed: int) -> None:
    device = queued(seed)
    slack = 11 * PPM * 100
    assert device.sustained_pct - Fraction(str(FINE_PCT)) <= found_near(device) <= device.sustained_pct + slack, device


@pytest.mark.parametrize("seed", LONG_TRIALS)
def test_trials_of_30_s_on_seeded_devices_find_the_same_and_what_a_queue_holds(seed: int) -> None:
    """Loss alone decides in 30 s of 10 Mbit/s; a queue of Q frames hides Q of the N that an output sends."""
    device = replace(queued(seed), rate_bps=10**7, ports=2)
    real_pct = found_pct(device, "duration_ms=30000", "sustained=false")
    sent = 30 * float(rate_at_pct(device.sustained_pct, device.frame_size_bytes, device.rate_bps))
    # Frames that an output serves, and that a sender has begun, when the trial ends.
    hidden_pct = float(device.sustained_pct) * (device.queue_frames + 2) / sent
    assert -FINE_PCT <= real_pct - found_near(device) <= FINE_PCT + hidden_pct, device


@pytest.mark.parametrize(
    ("name", "sustained_pct", "settings"),
    [
        ("back-to-back", 100, FEW),
        ("bridge-4x10m", 100, FEW),
        ("three-switches", 100, FEW),
        ("p4-l2-4ports", 100, FEW),
        ("p4-l3-4ports", 100, ("routed=true", *FEW)),
        # It looks up 4 million frames of four ports, and 64 at once.
        ("router-4x1g", 67.2, ("routed=true",)),
        ("router-4x1g-bgp", 67.2, ("routed=true",)),
    ],
)
def test_shipped_topologies_read_what_their_devices_sustain(
    name: str, sustained_pct: float, settings: tuple[str, ...]
) -> None:
    """To the resolution of the search, at the usual length. Others have tests of what limits them."""
    test = find_test("rfc2544.throughput")
    _, outcome, _ = run_on_sim(
        test, shipped(name), (64,), "confirm_factor=1", *near(sustained_pct, 0.3), *QUICK, *settings
    )
    (row,) = outcome.tables[0].rows
    assert row["throughput_pct"] == pytest.approx(sustained_pct, abs=0.1)


def test_latency_at_the_throughput_is_not_that_of_a_queue_that_fills() -> None:
    """84 % of the line comes out, and 100 frames may wait."""
    device = Device(ports=2, ifg_bits=224, queue_frames=100, pattern=Pairs())
    assert float(device.sustained_pct) == 84
    settings = (
        "search_resolution_pct=0.01",
        *near(84),
        "confirm_factor=1",
        "scaled_frames=10000",
        "loads=all",
        "bidirectional=false",
    )
    _, outcome, _ = run_on_sim(Latency(), device.topology, (64,), *settings, *QUICK)
    rows = {row["at"]: row for row in outcome.tables[0].rows}
    at = rows["throughput"]
    assert 83.985 <= at["load_pct"] <= 84.001
    assert (at["queues"], rows["50 %"]["queues"]) == ("steady", "steady")
    assert at["avg_us"] == pytest.approx(rows["50 %"]["avg_us"], abs=0.35)


@pytest.mark.parametrize(("slower_ppm", "frames"), [(0, 800), (0.3, 800), (0.9, 400), (8, 100)])
def test_a_latency_that_grows_by_less_than_fails_a_load_says_so(slower_ppm: float, frames: int) -> None:
    """A clock of the output that is slower by less than 10 ppm: half of a trial of 67.2 us a frame is sampled."""
    slow = switch("latency_ns: 2000", ports=2, rates_bps=10**7, port={2: f"clock_offset_ppm: {-slower_ppm}"})
    settings = ("bidirectional=false", "latency_factor=1", "confirm_factor=1", f"scaled_frames={frames}", *QUICK)
    _, outcome, _ = run_on_sim(Latency(), parsed(slow), (64,), *settings)
    row = next(row for row in outcome.tables[0].rows if row["at"] == "throughput")
    assert (row["load_pct"], row["avg_error_us"] is None) == (100, slower_ppm > 0)
    assert row["max_us"] - row["min_us"] == pytest.approx(slower_ppm * 67.2e-6 * frames / 2, abs=0.002)
    state, _, said = str(row["queues"]).partition(", ")
    assert state == ("may grow" if slower_ppm else "steady")
    if slower_ppm:
        assert float(said.removesuffix(" ppm")) == pytest.approx(slower_ppm, abs=0.1)


def test_a_load_that_fills_says_so_beside_its_latency() -> None:
    device = Device(ports=2, ifg_bits=224, queue_frames=10_000, pattern=FullMesh())
    settings = ("sweep_start_pct=80", "sweep_end_pct=85", "sweep_step_pct=5", "parts=forwarding", *QUICK)
    _, outcome, _ = run_on_sim(FullyMeshed(), device.topology, (64,), *settings)
    (rows,) = (table.rows for table in outcome.tables if table.name == "latency_sweep")
    assert [row["queues"] for row in rows] == ["steady", "filling, 11,905 ppm"]
    assert any("forwarding 64 B at 85 %: not sustained" in text for text in outcome.findings)


def test_broadcast_over_four_layers_is_measured_below_its_capacity() -> None:
    """Each layer replicates a frame in 1013.4 ns."""
    capacity_pct = 100 * 672 / 1013.4
    _, outcome, _ = run_on_sim(Broadcast(), shipped("wrs-4-layers"), (64,), *near(capacity_pct, 1), *QUICK)
    (row,) = outcome.tables[0].rows
    assert capacity_pct - 0.1 <= row["load_pct"] <= capacity_pct + 0.005
    layers = {
        item["device"]: item["avg_us_mean"]
        for table in outcome.tables
        if table.name == "broadcast_latency"
        for item in table.rows
        if item["mode"] == "stream"
    }
    assert layers["localmaster"] == pytest.approx(2.4, abs=0.2)


def test_the_mesh_of_the_white_rabbit_switch_reads_what_its_outputs_send() -> None:
    """Five of its ports, whose outputs are loaded as those of 18 are."""
    size = 512
    sent_pct = 100 * (size + 20) / (size + 24) * (1 + 1e-6)
    settings = ("parts=throughput", "search_resolution_pct=0.01", *near(sent_pct), *QUICK)
    _, outcome, _ = run_on_sim(FullyMeshed(), changed("wrs-18x1g", ("1-18", "1-5")), (size,), *settings)
    (row,) = outcome.tables[0].rows
    assert sent_pct - 0.011 <= row["load_pct"] <= sent_pct + 0.005
    (latency,) = (table.rows[0] for table in outcome.tables if table.name == "latency_throughput")
    # A millionth above what the outputs send, queues grow by less than fails.
    assert str(latency["queues"]).split(",")[0] in ("steady", "may grow") and latency["avg_us"] < 15


def test_two_sources_of_one_port_are_judged_each_by_its_own_queue() -> None:
    device = Device(ports=4, ifg_bits=224, queue_frames=5000, pattern=Pairs())
    settings = ("decision=per_source_port", "confirm_factor=1", *near(84, 1), *FEW, *QUICK)
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *settings)
    assert [row["throughput_pct"] for row in outcome.tables[0].rows] == [pytest.approx(84, abs=0.11)] * 4
