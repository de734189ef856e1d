"""Times of the first and last route after a change of what stations announce, on a simulated router."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from msgspec import structs
from support.beds import make_bed
from support.fakes import FlowMeasurer, lossless
from support.networks import changed, shipped
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.measurement.counts import LatencyStats
from p4mesh.methods.base import TrialNote
from p4mesh.methods.convergence.routes import Silence
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.preparation import bed_of
from p4mesh.topology import Topology
from p4mesh.traffic.routing_event import RoutingChange, RoutingEvent
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

ROUTER = "router-4x1g-bgp"
QUICK = ("networks=3", "learning_wait_ms=1", "settle_ms=10", "restabilise_ms=1")
ROUTES = 2 * 3


def run(
    change: str, *settings: str, topology: Topology | None = None, limit_ms: int = 800
) -> tuple[Outcome, dict[str, object]]:
    test, asked = find_test(f"convergence.{change}"), (*QUICK, f"time_limit_ms={limit_ms}", *settings)
    outcome = run_on_sim(test, topology or shipped(ROUTER), (128,), *asked)[1]
    (row,) = outcome.tables[0].rows
    return outcome, dict(row)


@pytest.mark.parametrize("change", ["announcement", "withdrawal", "flap", "loss_of_link"])
def test_a_router_without_delays_of_its_own_follows_within_the_messages(change: str) -> None:
    """The model changes its routes in the moment of the UPDATE, which takes microseconds over these wires."""
    outcome, row = run(change, "stream_fps=20000", *(("flap_ms=100",) if change == "flap" else ()))
    assert (outcome.state, row["routes"], row["converged_routes"]) == (Verdict.PASS, ROUTES, ROUTES)
    for key in ("first_route_ms", "last_route_ms"):
        assert row[key] == pytest.approx(0, abs=0.15)
    detail = next(table for table in outcome.tables if table.name == "routes_in_detail")
    assert {(route["rx_port"], route["network"]) for route in detail.rows} == {(p, n) for p in (3, 4) for n in range(3)}


def test_frames_that_did_not_come_are_the_time_from_the_start_of_traffic_to_the_route() -> None:
    """250 frames of 1,000 a second are missing on one route and 300 on the other; traffic started 100 ms before."""
    measurer = FlowMeasurer(lambda _, sent: {key: count - 200 - 50 * (key[2] - 2) for key, count in sent.items()})
    test, asked = find_test("convergence.announcement"), ("networks=1", "stream_fps=1000", "traffic_first_ms=100")
    _, outcome = run_unit(test, make_bed(announces_routes=True), measurer, 128, *asked)
    (row,) = outcome.tables[0].rows
    assert (row["first_route_ms"], row["last_route_ms"], row["average_ms"]) == (150, 200, 175)


class Counted(FlowMeasurer):
    """Has these counts of its flows."""

    def __init__(self, *counts: dict[str, Any]) -> None:
        super().__init__(lossless)
        self.counts = counts

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        base = super().measure(spec, note)
        flows = (replace(flow, **counts) for flow, counts in zip(base.flows, self.counts, strict=True))
        return replace(base, flows=tuple(flows))


MS = 10**6
IN_TIME = {"first_tx_ns": 5 * MS, "first_rx_ns": 105 * MS}
TOO_LATE = {"first_tx_ns": 5 * MS, "first_rx_ns": 105 * MS + 1, "rx_frames": 900, "tail_lost_frames": 700}


@pytest.mark.parametrize(
    ("change", "counts", "times_ms", "finding"),
    [
        # The last frame that arrived left 200 or 250 ms after the start.
        ("withdrawal", ({"tail_lost_frames": 700}, {"tail_lost_frames": 650}), (100, 150), ""),
        ("withdrawal", ({"tail_lost_frames": 0}, {"tail_lost_frames": 650}), (None, 150), "did not follow"),
        ("loss_of_link", (TOO_LATE, {"tail_lost_frames": 650}), (None, 150), "no traffic came on 1 of 2 routes"),
        ("withdrawal", ({"rx_frames": 0, "tail_lost_frames": 900}, {"tail_lost_frames": 650}), (None, 150), "before"),
        # 560 and 501 frames are missing, of an interruption of 500 ms.
        ("flap", ({"rx_frames": 340}, {"rx_frames": 399}), (60, 1), ""),
        ("flap", ({"rx_frames": 900}, {"rx_frames": 399}), (None, 1), "did not follow"),
        # As many frames are missing as the first one that came left before it.
        ("announcement", ({"rx_frames": 800, "first_rx_ns": 106 * MS},) * 2, (0, 0), ""),
        ("flap", ({"rx_frames": 340, "tail_lost_frames": 1}, {"rx_frames": 399}), (None, 1), "did not follow"),
        # Those of the 100 ms before the announcement, and of the time until it was followed.
        (
            "announcement",
            ({"rx_frames": 780, "first_rx_ns": 125 * MS}, {"rx_frames": 799, "first_rx_ns": 106 * MS}),
            (20, 1),
            "",
        ),
        (
            "announcement",
            ({"rx_frames": 900}, {"rx_frames": 799, "first_rx_ns": 106 * MS}),
            (None, 1),
            "without the announcement",
        ),
        (
            "announcement",
            ({"rx_frames": 0}, {"rx_frames": 799, "first_rx_ns": 106 * MS}),
            (None, 1),
            "did not follow the change on 1 of 2",
        ),
    ],
)
def test_times_of_routes_by_hand(
    change: str, counts: tuple[dict[str, int], ...], times_ms: tuple[float | None, ...], finding: str
) -> None:
    """Of 900 frames of each route at 1,000 frames/s, 100 are sent before the change."""
    test = find_test(f"convergence.{change}")
    measurer = Counted(*({"rx_frames": 899, **IN_TIME, **each} for each in counts))
    _, outcome = run_unit(test, make_bed(announces_routes=True), measurer, 128, "networks=1", "time_limit_ms=800")
    (row,), routes = outcome.tables[0].rows, outcome.tables[1].rows
    known = [time_ms for time_ms in times_ms if time_ms is not None]
    assert tuple(route["time_ms"] for route in routes) == times_ms
    assert {route["resolution_ms"] for route in routes} == {1}
    assert (row["first_route_ms"], row["last_route_ms"]) == (min(known), max(known))
    assert (row["average_ms"], row["converged_routes"], row["resolution_ms"]) == (
        sum(known) / len(known),
        len(known),
        1,
    )
    assert row["state"] == ("FAIL" if finding else "PASS")
    assert [finding in text for text in outcome.findings] == [True] * bool(finding)


def test_the_resolution_of_an_announcement_contains_what_is_lost_behind_the_first_frame() -> None:
    """Frame 150 of 900 came first, 0.6 ms after it left; 200 of the 750 behind were lost: 0.27^3 is below 5 %."""
    counts = {"rx_frames": 550, "first_tx_ns": 5 * MS, "first_rx_ns": 155 * MS + 600_000}
    slow = {**counts, "latency": LatencyStats(1, 600_000.0, 600_000.0, 600_000.0)}
    fast = {**counts, "first_rx_ns": 155 * MS, "latency": None}
    test = find_test("convergence.announcement")
    bed = make_bed(announces_routes=True)
    _, outcome = run_unit(test, bed, Counted(slow, fast), 128, "networks=1", "time_limit_ms=800")
    found = [(route["time_ms"], route["resolution_ms"]) for route in outcome.tables[1].rows]
    assert found == [(250, 203), (250, 203)]
    last = {**counts, "rx_frames": 1, "first_rx_ns": 905 * MS, "latency": None}
    _, outcome = run_unit(test, bed, Counted(last, last), 128, "networks=1", "time_limit_ms=800")
    assert {route["resolution_ms"] for route in outcome.tables[1].rows} == {1}, (
        "the last one that was sent is the first"
    )


@pytest.mark.parametrize(
    ("lost", "gap", "resolution_ms"),
    [
        (540, 642, 1),
        (540, 643, 1 + 3 / 257 * 360),
        (540, 750, 1 + 3 / 150 * 360),
        # No more than are lost.
        (503, 898, 1 + 397),
        (700, 898, 1 + 200),
        (790, 899, 1 + 110),
        (540, None, 1),
    ],
)
def test_the_resolution_of_a_flap_contains_as_many_lost_frames_as_none_behind_the_last_gap_allows(
    lost: int, gap: int | None, resolution_ms: float
) -> None:
    """Frames that came between the withdrawal, at frame 100, and the last gap tell; two may have been on their way.

    3 / n is the share of frames that n without a loss exclude.
    """
    counts = {"rx_frames": 900 - lost, **IN_TIME, "last_gap_tx_ns": None if gap is None else (5 + gap) * MS}
    test, bed = find_test("convergence.flap"), make_bed(announces_routes=True)
    _, outcome = run_unit(test, bed, Counted(counts, counts), 128, "networks=1", "time_limit_ms=800")
    assert [(route["time_ms"], route["resolution_ms"]) for route in outcome.tables[1].rows] == [
        (lost - 500, pytest.approx(resolution_ms))
    ] * 2


@pytest.mark.parametrize("change", [change for change in RoutingChange if change is not RoutingChange.SILENCE])
def test_every_network_is_a_stream_through_the_change(change: RoutingChange) -> None:
    """100 ms before and 800 ms after it at 1,000 frames/s; a link that goes down is no reason to stop."""
    measurer = Counted(*[{"rx_frames": 300, "tail_lost_frames": 650, **IN_TIME}] * 4)
    test, bed = find_test(f"convergence.{change.value}"), make_bed(announces_routes=True)
    run_unit(test, bed, measurer, 128, "networks=2", "time_limit_ms=800")
    (spec,) = measurer.specs
    flap_ms = 500 if change is RoutingChange.FLAP else 0
    assert spec.routing_event == RoutingEvent(change, 100 * MS, flap_ms * MS)
    assert (spec.duration_ns, spec.per_flow) == (900 * MS, True)
    assert spec.stop_on_los is (change is not RoutingChange.LOSS_OF_LINK)
    assert [(stream.network, stream.advertised_networks, stream.frame_count) for stream in spec.streams] == [
        (0, 2, 900),
        (1, 2, 900),
    ]


def test_the_resolution_of_a_withdrawal_contains_what_is_lost_before_it() -> None:
    """Half of the 200 frames up to the last one that came were lost: 0.5^5 is the first power below 5 %."""
    counts = {"rx_frames": 100, "tail_lost_frames": 700, **IN_TIME}
    # A way of 3 ms is more than the distance of two frames, so the route may have changed so much later.
    far = {**counts, "latency": LatencyStats(2, 1e6, 3e6, 4e6)}
    test, bed = find_test("convergence.withdrawal"), make_bed(announces_routes=True)
    _, outcome = run_unit(test, bed, Counted(counts, far), 128, "networks=1", "time_limit_ms=800")
    routes = outcome.tables[1]
    assert [(route["time_ms"], route["resolution_ms"]) for route in routes.rows] == [(100, 5), (100, 8)]
    assert routes.detail
    one_frame, more = ({**counts, "latency": LatencyStats(2, 1e6, way_ns, 4e6)} for way_ns in (1e6, 1_000_500.0))
    _, outcome = run_unit(test, bed, Counted(one_frame, more), 128, "networks=1", "time_limit_ms=800")
    assert [route["resolution_ms"] for route in outcome.tables[1].rows] == [5, pytest.approx(6.0005)]
    never = {**IN_TIME, "rx_frames": 1800, "latency": LatencyStats(2, 1e6, 3e6, 4e6)}
    asked = ("networks=1", "time_limit_ms=800", "stream_fps=2000")
    _, outcome = run_unit(test, bed, Counted(never, never), 128, *asked)
    assert {route["resolution_ms"] for route in outcome.tables[1].rows} == {0.5}, (
        "a frame that is on its way tells none"
    )


def test_a_trial_without_counts_has_the_resolution_of_its_rate() -> None:
    class Broken(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            found = super().measure(spec, note)
            return replace(found, flows=(), status=Verdict.ABORT, reason="no link") if len(self.specs) == 1 else found

    test, bed = find_test("convergence.withdrawal"), make_bed(announces_routes=True)
    _, outcome = run_unit(test, bed, Broken(lossless), 128, "stream_fps=500", "repetitions=2", "networks=1")
    row, second = outcome.tables[0].rows
    assert (row["resolution_ms"], row["routes"], row["state"], row.get("average_ms")) == (2, 0, "ABORT", None)
    said = "128 B, trial 2: traffic did not follow the change on 2 of 2 routes"
    assert (second["state"], outcome.findings) == ("FAIL", ("128 B, trial 1: no link", said))


@pytest.mark.parametrize("lost_share", [0, 0.01, 0.2])
@pytest.mark.parametrize(
    ("change", "gone"), [("announcement", (0, 150)), ("withdrawal", (150, 900)), ("flap", (120, 650))]
)
def test_the_resolution_contains_what_chance_takes_beside_the_change(
    change: str, gone: tuple[int, int], lost_share: float
) -> None:
    """Of 900 frames at 1,000 frames/s those from the first to the second number do not come, and others by chance.

    The change is behind frame 100, and a flap lasts 500: they take 50, 50 and 30 ms.
    """
    random, missed = Random(1), 0
    for _ in range(40):
        came = [not gone[0] <= frame < gone[1] and random.random() >= lost_share for frame in range(900)]
        last = max(frame for frame in range(900) if came[frame])
        gaps = [frame for frame in range(1, 900) if came[frame] and not came[frame - 1]]
        counts = {
            "rx_frames": sum(came),
            "tail_lost_frames": 899 - last,
            "first_rx_ns": 5 * MS + came.index(True) * MS + 2000,
            "first_tx_ns": 5 * MS,
            "last_gap_tx_ns": 5 * MS + gaps[-1] * MS if gaps else None,
            "latency": LatencyStats(1, 2000.0, 2000.0, 2000.0),
        }
        test, measurer = find_test(f"convergence.{change}"), Counted(counts, counts)
        bed = make_bed(announces_routes=True)
        _, outcome = run_unit(test, bed, measurer, 128, "networks=1", "time_limit_ms=800")
        (row,) = outcome.tables[0].rows
        if row["state"] == "FAIL":  # The last frame of a flap was lost.
            continue
        assert lost_share or row["resolution_ms"] <= (6 if change == "flap" else 1)
        missed += abs(row["last_route_ms"] - (30 if change == "flap" else 50)) > row["resolution_ms"]
    assert missed <= 4


def test_trials_are_counted_down_and_have_the_load_of_all_networks() -> None:
    """Three networks at 1,000 frames/s: 3,000 of the 844,594.6 frames of 128 bytes that 1 Gbit/s carries."""
    measurer = Counted(*[{"tail_lost_frames": 650, **IN_TIME}] * 6)
    settings = ("networks=3", "repetitions=2", "time_limit_ms=800")
    _, outcome = run_unit(
        find_test("convergence.withdrawal"), make_bed(announces_routes=True), measurer, 128, *settings
    )
    assert [(note.remaining, note.load_pct) for note in measurer.notes if note] == [
        (left, 100 * Fraction(3000 * 8 * 148, 10**9)) for left in (1, 0)
    ]
    assert [(row["trial"], row["routes"]) for row in outcome.tables[0].rows] == [(1, 6), (2, 6)]
    assert "2 senders, 2 receivers" in outcome.summary


@pytest.mark.parametrize(
    ("way", "longest_ms"), [("latency_ns: 1000", 0), ("jitter: {normal: {mean_ns: 20000000, sigma_ns: 4000000}}", 40)]
)
def test_sessions_and_frames_go_through_a_switch(way: str, longest_ms: float) -> None:
    """It forwards no frame below 64 bytes; by way of it an answer takes up to 80 ms, and a frame up to 40."""
    vlans = ", ".join(f"{{port: {port}, mode: {{access: {(port - 1) % 4 + 1}}}}}" for port in range(1, 9))
    switch = f"""  - name: switch
    device: ethernet_switch
    ports: [{{numbers: 1-8, rate_bps: 1000000000}}]
    vlans: {{ports: [{vlans}]}}
    {way}
