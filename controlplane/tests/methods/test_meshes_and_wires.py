"""Rates of meshes and latencies of wires, by hand from counts and times."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer, capacity

from p4mesh.errors import TargetError
from p4mesh.measurement.counts import FlowCounts, HistogramStats, LatencyStats, PortCounts, Transient
from p4mesh.methods.mesh import (
    Leg,
    Mesh,
    forwarding_row,
    measure_forwarding,
    measure_throughput,
    theoretical_fps,
    trial_spec,
)
from p4mesh.methods.options.parameters import ParameterSet, resolve
from p4mesh.methods.results.forwarding import MeshTrial
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.wire import departure_spec, departures_of, rates_and_latency, wire_spec, wires_of
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.calibration import Wire
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

LINE_FPS = Fraction(10**9, 672)
"""Frames of 64 bytes that 1 Gbit/s carries in a second."""
MESH = Mesh((Leg(Pairs(), (1, 2), (3, 4)), Leg(Pairs(), (5,), (6, 7), 10**8)), 10**9)
"""Two ports that send at 1 Gbit/s, and one at 100 Mbit/s."""
ONE_PAIR = Mesh((Leg(Pairs(), (1,), (2,)),), 10**9)
LOAD, FAIL = Fraction("0.0672"), Verdict.FAIL
PASSED = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)


def parameters(*settings: str) -> ParameterSet:
    return resolve(FullyMeshed.name, FullyMeshed.parameters, settings)


def test_the_rate_of_a_mesh_is_that_of_all_of_its_legs() -> None:
    assert MESH.offered_fps(Fraction(50), 64) == (2 * LINE_FPS + LINE_FPS / 10) / 2
    assert [MESH.rate_of_port(port) for port in (1, 2, 5)] == [10**9, 10**9, 10**8]
    assert (MESH.tx_ports, MESH.pairs) == ((1, 2, 5), ((1, 3), (2, 4), (5, 6)))


@pytest.mark.parametrize(
    ("changes", "lines"),
    [({}, 3), ({"uplink_lines": Fraction(3, 2)}, Fraction(5, 2)), ({"limit_lines": Fraction(7, 3)}, Fraction(7, 3))],
)
def test_outputs_carry_as_many_lines_as_legs_have_ports_or_their_uplink_has(
    changes: dict[str, Any], lines: Fraction
) -> None:
    """Two ports to two, and one to two."""
    mesh = replace(MESH, **changes)
    assert mesh.forwarding_limit_lines == lines
    assert theoretical_fps(mesh, 64) == float(lines * LINE_FPS)


def test_a_trial_has_the_rate_of_each_leg_and_the_frames_of_its_length() -> None:
    """A tenth of a second at 10 % of both lines."""
    spec = trial_spec(MESH, "part", 64, Fraction(10), parameters(), 10**8)
    assert spec.label == "part 64 B 10.0000 %"
    assert [stream.rate_fps for stream in spec.streams] == [LINE_FPS / 10, LINE_FPS / 100]
    assert [stream.frame_count for stream in spec.streams] == [14_880, 1488]
    assert [(stream.name, stream.burst) for stream in spec.streams] == [("pairs1", None), ("pairs2", None)]


@pytest.mark.parametrize(("length_ns", "frames"), [(67_000, 8), (54_000, 8), (53_000, 4), (20_000, 2), (100, 1)])
def test_bursts_are_whole_but_where_a_trial_has_less_than_one(length_ns: int, frames: int) -> None:
    """148.8 frames in a millisecond: 9, 8, 7, 2 and none."""
    (stream,) = trial_spec(ONE_PAIR, "part", 64, Fraction(10), parameters("burst_frames=4"), length_ns).streams
    assert (stream.frame_count, stream.burst) == (frames, Burst(4))
    (stream,) = trial_spec(ONE_PAIR, "part", 64, Fraction(10), parameters("burst_frames=2"), length_ns).streams
    assert stream.burst == Burst(2)


def test_a_row_has_the_rates_of_its_trial_and_of_the_ports_that_took_part() -> None:
    """1,000 frames in a second, 100 of them lost and 10 late from a full queue: 890 in time, of them 4 too early."""
    stream = Stream("s", 64, Fraction(1000), 1000, Pairs(), (1,), (2,))
    spec = TrialSpec("t", (stream,), 10**9)
    sent, received = PortCounts(1, tx_frames=1000), PortCounts(2, rx_frames=900, late_frames=10, early_frames=4)
    result = replace(
        PASSED,
        tx_frames=1000,
        expected_rx_frames=1000,
        rx_frames=900,
        lost_frames=100,
        start_skew_ns=1500,
        ports=(sent, received, PortCounts(8, rx_frames=3), PortCounts(9, flooded_frames=2)),
    )
    row = forwarding_row(ONE_PAIR, spec, result, LOAD, FAIL)
    assert (row.offered_fps, row.forwarding_fps, row.forwarding_error_fps) == (1000, 890, 2)
    assert (row.offered_l1_mbps, row.forwarding_l1_mbps) == (0.672, pytest.approx(0.59808, rel=1e-9))
    assert (row.offered_pct, row.forwarding_pct) == (pytest.approx(0.0672), pytest.approx(0.059808))
    assert (row.loss_pct, row.late_frames, row.duration_ms) == (11, 10, 1000)
    assert (row.start_skew_us, row.start_skew_pct) == (1.5, pytest.approx(0.00015))
    assert (row.corrupted_frames, row.doubtful_frames, row.uneven_frames) == (None, None, None)
    ports = [(port.port, port.forwarding_fps, port.forwarding_error_fps) for port in row.ports]
    assert ports == [(1, 0, 1), (2, 886, 1), (9, 0, 1)]
    # In half of the time all rates are twice as large.
    fast = forwarding_row(
        ONE_PAIR, replace(spec, streams=(replace(stream, rate_fps=Fraction(2000)),)), result, LOAD, FAIL
    )
    assert [(port.forwarding_fps, port.forwarding_error_fps) for port in fast.ports][:2] == [(0, 2), (1772, 2)]
    # Nine tenths of the trial are steady: a frame at each of their ends, and 7 that may be of the transient, too.
    begun = Transient(10**8, over=True, frames=4, hidden_frames=7)
    early = forwarding_row(ONE_PAIR, spec, replace(result, transient=begun, duration_ns=10**9), LOAD, FAIL)
    assert early.ports[1].forwarding_error_fps == pytest.approx((2 + 7) / 0.9)
    # One of a thousand: Wilson's interval goes up to 0.565 %, which are 4.65 frames more.
    by_chance = replace(result, rx_frames=999, lost_frames=1, ports=(sent, PortCounts(2, rx_frames=999)))
    row = forwarding_row(ONE_PAIR, spec, by_chance, LOAD, FAIL)
    assert row.ports[1].forwarding_error_fps == pytest.approx(1 + 4.65, abs=0.02)
    # A queue that was not full, and lost nothing: all that came late was forwarded.
    kept = replace(result, rx_frames=1000, lost_frames=0, ports=(sent, replace(received, rx_frames=1000)))
    row = forwarding_row(ONE_PAIR, spec, kept, LOAD, Verdict.PASS)
    assert [port.forwarding_fps for port in row.ports] == [0, 996]


class Added:
    """A column that a test adds."""

    def asked(self, spec: TrialSpec, *, sweep: bool) -> TrialSpec:
        return replace(spec, label=f"{spec.label}, {'one of many loads' if sweep else 'the load'}")

    def __call__(self, row: MeshTrial, result: TrialResult) -> MeshTrial:
        return replace(row, reason=result.label)


def test_a_sweep_ends_with_the_rate_at_the_highest_load() -> None:
    """Of half of the line and of all of it, a device forwards up to three quarters."""
    asked = parameters("sweep_start_pct=50", "sweep_step_pct=50", "scaled_frames=1000", "sustained=false")
    sweep = measure_forwarding(ONE_PAIR, 64, asked, FakeMeasurer(capacity(LINE_FPS * 3 / 4)), Added())
    assert [row.reason for row in sweep.rows] == [
        f"forwarding 64 B {load}.0000 %, one of many loads" for load in (50, 100)
    ]
    assert (sweep.frmol.frmol_fps, sweep.frmol_offered_pct) == (pytest.approx(LINE_FPS * 3 / 4), pytest.approx(100))
    broken = FakeMeasurer(status=lambda _: Verdict.INVALID)
    assert measure_forwarding(ONE_PAIR, 64, asked, broken, Added()).frmol_offered_pct is None


def test_latency_at_a_throughput_is_that_of_a_trial_more() -> None:
    asked = parameters("search_method=bisect", "scaled_frames=1000", "sustained=false")
    plain, more, nothing = FakeMeasurer(), FakeMeasurer(), FakeMeasurer(lambda *_: 0)
    assert measure_throughput(ONE_PAIR, 64, asked, plain).of_latency is None
    found = measure_throughput(ONE_PAIR, 64, asked, more, Added()).of_latency
    assert found is not None and found.reason == "latency 64 B 100.0000 %, the load"
    assert len(more.notes) == len(plain.notes) + 1
    assert [note.remaining for note in more.notes[:-1] if note] == [note.remaining + 1 for note in plain.notes if note]
    assert measure_throughput(ONE_PAIR, 64, asked, nothing, Added()).of_latency is None
    assert not [spec for spec in nothing.specs if spec.label.startswith("latency")]


BED = make_bed(2)


def times(tx: int, rx: int, average_ns: float, **more: Any) -> HistogramStats:
    return HistogramStats("wire", tx, rx, LatencyStats(1001, 90.0, 150.0, 1001 * average_ns, **more))


def test_1001_frames_at_one_percent_go_over_every_wire() -> None:
    spec = wire_spec(((1, 2), (2, 1)), 64, BED, Fraction(1))
    (stream,) = spec.streams
    assert (stream.tx_ports, stream.rx_ports, stream.rate_fps) == ((1, 2), (2, 1), LINE_FPS / 100)
    assert (stream.frame_count, spec.duration_ns, spec.learning.enabled) == (1001, 67_267_200, False)
    assert spec.restabilise_ns == 0


def test_the_latency_of_a_wire_is_its_median_with_the_error_of_a_longer_measurement() -> None:
    known = times(1, 2, 100, percentiles_ns=((50.0, 120.0),), percentile_errors_ns=((50.0, 3.0),))
    unknown = times(2, 1, 100, percentiles_ns=((50.0, 130.0),))
    measured = replace(PASSED, histograms=(known, unknown))
    assert wires_of(measured, 64, BED) == (
        Wire(1, 2, 10**9, 10**9, 64, 120.0, 3.0, 90.0, 150.0, 1001, 0),
        Wire(2, 1, 10**9, 10**9, 64, 130.0, 60.0, 90.0, 150.0, 1001, 0),
    )
    with pytest.raises(TargetError, match="1 of 1,001 frames were lost"):
        wires_of(replace(measured, lost_frames=1, tx_frames=1001), 64, BED)


def departures(*left_ns: int | None) -> TrialResult:
    """Each port sends one frame, stamped at 1,000 ns, which its MAC says has left so much later."""
    ports = range(1, len(left_ns) + 1)
    flows = tuple(FlowCounts("departure", port, 3 - port, 1, 0, first_tx_ns=1_000) for port in ports)
    kept = zip(ports, left_ns, strict=True)
    counts = tuple(PortCounts(port, controller_tx_ns=None if ns is None else 1_000 + ns) for port, ns in kept)
    return replace(PASSED, flows=flows, ports=counts)


def test_the_time_to_the_line_of_a_port_is_the_median_of_what_its_mac_has_kept() -> None:
    results = [departures(*left_ns) for left_ns in ((300, 410), (302, 400), (301, 430))]
    assert departures_of(results, 64, BED) == (
        Wire(1, None, 10**9, None, 64, 301, 2, 300, 302, 3, 0),
        Wire(2, None, 10**9, None, 64, 410, 30, 400, 430, 3, 0),
    )
    # Up to a millisecond later, from the moment of the stamp on.
    assert [wire.median_ns for wire in departures_of([departures(0, 999_999)], 64, BED)] == [0, 999_999]
    for left_ns, message in (
        (None, "port 2 has not kept when its frame of 64 B left"),
        (-1, "port 2: by its MAC a frame of 64 B left -1 ns behind its stamp"),
        (1_000_000, "port 2: by its MAC a frame of 64 B left 1,000,000 ns behind its stamp"),
    ):
        with pytest.raises(TargetError, match=message):
            departures_of([departures(300, left_ns)], 64, BED)
    with pytest.raises(TargetError, match="64 B frames of 'fake': INVALID: late"):
        departures_of([replace(departures(1, 1), status=Verdict.INVALID, reason="late")], 64, BED)


def test_one_frame_of_each_port_is_sent_whose_departure_its_mac_keeps() -> None:
    spec = departure_spec(64, BED)
    (stream,) = spec.streams
    assert (spec.learning.enabled, spec.per_flow, spec.duration_ns, spec.restabilise_ns) == (False, True, 1_000_000, 0)
    assert stream.may_be_filtered, "the device may drop it: its departure is all that counts"
    assert (stream.tx_ports, stream.rx_ports, stream.frame_count, stream.keeps_departures) == ((1, 2), (2, 1), 1, True)


def test_rates_of_wires_add_up_and_their_latencies_are_those_of_all_frames() -> None:
    """Two trials, each of a wire in one direction: 1,001 frames in 67.2672 ms, 1 % of both lines."""
    specs = [wire_spec((pair,), 64, BED, Fraction(1)) for pair in ((1, 2), (2, 1))]
    histograms = (times(1, 2, 100, jitter_count=1000, jitter_max_ns=7.0, jitter_sum_ns=2000.0), times(2, 1, 120))
    results = [replace(PASSED, rx_frames=1001, histograms=(found,)) for found in histograms]
    found = rates_and_latency(list(zip(specs, results, strict=True)), 64, BED)
    assert found.forwarding_fps == pytest.approx(2 * float(LINE_FPS) / 100)
    assert found.forwarding_error_fps == pytest.approx(2 / 0.0672672)
    assert found.forwarding_l2_tbps == pytest.approx(2 * float(LINE_FPS) / 100 * 512 / 1e12)
    assert found.line_pct == pytest.approx(1)
    assert (found.min_us, found.avg_us, found.max_us) == (0.09, 0.11, 0.15)
    assert (found.jitter_avg_us, found.jitter_max_us) == (0.002, 0.007)
    silent = rates_and_latency([(specs[0], replace(results[0], histograms=histograms[1:]))], 64, BED)
    assert (silent.jitter_avg_us, silent.jitter_max_us, silent.jitter_avg_error_us) == (None, None, None)
