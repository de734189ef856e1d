"""Tester ports whose line clock is off by a known amount: 100 % is what that clock sends, and no trial is INVALID.

With an offset of p ppm a port of R bit/s sends R (1 + p / 10^6) bit/s, 1 / (8 (L + 20)) of it in frames.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.beds import make_bed
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc2889.forward_pressure import ForwardPressure
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc2889.partially_meshed import PartiallyMeshed
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps, own_line_rate_bps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
OFFSETS_PPM = (-100, 50)
QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")


def offset_switch(offset_ppm: float, ports: int = 2, queue_frames: int = 64, ifg_bits: int = 96) -> Topology:
    tester_port = f"clock_offset_ppm: {offset_ppm}, ifg_bits: {ifg_bits}"
    return parsed(switch(ports=ports, port=f"queue_frames: {queue_frames}", tester_port=tester_port))


def own_fps(offset_ppm: int, size: int = 64) -> Fraction:
    return Fraction(GIGABIT + 1000 * offset_ppm, 8 * (size + 20))


@pytest.mark.parametrize("offset_ppm", OFFSETS_PPM)
def test_the_throughput_of_a_lossless_switch_is_the_line_rate_of_the_tester(offset_ppm: int) -> None:
    """20,000 frames are at most 2 too many for the switch, and it has room for 64; that its queue fills is let pass."""
    settings = ("scaled_frames=20000", "sustained=false", *QUICK)
    _, outcome, trials = run_on_sim(Throughput(), offset_switch(offset_ppm), (64,), *settings)
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["throughput_pct"]) == (Verdict.MEASURED, 100)
    assert row["theoretical_fps"] == pytest.approx(2 * float(own_fps(offset_ppm)), rel=1e-12)
    assert row["throughput_fps"] == pytest.approx(2 * float(own_fps(offset_ppm)), rel=1e-6)
    assert {stream.rate_fps for spec, _ in trials for stream in spec.streams} == {own_fps(offset_ppm)}
    assert max(abs(result.oload_error_ppm) for _, result in trials) < 1


@pytest.mark.parametrize("offset_ppm", OFFSETS_PPM)
def test_a_full_mesh_forwards_the_line_rate_of_the_tester(offset_ppm: int) -> None:
    settings = ("scaled_frames=10000", "sweep_start_pct=100", "sustained=false", *QUICK)
    _, outcome, _ = run_on_sim(FullyMeshed(), offset_switch(offset_ppm, ports=4), (64,), *settings)
    tables = {table.name: table.rows for table in outcome.tables}
    (found,), (sweep,) = tables["mesh_throughput"], tables["forwarding_rate"]
    assert (outcome.state, found["load_pct"], found["lost_frames"]) == (Verdict.MEASURED, 100, 0)
    for rate in (found["forwarding_fps"], sweep["frmol_fps"], sweep["theoretical_fps"]):
        assert rate == pytest.approx(4 * float(own_fps(offset_ppm)), rel=1e-12)
    assert sweep["frmol_offered_pct"] == pytest.approx(100, rel=1e-6)


@pytest.mark.parametrize(("offset_ppm", "lost"), [(-100, 0), (100, 6)])
def test_a_tester_that_is_faster_than_the_switch_fills_its_queue(offset_ppm: int, lost: int) -> None:
    """Of 100,000 frames 10 are too many at +100 ppm: 4 of them wait in the end, and one may be on the wire."""
    settings = ("scaled_frames=100000", "ports=first_pair", "bidirectional=false", *QUICK)
    _, outcome, _ = run_on_sim(FrameLoss(), offset_switch(offset_ppm, queue_frames=4), (64,), *settings)
    first, *_ = outcome.tables[0].rows
    assert first["load_pct"] == 100
    assert abs(first["lost_frames"] - lost) <= (1 if lost else 0)


@pytest.mark.parametrize("test", [ForwardPressure(), MaximumForwardingRate()])
@pytest.mark.parametrize("offset_ppm", [-100, 100])
def test_two_ports_are_measured_at_their_own_line_rate(test: ForwardPressure, offset_ppm: int) -> None:
    known = {parameter.name for parameter in test.parameters}
    settings = ("scaled_frames=20000", *QUICK, *(("sustained=false",) if "sustained" in known else ()))
    _, outcome, trials = run_on_sim(test, offset_switch(offset_ppm, ifg_bits=88), (64, 1518), *settings)
    assert outcome.state.good
    assert max(abs(result.oload_error_ppm) for _, result in trials) < 10, "one round of the loop in 13 ms"


def test_ports_with_different_clocks_all_send_what_the_slowest_can() -> None:
    clocks = {1: "clock_offset_ppm: 100", 2: "clock_offset_ppm: -50"}
    topology = parsed(switch(ports=2, port="queue_frames: 64", tester_port=clocks))
    test = find_test("rfc2544.throughput")
    _, outcome, trials = run_on_sim(test, topology, (64,), "scaled_frames=20000", *QUICK)
    assert {stream.rate_fps for spec, _ in trials for stream in spec.streams} == {own_fps(-50)}
    assert outcome.tables[0].rows[0]["throughput_pct"] == 100
    (note,) = (text for text in outcome.deviations if "line clocks" in text)
    assert note == (
        "The line clocks of the tester's ports are -50 to +100 ppm off, as the topology says: 100 % of line rate is "
        "that of the slowest clock of the ports with one rate."
    )


def test_one_port_of_another_rate_has_a_clock_of_its_own() -> None:
    bed = make_bed(rates_bps=(10 * GIGABIT, GIGABIT, GIGABIT), clocks_ppm=(-100, 20, 50))
    test = PartiallyMeshed()
    mesh = test.mesh(bed, resolve(test.name, test.parameters, ("direction=both",)))
    assert [leg.line_rate_bps for leg in mesh.legs] == [9_999_000_000, 1_000_020_000]


def test_own_line_rates_are_whole_and_never_above_what_the_clock_sends() -> None:
    assert [own_line_rate_bps(GIGABIT, ppm) for ppm in (-100, -2.5, 0, 0.0015)] == [
        999_900_000,
        999_997_500,
        GIGABIT,
        1_000_000_001,
    ]


# A trial that asks for the nominal line rate


def nominal(offset_ppm: float, rate_fps: Fraction | None = None) -> TrialResult:
    rate_fps = rate_fps or max_rate_fps(64, GIGABIT)
    stream = Stream("s", 64, rate_fps, 30_000, Pairs(), (1,), (2,))
    spec = TrialSpec("nominal", (stream,), int(30_000 * 10**9 / rate_fps), Learning(enabled=False), 10**6, 0)
    with open_measurer(offset_switch(offset_ppm, ifg_bits=96)) as measurer:
        return measurer.measure(spec)


def test_a_load_that_is_off_by_no_more_than_the_tolerance_is_valid() -> None:
    """Methodology 0.1: INVALID above 1e-4; -100 ppm are 1e-4."""
    result = nominal(-100)
    assert result.status is Verdict.MEASURED, result.reason
    assert result.oload_error_ppm == pytest.approx(-100, abs=0.5)


def test_a_load_that_is_off_by_more_is_invalid_with_the_reason() -> None:
    result = nominal(-110)
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("oload_mismatch: offered load is 99.9890 % of the intended load on port 1")


def test_no_port_sends_more_than_its_own_clock_allows() -> None:
    assert nominal(100, own_fps(100)).status is Verdict.MEASURED
    with pytest.raises(ParameterError, match=r"stream 's': port 1 needs 100\.001 % of its line rate"):
        nominal(100, own_fps(110))
