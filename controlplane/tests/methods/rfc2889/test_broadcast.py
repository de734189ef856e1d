"""RFC 2889 5.10: the published search results of the broadcast test, and latency per port."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FlowMeasurer, lossless
from support.networks import parsed, switch
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError
from p4mesh.measurement.counts import LatencyStats, PortCounts
from p4mesh.methods.base import TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.results.latency_cells import LatencyCells, LatencyTimes
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.broadcast import Broadcast, BroadcastUnit
from p4mesh.methods.rfc2889.broadcast_latency import PortLatency, _low_high
from p4mesh.traffic import patterns
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

TEST = Broadcast()
BED = make_bed(18)
REPORT = (
    "search_initial_pct=10",
    "search_min_pct=10",
    "search_max_pct=100",
    "search_resolution_pct=10",
    "search_try_max_first=false",
)
Counts = dict[tuple[str, int, int], int]


def run(measurer: FlowMeasurer, size: int, *settings: str, bed: Bed = BED) -> tuple[BroadcastUnit, Outcome]:
    return run_unit(TEST, bed, measurer, size, *settings)


@pytest.mark.parametrize(
    ("size", "limit_pct", "printed"),
    [(64, "65", 60.625), (128, "70", 69.063), (256, "82", 80.313), (512, "91", 90.156), (1518, "100", 94.375)],
)
def test_the_search_of_the_report_prints_its_numbers(size: int, limit_pct: str, printed: float) -> None:
    def carry(spec: TrialSpec, sent: Counts) -> Counts:
        over = spec.streams[0].rate_fps > Fraction(limit_pct) / 100 * max_rate_fps(size, 10**9)
        return {key: count - 1 if over else count for key, count in sent.items()}

    result, outcome = run(FlowMeasurer(carry), size, *REPORT)
    assert result.search.throughput_pct == pytest.approx(printed, abs=0.0006)
    assert result.search.at_least == (printed == 94.375)
    assert outcome.state is Verdict.MEASURED


def test_every_port_but_the_source_receives_every_frame() -> None:
    measurer = FlowMeasurer(lossless)
    result, _ = run(measurer, 64, "source_port=3", "scaled_frames=100")
    stream = measurer.specs[0].streams[0]
    assert stream.pattern == patterns.Broadcast()
    assert (stream.tx_ports, len(stream.rx_ports), 3 in stream.rx_ports) == ((3,), 17, False)
    assert result.search.shown.lost_frames == 0


@pytest.mark.parametrize("parts", ["throughput", "both"])
def test_one_missing_copy_on_one_port_fails_the_load_and_no_latency_follows(parts: str) -> None:
    def carry(_: TrialSpec, sent: Counts) -> Counts:
        return {key: count - (key[2] == 18) for key, count in sent.items()}

    result, outcome = run(FlowMeasurer(carry), 64, f"parts={parts}")
    assert (result.search.state, result.search.throughput_pct, result.latency) == (Verdict.FAIL, None, ())
    assert outcome.state is Verdict.FAIL
    (theory, found) = outcome.figures[0].series
    assert (theory.theoretical, found.points) == (True, ())


def test_the_throughput_alone_has_no_latency_trial_and_is_that_of_the_sending_port() -> None:
    measurer = FlowMeasurer(lossless)
    result, outcome = run(measurer, 64, "parts=throughput")
    assert len(measurer.specs) == result.search.trials == 1 and result.latency == ()
    assert "port 1 to 17 ports" in outcome.summary
    assert outcome.tables[0].rows[0]["offered_l1_mbps"] == 1000
    assert outcome.figures[0].series[1].points == ((64, pytest.approx(1e9 / 672)),)


@pytest.mark.parametrize(("more", "late"), [(17, 34), (0, 0)])
def test_more_copies_than_the_lines_carry_leave_late_ones_out(more: int, late: int) -> None:
    """Of 100 frames there are 1,700 copies in time; where they fit it, late ones may be late by jitter."""

    class Late(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            return replace(result, rx_frames=result.rx_frames + more, ports=(PortCounts(2, late_frames=34),))

    result, _ = run(Late(lossless), 64, "parts=throughput", "scaled_frames=100")
    assert result.search.shown.forwarding_fps == pytest.approx((1700 + more - late) * 1e9 / (100 * 672))


def test_a_load_at_which_no_frame_fits_sends_one() -> None:
    measurer = FlowMeasurer(lambda spec, sent: {key: count - 1 for key, count in sent.items()})
    run(measurer, 64, "scaled_frames=10", "search_min_pct=1", "parts=throughput")
    assert [spec.streams[0].frame_count for spec in measurer.specs][-1] == 1


def test_latency_is_reported_per_port_for_a_single_frame_and_for_a_stream() -> None:
    measurer = FlowMeasurer(lossless)
    result, outcome = run(measurer, 64)
    rows = result.latency
    assert [row.mode for row in rows] == ["single frame"] * 17 + ["stream"] * 17
    assert measurer.specs[-2].streams[0].frame_count == 1
    assert [spec.watch_queues for spec in measurer.specs] == [True, False, True], "a frame alone fills no queue"
    line_fps = pytest.approx(float(max_rate_fps(64, 10**9)))
    assert [(row.load_pct, row.rate_fps) for row in rows] == [(None, None)] * 17 + [(100, line_fps)] * 17
    (variation,) = (table for table in outcome.tables if table.name == "broadcast_latency_variation")
    assert [row["mode"] for row in variation.rows] == ["stream"] * 17
    assert rows[0].latency.times.avg_us == pytest.approx(2.2)
    assert [table.name for table in outcome.tables[1:5]] == [
        "broadcast_latency",
        "broadcast_latency_ports",
        "broadcast_latency_variation",
        "broadcast_latency_definitions",
    ]


def test_an_unknown_source_port_is_refused() -> None:
    with pytest.raises(ParameterError, match="source_port=19"):
        run(FlowMeasurer(lossless), 64, "source_port=19")


LAYERS = (range(1, 7), range(7, 11), range(11, 15), range(15, 19))


def test_latency_is_summed_up_per_device_of_a_chain() -> None:
    """Every device adds 1 us: low and high of a layer are those of its ports, the source's own layer included."""

    class Chain(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec)
            flows = []
            for flow in result.flows:
                (layer,) = (number for number, ports in enumerate(LAYERS, 1) if flow.rx_port in ports)
                average_ns = 1000.0 * layer + flow.rx_port
                latency = LatencyStats(10, average_ns, average_ns, 10 * average_ns)
                flows.append(replace(flow, latency=latency))
            return replace(result, flows=tuple(flows))

    behind = {port: f"layer{number}" for number, ports in enumerate(LAYERS, 1) for port in ports}
    bed = replace(BED, ports=tuple(replace(port, attached_to=behind[port.number]) for port in BED.ports))
    _, outcome = run(Chain(lossless), 64, bed=bed)
    summary = next(table for table in outcome.tables if table.name == "broadcast_latency")
    stream = [row for row in summary.rows if row["mode"] == "stream"]
    assert [(row["device"], row["ports"]) for row in stream] == [
        ("all", 17),
        ("layer1", 5),
        ("layer2", 4),
        ("layer3", 4),
        ("layer4", 4),
    ]
    assert [(row["avg_us_low"], row["avg_us_high"]) for row in stream] == [
        (pytest.approx(low), pytest.approx(high))
        for low, high in ((1.002, 4.018), (1.002, 1.006), (2.007, 2.010), (3.011, 3.014), (4.015, 4.018))
    ]
    means = [sum(layer + port / 1000 for port in ports if port > 1) / len(ports if layer > 1 else ports[1:])
             for layer, ports in enumerate(LAYERS, 1)]  # fmt: skip
    steps = [later - earlier for earlier, later in pairwise(means)]
    assert [row["increment_us"] for row in stream[1:]] == [None, *map(pytest.approx, steps)]
    assert [row["samples"] for row in stream] == [170, 50, 40, 40, 40], "10 of each port"
    halves = replace(BED, ports=tuple(replace(port, attached_to="ab"[port.number > 9]) for port in BED.ports))
    _, two = run(FlowMeasurer(lossless), 64, bed=halves)
    devices = [row["device"] for table in two.tables if table.name == "broadcast_latency" for row in table.rows]
    assert devices == ["all", "a", "b"] * 2
    assert [table.name for table in two.tables if table.detail][:3] == [
        f"broadcast_latency_{each}" for each in ("ports", "variation", "definitions")
    ]
    one_device = next(table for table in run(FlowMeasurer(lossless), 64)[1].tables if table.name == "broadcast_latency")
    assert {row["device"] for row in one_device.rows} == {"all"}