links:
  - {{from: "switch:5-8", to: "router:1-4"}}
"""
    topology = changed(ROUTER, ("links:\n", switch), ("to: router:1-4}", "to: switch:1-4}"))
    outcome, row = run("announcement", topology=topology)
    assert (outcome.state, row["converged_routes"]) == (Verdict.PASS, ROUTES)
    times = (row["first_route_ms"], row["last_route_ms"], row["resolution_ms"])
    first, last, resolution = (float(str(value)) for value in times)
    assert max(-first, last) <= resolution
    assert resolution == 1 if not longest_ms else longest_ms / 2 < resolution < 3 * longest_ms


@pytest.mark.parametrize(("change", "ip"), [("announcement", "ipv4"), ("announcement", "ipv6"), ("withdrawal", "ipv4")])
def test_a_processor_that_needs_a_while_per_route_is_seen_from_the_first_to_the_last(change: str, ip: str) -> None:
    topology = changed(ROUTER, ("      max_ipv4_routes: 128000\n", "      route_time_ns: 10000000\n"))
    outcome, row = run(change, "stream_fps=2000", f"ip={ip}", topology=topology)
    assert (outcome.state, row["converged_routes"]) == (Verdict.PASS, ROUTES)
    assert row["first_route_ms"] == pytest.approx(10, abs=1)
    assert row["last_route_ms"] == pytest.approx(10 * ROUTES, abs=1)
    detail = next(table for table in outcome.tables if table.name == "routes_in_detail")
    times = sorted(float(str(route["time_ms"])) for route in detail.rows)
    assert times == pytest.approx([10 * place for place in range(1, ROUTES + 1)], abs=1)


@pytest.mark.parametrize(("multiplier", "interval_ms"), [(3, 150), (2, 50)])
def test_bfd_notices_a_silent_neighbour_within_its_detection_time(multiplier: int, interval_ms: int) -> None:
    text = "bfd: {interval_ms: 150, multiplier: 3}"
    asked = f"bfd: {{interval_ms: {interval_ms}, multiplier: {multiplier}}}"
    topology = changed(ROUTER, (text, asked), ("bfd: {interval_ms: 150}", f"bfd: {{interval_ms: {interval_ms}}}"))
    _, row = run("silence", topology=topology)
    assert row["converged_routes"] == ROUTES
    first, last = row["first_route_ms"], row["last_route_ms"]
    assert isinstance(first, float) and isinstance(last, float)
    # The neighbour's multiplier counts its packets, whose distance is 75 to 100 % of the interval (RFC 5880 6.8.7).
    assert (multiplier - 1) * interval_ms - 2 < first <= last <= multiplier * interval_ms + 2


def test_without_bfd_the_hold_time_has_to_notice() -> None:
    topology = shipped(ROUTER)
    assert topology.bgp is not None
    slow = replace(topology, bgp=structs.replace(topology.bgp, bfd=None, hold_time_s=3))
    outcome, row = run("silence", topology=slow)
    assert (outcome.state, row["converged_routes"]) == (Verdict.FAIL, 0)
    assert outcome.findings == ("128 B, trial 1: traffic did not follow the change on 6 of 6 routes",)
    _, row = run("silence", topology=slow, limit_ms=3500)
    last = row["last_route_ms"]
    assert isinstance(last, float)
    assert 2000 < last <= 3002


@pytest.mark.parametrize(
    ("sessions", "limit_ms"),
    [
        ("hold_time_s: 9, bfd: {interval_ms: 150, multiplier: 3}", 2000),
        ("hold_time_s: 9, bfd: {interval_ms: 1000, multiplier: 5}", 6000),
        ("hold_time_s: 3", 4000),
    ],
)
def test_a_trial_is_long_enough_for_the_detection_of_silence_by_default(sessions: str, limit_ms: int) -> None:
    topology = changed(ROUTER, ("hold_time_s: 9, bfd: {interval_ms: 150, multiplier: 3}", sessions))
    test = find_test("convergence.silence")
    spec = Silence().trial(bed_of(topology), 128, resolve(test.name, test.parameters, ()), 1)
    assert spec.duration_ns == (100 + limit_ms) * 10**6
    outcome = run_on_sim(test, topology, (128,), *QUICK, "stream_fps=200")[1]
    assert (outcome.state, outcome.findings) == (Verdict.PASS, ())


def test_silence_that_nobody_notices_is_refused() -> None:
    deaf = changed(ROUTER, ("hold_time_s: 9, bfd: {interval_ms: 150, multiplier: 3}", "hold_time_s: 0"))
    test = find_test("convergence.silence")
    with pytest.raises(ParameterError, match="nobody notices that a station is silent"):
        test.check(bed_of(deaf), resolve(test.name, test.parameters, ()))


def test_a_network_that_the_router_reaches_without_bgp_has_no_time_of_an_announcement() -> None:
    """It would be 100 ms before the announcement."""
    topology = changed(
        ROUTER,
        ("    bgp:\n", '    routes: [{prefix: "10.2.0.0/16", next_hops: [198.18.3.2]}]\n    bgp:\n'),
    )
    outcome, row = run("announcement", topology=topology)
    assert (outcome.state, row["converged_routes"]) == (Verdict.FAIL, 3)
    assert row["first_route_ms"] == pytest.approx(0, abs=1)
    assert outcome.findings == (
        "128 B, trial 1: traffic came on 3 of 6 routes without the announcement: the device has other routes",
    )


def test_a_flap_that_does_not_end_in_time_has_no_time() -> None:
    """Three withdrawals of six are done after 120 ms, and their announcements after the end of the trial."""
    topology = changed(ROUTER, ("      max_ipv4_routes: 128000\n", "      route_time_ns: 60000000\n"))
    outcome, row = run("flap", "flap_ms=10", topology=topology, limit_ms=500)
    assert (outcome.state, row["converged_routes"]) == (Verdict.FAIL, 2)
    assert outcome.findings == ("128 B, trial 1: traffic did not follow the change on 4 of 6 routes",)


def test_frames_that_a_link_damages_do_not_shorten_the_time_to_the_last_frame() -> None:
    topology = changed(
        ROUTER,
        ("      max_ipv4_routes: 128000\n", "      route_time_ns: 50000000\n"),
        ("to: router:1-4}", "to: router:1-4, bit_errors_per_1e15: 20000000000}"),
    )
    outcome, row = run("withdrawal", "stream_fps=2000", topology=topology)
    assert (outcome.state, row["converged_routes"]) == (Verdict.PASS, ROUTES)
    detail = next(table for table in outcome.tables if table.name == "routes_in_detail")
    times = sorted(float(str(route["time_ms"])) for route in detail.rows)
    assert times == pytest.approx([50 * place for place in range(1, ROUTES + 1)], abs=3)


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        ("withdrawal", ("stream_fps=1", "traffic_first_ms=999"), "traffic_first_ms=999 is shorter than the distance"),
        ("announcement", ("stream_fps=100", "time_limit_ms=9"), "time_limit_ms=9 is shorter than the distance"),
        ("flap", ("flap_ms=5", "stream_fps=100"), "flap_ms=5 is shorter than the distance of two frames, 10 ms"),
        ("flap", ("flap_ms=2000",), "flap_ms=2000: the trial ends 2,000 ms after the withdrawal"),
    ],
)
def test_times_that_show_nothing_are_refused(change: str, settings: tuple[str, ...], message: str) -> None:
    test = find_test(f"convergence.{change}")
    with pytest.raises(ParameterError, match=message):
        test.check(bed_of(shipped(ROUTER)), resolve(test.name, test.parameters, settings))


def test_a_frame_before_the_change_and_one_after_it_are_enough() -> None:
    test, settings = find_test("convergence.withdrawal"), ("stream_fps=100", "traffic_first_ms=10", "time_limit_ms=10")
    test.check(make_bed(announces_routes=True), resolve(test.name, test.parameters, settings))


def test_stations_that_do_not_speak_bgp_change_nothing() -> None:
    test = find_test("convergence.withdrawal")
    parameters = resolve(test.name, test.parameters, ())
    with pytest.raises(TopologyError, match="needs stations that speak BGP, topology 'router-4x1g' has none"):
        test.check(bed_of(shipped("router-4x1g")), parameters)
    with pytest.raises(TopologyError, match=r"needs an even number of tester ports, topology '.*' has 3"):
        test.check(make_bed(3, announces_routes=True), parameters)
    test.check(make_bed(2, announces_routes=True), parameters)


def test_links_are_switched_off_one_by_one_on_sim_only() -> None:
    test = find_test("convergence.loss_of_link")
    bed = replace(bed_of(shipped(ROUTER)), target="live", resets_devices=False)
    withdrawal = find_test("convergence.withdrawal")
    withdrawal.check(bed, resolve(withdrawal.name, withdrawal.parameters, ()))
    with pytest.raises(UnsupportedError, match=r"^convergence\.loss_of_link is not supported on live"):
        test.check(bed, resolve(test.name, test.parameters, ()))
