"""RFC 3918 on a simulated snooping switch whose join time, leave delay, table and replication limit are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import pytest
from support.beds import make_bed
from support.networks import parsed, switch
from support.runs import OneDevice

from p4mesh.methods.base import Unit
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome, State
from p4mesh.traffic.line_rate import frame_time_ns, max_rate_fps
from p4mesh.trial.opening import open_measurer

GIGABIT = 10**9
BED = make_bed(4)
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
    test = find_test(name)
    parameters = resolve(name, test.parameters, ("joins_per_s=100000", *settings))
    test.check(BED, parameters)
    unit: Unit
    (unit,) = test.units(parameters, (128,))
    with session(device(keys, queue)) as opened:
        return test.assemble(BED, parameters, {unit: test.run_unit(unit, BED, parameters, opened)})


@pytest.mark.parametrize("protocol", ["igmpv2", "igmpv3", "mldv1", "mldv2"])
def test_the_join_delay_is_the_join_time_of_the_device(protocol: str) -> None:
    """Method B: both ports report together, and the device works their joins off one after the other."""
    outcome = run(
        "rfc3918.join_delay",
        "snooping: {join_time_ns: 5000000}",
        f"protocol={protocol}", "join_method=B", "stream_fps=20000", "delay_limit_ms=20",
    )  # fmt: skip
    assert outcome.state is State.PASS
    found = {row["port"]: row["delay_us"] for row in outcome.tables[0].rows}
    # The second report is 10 us later; a frame every 50 us.
    for port, waited_us in ((2, 5000), (3, 2 * 5000 - 10)):
        delay_us = found[port]
        assert isinstance(delay_us, float) and 0 <= delay_us - waited_us <= 50 + 5


def test_the_leave_delay_is_that_of_the_device() -> None:
    outcome = run("rfc3918.leave_delay", "snooping: {leave_delay_ns: 4000000}", "stream_fps=20000", "delay_limit_ms=20")
    assert outcome.state is State.PASS
    for row in outcome.tables[0].rows:
        assert isinstance(row["delay_us"], float) and -50 <= row["delay_us"] - 4000 <= 5


@pytest.mark.parametrize("limit", [27, 40])
def test_the_group_capacity_is_the_table_of_the_device(limit: int) -> None:
    outcome = run("rfc3918.group_capacity", f"snooping: {{max_groups: {limit}}}", "groups_max=60", "groups_step=1",
                  f"groups_first={limit - 2}")  # fmt: skip
    (row,) = outcome.tables[0].rows
    assert (row["capacity_groups"], row["failed_groups"]) == (limit, limit + 1)


def test_the_throughput_is_the_replication_limit_of_the_device() -> None:
    """One frame to many takes 2 us: 500,000 frames/s, less than the 844,595 of the line."""
    keys = "snooping: {}\n    broadcast: {service_min_ns: 2000, queue_frames: 1}"
    outcome = run("rfc3918.aggregated", keys, "scaled_frames=2000")
    (row,) = outcome.tables[0].rows
    assert isinstance(row["tx_fps"], float)
    assert row["tx_fps"] == pytest.approx(500_000, rel=2e-3)
    assert row["aggregate_fps"] == pytest.approx(3 * row["tx_fps"], rel=2e-3)


def test_unicast_does_not_need_the_replication_of_mixed_classes() -> None:
    """Half of the frames are multicast: the limit of 300,000 replicated frames/s is met at 600,000."""
    keys = "snooping: {}\n    broadcast: {service_base_ns: 3333.333, queue_frames: 1}"
    outcome = run("rfc3918.mixed_class", keys, "scaled_frames=2000")
    (row,) = outcome.tables[0].rows
    assert row["unicast_fps"] == pytest.approx(300_000, rel=3e-3)
    assert row["multicast_fps"] == pytest.approx(3 * 300_000, rel=3e-3)
    assert outcome.findings == ()


def overlaps(stagger_ns: int, load_pct: int, size: int) -> Fraction:
    """Return by how much the closest frames of two sources are too close for an output, in ns; negative: a gap.

    Sources send every ``period``; the third of four outputs gets those of three of them.
    """
    slot_ns = frame_time_ns(size, GIGABIT)
    period_ns = 3 * slot_ns * 100 / load_pct
    worst = -period_ns
    for output in range(4):
        phases = sorted(source * stagger_ns % period_ns for source in range(4) if source != output)
        gaps = [later - sooner for sooner, later in pairwise([*phases, phases[0] + period_ns])]
        worst = max(worst, slot_ns - min(gaps))
    return worst


@pytest.mark.parametrize("step_ns", [500, 1000])
def test_the_smallest_stagger_is_the_one_whose_frames_do_not_meet(step_ns: int) -> None:
    """A queue of one frame: sources that start together lose, and the search ends where all outputs have gaps."""
    load_pct, size = 50, 128
    staggers = [number * step_ns for number in range(17)]
    # One frame may wait: it does not where there is a gap.
    expected = next(ns for ns in staggers if overlaps(ns, load_pct, size) <= 0)
    outcome = run(
        "rfc3918.n_to_n", "snooping: {}", f"load_pct={load_pct}", "stagger_us=search",
        f"stagger_step_us={step_ns / 1000}", "scaled_frames=300", queue=0,
    )  # fmt: skip
    (row,) = outcome.tables[0].rows
    assert outcome.state is State.PASS
    assert row["stagger_us"] == expected / 1000 > 0
    tried = outcome.tables[1].rows
    assert [trial["stagger_us"] for trial in tried] == [ns / 1000 for ns in staggers if ns <= expected]
    assert tried[0]["verdict"] == "FAIL" and outcome.findings == ()


def test_n_to_n_counts_the_copies_of_all_ports_and_their_latency() -> None:
    outcome = run("rfc3918.n_to_n", "snooping: {}", "load_pct=90", "stagger_us=64", "scaled_frames=1000")
    (row,) = outcome.tables[0].rows
    fps = float(max_rate_fps(128, GIGABIT) * Fraction(9, 10))
    assert outcome.state is State.PASS
    assert row["aggregate_fps"] == pytest.approx(4 * fps, rel=0.1), "the last port starts 192 us late"
    assert isinstance(row["min_us"], float) and row["min_us"] == pytest.approx(1 + 8 * 128 / 1000, abs=0.01)
    (trial,) = outcome.tables[1].rows
    assert trial["rx_frames"] == 3 * trial["tx_frames"] and trial["flooded_frames"] == 0


@pytest.mark.parametrize("protocol", ["igmpv2", "igmpv3", "mldv1", "mldv2"])
def test_a_router_forwards_groups_that_hosts_join_at_line_rate(protocol: str) -> None:
    outcome = run("rfc3918.aggregated", "", f"protocol={protocol}", "groups=20", "scaled_frames=300", device=router)
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["tx_pct"], row["members"], row["lost_frames"]) == (State.PASS, 100, 3, 0)
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
