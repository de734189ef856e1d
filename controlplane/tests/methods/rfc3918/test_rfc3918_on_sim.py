"""RFC 3918 on a simulated snooping switch whose join time, leave delay, table and replication limit are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import pytest
from support.beds import make_bed
from support.networks import Node, network, node, parsed, switch
from support.runs import OneDevice

from p4mesh.methods.base import Unit
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.traffic.line_rate import frame_time_ns, max_rate_fps
from p4mesh.trial.opening import open_measurer
from p4mesh.verdict import Verdict

GIGABIT = 10**9
INTERFACES = ", ".join(
    f'{{port: {n}, mac: "02:00:00:00:01:0{n}", addresses: [198.18.{n}.1/24, "2001:2:0:{n}::1/64"]}}'
    for n in range(1, 5)
)


def snooping(keys: str, queue_frames: int) -> str:
    return switch("latency_ns: 1000", f"    {keys}", port=f"queue_frames: {queue_frames}")


def router(keys: str, queue_frames: int) -> str:
    multicast = f"multicast: {{host_ports: [1, 2, 3, 4], {keys}}}"
    port = f"queue_frames: {queue_frames}"
    return switch("latency_ns: 1000", f"interfaces: [{INTERFACES}]", multicast, port=port, device="router")


@contextmanager
def session(topology: str) -> Iterator[OneDevice]:
    with open_measurer(parsed(topology)) as engine:
        yield OneDevice(engine)


def run(
    name: str, keys: str, *settings: str, queue: int = 1024, device: Callable[[str, int], str] = snooping
) -> Outcome:
    return run_on(device(keys, queue), name, *settings)


def run_on(topology: str, name: str, *settings: str, size: int = 128, ports: int = 4) -> Outcome:
    test, bed = find_test(name), make_bed(ports)
    parameters = resolve(name, test.parameters, ("joins_per_s=100000", *settings))
    test.check(bed, parameters)
    unit: Unit
    (unit,) = test.units(parameters, (size,))
    with session(topology) as opened:
        return test.assemble(bed, parameters, {unit: test.run_unit(unit, bed, parameters, opened)})


def table(outcome: Outcome, name: str) -> tuple[dict[str, Cell], ...]:
    (found,) = (one for one in outcome.tables if one.name == name)
    return found.rows


@pytest.mark.parametrize("protocol", ["igmpv2", "igmpv3", "mldv1", "mldv2"])
def test_the_join_delay_is_the_join_time_of_the_device(protocol: str) -> None:
    """Method B: both ports report together, and the device works their joins off one after the other."""
    outcome = run(
        "rfc3918.join_delay",
        "snooping: {join_time_ns: 5000000}",
        f"protocol={protocol}", "join_method=B", "stream_fps=20000", "delay_limit_ms=20",
    )  # fmt: skip
    assert outcome.state is Verdict.PASS
    found = {row["port"]: row["delay_us"] for row in outcome.tables[0].rows}
    # The second report is 10 us later; a frame every 50 us.
    for port, waited_us in ((2, 5000), (3, 2 * 5000 - 10)):
        delay_us = found[port]
        assert isinstance(delay_us, float) and 0 <= delay_us - waited_us <= 50 + 5


def test_the_leave_delay_is_that_of_the_device() -> None:
    outcome = run("rfc3918.leave_delay", "snooping: {leave_delay_ns: 4000000}", "stream_fps=20000", "delay_limit_ms=20")
    assert outcome.state is Verdict.PASS
    for row in outcome.tables[0].rows:
        assert isinstance(row["delay_us"], float) and -50 <= row["delay_us"] - 4000 <= 5


@pytest.mark.parametrize("limit", [27, 40])
def test_the_group_capacity_is_the_table_of_the_device(limit: int) -> None:
    outcome = run("rfc3918.group_capacity", f"snooping: {{max_groups: {limit}}}", "groups_max=60", "groups_step=1",
                  f"groups_first={limit - 2}")  # fmt: skip
    (row,) = outcome.tables[0].rows
    assert (row["capacity_groups"], row["upper_groups"]) == (limit, limit + 1)


def test_the_throughput_is_the_replication_limit_of_the_device() -> None:
    """One frame to many takes 2 us: 500,000 frames/s, less than the 844,595 of the line."""
    keys = "snooping: {}\n    broadcast: {service_min_ns: 2000, queue_frames: 1}"
    outcome = run("rfc3918.aggregated", keys, "scaled_frames=2000")
    (row,) = outcome.tables[0].rows
    assert isinstance(row["offered_fps"], float)
    assert row["offered_fps"] == pytest.approx(500_000, rel=2e-3)
    assert row["forwarding_fps"] == pytest.approx(3 * row["offered_fps"], rel=2e-3)
    assert {"state", "load_pct", "upper_pct"} <= set(outcome.tables[0].headline), "the cover has the result"


def test_unicast_does_not_need_the_replication_of_mixed_classes() -> None:
    """Half of the frames are multicast: the limit of 300,000 replicated frames/s is met at 600,000."""
    keys = "snooping: {}\n    broadcast: {service_base_ns: 3333.333, queue_frames: 1}"
    outcome = run("rfc3918.mixed_class", keys, "scaled_frames=2000")
    (row,) = outcome.tables[0].rows
    assert row["unicast_fps"] == pytest.approx(300_000, rel=3e-3)
    assert row["multicast_fps"] == pytest.approx(3 * 300_000, rel=3e-3)
    assert outcome.findings == ()


def test_the_latency_is_that_of_the_cable_of_each_port() -> None:
    """Cables of 100, 200, 300 and 400 ns; the frame is stored, and leaves 1000 ns after its last bit."""
    frame_ns = 8 * 128
    topology = switch(
        "latency_ns: 1000", "snooping: {}", link={port: f"latency_ns: {100 * port}" for port in range(1, 5)}
    )
    outcome = run_on(topology, "rfc3918.min_max_latency", "load_pct=50", "groups=5", "scaled_frames=1000")
    assert outcome.state is Verdict.MEASURED
    found = {(row["group"], row["port"]): (row["min_us"], row["max_us"]) for row in table(outcome, "multicast_latency")}
    for number in range(1, 6):
        for port in (2, 3, 4):
            expected_us = (100 + 100 * port + frame_ns + 1000) / 1000
            assert found.pop((f"225.1.1.{number}", port)) == pytest.approx((expected_us, expected_us), abs=0.002)
    assert not found
    (spread,) = table(outcome, "latency_spread")
    assert (spread["set_size"], spread["spread_us"]) == (15, pytest.approx(0.2, abs=0.002))
    (rates,) = table(outcome, "multicast_rates")
    fps = 3 * float(max_rate_fps(128, GIGABIT)) / 2
    assert rates["forwarding_fps"] == pytest.approx(fps, rel=1e-3)
    assert rates["forwarding_l2_tbps"] == pytest.approx(fps * frame_ns / 1e12, rel=1e-3)
    assert rates["line_pct"] == pytest.approx(50, rel=1e-3)
    assert (rates["min_us"], rates["max_us"]) == pytest.approx((2.324, 2.524), abs=0.002)
    assert rates["avg_us"] == pytest.approx(2.424, abs=0.002)


@pytest.mark.parametrize("limit", [7, 25])
def test_the_matrix_falls_where_the_table_of_the_device_is_full(limit: int) -> None:
    """Groups in turn at line rate, of which the device forwards the first ones."""
    outcome = run(
        "rfc3918.scaled_matrix", f"snooping: {{max_groups: {limit}}}", "groups=40", "groups_step=5",
        "scaled_frames=4200", "until_capacity=false",
    )  # fmt: skip
    fps = 3 * float(max_rate_fps(128, GIGABIT))
    assert outcome.state is Verdict.MEASURED
    found = {row["groups"]: row["forwarding_fps"] for row in table(outcome, "scaled_matrix")}
    assert found == {
        groups: pytest.approx(fps * min(1, limit / groups), rel=1e-6) for groups in range(5, 45, 5)
    }  # fmt: skip


def two_switches() -> str:
    """The source and burdening port 4 on one switch; ports 2 and 3, which join, and burdening port 5 on another one.

    One line of 1 Gbit/s is between them.
    """
    west = node("west", "latency_ns: 1000", "snooping: {router_ports: [3]}", ports=3)
    east = node("east", "latency_ns: 1000", "snooping: {join_time_ns: 3000000}", ports=4)
    links = [("tester:1", "west:1"), ("tester:4", "west:2"), ("west:3", "east:4")]
    links += [("tester:2", "east:1"), ("tester:3", "east:2"), ("tester:5", "east:3")]
    return network(west, east, links=links, ports=5)


def test_a_burden_on_a_line_between_switches_is_one_frame_of_latency() -> None:
    """A group frame waits for at most one frame of the burden, whose rate lets their phases drift."""
    outcome = run_on(
        two_switches(), "rfc3918.burdened_latency", "load_pct=10", "burden_load_pct=37.3", "groups=2",
        "scaled_frames=5000", "sustained=false", ports=5,
    )  # fmt: skip
    assert outcome.state is Verdict.MEASURED, outcome.findings
    assert not [finding for finding in outcome.findings if "flood" in finding]
    spread = {row["part"]: row for row in table(outcome, "latency_spread")}
    stored_us = (3 * 8 * 128 + 2 * 1000) / 1000 - 8 * 128 / 1000
    assert spread["baseline"]["low_us"] == pytest.approx(stored_us, abs=0.002)
    assert spread["baseline"]["spread_us"] == pytest.approx(0, abs=0.002)
    assert spread["burdened"]["low_us"] == pytest.approx(stored_us, abs=0.002)
    longest_us = float(frame_time_ns(128, GIGABIT)) / 1000
    wait_us = spread["burdened"]["spread_us"]
    assert isinstance(wait_us, float) and 0.9 * longest_us <= wait_us <= longest_us + 0.002


def test_a_burden_leaves_the_join_delay_of_a_processor_of_its_own() -> None:
    """The switch works a join off in 3 ms, whatever it forwards."""
    outcome = run_on(
        two_switches(), "rfc3918.burdened_join_delay", "stream_fps=20000", "delay_limit_ms=10", ports=5
    )  # fmt: skip
    assert outcome.state is Verdict.PASS, outcome.findings
    rows = outcome.tables[0].rows
    assert [(row["part"], row["port"], row["burden_pct"]) for row in rows] == [
        (part, port, burden) for part, burden in (("baseline", None), ("burdened", 50)) for port in (2, 3)
    ]
    for row in rows:
        # Two cables, two stores and the frame before it on the line.
        assert isinstance(row["delay_us"], float) and 0 <= row["delay_us"] - 3000 <= 50 + 8


def overlaps(ports: int, stagger_ns: int, load_pct: int, size: int) -> Fraction:
    """Time by which the closest frames of two sources are too close for an output, in ns; negative: a gap.

    Sources send every ``period``; an output gets the frames of all of them but its own port's.
    """
    slot_ns = frame_time_ns(size, GIGABIT)
    period_ns = (ports - 1) * slot_ns * 100 / load_pct
    worst = -period_ns
    for output in range(ports):
        phases = sorted(source * stagger_ns % period_ns for source in range(ports) if source != output)
        gaps = [later - sooner for sooner, later in pairwise([*phases, phases[0] + period_ns])]
        worst = max(worst, slot_ns - min(gaps))
    return worst


@pytest.mark.parametrize(
    ("ports", "load_pct", "step_ns"),
    [(4, 50, 500), (4, 50, 1000), (16, 50, 2900), (32, 60, 900)],
)
def test_the_smallest_stagger_is_the_one_whose_frames_do_not_meet(ports: int, load_pct: int, step_ns: int) -> None:
    """No frame may wait: sources that start together lose, and the search ends where all outputs have gaps."""
    staggers = [number * step_ns for number in range(17)]
    expected = next(ns for ns in staggers if overlaps(ports, ns, load_pct, 128) <= 0)
    outcome = run_on(
        switch("latency_ns: 1000", "snooping: {}", port="queue_frames: 0", ports=ports), "rfc3918.n_to_n",
        f"load_pct={load_pct}", "stagger_us=search", f"stagger_step_us={step_ns / 1000}",
        f"scaled_frames={50 * (ports - 1)}", ports=ports,
    )  # fmt: skip
    (row,) = outcome.tables[0].rows
    assert outcome.state is Verdict.PASS
    assert row["stagger_us"] == expected / 1000 > 0
    tried = outcome.tables[1].rows
    assert [trial["stagger_us"] for trial in tried] == [ns / 1000 for ns in staggers if ns <= expected]
    assert tried[0]["verdict"] == "FAIL" and outcome.findings == ()
    assert tried[-1]["rx_frames"] == (ports - 1) * int(str(tried[-1]["tx_frames"]))


def test_n_to_n_counts_the_copies_of_all_ports_and_their_latency() -> None:
    outcome = run("rfc3918.n_to_n", "snooping: {}", "load_pct=90", "stagger_us=64", "scaled_frames=1000")
    (row,) = outcome.tables[0].rows
    fps = float(max_rate_fps(128, GIGABIT) * Fraction(9, 10))
    assert outcome.state is Verdict.PASS
    assert row["forwarding_fps"] == pytest.approx(4 * fps, rel=0.1), "the last port starts 192 us late"
    assert isinstance(row["min_us"], float) and row["min_us"] == pytest.approx(1 + 8 * 128 / 1000, abs=0.01)
    (trial,) = outcome.tables[1].rows
    assert trial["rx_frames"] == 3 * trial["tx_frames"] and trial["flooded_frames"] == 0


@pytest.mark.parametrize("protocol", ["igmpv2", "igmpv3", "mldv1", "mldv2"])
def test_a_router_forwards_groups_that_hosts_join_at_line_rate(protocol: str) -> None:
    outcome = run("rfc3918.aggregated", "", f"protocol={protocol}", "groups=20", "scaled_frames=300", device=router)
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["load_pct"], row["members"], row["lost_frames"]) == (Verdict.MEASURED, 100, 3, 0)
    assert outcome.findings == ()


def test_the_delays_and_the_capacity_of_a_router_are_those_of_its_processor() -> None:
    settings = ("stream_fps=20000", "delay_limit_ms=20")
    outcome = run("rfc3918.join_delay", "join_time_ns: 5000000", *settings, device=router)
    for row in outcome.tables[0].rows:
        assert isinstance(row["delay_us"], float) and 0 <= row["delay_us"] - 5000 <= 50 + 5
    outcome = run("rfc3918.leave_delay", "leave_delay_ns: 4000000", *settings, device=router)
    for row in outcome.tables[0].rows:
        assert isinstance(row["delay_us"], float) and -50 <= row["delay_us"] - 4000 <= 5
    outcome = run(
        "rfc3918.group_capacity",
        "max_groups: 27",
        "groups_max=40",
        "groups_step=1",
        "groups_first=25",
        device=router,
    )
    assert outcome.tables[0].rows[0]["capacity_groups"] == 27


def pim_routers() -> str:
    """The source behind one router, hosts behind another one, which joins their groups at the first by PIM."""

    def interface(router: int, number: int, address: str) -> str:
        return f'{{port: {number}, mac: "02:00:00:00:0{router}:0{number}", addresses: ["{address}"]}}'

    def router(name: str, number: int, addresses: list[str], multicast: str) -> Node:
        interfaces = ", ".join(interface(number, port, text) for port, text in enumerate(addresses, start=1))
        routes = f"routes: [{{prefix: 0.0.0.0/0, next_hops: [10.0.0.{3 - number}]}}]"
        keys = (f"interfaces: [{interfaces}]", routes, f"multicast: {{{multicast}}}", "latency_ns: 1000")
        return node(name, *keys, ports=len(addresses), device="router")

    pim = "pim: {{ports: [{}], rendezvous_point: 10.0.0.1}}"
    west = router("west", 1, ["198.18.1.1/24", "10.0.0.1/30"], pim.format(2))
    hosts = [f"198.18.{port}.1/24" for port in (2, 3, 4)]
    east = router("east", 2, [*hosts, "10.0.0.2/30"], f"host_ports: [1, 2, 3], {pim.format(4)}")
    links = [("tester:1", "west:1"), ("tester:2-4", "east:1-3"), ("west:2", "east:4")]
    return network(west, east, links=links)


@pytest.mark.parametrize("sender", ["", "198.18.1.2"])
def test_groups_that_hosts_join_come_from_the_router_of_the_source_by_pim(sender: str) -> None:
    """The table of a router: rate at the throughput, and the latency of two routers that store each frame."""
    outcome = run_on(pim_routers(), "rfc3918.latency", "groups=20", "scaled_frames=400", f"only_sender={sender}")
    assert (outcome.state, outcome.findings) == (Verdict.MEASURED, ())
    (rates,) = table(outcome, "multicast_rates")
    assert rates["load_pct"] == 100
    assert rates["forwarding_fps"] == pytest.approx(3 * float(max_rate_fps(128, GIGABIT)))
    assert rates["line_pct"] == pytest.approx(100)
    stored_us = 2 * (8 * 128 + 1000) / 1000
    assert (rates["min_us"], rates["max_us"]) == pytest.approx((stored_us, stored_us), abs=0.002)
    assert (rates["samples"], rates["jitter_max_us"]) == (3 * 400, pytest.approx(0, abs=0.002))
