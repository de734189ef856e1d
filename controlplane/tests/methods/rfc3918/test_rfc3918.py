"""RFC 3918 on fakes with closed-form answers: searches, matrices, latencies, delays and capacity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from ipaddress import ip_address
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.measurement.counts import FlowCounts, LatencyStats, PortCounts, Transient
from p4mesh.methods.base import TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc3918 import latency
from p4mesh.methods.rfc3918.rows import copy_rates, trial_row, untrusted
from p4mesh.methods.rfc3918.setup import Setup, burden_parameters, setup_parameters, verify_parameter
from p4mesh.report.grids import grid_of
from p4mesh.tester.responders.port_hosts import group_hosts
from p4mesh.tester.stations import station
from p4mesh.traffic.line_rate import max_rate_fps, serialization_ns
from p4mesh.traffic.memberships import Memberships, Version, report_bytes
from p4mesh.traffic.patterns import Multicast, Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
SECOND = 1_000_000_000
Flows = dict[tuple[str, int, str], FlowCounts]
"""(stream, receive port, group) -> counts."""


class GroupMeasurer(FakeMeasurer):
    """A lossless device with a flow per stream, receive port and group; ``change`` makes it another one."""

    def __init__(self, change: Callable[[TrialSpec, Flows], TrialResult | None] | None = None) -> None:
        super().__init__()
        self.change = change

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        base = super().measure(spec, note)
        flows: Flows = {}
        for stream in spec.streams:
            for source, tx_port in enumerate(stream.tx_ports):
                visited = stream.pattern.flows(stream, source)
                for place, flow in enumerate(visited):
                    sent = len(range(place, stream.frame_count, len(visited)))
                    for port in flow.ports:
                        if port != tx_port:
                            flows[stream.name, port, f"{tx_port} {flow.part}"] = FlowCounts(
                                stream.name, tx_port, port, sent, sent,
                                latency=LatencyStats(sent, 2000.0, 2500.0, 2200.0 * sent), part=flow.part,
                            )  # fmt: skip
        changed = self.change(spec, flows) if self.change else None
        kept = tuple(flows.values())
        expected = sum(flow.tx_frames for flow in kept)
        lost = sum(flow.lost_frames for flow in kept)
        result = replace(
            base,
            expected_rx_frames=expected,
            rx_frames=sum(flow.rx_frames for flow in kept),
            lost_frames=lost,
            duplicate_frames=sum(flow.duplicate_frames for flow in kept),
            flows=kept,
            silent_flows=sum(flow.tx_frames > 0 and not flow.rx_frames for flow in kept),
        )
        return result if changed is None else replace(changed, flows=kept)


def run(
    name: str, measurer: FakeMeasurer, *settings: str, size: int = 128, on: Bed | None = None
) -> tuple[Outcome, Sequence[TrialSpec]]:
    test, ports = find_test(name), on or make_bed()
    declared = {parameter.name for parameter in test.parameters}
    given = any(setting.startswith("scaled_frames=") for setting in settings)
    usual = ("scaled_frames=1000",) if "scaled_frames" in declared and not given else ()
    parameters = resolve(name, test.parameters, (*usual, *settings))
    test.check(ports, parameters)
    (unit,) = test.units(parameters, (size,))
    result = test.run_unit(unit, ports, parameters, measurer)
    return test.assemble(ports, parameters, {unit: result}), measurer.specs


def rows(outcome: Outcome, name: str) -> tuple[dict[str, object], ...]:
    (table,) = (table for table in outcome.tables if table.name == name)
    return table.rows  # type: ignore[return-value]


def less(flow: FlowCounts, lost: int) -> FlowCounts:
    return replace(flow, rx_frames=flow.rx_frames - lost)


# Throughput


def test_the_aggregated_throughput_counts_the_copies_of_all_ports() -> None:
    outcome, specs = run("rfc3918.aggregated", GroupMeasurer(), "groups=7", "source_port=2")
    (row,) = rows(outcome, "aggregated")
    fps = float(max_rate_fps(128, GIGABIT))
    assert outcome.state is Verdict.MEASURED
    assert (row["load_pct"], row["members"], row["rx_frames"]) == (100, 3, 3 * 1000)
    assert specs[0].label == "7 groups 128 B 100.0000 %" and specs[0].watch_queues
    theory, found = outcome.figures[0].series
    assert (theory.theoretical, theory.points) == (True, ((128, pytest.approx(3 * fps)),)) and len(found.points) == 1
    assert row["forwarding_fps"] == pytest.approx(3 * fps)
    # Copies of a frame may be lost together: of 1,000 frames 3 in 1,000.
    assert "a loss ratio above 3/n of the n frames sent: 0.3 %" in outcome.tables[0].note
    memberships, stream = specs[0].memberships, specs[0].streams[0]
    assert memberships is not None and isinstance(stream.pattern, Multicast)
    assert memberships.groups == stream.pattern.groups and memberships.count == 7 * 3
    assert (stream.tx_ports, stream.rx_ports) == ((2,), (1, 3, 4))


@pytest.mark.parametrize("limit_pct", ["12.5", "60", "99.9"])
def test_the_search_finds_what_one_port_loses(limit_pct: str) -> None:
    """A device that drops a copy for port 4 above a load: the result is within the resolution below it."""

    def lossy(spec: TrialSpec, flows: Flows) -> None:
        if spec.streams[0].rate_fps > Fraction(limit_pct) / 100 * max_rate_fps(128, GIGABIT):
            key = next(key for key in flows if key[1] == 4)
            flows[key] = less(flows[key], 1)

    outcome, _ = run("rfc3918.aggregated", GroupMeasurer(lossy))
    (row,) = rows(outcome, "aggregated")
    assert isinstance(row["load_pct"], float)
    assert 0 <= float(limit_pct) - row["load_pct"] <= 0.1


@pytest.mark.parametrize("share", [50, 20])
def test_mixed_classes_keep_their_ratio_and_are_told_apart(share: int) -> None:
    def lossy(spec: TrialSpec, flows: Flows) -> None:
        if sum(stream.rate_fps for stream in spec.streams) > Fraction(3, 4) * max_rate_fps(128, GIGABIT):
            key = next(key for key in flows if key[0] == "unicast")
            flows[key] = less(flows[key], 2)

    outcome, specs = run("rfc3918.mixed_class", GroupMeasurer(lossy), f"multicast_pct={share}")
    (row,) = rows(outcome, "mixed_class")
    multicast, unicast = specs[0].streams
    assert multicast.rate_fps / (multicast.rate_fps + unicast.rate_fps) == Fraction(share, 100)
    assert unicast.rx_ports == multicast.rx_ports == (2, 3, 4)
    assert unicast.start_offset_ns == (round(SECOND / (multicast.rate_fps + unicast.rate_fps)),)
    assert outcome.state is Verdict.MEASURED
    assert isinstance(row["load_pct"], float) and 0 <= 75 - row["load_pct"] <= 0.1
    assert (row["multicast_lost_frames"], row["unicast_lost_frames"]) == (0, 0)
    # Every multicast frame has three copies, every unicast frame one.
    assert row["multicast_error_fps"] == row["unicast_error_fps"] > 0
    assert row["multicast_fps"] == pytest.approx(3 * share / (100 - share) * float(str(row["unicast_fps"])), rel=1e-2)


def test_rates_of_classes_have_no_frames_of_a_transient() -> None:
    """500 multicast frames to three ports lose 30 copies, 500 unicast ones 20; port 2 got 20 of 667 at first."""

    class Bursty(GroupMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            burst = Transient(spec.duration_ns // 2, over=True, frames=20)
            ports = (PortCounts(2, rx_frames=667, early_frames=20),)
            return replace(super().measure(spec, note), transient=burst, ports=ports)

    def lossy(_: TrialSpec, flows: Flows) -> None:
        for name, lost in (("multicast", 30), ("unicast", 20)):
            key = next(
                key
                for key, flow in flows.items()
                if (name == "unicast") == (key[0] == "unicast") and key[1] == 3 and flow.tx_frames > 30
            )
            flows[key] = less(flows[key], lost)

    at_line = ("search_min_pct=100", "search_initial_pct=100", "acceptable_loss_pct=10", "groups=1", "sustained=false")
    outcome, specs = run("rfc3918.mixed_class", Bursty(lossy), *at_line)
    (row,) = rows(outcome, "mixed_class")
    assert specs[0].watch_queues and specs[0].per_flow
    names = ("tx_frames", "lost_frames")
    assert [row[f"multicast_{name}"] for name in names] == [500, 30]
    assert [row[f"unicast_{name}"] for name in names] == [500, 20]
    frame_fps = float(max_rate_fps(128, GIGABIT)) / 1000
    early = 20 * 167 / 667
    assert row["unicast_fps"] == pytest.approx((480 - early) * frame_fps)
    assert row["multicast_fps"] == pytest.approx((1470 - (20 - early)) * frame_fps)
    assert row["unicast_error_fps"] == row["multicast_error_fps"] == pytest.approx(2 * 3 * frame_fps, rel=1e-3)


def first_groups(count: int) -> Callable[[TrialSpec, Flows], None]:
    """A device that forwards the first groups only."""

    def small(_: TrialSpec, flows: Flows) -> None:
        known = list(dict.fromkeys(key[2] for key in flows))[:count]
        for key, flow in flows.items():
            if key[2] not in known:
                flows[key] = less(flow, flow.rx_frames)

    return small


MATRIX = ("groups=45", "groups_step=20", "scaled_frames=3600")


def test_the_matrix_has_a_row_for_each_number_of_groups() -> None:
    """A device that forwards the first 25 groups only: the aggregate falls as 25 / groups."""
    outcome, _ = run("rfc3918.scaled_matrix", GroupMeasurer(first_groups(25)), *MATRIX, "until_capacity=false")
    found = rows(outcome, "scaled_matrix")
    assert outcome.state is Verdict.MEASURED
    assert [row["groups"] for row in found] == [20, 40, 45]
    assert outcome.tables[0].keys == ("frame_size_bytes", "groups")
    assert any("Trial duration 4.262 ms" in text for text in outcome.deviations), "3,600 frames"
    assert (
        len(rows(run("rfc3918.scaled_matrix", GroupMeasurer(), "groups=20", "groups_step=20")[0], "scaled_matrix")) == 1
    )
    fps = 3 * float(max_rate_fps(128, GIGABIT))
    assert [row["forwarding_fps"] for row in found] == pytest.approx([fps, fps * 25 / 40, fps * 25 / 45])


@pytest.mark.parametrize(
    ("held", "groups", "found"),
    [(25, [20], "20 groups pass, 40 fail"), (40, [20, 40], "40 groups pass, 45 fail"), (45, [20, 40, 45], "")],
)
def test_the_matrix_ends_at_the_capacity(held: int, groups: list[int], found: str) -> None:
    outcome, specs = run("rfc3918.scaled_matrix", GroupMeasurer(first_groups(held)), *MATRIX)
    assert outcome.state is Verdict.MEASURED
    assert [row["groups"] for row in rows(outcome, "scaled_matrix")] == groups
    capacity = len(groups) + bool(found)
    assert [spec.streams[0].frame_count for spec in specs[:capacity]] == [20, 40, 45][:capacity]
    said = f"128 B: the matrix ends at the group capacity (RFC 3918 7.1): {found}"
    assert list(outcome.findings) == ([said] if found else [])


def test_a_device_without_room_for_the_first_groups_has_no_matrix() -> None:
    outcome, _ = run("rfc3918.scaled_matrix", GroupMeasurer(first_groups(19)), *MATRIX)
    assert (outcome.state, rows(outcome, "scaled_matrix")) == (Verdict.FAIL, ())
    assert outcome.findings[-1].endswith("(RFC 3918 7.1): no number of groups passes, 20 fail")


# Latency


def test_latencies_are_those_of_each_group_and_port() -> None:
    def apart(_: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            average_ns = 1000.0 * flow.rx_port + 100 * int(flow.part.rpartition(".")[2])
            stats = LatencyStats(flow.rx_frames, average_ns, average_ns, average_ns * flow.rx_frames)
            flows[key] = replace(flow, latency=stats)

    outcome, specs = run("rfc3918.min_max_latency", GroupMeasurer(apart), "groups=3", "load_pct=10")
    latencies = {(row["group"], row["port"]): row["avg_us"] for row in rows(outcome, "multicast_latency")}
    assert latencies == {
        (f"225.1.1.{group}", port): pytest.approx(port + group / 10) for group in (1, 2, 3) for port in (2, 3, 4)
    }
    (spread,) = rows(outcome, "latency_spread")
    assert (spread["set_size"], spread["spread_us"]) == (9, pytest.approx(4.3 - 2.1))
    (pairs,) = (table for table in outcome.tables if table.name == "multicast_latency")
    assert "all groups" not in pairs.note and not pairs.detail
    (table,) = (table for table in outcome.tables if table.name == "latency_spread")
    assert [column.key for column in table.columns][3:] == ["set_size", "low_us", "high_us", "spread_us"]
    assert (table.keys, table.headline) == (
        ("frame_size_bytes", "part"),
        ("load_pct", "low_us", "high_us", "spread_us"),
    )
    (spec,) = specs
    assert spec.per_flow and spec.watch_queues and spec.departure_error_ns is not None
    assert outcome.state is Verdict.MEASURED


@pytest.mark.parametrize(
    ("groups", "most", "pairs", "rows_of_pairs", "detail"),
    [(20, 60, True, 60, False), (21, 60, False, 3 + 21, False), (21, 63, True, 63, True)],
)
def test_latencies_of_too_many_pairs_are_those_of_each_port_and_of_each_group(
    groups: int, most: int, pairs: bool, rows_of_pairs: int, detail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of 60 rows is shown on a terminal."""

    def apart(_: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            latency_ns = 1000.0 * flow.rx_port + int(flow.part.rpartition(".")[2])
            stats = LatencyStats(flow.rx_frames, latency_ns, latency_ns, latency_ns * flow.rx_frames)
            flows[key] = replace(flow, latency=stats)

    monkeypatch.setattr(latency, "_MOST_PAIRS", most)
    outcome, _ = run("rfc3918.latency", GroupMeasurer(apart), f"groups={groups}", "load_pct=10")
    (table,) = (table for table in outcome.tables if table.name == "multicast_latency")
    shown = {(row["group"], row["port"]): (row["min_us"], row["max_us"]) for row in table.rows}
    assert (len(shown), table.detail) == (rows_of_pairs, detail)
    assert ("has a row for each egress port with all groups" in table.note) is not pairs
    if pairs:
        assert shown["225.1.1.7", 4] == pytest.approx((4.007, 4.007))
    else:
        assert list(shown)[:3] == [("all", port) for port in (2, 3, 4)]
        assert shown["all", 4] == pytest.approx((4.001, 4.021))
        assert shown["225.1.1.7", None] == pytest.approx((2.007, 4.007))
    (spread,) = rows(outcome, "latency_spread")
    assert (spread["set_size"], spread["low_us"], spread["high_us"]) == (3 * groups, 2.001, 4 + groups / 1000)


def test_a_frame_is_sent_at_the_lowest_load() -> None:
    """0.84 frames/s for 1.2 ms."""
    _, (spec,) = run("rfc3918.latency", GroupMeasurer(), "groups=1", "load_pct=0.0001")
    assert spec.streams[0].frame_count == 1


@pytest.mark.parametrize(("load", "trials"), [("10", [1, 2]), ("throughput", [13 + 1, 13 + 2])])
def test_a_latency_trial_of_each_part_follows_the_search(load: str, trials: list[int]) -> None:
    """Ten halves make 0.1 % of 99.9 %, after the highest and the first load and before the lowest."""
    tests = [find_test(f"rfc3918.{name}") for name in ("latency", "burdened_latency")]
    asked = [resolve(test.name, test.parameters, (f"load_pct={load}",)) for test in tests]
    pairs = zip(tests, asked, strict=True)
    assert [test.trials_expected(test.units(given, (64,))[0], given) for test, given in pairs] == trials


def test_without_a_throughput_no_latency_is_measured() -> None:
    def lossy(_: TrialSpec, flows: Flows) -> None:
        key = next(iter(flows))
        flows[key] = less(flows[key], 1)

    outcome, specs = run("rfc3918.latency", GroupMeasurer(lossy))
    assert outcome.state is Verdict.FAIL and not any(spec.departure_error_ns for spec in specs)
    assert rows(outcome, "latency_spread") == rows(outcome, "multicast_latency") == ()


def test_layers_have_the_latencies_of_each_trial() -> None:
    """As many microseconds as the port has numbers, and half of one more under burden; 2 is above 3 and 4."""

    def apart(spec: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            latency_ns = 1000.0 * flow.rx_port + 500 * (len(spec.streams) - 1)
            stats = LatencyStats(flow.rx_frames, latency_ns, latency_ns, latency_ns * flow.rx_frames)
            flows[key] = replace(flow, latency=stats)

    where = make_bed(7)
    layers = dict(zip((2, 3, 4), ("top", "bottom", "bottom"), strict=True))
    on = replace(where, ports=tuple(replace(port, layer=layers.get(port.number, "")) for port in where.ports))
    outcome, _ = run("rfc3918.burdened_latency", GroupMeasurer(apart), "load_pct=10", "burden_ports=3", on=on)
    (table,) = (table for table in outcome.tables if table.name == "multicast_latency_layers")
    assert [(row["part"], row["name"], row["receivers"], row["avg_us"]) for row in table.rows] == [
        ("baseline", "top", 1, 2),
        ("baseline", "bottom", 2, pytest.approx(3.5)),
        ("burdened", "top", 1, 2.5),
        ("burdened", "bottom", 2, pytest.approx(4)),
    ]
    assert [column.key for column in table.columns][:4] == ["frame_size_bytes", "load_pct", "part", "kind"]
    assert table.keys == ("frame_size_bytes", "part", "kind", "name", "calibrated")


def test_a_burdened_trial_that_cannot_be_trusted_has_no_rates() -> None:
    measurer = GroupMeasurer()
    measurer.status = lambda spec: Verdict.INVALID if len(spec.streams) > 1 else Verdict.MEASURED
    outcome, _ = run("rfc3918.burdened_latency", measurer, "load_pct=10", "burden_ports=3", on=make_bed(7))
    (table,) = (table for table in outcome.tables if table.name == "multicast_rates")
    assert ([row["part"] for row in table.rows], table.keys) == (["baseline"], ("frame_size_bytes", "part"))
    names = ("part", "load_pct", "set_size", "low_us", "high_us", "spread_us")
    shown = [tuple(row[name] for name in names) for row in rows(outcome, "latency_spread")]
    assert shown == [("baseline", 10, 30, 2, 2.5, 0.5), ("burdened", 10, 0, None, None, None)]


def test_a_frame_that_is_missing_on_one_port_makes_the_latencies_invalid() -> None:
    def lossy(_: TrialSpec, flows: Flows) -> None:
        key = next(iter(flows))
        flows[key] = less(flows[key], 1)

    outcome, _ = run("rfc3918.latency", GroupMeasurer(lossy), "load_pct=10")
    assert outcome.state is Verdict.INVALID
    assert "INVALID trial, 128 B, baseline: 1 tagged frames are missing on an egress port" in outcome.findings


def test_rates_of_classes_have_the_frames_that_chance_takes_in_their_errors() -> None:
    """Of 500 frames 24 are lost to one receiver, of another 500 20 copies at each of three, which may go together."""

    def lossy(_: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            flows[key] = less(flow, flow.tx_frames // 20)

    asked = ("search_min_pct=100", "search_initial_pct=100", "acceptable_loss_pct=10", "sustained=false")
    outcome, _ = run("rfc3918.mixed_class", GroupMeasurer(lossy), *asked)
    (row,) = rows(outcome, "mixed_class")
    frame_fps = float(max_rate_fps(128, GIGABIT)) / 1000
    assert (row["multicast_lost_frames"], row["unicast_lost_frames"]) == (60, 24)
    for name, copies in (("multicast", 3), ("unicast", 1)):
        assert float(str(row[f"{name}_error_fps"])) > 1.96 * 24**0.5 * copies * frame_fps


def test_a_burden_is_a_mesh_of_ports_that_do_not_join() -> None:
    outcome, specs = run(
        "rfc3918.burdened_latency",
        GroupMeasurer(),
        "load_pct=10",
        "burden_ports=3",
        "burden_load_pct=40",
        on=make_bed(7),
    )
    base, burdened = specs
    assert [stream.name for stream in base.streams] == ["multicast"]
    multicast, burden = burdened.streams
    assert (multicast.rx_ports, burden.tx_ports, burden.pattern.kind) == ((2, 3, 4), (5, 6, 7), "full_mesh")
    assert burden.rate_fps == Fraction(2, 5) * max_rate_fps(128, GIGABIT)
    assert [row["part"] for row in rows(outcome, "latency_spread")] == ["baseline", "burdened"]


def test_the_rate_of_burdened_multicast_is_that_of_its_copies_alone() -> None:
    """Of the burden 50 frames of each flow come twice, and two do not; three ports receive a tenth of the line each."""

    def twice(_: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            if key[0] != "multicast":
                flows[key] = replace(flow, rx_frames=flow.rx_frames + 48, duplicate_frames=50)

    settings = ("load_pct=10", "burden_ports=3", "burden_load_pct=40")
    outcome, specs = run("rfc3918.burdened_latency", GroupMeasurer(twice), *settings, on=make_bed(7))
    assert {spec.label.endswith("% burdened") for spec in specs} == {False, True}
    rate_fps = pytest.approx(3 * float(max_rate_fps(128, GIGABIT)) / 10)
    found = rows(outcome, "multicast_rates")
    assert [row["forwarding_fps"] for row in found] == [rate_fps] * 2
    # One frame of the 100 that each port should receive.
    assert found[0]["forwarding_error_fps"] == pytest.approx(3 * float(max_rate_fps(128, GIGABIT)) / 1000)
    assert list(found[0])[:4] == ["frame_size_bytes", "load_pct", "part", "forwarding_fps"]
    assert outcome.state is Verdict.MEASURED, "frames of the burden are no tagged ones"
    assert [row["set_size"] for row in rows(outcome, "latency_spread")] == [30, 30], "ten groups at three ports"


# Delays


def delayed(version: Version, delay_ns: int, **changes: object) -> Callable[[TrialSpec, Flows], TrialResult]:
    """A device that begins, or ends, to forward ``delay_ns`` after the last bit of a report."""

    def change(spec: TrialSpec, flows: Flows) -> TrialResult:
        base = FakeMeasurer().measure(spec)
        assert spec.memberships is not None and spec.memberships.change is not None
        changed = spec.memberships.change
        interval_ns = SECOND / spec.streams[0].rate_fps
        stamps = {}
        for place, port in enumerate(changed.ports):
            stamps[port] = changed.at_ns + place * 1_000_000 + 321
            told_ns = stamps[port] + serialization_ns(report_bytes(version), GIGABIT)
            for key, flow in flows.items():
                if key[0] != "multicast" or flow.rx_port != port:
                    continue
                arrivals = [n * interval_ns for n in range(flow.tx_frames)]
                kept = [at for at in arrivals if (at >= told_ns + delay_ns) == changed.joins]
                seen = replace(
                    flow,
                    rx_frames=len(kept),
                    first_rx_ns=int(kept[0]) if kept else 0,
                    last_rx_ns=int(kept[-1]) if kept else 0,
                    tail_lost_frames=0 if changed.joins else flow.tx_frames - len(kept),
                )
                flows[key] = replace(seen, **changes)  # type: ignore[arg-type]
        ports = tuple(PortCounts(port, controller_tx_ns=stamps.get(port)) for port in (1, 2, 3, 4, 5, 6))
        return replace(base, ports=ports)

    return change


@pytest.mark.parametrize("protocol", [version.value for version in Version])
@pytest.mark.parametrize("method", ["A", "B"])
def test_join_delays_are_known_to_the_distance_of_two_frames(protocol: str, method: str) -> None:
    version, delay_ns = Version(protocol), 4_567_890
    outcome, specs = run(
        "rfc3918.join_delay",
        GroupMeasurer(delayed(version, delay_ns)),
        f"protocol={protocol}", f"join_method={method}", "stream_fps=20000", "traffic_first_ms=2", "delay_limit_ms=30",
    )  # fmt: skip
    found = rows(outcome, "delay")
    assert outcome.state is Verdict.PASS
    assert [row["port"] for row in found] == ([2, 3, 4] if method == "A" else [2, 3])
    assert len(specs) == (3 if method == "A" else 1)
    for row in found:
        assert row["resolution_us"] == 50
        assert isinstance(row["delay_us"], float) and 0 <= row["delay_us"] - delay_ns / 1000 <= 50
    for spec in specs:
        assert spec.memberships is not None
        before = [port for part in spec.memberships.at_start() for port in part.receivers]
        assert before == ([] if method == "A" else [4]), "the state of the forwarding table before"
        assert (spec.memberships.robustness, spec.memberships.verify) == (1, True)
        assert [part.count for part in spec.memberships.groups] == [1]
        if method == "B":
            assert [sorted(part.receivers) for part in spec.memberships.groups] == [[2, 3, 4]]
    assert "to the first bit of the first frame of the group" in outcome.tables[0].note


REPORT_NS = serialization_ns(report_bytes(Version.IGMPV3), GIGABIT)
THOUSAND_FPS = ("stream_fps=1000", "traffic_first_ms=100", "delay_limit_ms=199", "joins_per_s=1000")
"""300 frames where one port joins or leaves."""
LATE = {"first_rx_ns": 155_600_000, "latency": LatencyStats(1, 600_000.0, 600_000.0, 600_000.0)}
"""Number 150 is the first to come, after 0.6 ms."""


@pytest.mark.parametrize(
    ("counts", "stamp_ns", "delay_us", "apart"),
    [
        # Of the 150 frames behind the first one that came half are lost: 0.5^5 is the first power below 5 %.
        ({"rx_frames": 80, "duplicate_frames": 5}, 100_000_000, 55_002 - float(REPORT_NS) / 1000, 5),
        # One and its copies came: ln(0.05) / ln(149 / 150) is 447.9.
        ({"rx_frames": 4, "duplicate_frames": 3}, 100_000_000, 55_002 - float(REPORT_NS) / 1000, 448),
        # All that came may be copies.
        ({"rx_frames": 3, "duplicate_frames": 3}, 100_000_000, 55_002 - float(REPORT_NS) / 1000, 448),
        ({"rx_frames": 1, "first_rx_ns": 304_002_000}, 100_000_000, 204_002 - float(REPORT_NS) / 1000, 1),
        ({"rx_frames": 1, "first_rx_ns": 304_600_000}, 100_000_000, 204_600 - float(REPORT_NS) / 1000, 1),
        ({"rx_frames": 1, **LATE}, 100_000_000, 55_600 - float(REPORT_NS) / 1000, 448),
        ({"rx_frames": 0}, 100_000_000, None, 1),
        ({"rx_frames": 150}, 155_002_000 - int(REPORT_NS), 0, 1),
        ({"rx_frames": 150}, None, None, 1),
    ],
)
def test_join_delays_by_hand(counts: dict[str, Any], stamp_ns: int | None, delay_us: float | None, apart: int) -> None:
    """300 frames at 1,000 frames/s, the first at 5 ms; number 150 is the first to come, after 2 us."""

    def change(spec: TrialSpec, flows: Flows) -> TrialResult:
        for key, flow in flows.items():
            flows[key] = replace(flow, **{"first_tx_ns": 5_000_000, "first_rx_ns": 155_002_000, **counts})
        return replace(FakeMeasurer().measure(spec), ports=(PortCounts(2, controller_tx_ns=stamp_ns),))

    outcome, (spec,) = run("rfc3918.join_delay", GroupMeasurer(change), *THOUSAND_FPS, on=make_bed(2))
    (row,) = rows(outcome, "delay")
    assert (spec.streams[0].frame_count, spec.per_flow) == (300, True)
    assert (row["delay_us"], row["resolution_us"]) == (pytest.approx(delay_us), 1000 * apart)
    assert outcome.state is (
        Verdict.INVALID if stamp_ns is None else Verdict.FAIL if delay_us is None else Verdict.PASS
    )


@pytest.mark.parametrize(("fps", "size", "frames"), [(10**6, 105, 3000), (1, 128, 2)])
def test_a_group_is_sent_at_up_to_the_rate_of_the_line_and_has_two_frames_at_least(
    fps: int, size: int, frames: int
) -> None:
    """105 bytes and 20 more take 1 us of 1 Gbit/s; 1 ms before, 1 ms for the report and 1 ms behind it."""
    short = ("traffic_first_ms=1", "delay_limit_ms=1", "joins_per_s=1000")
    _, specs = run("rfc3918.join_delay", GroupMeasurer(), *short, f"stream_fps={fps}", size=size, on=make_bed(2))
    assert [spec.streams[0].frame_count for spec in specs] == [frames]
    with pytest.raises(ParameterError, match=r"stream_fps=1000000\.1 is above the line rate"):
        run("rfc3918.join_delay", GroupMeasurer(), *short, "stream_fps=1000000.1", size=105)


@pytest.mark.parametrize(("came", "until_last", "resolution_us"), [(100, 200, 5000), (1, 1, 1000)])
def test_frames_lost_before_the_last_one_that_came_widen_the_resolution_of_a_leave_delay(
    came: int, until_last: int, resolution_us: float
) -> None:
    """Half of the 200 frames up to the last one that came are lost, so the last of five in a row may have been."""

    def change(spec: TrialSpec, flows: Flows) -> TrialResult:
        for key, flow in flows.items():
            tail = flow.tx_frames - until_last
            flows[key] = replace(flow, rx_frames=came, tail_lost_frames=tail, last_rx_ns=204_002_000)
        ports = tuple(PortCounts(port, controller_tx_ns=150_000_000) for port in (2, 3, 4))
        return replace(FakeMeasurer().measure(spec), ports=ports)

    for together, ports in ((1, [(2,), (3,), (4,)]), (2, [(2, 3), (4,)])):
        outcome, specs = run("rfc3918.leave_delay", GroupMeasurer(change), *THOUSAND_FPS, f"ports_together={together}")
        assert [
            spec.memberships.change.ports for spec in specs if spec.memberships and spec.memberships.change
        ] == ports
        delay_ns = 54_002_000 + serialization_ns(128, GIGABIT) - REPORT_NS
        found = [(row["delay_us"], row["resolution_us"]) for row in rows(outcome, "delay")]
        assert found == [(pytest.approx(float(delay_ns) / 1000), resolution_us)] * 3


def test_the_resolution_of_a_delay_contains_frames_that_are_lost_by_chance() -> None:
    """One frame in five is lost, and one report in five: no delay. A switch takes 1.224 us, resolution 50 us."""
    told = 0
    for seed in range(6):
        topology = parsed(switch("snooping: {}", "loss_ppb: 200000000", ports=4, rates_bps=GIGABIT, seed=seed))
        asked = ("delay_limit_ms=5", "stream_fps=20000", "traffic_first_ms=2", "learning_wait_ms=1", "settle_ms=1")
        for row in run_on_sim(find_test("rfc3918.join_delay"), topology, (128,), *asked)[1].tables[0].rows:
            if row["delay_us"] is None:
                continue
            told += 1
            delay_us, resolution_us = (float(str(row[f"{kind}_us"])) for kind in ("delay", "resolution"))
            assert resolution_us in (50, 100, 150, 200)
            assert delay_us - resolution_us <= 1.23 <= delay_us + 0.01
    assert told > 8


def test_leave_delays_end_with_the_last_frame() -> None:
    delay_ns = 3_210_000
    outcome, _ = run(
        "rfc3918.leave_delay", GroupMeasurer(delayed(Version.IGMPV3, delay_ns)), "stream_fps=20000", "delay_limit_ms=30"
    )
    found = rows(outcome, "delay")
    assert (outcome.state, [row["port"] for row in found]) == (Verdict.PASS, [2, 3, 4])
    assert "to the last bit of the last frame of the group" in outcome.tables[0].note
    # Frames leave at multiples of 50 us, and so does the group change; the report's last bit is 321 ns and its own
    # length later. The delay ends with the last bit of the last frame that came before the device stopped.
    report_ns = 321 + serialization_ns(report_bytes(Version.IGMPV3), GIGABIT)
    last_ns = (report_ns + delay_ns) // 50_000 * 50_000
    expected_us = float(last_ns + serialization_ns(128, GIGABIT) - report_ns) / 1000
    assert [row["delay_us"] for row in found] == [pytest.approx(expected_us, abs=1e-6)] * 3


@pytest.mark.parametrize(
    ("name", "delay_ms", "said"),
    [
        ("rfc3918.join_delay", 900, "port 2, baseline: the device did not begin to forward the group"),
        ("rfc3918.leave_delay", 900, "port 2, baseline: the device did not end to forward the group"),
    ],
)
def test_a_device_that_never_acts_fails(name: str, delay_ms: int, said: str) -> None:
    measurer = GroupMeasurer(delayed(Version.IGMPV3, delay_ms * 1_000_000))
    outcome, _ = run(name, measurer, "delay_limit_ms=100")
    assert outcome.state is Verdict.FAIL
    assert f"128 B, {said}" in outcome.findings


def test_a_group_that_comes_before_its_join_makes_the_delay_invalid() -> None:
    outcome, _ = run("rfc3918.join_delay", GroupMeasurer(delayed(Version.IGMPV3, 100, first_rx_ns=5)))
    assert outcome.state is Verdict.INVALID
    said = "INVALID trial, 128 B, port 2, baseline: port 2 received the group before it had joined: the device floods"
    assert any(text.startswith(said) for text in outcome.findings)


def test_burdened_join_delays_stand_beside_those_without_burden() -> None:
    measurer = GroupMeasurer(delayed(Version.IGMPV3, 1000))
    settings = ("delay_limit_ms=5", "stream_fps=8445.9459375")
    outcome, specs = run("rfc3918.burdened_join_delay", measurer, *settings, on=make_bed(6))
    assert [(row["part"], row["port"], row["burden_pct"]) for row in rows(outcome, "delay")] == [
        (part, port, burden) for part, burden in (("baseline", None), ("burdened", 50)) for port in (2, 3, 4)
    ]
    assert [len(spec.streams) for spec in specs] == [1, 1, 1, 2, 2, 2]
    # A line carries 10^9 / (8 x 148) = 844,594.59 frames a second.
    notes = [(note.load_pct, note.remaining) for note in measurer.notes if note]
    assert notes == [(pytest.approx(1), left) for left in (5, 4, 3, 2, 1, 0)]


@pytest.mark.parametrize("version", list(Version))
def test_reports_have_the_length_that_delays_count_with(version: Version) -> None:
    hosts = group_hosts([station(2)], version, joins_per_s=1_000_000, robustness=1, seed=1).hosts
    group = ip_address("225.1.1.1" if version.ip_version == 4 else "ff1e::1:1")
    hosts.join(2, [group], 0)
    frames = [frame for _, frame, _ in hosts.on_time(0)]
    hosts.leave(2, [group], 2)
    frames += [frame for _, frame, _ in hosts.on_time(1_000)]
    assert len(frames) == 2
    assert {len(frame) + 4 for frame in frames} == {report_bytes(version)}


# Capacity


@pytest.mark.parametrize(("capacity", "found", "failed"), [(64, 60, 70), (70, 70, 80), (9, None, 10), (500, 200, None)])
def test_the_capacity_is_the_last_number_of_groups_that_reach_every_port(
    capacity: int, found: int | None, failed: int | None
) -> None:
    def small(_: TrialSpec, flows: Flows) -> None:
        for key, flow in flows.items():
            # One port only: every egress port counts.
            if (
                flow.rx_port == 3
                and int(flow.part.split(".")[-2]) * 256 + int(flow.part.split(".")[-1]) > 256 + capacity
            ):
                flows[key] = less(flow, flow.rx_frames)

    outcome, specs = run("rfc3918.group_capacity", GroupMeasurer(small))
    (row,) = rows(outcome, "group_capacity")
    assert (row["capacity_groups"], row["upper_groups"]) == (found, failed)
    assert outcome.state is (Verdict.MEASURED if found else Verdict.FAIL)
    more = f"{row['frame_size_bytes']} B: >= 200 groups; no more was tried"
    assert (more in outcome.findings) == (failed is None)
    assert [spec.streams[0].frame_count for spec in specs] == list(range(10, (failed or 200) + 1, 10))
    assert all(spec.memberships and not spec.memberships.verify for spec in specs)
    rate_fps = max_rate_fps(128, GIGABIT) / 100
    assert specs[0].duration_ns == int(10 * SECOND / rate_fps) + 1, "all frames leave"
    assert [table.detail for table in outcome.tables] == [False, True]
    assert len(run("rfc3918.group_capacity", GroupMeasurer(), "groups_first=20", "groups_max=20")[1]) == 1


# Refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("source_port=9",), "source_port=9: topology 'fake' has no such port"),
        (("querier_port=9",), "querier_port=9: topology 'fake' has no such port"),
        (("first_group=nowhere",), "--set first_group=nowhere: not valid"),
        (("first_group=10.0.0.1",), "--set first_group=10.0.0.1: no group"),
        (("first_group=ff1e::1",), "--set first_group=ff1e::1: no group"),
        (("first_group=224.0.0.77",), "first_group=224.0.0.77: a group that stays in its network"),
        (("protocol=mldv1", "first_group=ff02::1"), "first_group=ff02::1: a group that stays in its network"),
        (("first_group=239.255.255.250",), "there are 6 groups from there, the test needs 10"),
        (("only_sender=225.1.1.1",), "--set only_sender=225.1.1.1: no sender"),
        (("protocol=igmpv2", "only_sender=10.0.0.1"), "only_sender=10.0.0.1: igmpv2 cannot ask for single senders"),
        (("headers=ipv6/udp",), "--set headers: no frames of IPv4, which igmpv3 joins the groups of"),
        (("headers=ethernet",), "--set headers: no frames of IPv4, which igmpv3 joins the groups of"),
    ],
)
def test_ports_and_addresses_that_do_not_fit_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        run("rfc3918.aggregated", GroupMeasurer(), *settings)


def setup_of(*settings: str, burdened: bool = False, on: Bed | None = None) -> Setup:
    test = find_test("rfc3918.burdened_latency")
    return Setup(on or make_bed(), resolve(test.name, test.parameters, settings), burdened)


@pytest.mark.parametrize(
    ("version", "group"),
    [("igmpv3", "224.0.1.0"), ("igmpv3", "239.255.255.246"), ("mldv2", "ff03::1"), ("mldv2", "ff0e::1")],
)
def test_groups_of_a_wider_scope_are_joined_up_to_the_last_one(version: str, group: str) -> None:
    setup_of(f"protocol={version}", f"first_group={group}").check("t", groups=10)


def test_hosts_join_as_the_parameters_say() -> None:
    groups = ("groups=7", "first_group=225.0.0.9")
    setup = setup_of(*groups, "only_sender=10.0.0.1", "querier_port=3", "query_interval_s=9", "leave_wait_ms=1.5")
    (part,) = setup.groups()
    assert (part.first, part.count, part.receivers) == ("225.0.0.9", 7, (2, 3, 4))
    asked = setup.memberships((part,), verify=True)
    assert asked == Memberships(
        *(Version.IGMPV3, (part,), ("10.0.0.1",), 1000, 2, 3, 9 * SECOND, 2 * SECOND, 1_500_000, True, None)
    )
    assert setup.memberships((part,), verify=False, robustness=5).robustness == 5


@pytest.mark.parametrize(("duration_ns", "frames"), [(1, 1), (2368, 1), (4736, 2), (SECOND, 422_297)])
def test_a_burden_sends_for_the_time_of_a_trial_and_one_frame_at_least(duration_ns: int, frames: int) -> None:
    """Half of a line of 1 Gbit/s, of which 128 B take 1,184 ns."""
    (burden,) = setup_of(burdened=True, on=make_bed(rates_bps=(10**10, 10**10, 10**9, 10**10))).burden(128, duration_ns)
    assert (burden.frame_count, burden.tx_ports) == (frames, (3, 4))
    assert setup_of().burden(128, duration_ns) == ()


def test_parameters_of_groups_hosts_and_burden() -> None:
    declared = (*setup_parameters("RFC 3918 3", 8), verify_parameter(), *burden_parameters("RFC 3918 3"))
    assert {one.name: (one.default, one.minimum, one.maximum) for one in declared} == {
        "protocol": ("igmpv3", None, None),
        "source_port": (1, 1, 8191),
        "groups": (8, 1, 4096),
        "first_group": ("", None, None),
        "only_sender": ("", None, None),
        "joins_per_s": (1000, 1, 1_000_000),
        "robustness": (2, 1, 7),
        "querier_port": (0, 0, 8191),
        "query_interval_s": (125, 1, 31_744),
        "join_wait_ms": (2000, 0, 600_000),
        "leave_wait_ms": (2000, 0, 600_000),
        "joins_verify": (True, None, None),
        "burden_ports": (2, 2, 511),
        "burden_load_pct": (50, Fraction(1, 10_000), 100),
    }


def test_ports_of_n_to_n_send_together_for_half_of_a_trial_at_least() -> None:
    """Four ports of 1 Gbit/s, 128 B: the last starts 3 x 448 us after the first; 1000 frames are 1.184 ms."""
    outcome, (spec,) = run("rfc3918.n_to_n", GroupMeasurer())
    assert (spec.duration_ns, outcome.state) == (2 * 3 * 448_000, Verdict.PASS)
    assert outcome.deviations == ("Trial duration 2.688 ms instead of the 30 s of RFC 3918 4.3.",)
    assert run("rfc3918.n_to_n", GroupMeasurer(), "stagger_us=64")[1][0].duration_ns == 1_184_000
    told = r"stagger of 448 us: the last of 4 ports starts 1.344 ms after the first, and a trial takes 2 ms"
    with pytest.raises(ParameterError, match=told) as caught:
        run("rfc3918.n_to_n", GroupMeasurer(), "duration_ms=2")
    assert caught.value.hint.startswith("set duration_ms=3, so that all ports send together for half of it")
    assert run("rfc3918.n_to_n", GroupMeasurer(), "duration_ms=2.688")[1][0].duration_ns == 2_688_000
    with pytest.raises(ParameterError, match=r"stagger of 448 us: the last of 256 ports starts 114.24 ms after"):
        run("rfc3918.n_to_n", GroupMeasurer(), on=make_bed(256, 10**11))


@pytest.mark.parametrize(("enough_us", "staggers_us"), [(0, [0]), (20, [0, 10, 20]), (99, [0, 10, 20, 30])])
def test_the_smallest_stagger_without_loss_is_searched_upwards(enough_us: int, staggers_us: list[float]) -> None:
    """Four ports, each to a group of the three others: an output of 99.955 % has a third of it from each source."""

    def lossy(spec: TrialSpec, flows: Flows) -> None:
        if dict(enumerate(spec.streams[0].start_offset_ns)).get(1, 0) < 1000 * enough_us:
            first = next(iter(flows))
            flows[first] = less(flows[first], 1)

    measurer = GroupMeasurer(lossy)
    settings = ("stagger_us=search", "stagger_step_us=10", "stagger_steps=3")
    outcome, specs = run("rfc3918.n_to_n", measurer, *settings, size=1000)
    (row,), trials = rows(outcome, "n_to_n"), rows(outcome, "n_to_n_trials")
    found = enough_us < 99
    assert [trial["stagger_us"] for trial in trials] == staggers_us
    assert [note.remaining for note in measurer.notes if note] == [3, 2, 1, 0][: len(staggers_us)]
    assert (row["stagger_us"], row["state"]) == (staggers_us[-1], "PASS" if found else "FAIL")
    assert outcome.state.value == row["state"]
    assert row["line_pct"] == pytest.approx(99.955, rel=1e-3), "as exact as a frame of the trial"
    assert outcome.tables[0].note.startswith("The smallest multiple of 10 us with which nothing is lost")
    (stream,) = specs[-1].streams
    assert stream.rate_fps == Fraction("0.99955") * max_rate_fps(1000, GIGABIT) / 3
    last = 1000 * int(staggers_us[-1])
    assert (stream.start_offset_ns or (0, 0, 0, 0)) == tuple(place * last for place in range(4))
    assert specs[-1].label == f"4 to 4 1000 B stagger {staggers_us[-1]} us"
    assert stream.tx_ports == stream.rx_ports == (1, 2, 3, 4)
    assert [each.receivers for each in stream.pattern.groups] == [(2, 3, 4), (1, 3, 4), (1, 2, 4), (1, 2, 3)]  # type: ignore[attr-defined]


def test_one_lost_copy_of_n_to_n_is_seen_in_the_printed_loss() -> None:
    """756 frames of each of four ports to three others are 9,072 copies: one of them is 0.011023 %."""

    def lose_one(spec: TrialSpec, flows: Flows) -> None:
        first = next(iter(flows))
        flows[first] = replace(flows[first], rx_frames=flows[first].rx_frames - 1)

    outcome, _ = run("rfc3918.n_to_n", GroupMeasurer(lose_one))
    assert outcome.state is Verdict.FAIL
    (row,) = grid_of(outcome.tables[-1]).rows
    assert row.cells[-5:] == ("9,071", "1", "0.01 +-0.14", "0", "FAIL")


def test_rates_of_copies_are_those_of_all_outputs() -> None:
    """1,000 bytes are 8,160 bits with preamble and gap: four lines of 1 Gbit/s carry 490,196 of them a second."""
    rates = copy_rates(245_098.0, 3.0, 1000, 4, GIGABIT)
    assert (rates.forwarding_fps, rates.forwarding_error_fps) == (245_098, 3)
    assert rates.forwarding_l2_tbps == pytest.approx(245_098 * 8000e-12)
    assert rates.line_pct == pytest.approx(100 * 245_098 * 8160 / 4e9)


def test_the_row_of_a_trial_counts_each_copy_once() -> None:
    """Of 300 copies of 100 frames 12 are lost and 8 come twice, in a trial of a second and a half."""
    stream = Stream("multicast", 64, Fraction(100), 100, Rotate(), (1,), (2, 3, 4))
    spec = TrialSpec("t", (stream,), 1_500_000_000)
    result = replace(
        not_measured(spec, Verdict.MEASURED, ""),
        tx_frames=100,
        expected_rx_frames=300,
        rx_frames=296,
        duplicate_frames=8,
        lost_frames=12,
        flooded_frames=5,
        ports=(PortCounts(2, rx_frames=296),),
    )
    row = trial_row(spec, result, GIGABIT, Fraction(25, 2), Verdict.FAIL)
    assert (row.load_pct, row.offered_fps, row.forwarding_fps, row.duration_ms) == (12.5, 100, 288, 1500)
    assert (row.tx_frames, row.expected_frames, row.rx_frames, row.lost_frames, row.loss_pct) == (100, 300, 288, 12, 4)
    assert (row.corrupted_frames, row.verdict, row.flooded_frames) == (None, Verdict.FAIL, 5)
    flooded = "flooding detected: 1,005 frames came to ports that have not joined their group (64 B)"
    assert list(untrusted(64, [row, replace(row, flooded_frames=1000)])) == [flooded]
    assert list(untrusted(64, [replace(row, flooded_frames=0)])) == []


@pytest.mark.parametrize("test", ["rfc3918.mixed_class", "rfc3918.aggregated", "rfc3918.latency"])
def test_a_trial_that_cannot_be_trusted_has_no_numbers_and_one_finding(test: str) -> None:
    def untold(spec: TrialSpec, flows: Flows) -> TrialResult:
        return not_measured(spec, Verdict.INVALID, "joins not verified: port 2 does not receive group 225.1.1.7")

    outcome, _ = run(test, GroupMeasurer(untold))
    shown = [row.get(key) for row in outcome.tables[0].rows for key in ("multicast_fps", "forwarding_fps", "tx_frames")]
    assert (set(shown) <= {None}, len(outcome.findings), outcome.state) == (True, 1, Verdict.INVALID)
    assert outcome.findings[0].startswith("INVALID trial, throughput 128 B at 100 %: joins not verified")


def test_too_few_ports_and_targets_without_stamps_are_refused() -> None:
    with pytest.raises(TopologyError, match=r"rfc3918.burdened_latency needs at least 4 tester ports"):
        run("rfc3918.burdened_latency", GroupMeasurer(), on=make_bed(3))
    for asked, ports in (("join_method=A", 2), ("join_method=B", 3)):
        run("rfc3918.join_delay", GroupMeasurer(delayed(Version.IGMPV3, 1000)), asked, on=make_bed(ports))
        with pytest.raises(TopologyError, match=f"rfc3918.join_delay needs at least {ports} tester ports"):
            run("rfc3918.join_delay", GroupMeasurer(), asked, on=make_bed(ports - 1))
    with pytest.raises(UnsupportedError, match=r"rfc3918.join_delay is not supported on tofino"):
        run(
            "rfc3918.join_delay",
            GroupMeasurer(),
            on=replace(make_bed(), target="tofino", stamps_controller_frames=False),
        )


def test_trials_that_cannot_be_trusted_are_no_results() -> None:
    measurer = GroupMeasurer()
    measurer.status = lambda _: Verdict.INVALID
    for name in ("rfc3918.aggregated", "rfc3918.scaled_matrix", "rfc3918.group_capacity", "rfc3918.mixed_class"):
        outcome, _ = run(name, measurer)
        assert outcome.state is Verdict.INVALID, name