class AfterTheSearch(FlowMeasurer):
    """Loses nothing in the search; latency trials come out as asked for."""

    def __init__(self, **changes: object) -> None:
        super().__init__(lossless)
        self.changes = changes

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec)
        return replace(result, **self.changes) if spec.per_flow else result  # type: ignore[arg-type]


def test_latency_trials_that_cannot_be_trusted_are_no_silent_gap() -> None:
    result, outcome = run(AfterTheSearch(status=Verdict.INVALID, reason="tester under-delivered"), 64)
    assert (result.search.throughput_pct, outcome.state) == (100, Verdict.INVALID)
    assert [text for text in outcome.findings if "latency of a single frame: tester under-delivered" in text]


@pytest.mark.parametrize(
    ("ports", "lost"), [((9,), "1 copy was lost, on port 9"), ((9, 12), "2 copies were lost, on ports 9,12")]
)
def test_a_copy_that_is_lost_in_a_latency_trial_is_a_finding_with_its_port(ports: tuple[int, ...], lost: str) -> None:
    """The other ports have a latency."""

    class Lossy(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            flows = [replace(flow, latency=flow.latency if flow.rx_frames else None) for flow in result.flows]
            return replace(result, flows=tuple(flows))

    def carry(spec: TrialSpec, sent: Counts) -> Counts:
        return {key: count - (key[2] in ports and count == 1) for key, count in sent.items()}

    result, outcome = run(Lossy(carry), 64)
    assert f"64 B, latency of a single frame: {lost}" in outcome.findings
    shown = [row.port for row in result.latency if row.mode == "single frame"]
    assert shown == [port for port in range(2, 19) if port not in ports]


def test_frames_that_come_back_to_the_source_are_a_finding_and_those_at_unused_ports_are_none() -> None:
    back, unused = PortCounts(1, flooded_frames=4), PortCounts(19, flooded_frames=100)
    _, outcome = run(AfterTheSearch(flooded_frames=104, ports=(back, unused)), 64)
    assert "flooding detected: 8 frames came back to the source port (64 B)" in outcome.findings
    assert run(FlowMeasurer(lossless), 64)[1].findings == ()


QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
AT_LINE_RATE = ("parts=throughput", "search_min_pct=100", "search_initial_pct=100")


@pytest.mark.parametrize("frames", [1000, 4000])
def test_a_server_of_broadcasts_has_closed_forms(frames: int) -> None:
    """One frame each microsecond: 67.2 % of the line at 64 bytes, all of it at 128; LILO is a frame and 300 ns."""
    server = parsed(switch("broadcast: {service_base_ns: 1000, queue_frames: 4}", "latency_ns: 300", rates_bps=10**9))
    _, outcome, _ = run_on_sim(TEST, server, (64, 128), *QUICK, f"scaled_frames={frames}")
    tables: dict[str, list[dict[str, Any]]] = {table.name: [*map(dict, table.rows)] for table in outcome.tables}
    (short, long), latencies = tables["broadcast"], tables["broadcast_latency"]
    assert short["carried_pct"] <= 67.2 <= short["upper_pct"] <= 67.22
    assert short["forwarding_fps"] == pytest.approx(3e6, abs=short["forwarding_error_fps"])
    assert (long["load_pct"], long["upper_pct"]) == (100, None)
    assert [round(row["min_us_low"], 3) for row in latencies] == [0.812, 0.812, 1.324, 1.324]
    assert latencies[3]["avg_us_mean"] == pytest.approx(1.324, abs=latencies[3]["avg_error_us_high"])

    _, outcome, _ = run_on_sim(TEST, server, (64,), *QUICK, *AT_LINE_RATE, f"scaled_frames={frames}")
    row: dict[str, Any] = dict(outcome.tables[0].rows[0])
    assert row["forwarding_fps"] == pytest.approx(3e6, abs=row["forwarding_error_fps"])
    assert row["loss_pct"] == pytest.approx(32.8, abs=row["loss_error_pct"])


def test_copies_that_are_lost_together_are_no_losses_by_themselves() -> None:
    """2 % of the frames are lost in front of the seven copies of each."""
    covered = 0
    for seed in range(12):
        lossy = parsed(switch(f"loss_ppb: {2 * 10**7}", ports=8, rates_bps=10**9, seed=seed))
        _, outcome, _ = run_on_sim(TEST, lossy, (64,), *QUICK, *AT_LINE_RATE, "scaled_frames=2000")
        row: dict[str, Any] = dict(outcome.tables[0].rows[0])
        rate = abs(row["forwarding_fps"] - 7 * 0.98 * float(max_rate_fps(64, 10**9))) <= row["forwarding_error_fps"]
        covered += rate and abs(row["loss_pct"] - 2) <= row["loss_error_pct"]
    assert covered >= 11


def test_a_port_without_samples_has_no_part_in_the_mean_of_a_device() -> None:
    """Ten frames of 2 us and twenty of 5 us."""
    ports = [
        PortLatency(
            frame_size_bytes=64,
            mode="stream",
            load_pct=None,
            rate_fps=None,
            port=port,
            latency=LatencyCells(definition="LIFO", times=LatencyTimes(avg_us=average_us), samples=samples),
        )
        for port, average_us, samples in ((2, 2.0, 10), (3, None, None), (4, 5.0, 20))
    ]
    found = _low_high("all", ports)
    assert [found[key] for key in ("avg_us_mean", "samples", "ports", "avg_us_low", "avg_us_high")] == [4, 30, 3, 2, 5]
