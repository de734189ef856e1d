"""Truth checks of the whole tester on ``sim``: wires, switches with known limits, conservation.

Goal: the tester prints the true state of the simulated network. Method: topologies whose answer is known in closed
form, measured through the P4 program as a user would.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from support.burst_oracle import plan_bursts
from support.networks import parsed, switch, wire
from support.runs import measure

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.derived import mixed
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import FullMesh, MeshStreams, Multicast, Pairs, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
DELAY_NS = 137
NO_LEARNING = Learning(enabled=False)


def mesh(size: int, ports: int, load_pct: Fraction, frames: int, rate_bps: int = 10**9) -> Stream:
    numbers = tuple(range(1, ports + 1))
    rate = max_rate_fps(size, rate_bps) * load_pct / 100
    return Stream("mesh", size, rate, frames, FullMesh(), numbers, numbers)


def fine_wire(rate_bps: int, tick_ps: int = 1000, loop_bps: int = 400 * 10**9, latency_ns: float = DELAY_NS) -> str:
    """A wire between two ports of a tester whose loop is short."""
    loop = f"clock_tick_ps: {tick_ps}, loop: {{rate_bps: {loop_bps}, latency_ns: 400}}"
    return wire(rate_bps, latency_ns, tester=loop)


def trial(stream: Stream, learning: Learning = NO_LEARNING, per_flow: bool = True) -> TrialSpec:
    duration_ns = int(Fraction(stream.frame_count * 10**9) / stream.rate_fps)
    return TrialSpec("truth", (stream,), duration_ns, learning, per_flow=per_flow)


def test_wire_at_line_rate_loses_nothing_and_has_the_delay_of_the_link() -> None:
    results = measure(fine_wire(10**9), *(trial(mesh(size, 2, Fraction(100), 400)) for size in SIZES))
    for size, result in zip(SIZES, results, strict=True):
        assert (result.status, result.reason) == (Verdict.MEASURED, ""), size
        assert (result.tx_frames, result.rx_frames, result.lost_frames) == (800, 800, 0), size
        assert result.latency is not None
        assert (result.latency.min_ns, result.latency.max_ns) == (DELAY_NS, DELAY_NS), size
        assert result.latency.sum_ns == 800 * DELAY_NS
        assert result.latency.jitter_max_ns == 0
        assert {port.min_spacing_ns for port in result.ports} == {8 * (size + 20)}


def test_latency_of_a_wire_is_exact_to_the_picosecond_with_a_picosecond_clock() -> None:
    topology = fine_wire(10**11, tick_ps=1, latency_ns=12.345)
    (result,) = measure(topology, trial(mesh(64, 2, Fraction(100), 1000, 10**11)))
    assert result.latency is not None
    assert (result.latency.min_ns, result.latency.max_ns) == (12.345, 12.345)


@pytest.mark.parametrize("rate_bps", [10**9, 10**10, 10**11])
def test_line_rate_fits_the_trial_to_one_frame(rate_bps: int) -> None:
    duration_ns = 200_000
    rate = max_rate_fps(64, rate_bps)
    stream = mesh(64, 2, Fraction(100), tx_frames(duration_ns, rate), rate_bps)
    (result,) = measure(fine_wire(rate_bps), trial(stream))
    assert result.status is Verdict.MEASURED, result.reason
    span_ns = result.last_tx_ns - result.first_tx_ns
    assert result.tx_frames == 2 * stream.frame_count
    assert abs(span_ns - (stream.frame_count - 1) * 10**9 / rate) <= 10**9 / rate + 2


def test_frames_are_conserved_per_flow_and_in_total_under_overload() -> None:
    # Five ports to one: the receiver takes a fifth, a queue of 16 frames takes the rest of the start.
    numbers = (1, 2, 3, 4, 5)
    stream = Stream("in", 512, max_rate_fps(512, 10**9), 500, Rotate(), numbers, (6,))
    (result,) = measure(switch(ports=6, port="queue_frames: 16"), trial(stream, Learning(wait_ns=1000)))
    assert result.status is Verdict.MEASURED, result.reason
    assert result.tx_frames == 2500
    assert result.rx_frames + result.lost_frames + result.flooded_frames == 2500
    assert result.flooded_frames == 0
    for flow in result.flows:
        assert flow.tx_frames == 500
        assert flow.tx_frames == flow.rx_frames + flow.lost_frames
    assert sum(flow.lost_frames for flow in result.flows) == result.lost_frames
    assert 500 < result.rx_frames <= 500 + 16 + 5


def test_unknown_destinations_are_flooded_and_counted_on_every_other_port() -> None:
    ports, frames = 6, 50
    stream = mesh(64, ports, Fraction(1), frames)
    (result,) = measure(switch("mac_table: {entries: 1, aging_s: 300}", ports=ports), trial(stream))
    assert result.tx_frames == ports * frames
    assert result.rx_frames == ports * frames, "a flooded frame also reaches its owner"
    # The one entry of the table is taken by the first source; frames to it are not flooded.
    to_first = sum(flow.tx_frames for flow in result.flows if flow.rx_port == 1)
    assert result.flooded_frames == (ports * frames - to_first) * (ports - 2)


def test_two_measurers_give_the_same_results() -> None:
    spec = trial(mesh(128, 4, Fraction(60), 200), Learning(wait_ns=1_000_000))
    assert measure(switch(ports=4), spec, spec) == measure(switch(ports=4), spec, spec)


def test_results_of_consecutive_trials_do_not_depend_on_each_other() -> None:
    short = trial(mesh(64, 4, Fraction(50), 100), Learning(wait_ns=1_000_000))
    long = trial(mesh(1518, 4, Fraction(90), 150), Learning(wait_ns=1_000_000))
    alone = measure(switch(ports=4), short)[0]
    after = measure(switch(ports=4), long, short)[1]
    moved_ns = after.first_tx_ns - alone.first_tx_ns
    assert moved_ns % 10**9 == 0, "trials begin at whole seconds of virtual time"
    assert replace(after, first_tx_ns=0, last_tx_ns=0, flows=()) == replace(
        alone, first_tx_ns=0, last_tx_ns=0, flows=()
    )
    assert after.last_tx_ns - alone.last_tx_ns == moved_ns


def test_a_trial_that_was_broken_off_leaves_nothing_behind() -> None:
    endless = replace(mesh(64, 2, Fraction(10), 60), frame_count=(1 << 32) + 5)
    first = replace(trial(endless), duration_ns=10**6, settle_ns=0, restabilise_ns=0)
    broken, whole = measure(fine_wire(10**9), first, trial(mesh(64, 2, Fraction(10), 60)))
    assert broken.status is Verdict.INVALID and "of 4,294,967,301 frames" in broken.reason
    assert whole.status is Verdict.MEASURED, whole.reason
    assert whole.tx_frames == whole.rx_frames == 120


def test_more_than_255_runs_never_repeat_a_tag() -> None:
    """Run numbers have 8 bits, and each trial sends the same sequence numbers again.

    Runs 4 to 252 are left out: what they leave behind in the window of duplicates, runs 1 to 3 do, too.
    """
    spec = trial(mesh(64, 2, Fraction(10), 20), per_flow=False)
    with open_measurer(parsed(fine_wire(10**9))) as measurer:
        results = [measurer.measure(spec) for _ in range(3)]
        assert measurer.tester._run == 3
        measurer.tester._run = 252
        results += [measurer.measure(spec) for _ in range(6)]
        assert measurer.tester._run == 3
    assert {(r.status, r.rx_frames, r.duplicate_frames) for r in results} == {(Verdict.MEASURED, 40, 0)}


def test_rate_above_the_line_is_refused_with_the_limit() -> None:
    with pytest.raises(ParameterError, match="stream 'mesh': port 1 needs 110 % of its line rate") as refused:
        measure(fine_wire(10**9), trial(mesh(64, 2, Fraction(110), 2000)))
    assert refused.value.hint == "the port sends at most 1488095.238 frames/s of 64 bytes"


def test_streams_that_share_a_port_are_added_up() -> None:
    half = mesh(64, 2, Fraction(60), 2000)
    spec = replace(trial(half), streams=(half, replace(half, name="second", frame_size_bytes=128)))
    with pytest.raises(ParameterError, match=r"stream 'mesh': port 1 needs 165\.714 % of its line rate"):
        measure(fine_wire(10**9), spec)


def test_percentiles_are_within_the_stated_error() -> None:
    # Eight ports into one: latencies grow along the burst, every one of them is known per flow.
    numbers = tuple(range(1, 9))
    stream = Stream("in", 256, max_rate_fps(256, 10**9) / 2, 200, Rotate(), numbers, (9,))
    spec = trial(stream, Learning(wait_ns=1000))
    (result,) = measure(switch(ports=9, port="queue_frames: 4000"), replace(spec, histograms=HistogramPer.STREAM))
    assert result.latency is not None and result.lost_frames == 0
    percentiles = dict(result.latency.percentiles_ns)
    assert list(percentiles) == [50, 99, 99.9, 99.99]
    assert result.latency.min_ns < percentiles[50] < percentiles[99] <= percentiles[99.99]
    assert percentiles[99.99] == pytest.approx(result.latency.max_ns, rel=0.008)
    # Arrivals are four times the departures: the delay grows evenly, so the median is the mean.
    assert percentiles[50] == pytest.approx(result.latency.sum_ns / result.latency.count, rel=0.02)
    bins = result.latency.bins
    assert bins is not None and sum(bins.frames) == result.latency.count and len(bins.frames) <= 256
    assert bins.low_ns[0] <= result.latency.min_ns and result.latency.max_ns < bins.high_ns[-1]
    middle = sum(
        frames * (low + high) / 2 for low, high, frames in zip(bins.low_ns, bins.high_ns, bins.frames, strict=True)
    )
    assert middle / result.latency.count == pytest.approx(result.latency.sum_ns / result.latency.count, rel=0.02)


@pytest.mark.parametrize("per", [HistogramPer.STREAM_AND_PORT, HistogramPer.FLOW])
def test_each_histogram_holds_the_latencies_of_its_frames(per: HistogramPer) -> None:
    # Cables of different lengths: every flow has one latency, so every percentile of it is known.
    text = switch(ports=3, link={n: f"latency_ns: {500 * n}" for n in (1, 2, 3)})
    spec = trial(mesh(64, 3, Fraction(1), 60), Learning(wait_ns=1_000_000))
    (result,) = measure(text, replace(spec, histograms=per))
    assert result.status is Verdict.MEASURED, result.reason
    assert len(result.histograms) == (3 if per is HistogramPer.STREAM_AND_PORT else 6)
    assert sum(row.latency.count for row in result.histograms) == result.rx_frames
    by_flow = {(flow.tx_port, flow.rx_port): flow.latency for flow in result.flows}
    for row in result.histograms:
        parts = [by_flow[tx, rx] for tx, rx in by_flow if row.tx_port in (None, tx) and row.rx_port == rx]
        assert row.latency.count == sum(part.count for part in parts if part)
        assert row.latency.min_ns == min(part.min_ns for part in parts if part)
        assert dict(row.latency.percentiles_ns)[99.99] == pytest.approx(row.latency.max_ns, rel=0.008)
        assert dict(row.latency.ipdv_percentiles_ns)[50] == pytest.approx(0, abs=1)
    assert result.latency is not None
    assert dict(result.latency.percentiles_ns)[99.99] == pytest.approx(result.latency.max_ns, rel=0.008)


def test_ipdv_is_signed_and_returns_to_where_it_began() -> None:
    # Two ports into one: the queue grows and is cut off, so latency rises step by step.
    stream = Stream("in", 256, max_rate_fps(256, 10**9) * 3 / 4, 200, Rotate(), (1, 2), (3,))
    spec = replace(trial(stream, Learning(wait_ns=1000)), histograms=HistogramPer.FLOW)
    (result,) = measure(switch(ports=3, port="queue_frames: 4000"), spec)
    assert result.lost_frames == 0 and len(result.histograms) == 2
    step_ns = Fraction(256 + 20) * 8 * 2 - 10**9 / stream.rate_fps
    for row in result.histograms:
        latency = row.latency
        assert latency.ipdv_count == 199
        assert latency.ipdv_sum_ns == pytest.approx(latency.max_ns - latency.min_ns, abs=2)
        assert latency.ipdv_sum_ns / 199 == pytest.approx(float(step_ns), abs=10)
        assert latency.ipdv_min_ns <= dict(latency.ipdv_percentiles_ns)[50] <= latency.ipdv_max_ns
        assert latency.rfc3550_jitter_max_ns == pytest.approx(float(step_ns), rel=0.02)


def test_ports_start_after_each_other_by_any_offset() -> None:
    # 64 us is not a multiple of the 7 us between two frames of a port.
    offsets_ns = (0, 64_000, 128_000, 192_000)
    stream = replace(mesh(64, 4, Fraction(10), 60), rate_fps=Fraction(10**6, 7), start_offset_ns=offsets_ns)
    (result,) = measure(switch(ports=4), trial(stream, Learning(wait_ns=1_000_000)))
    assert result.status is Verdict.MEASURED, result.reason
    assert (result.tx_frames, result.rx_frames) == (240, 240)
    first = {flow.tx_port: flow.first_tx_ns for flow in result.flows}
    (paced,) = result.pacing
    assert paced.start_offset_error_ns == 0
    for port, offset_ns in enumerate(offsets_ns, 1):
        assert first[port] - first[1] == pytest.approx(offset_ns, abs=paced.departure_error_ns)


def test_offsets_that_need_more_loop_than_there_is_are_whole_departures_and_say_so() -> None:
    stream = replace(mesh(64, 2, Fraction(100), 60, 10**10), start_offset_ns=(0, 64_000))
    (result,) = measure(fine_wire(10**10, loop_bps=12 * 10**9), trial(stream))
    assert result.status is Verdict.MEASURED, result.reason
    (paced,) = result.pacing
    assert 0 < paced.start_offset_error_ns <= paced.interval_ns / 2


def test_bursts_have_the_gaps_of_rfc_2889_appendix_a() -> None:
    # The vector of methodology 0.4: 64 bytes, 50 %, bursts of 24 frames at 10 Mbit/s; three bursts of it.
    bursts = plan_bursts(64, 50, 24, 10_000_000, 10 * 10**9)
    frame_ns = Fraction(8 * 84 * 100)
    rate = max_rate_fps(64, 10_000_000) / 2
    stream = replace(mesh(64, 2, Fraction(50), 72, 10_000_000), rate_fps=rate, burst=Burst(24))
    (result,) = measure(fine_wire(10_000_000), replace(trial(stream), histograms=HistogramPer.STREAM))
    assert result.status is Verdict.MEASURED, result.reason
    assert (result.tx_frames, result.rx_frames) == (144, 144)
    period_ns = bursts.tx_time_ns + bursts.inter_burst_gap_ns
    assert period_ns == 2 * 24 * frame_ns
    for port in result.ports:
        assert port.min_spacing_ns == pytest.approx(float(frame_ns), abs=1), "the minimum gap between frames of a burst"
    for flow in result.flows:
        span_ns = flow.last_rx_ns - flow.first_rx_ns
        assert span_ns == pytest.approx(float(2 * period_ns + 23 * frame_ns), abs=2000)


def test_more_histograms_than_the_program_has_are_refused_with_the_limit() -> None:
    spec = replace(trial(mesh(64, 18, Fraction(1), 60)), histograms=HistogramPer.FLOW)
    with pytest.raises(UnsupportedError, match="the trial needs 306 histograms, the program has 256"):
        measure(switch(ports=18), spec)


def test_histogram_of_an_unknown_flow_is_refused() -> None:
    spec = replace(trial(mesh(64, 3, Fraction(1), 60)), histograms=HistogramPer.FLOW)
    with pytest.raises(ParameterError, match="no flow of stream 'mesh' from port 1 to port 9"):
        measure(switch(ports=3), replace(spec, histogram_flows=(("mesh", 1, 9),)))


def test_multicast_is_expected_on_every_receiver_and_nowhere_else() -> None:
    stream = Stream("group", 128, Fraction(10_000), 60, Multicast(), (1,), (2, 3))
    (result,) = measure(switch(ports=4), trial(stream))
    assert result.status is Verdict.MEASURED, result.reason
    assert (result.tx_frames, result.expected_rx_frames, result.rx_frames) == (60, 120, 120)
    assert result.flooded_frames == 60, "the switch has no snooping: port 4 gets every frame too"
    assert {(flow.rx_port, flow.rx_frames) for flow in result.flows} == {(2, 60), (3, 60)}


def test_a_mix_of_sizes_is_measured_stream_by_stream() -> None:
    whole = mesh(64, 4, Fraction(20), 240)
    streams = mixed(whole)
    spec = TrialSpec("mix", streams, 5_000_000, Learning(wait_ns=1_000_000), per_flow=True)
    (result,) = measure(switch(ports=4), spec)
    assert result.status is Verdict.MEASURED, result.reason
    assert (result.tx_frames, result.rx_frames) == (960, 960)
    sent = {name: sum(f.tx_frames for f in result.flows if f.stream == name) for name in ("mesh/64", "mesh/1518")}
    assert sent == {"mesh/64": 4 * 140, "mesh/1518": 4 * 20}


def test_256_streams_run_at_the_same_time() -> None:
    ports = (1, 2, 3, 4)
    streams = tuple(
        Stream(f"s{n}", 64 + 2 * n, Fraction(2400 + 32 * n), 2 + n % 5, FullMesh(), ports, ports) for n in range(256)
    )
    spec = TrialSpec("many", streams, 2_500_000, Learning(wait_ns=1000, verify=False), 10**6, 0, per_flow=True)
    (result,) = measure(switch(ports=4, rates_bps=10**10), spec)
    assert result.status is Verdict.MEASURED, result.reason
    assert result.tx_frames == result.rx_frames == 4 * sum(2 + n % 5 for n in range(256))
    received = Counter[str]()
    for flow in result.flows:
        received[flow.stream] += flow.rx_frames
    assert received == {f"s{n}": 4 * (2 + n % 5) for n in range(256)}


def test_one_frame_per_minute_keeps_its_distance() -> None:
    stream = Stream("slow", 64, Fraction(1, 60), 3, Pairs(), (1,), (2,))
    (result,) = measure(fine_wire(10**9), trial(stream))
    assert result.status is Verdict.MEASURED, result.reason
    assert (result.tx_frames, result.rx_frames) == (3, 3)
    assert abs(result.last_tx_ns - result.first_tx_ns - 120 * 10**9) < 1000, "within one round of the loop"


def test_mesh_streams_give_every_pair_its_share_without_common_phase() -> None:
    stream = replace(mesh(64, 6, Fraction(90), 500), pattern=MeshStreams())
    spec = replace(trial(stream, Learning(wait_ns=1_000_000)), duration_ns=1_000_000)
    (result,) = measure(switch(ports=6), spec)
    assert result.status is Verdict.MEASURED, result.reason
    assert {flow.tx_frames for flow in result.flows} == {100}
    assert result.lost_frames == 0
    assert result.latency is not None
    (phased,) = measure(switch(ports=6), trial(mesh(64, 6, Fraction(90), 500), Learning(wait_ns=1_000_000)))
    assert phased.latency is not None
    assert result.latency.max_ns > phased.latency.max_ns + 500, "frames of several ports meet at one output"


@pytest.mark.parametrize(("priority", "place"), [(0, 3), (7, 1)])
def test_frames_of_higher_priority_overtake_those_that_wait(priority: int, place: int) -> None:
    """Four streams are due at once; the first frame has the line, the port's queues order the others."""
    streams = tuple(
        Stream(name, 1518, Fraction(20_000), 50, Pairs(), (1,), (2,), priority=urgency)
        for name, urgency in (("a", 0), ("b", 0), ("c", 0), ("urgent", priority))
    )
    with open_measurer(parsed(fine_wire(10**9))) as measurer:
        result = measurer.measure(TrialSpec("priority", streams, 3_000_000, NO_LEARNING, per_flow=True))
    starts = {flow.stream: flow.first_tx_ns for flow in result.flows}
    assert sorted(starts, key=starts.__getitem__).index("urgent") == place
