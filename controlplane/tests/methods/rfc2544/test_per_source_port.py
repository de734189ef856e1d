"""RFC 2544 throughput decided for every source port by itself (methodology 1.6)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer, FlowCarry, FlowMeasurer, lossless
from support.networks import parsed
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError
from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.methods.base import TrialNote
from p4mesh.methods.results.loss_interval import BUCKET_FRAMES
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.methods.rfc2544.per_source_port import PortThroughputs, _counted
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.search.bisection import bisect, bisect_each
from p4mesh.methods.search.goal import SearchGoal
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import InPhase, Pairs
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

SIZE = 128
BED = make_bed()
MIXED = """
name: mixed
tester: {ports: [{numbers: 1-4, rate_bps: 1000000000}]}
nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {numbers: 1-3, rate_bps: 1000000000}
      - {numbers: 4-4, rate_bps: 1000000000, ifg_bytes: 40, queue_frames: 16}
links: [{from: "tester:1-4", to: "dut:1-4"}]
"""


def limited(limits_pct: dict[int, str]) -> FlowMeasurer:
    """A device that carries so much of each source port, without a queue."""

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        rates = {stream.tx_ports[0]: stream.rate_fps for stream in spec.streams}
        arrived = {}
        for key, count in sent.items():
            limit_fps = Fraction(limits_pct[key[1]]) / 100 * max_rate_fps(SIZE, GIGABIT)
            arrived[key] = count if rates[key[1]] <= limit_fps else int(count * limit_fps / rates[key[1]])
        return arrived

    return FlowMeasurer(carry)


def run(measurer: FakeMeasurer, *settings: str) -> tuple[PortThroughputs, Outcome]:
    test = Throughput()
    result, outcome = run_unit(test, BED, measurer, SIZE, "decision=per_source_port", *settings)
    assert isinstance(result, PortThroughputs)
    return result, outcome


def test_rare_loss_of_a_source_port_is_a_finding_and_its_pass_says_what_it_excludes() -> None:
    """Port 1 loses one of a thousand frames at every load; the others lose nothing."""

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        return {key: count - (count // 1000 if key[1] == 1 else 0) for key, count in sent.items()}

    # At 4 % a confirming trial, 25 times as long as the others, has the frames of one at 100 %.
    result, outcome = run(FlowMeasurer(carry), "search_min_pct=4")
    states = {row.port: row.state for row in result.ports}
    assert states == {1: Verdict.FAIL, 2: Verdict.MEASURED, 3: Verdict.MEASURED, 4: Verdict.MEASURED}
    (finding,) = outcome.findings
    assert finding.startswith(f"{SIZE} B, source port 1: loses about 0.09")
    assert " % of the frames at every load, independent of load" in finding
    frames = [row.tx_frames for row in result.rows if row.port == 2][-1]
    assert result.ports[1].excluded_loss_ppm == pytest.approx(3e6 / frames)
    assert f"3/n of the n frames sent: {100 * 3 / frames:.2g} %" in outcome.tables[0].note


def test_a_port_that_carries_only_the_minimum_passes_there() -> None:
    """Goal: a limit between the minimum and the lowest load of the halving is found, for one port of several."""
    result, _ = run(limited({1: "0.15", 2: "100", 3: "30", 4: "100"}))
    assert (result.ports[0].throughput_pct, result.ports[0].state) == (pytest.approx(0.1), Verdict.MEASURED)
    assert result.ports[0].upper_pct == pytest.approx(0.19756, abs=1e-4)
    assert {_counted(row).corrupted_frames for row in result.rows} == {0}


def test_every_port_finds_its_own_limit_in_common_trials() -> None:
    limits = {1: "100", 2: "75.3", 3: "20", 4: "60.5"}
    measurer = limited(limits)
    result, outcome = run(measurer)
    for row in result.ports:
        true_limit = float(limits[row.port])
        assert true_limit - 0.1 <= row.throughput_pct <= true_limit
        assert row.upper_pct is None or row.upper_pct > true_limit
        assert row.throughput_l1_mbps == pytest.approx(10 * row.throughput_pct, rel=1e-9), "of 1 Gbit/s"
        trials = [trial for trial in result.rows if trial.port == row.port]
        assert [trial.trial for trial in trials] == list(range(1, len(measurer.specs) + 1))
        assert [trial.duration_ms for trial in trials] == [spec.duration_ns / 10**6 for spec in measurer.specs]
        assert row.throughput_fps == pytest.approx(row.throughput_pct / 100 * float(max_rate_fps(SIZE, GIGABIT)))
        assert row.trials == len(measurer.specs)
        assert (row.upper_pct is None, row.reason) == (row.port == 1, ""), "no load is above 100 %"
    assert outcome.state is Verdict.MEASURED
    assert all(len(spec.streams) == 4 for spec in measurer.specs), "a port that is ready keeps sending"
    assert all(stream.pattern == Pairs() for stream in measurer.specs[0].streams)
    assert all(spec.per_flow and spec.watch_queues for spec in measurer.specs)
    assert measurer.specs[-1].duration_ns == pytest.approx(5 * measurer.specs[0].duration_ns, rel=0.01), "for port 3"


class Watched(FlowMeasurer):
    """The queue to port 2 fills by a hundredth above 60 % of port 1, and is steady below."""

    def __init__(self, carry: FlowCarry = lossless, one_copy_of: int = 10**9) -> None:
        super().__init__(carry)
        self.one_copy_of = one_copy_of
        """One of so many frames comes twice."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        base = super().measure(spec, note)
        copied = [(flow, flow.rx_frames // self.one_copy_of) for flow in base.flows]
        flows = (replace(flow, rx_frames=flow.rx_frames + more, duplicate_frames=more) for flow, more in copied)
        base = replace(base, flows=tuple(flows))
        steady = spec.streams[0].rate_fps <= Fraction(60, 100) * max_rate_fps(SIZE, GIGABIT)
        found = QueueTrend(Trend.STEADY, error_ppm=1000.0) if steady else QueueTrend(Trend.FILLING, 10_000.0, 100.0)
        return replace(base, queues=replace(found, rx_ports=() if steady else (2,)))


def test_a_queue_that_fills_fails_the_port_that_sends_to_it() -> None:
    """Ports 1 and 2, and 3 and 4 send to each other: only port 1 sends to port 2."""
    result, _ = run(Watched(), "confirm_factor=1")
    first, *others = result.ports
    assert 59.9 <= first.throughput_pct <= 60 < first.upper_pct
    assert all((row.throughput_pct, row.upper_pct) == (100, None) for row in others)
    # Its queues are steady up to 1,000 ppm; a bucket of a hundred frames hides 100/n.
    carried_pct = first.throughput_pct / 1.001
    frames = [row.tx_frames for row in result.rows if row.port == 1 and row.load_pct == first.throughput_pct][-1]
    assert first.for_good.carried_pct == pytest.approx(carried_pct, rel=1e-9)
    assert first.for_good.bucket_pct == pytest.approx(carried_pct * (1 - BUCKET_FRAMES / frames), rel=1e-9)
    loss_alone, _ = run(Watched(), "sustained=false")
    assert all(row.throughput_pct == 100 for row in loss_alone.ports)
    for_good, frames = loss_alone.ports[0].for_good, loss_alone.rows[-1].tx_frames
    assert (for_good.carried_pct, for_good.bucket_pct) == (None, pytest.approx(100 - 100 * BUCKET_FRAMES / frames))
    # A hundredth more than leaves is a loss of 1/101 when the buffer is full.
    for accepted, highest_pct in (("0.98", 60), ("1", 100)):
        accepting, _ = run(Watched(), f"acceptable_loss_pct={accepted}")
        assert accepting.ports[0].throughput_pct == pytest.approx(highest_pct, abs=0.1)


@pytest.mark.parametrize(("one_copy_of", "fills_by_copies"), [(90, True), (110, False)])
def test_a_queue_that_fills_by_copies_is_no_upper_bound_of_a_port(one_copy_of: int, fills_by_copies: bool) -> None:
    """Losses of other ports, here of a half above 50 % of port 3, tell nothing about that queue."""

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        limit_fps = Fraction(1, 2) * max_rate_fps(SIZE, GIGABIT)
        fast = {stream.tx_ports[0] for stream in spec.streams if stream.rate_fps > limit_fps}
        return {key: count // (2 if key[1] == 3 and 3 in fast else 1) for key, count in sent.items()}

    result, outcome = run(Watched(carry, one_copy_of), "confirm_factor=1")
    first, _, third, _ = result.ports
    assert (59.9 <= first.throughput_pct <= 60, 49.9 <= third.throughput_pct <= 50 < third.upper_pct) == (True, True)
    lengths = [row.duration_ms for row in result.rows]
    assert round(max(lengths) / min(lengths)) == (32 if fills_by_copies else 2), "until the queue may be full"
    told = [text for text in outcome.findings if "source port 1: from 60." in text and "than came twice" in text]
    assert (first.upper_pct is None, first.reason, len(told)) == (
        (True, AT_LEAST, 1) if fills_by_copies else (False, "", 0)
    )


def test_a_port_that_fails_the_longer_trial_searches_below_and_the_others_do_not() -> None:
    """Above 40 % port 2 loses one frame of a trial that is twice as long."""
    limit_fps = Fraction(40, 100) * max_rate_fps(SIZE, GIGABIT)
    first_ns: list[int] = []

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        first_ns.append(spec.duration_ns)
        is_long = spec.duration_ns > first_ns[0]
        fast = {stream.tx_ports[0] for stream in spec.streams if stream.rate_fps > limit_fps}
        return {key: count - (is_long and key[1] == 2 and 2 in fast) for key, count in sent.items()}

    result, _ = run(FlowMeasurer(carry), "confirm_factor=2")
    found = {row.port: (row.throughput_pct, row.upper_pct) for row in result.ports}
    assert [found[port] for port in (1, 3, 4)] == [(100, None)] * 3
    assert 39.9 <= found[2][0] <= 40 < found[2][1] <= 40.1
    loads = {row.load_pct for row in result.rows if row.port != 2}
    assert result.rows[-1].duration_ms == 2 * result.rows[0].duration_ms and max(loads) == 100
    assert run(limited(dict.fromkeys(range(1, 5), "100")), "confirm_factor=1")[0].ports[0].trials == 1


def test_losses_that_are_acceptable_are_told_and_are_no_rare_loss() -> None:
    """Ports 1 and 2 lose one frame of a hundred: acceptable is 1 %, and one of 101 more is not."""

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        return {key: count - (count // 100 if key[1] < 3 else 0) for key, count in sent.items()}

    result, outcome = run(FlowMeasurer(carry), "acceptable_loss_pct=1", "scaled_frames=10000", "confirm_factor=1")
    assert [row.accepted_frames for row in result.ports] == [100, 100, 0, 0]
    assert all((row.throughput_pct, row.rare_loss) == (100, None) for row in result.ports)
    assert outcome.findings == ()
    result, outcome = run(FlowMeasurer(carry), "acceptable_loss_pct=0.999", "search_min_pct=50")
    assert [row.throughput_pct for row in result.ports] == [None, None, 100, 100]
    assert [row.accepted_frames for row in result.ports] == [0] * 4
    assert outcome.findings[0].startswith(f"{SIZE} B, source ports 1, 2: loses about ")


@pytest.mark.parametrize(("acceptable", "told"), [("1", False), ("0.99", True)])
def test_a_loss_below_the_capacity_is_rare_where_it_is_more_than_acceptable(acceptable: str, told: bool) -> None:
    """Port 1 carries 60 % of the line; of 5,000 frames at 50 % it loses 50."""
    most = limited({1: "60", 2: "100", 3: "100", 4: "100"})

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        arrived = most.carry_flows(spec, sent)
        return {key: min(count, sent[key] - sent[key] // 100 * (key[1] == 1)) for key, count in arrived.items()}

    settings = ("scaled_frames=10000", "confirm_factor=1", "search_min_pct=50", "search_initial_pct=50")
    result, _ = run(FlowMeasurer(carry), f"acceptable_loss_pct={acceptable}", *settings)
    assert [(row.load_pct, row.tx_frames, row.lost_frames) for row in result.rows if row.port == 1][1] == (50, 5000, 50)
    assert [row.rare_loss is not None for row in result.ports] == [told, False, False, False]


@pytest.mark.parametrize(
    ("settings", "highest_pct", "reason"),
    [
        (("search_max_pct=60",), 60, ""),
        (("search_initial_pct=80", "search_resolution_pct=30", "search_try_max_first=false"), 80, AT_LEAST),
    ],
)
def test_a_load_above_which_nothing_was_tried_is_a_floor(
    settings: tuple[str, ...], highest_pct: int, reason: str
) -> None:
    result, _ = run(FlowMeasurer(lossless), *settings)
    assert {(row.throughput_pct, row.upper_pct, row.reason) for row in result.ports} == {(highest_pct, None, reason)}


def test_ports_begin_one_after_the_other() -> None:
    measurer = FlowMeasurer(lossless)
    run(measurer, "start_stagger_us=10")
    assert [stream.start_offset_ns for stream in measurer.specs[0].streams] == [(), (10_000,), (20_000,), (30_000,)]


def test_the_loads_of_a_port_are_those_of_a_search_alone() -> None:
    goals = {n: SearchGoal(Fraction(50), Fraction(1), Fraction(100), Fraction(1, 10)) for n in (17, 60, 99)}

    def passes(limit: int, load: Fraction) -> Verdict:
        return Verdict.PASS if load <= limit else Verdict.FAIL

    found = bisect_each(goals, lambda loads: {limit: passes(limit, load) for limit, load in loads.items()})
    for limit, goal in goals.items():
        assert found[limit] == bisect(goal, lambda load, limit=limit: passes(limit, load))  # type: ignore[misc]


def test_a_port_that_loses_always_fails_and_the_others_do_not() -> None:
    result, outcome = run(limited({1: "100", 2: "0.001", 3: "100", 4: "100"}))
    states = {row.port: row.state for row in result.ports}
    assert states == {1: Verdict.MEASURED, 2: Verdict.FAIL, 3: Verdict.MEASURED, 4: Verdict.MEASURED}
    assert next(row.throughput_pct for row in result.ports if row.port == 2) is None
    assert outcome.state is Verdict.FAIL


def test_ports_that_send_in_phase_keep_their_pattern() -> None:
    measurer = FlowMeasurer(lossless)
    run(measurer, "pattern=in_phase", "bidirectional=false")
    assert [(s.pattern, s.tx_ports, s.rx_ports) for s in measurer.specs[0].streams] == [
        (InPhase(), (1,), (3, 4)),
        (InPhase(), (2,), (3, 4)),
    ]


def test_other_searches_are_refused() -> None:
    with pytest.raises(ParameterError, match="decision=per_source_port with search_method=mlr"):
        run(FlowMeasurer(lossless), "search_method=mlr")


def test_a_slow_output_limits_the_port_that_sends_to_it_alone() -> None:
    """Port 4 of the switch needs 48 bytes per frame instead of 20; port 3 is the one that sends to it."""
    quick = ("scaled_frames=5000", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
    topology = parsed(MIXED)
    results, outcome, _ = run_on_sim(Throughput(), topology, (SIZE,), "decision=per_source_port", *quick)
    (result,) = results.values()
    found = {row.port: row.throughput_pct for row in result.ports}
    assert (found[1], found[2], found[4]) == (100, 100, 100)
    assert found[3] == pytest.approx(100 * (SIZE + 20) / (SIZE + 48), abs=0.3)
    (table, *_) = outcome.tables
    assert [row["port"] for row in table.rows] == [1, 2, 3, 4]
