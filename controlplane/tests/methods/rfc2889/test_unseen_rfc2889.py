"""RFC 2889 on random devices: any rate, number of ports, queue, gap and clock, against closed forms.

A seed makes a device and the frame sizes; the expectation is the formula of the methodology or of the device, with the
frames that a queue of Q adds to a trial of N.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.methods.base import Method
from p4mesh.methods.registry import find_test
from p4mesh.methods.sweeps import sweep_loads
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import frame_time_ns, max_rate_fps

RATES_BPS = (10**7, 10**8, 10**9, 25 * 10**8, 10**10, 4 * 10**10, 10**11, 4 * 10**11)
QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")
FRAMES = 2000
SEEDS = range(3)


@dataclass(frozen=True)
class Unseen:
    """A device with one kind of ports."""

    random: Random
    rate_bps: int
    queue: int
    gap_bits: int
    ports: int

    @classmethod
    def of(cls, seed: int, name: str, ports: tuple[int, int] = (2, 2), gaps: tuple[int, ...] = (96,)) -> Unseen:
        random = Random(f"{name} {seed}")
        queue = random.choice([1, 5, 17, 64])
        return cls(random, random.choice(RATES_BPS), queue, random.choice(gaps), random.randint(*ports))

    def topology(
        self, rates_bps: dict[int, int] | None = None, ppm: int = 0, tester_ppm: int = 0, **device: Any
    ) -> Topology:
        """The device with a tester, whose clocks are off; ``rates_bps`` are those of ports that differ."""
        rates = {port: (rates_bps or {}).get(port, self.rate_bps) for port in range(1, self.ports + 1)}
        return parsed(
            switch(
                *(f"{key}: {json.dumps(value)}" for key, value in device.items()),
                rates_bps=list(rates.values()),
                port=f"queue_frames: {self.queue}, ifg_bits: {self.gap_bits}, clock_offset_ppm: {ppm}",
                tester=f"clock_tick_ps: {1000 if self.rate_bps <= 10**9 else 10}",
                tester_port=f"ifg_bits: 88, pad_to_minimum: false, clock_offset_ppm: {tester_ppm}",
            )
        )

    def out_ns(self, size: int, ppm: int = 0) -> Fraction:
        """The time of a frame at the device's output."""
        return frame_time_ns(size, self.rate_bps, 8 + Fraction(self.gap_bits, 8)) / (1 + Fraction(ppm, 10**6))


def test_of(name: str) -> Method:
    return find_test(f"rfc2889.{name}")


test_of.__test__ = False  # type: ignore[attr-defined]


def row_of(name: str, topology: Topology, sizes: tuple[int, ...], *settings: str) -> dict[str, Any]:
    """The first row of the first table, and the state of the outcome as ``outcome``."""
    given = {setting.partition("=")[0] for setting in settings}
    quick = (*(item for item in QUICK if item.partition("=")[0] not in given), f"scaled_frames={FRAMES}")
    _, outcome, _ = run_on_sim(test_of(name), topology, sizes, *settings, *quick)
    return {**outcome.tables[0].rows[0], "outcome": outcome.state.value, "findings": outcome.findings}


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_pressure_is_a_gap_below_96_bits_on_any_clock(seed: int) -> None:
    unseen = Unseen.of(seed, "pressure", gaps=(88, 90, 96, 100, 160))
    ppm, tester_ppm = unseen.random.choice([-150, -60, 0, 60, 150]), unseen.random.choice([-40, 0, 40])
    size = unseen.random.choice([64, 100, 300, 777, 1518])
    row = row_of("forward_pressure", unseen.topology(ppm=ppm, tester_ppm=tester_ppm), (size,))
    own_bps = unseen.rate_bps * (1 + Fraction(tester_ppm, 10**6))
    slot_ns = max(unseen.out_ns(size, ppm), frame_time_ns(size, own_bps, 19))
    # The last frames of a short queue may be lost: one slot of FRAMES.
    exact = float(100 * frame_time_ns(size, own_bps) / slot_ns)
    assert row["forwarding_pct"] == pytest.approx(exact, rel=1.2 / FRAMES)
    assert (row["finding"] != "not detected") == (unseen.gap_bits < 96), (unseen, ppm, size, row)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_congested_port_receives_line_rate_and_what_its_queue_holds(seed: int) -> None:
    unseen = Unseen.of(seed, "congestion", ports=(4, 9), gaps=(96, 104, 160))
    size = unseen.random.choice([64, 128, 1000, 1518])
    blocks = unseen.ports // 4
    row = row_of("congestion_control", unseen.topology(), (size,), f"blocks={blocks}")
    duration_ns = FRAMES * frame_time_ns(size, unseen.rate_bps)
    carried = int(duration_ns / unseen.out_ns(size)) + unseen.queue + 1
    assert (row["head_of_line_blocking"], row["back_pressure"], row["outcome"]) == ("no", "no", "PASS")
    assert row["uncongested_rx_frames"] == row["uncongested_tx_frames"] == blocks * FRAMES // 2
    assert row["congested_tx_frames"] == blocks * FRAMES * 3 // 2
    assert row["congested_rx_frames"] == pytest.approx(blocks * carried, abs=2 * blocks)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_maximum_forwarding_rate_of_a_slow_output_is_its_own_rate(seed: int) -> None:
    unseen = Unseen.of(seed, "rate", ports=(2, 4), gaps=(104, 160, 400))
    size = unseen.random.choice([64, 300, 1518])
    step = unseen.random.choice([3, 10, 40])
    others = dict.fromkeys(range(3, unseen.ports + 1), 10**9)
    settings = ("tx_port=2", "rx_port=1", f"step_pct={step}", "search_resolution_pct=1")
    row = row_of("maximum_forwarding_rate", unseen.topology(others), (size,), *settings)
    own_fps = float(Fraction(10**9) / unseen.out_ns(size))
    carried = FRAMES * float(frame_time_ns(size, unseen.rate_bps) / unseen.out_ns(size))
    most = 1 + (unseen.queue + 2) / carried
    assert own_fps * (1 - 2 / FRAMES) <= row["mfr_fps"] <= own_fps * most
    assert own_fps * (1 - 2 / FRAMES) <= row["frmol_fps"] <= row["mfr_fps"]
    assert 0 < row["throughput_fps"] <= row["mfr_fps"]
    assert row["frmol_offered_pct"] == pytest.approx(100, rel=1e-2)


@pytest.mark.parametrize("throughput", [Fraction(1, 3), Fraction(50), Fraction(9999, 100), Fraction(100)])
@pytest.mark.parametrize("step", [Fraction(1, 10), Fraction(7), Fraction(100)])
def test_the_steps_are_those_of_the_pseudo_code(throughput: Fraction, step: Fraction) -> None:
    """Methodology 3.6.2, word for word; its first trial is that of the search."""
    mol, iload, tried = Fraction(100), throughput, []
    while True:
        if iload > mol:
            iload = mol
        tried.append(iload)
        if iload == mol:
            break
        iload += step
    assert sweep_loads(throughput, mol, step) == tuple(tried)
    assert tried[-1] == mol


@pytest.mark.parametrize("seed", SEEDS)
def test_the_capacity_is_the_table_less_the_address_of_the_test_port(seed: int) -> None:
    unseen = Unseen.of(seed, "capacity", ports=(3, 7))
    entries = unseen.random.randrange(40, 400)
    learning, test = unseen.random.sample(range(1, unseen.ports + 1), 2)
    settings = (
        *("addresses_min=10", "addresses_initial=20", "addresses_max=500", "addresses_resolution=1", "repetitions=2"),
        *("learning_rate_fps=800", f"learning_port={learning}", f"test_port={test}"),
    )
    topology = unseen.topology(mac_table={"entries": entries})
    _, outcome, _ = run_on_sim(
        test_of("address_caching"), topology, (1518,), *settings, "settle_ms=1", "learning_wait_ms=1"
    )
    (row,) = outcome.tables[0].rows
    assert (row["capacity_min"], row["capacity_max"], row["upper_addresses"]) == (entries - 1, entries - 1, entries)
    assert outcome.findings == ()
    failing = [it for it in outcome.tables[1].rows if it["verdict"] == "FAIL"]
    for it in failing:
        assert it["learning_rx_frames"] == it["addresses"], "unknown addresses are flooded, to L too"
        assert it["monitor_flood_frames"] == (it["addresses"] - entries + 1) * (unseen.ports - 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_learning_rate_of_a_learning_path_is_found_in_percents(seed: int) -> None:
    unseen = Unseen.of(seed, "learning", ports=(3, 5))
    rate, queue, addresses = (unseen.random.randrange(*bounds) for bounds in ((100, 800), (1, 20), (50, 150)))
    topology = unseen.topology(learning_path={"rate_fps": rate, "queue_frames": queue})
    settings = (
        *("addresses=sweep", f"addresses_start={addresses}", f"addresses_end={addresses}", "repetitions=1"),
        *("rate_unit=pct", "rate_base_fps=1000", "rate_initial_pct=10", "rate_min_pct=1", "rate_resolution_pct=0.5"),
    )
    row = row_of_addresses("address_learning", topology, *settings)
    # n addresses at r overflow the queue where n (1 - rate / r) exceeds it, give or take one that is being learned.
    lowest, highest = (rate / (1 - more / addresses) if more < addresses else 1000 for more in (queue - 2, queue + 2))
    assert lowest - 5 <= row["rate_fps_min"] <= min(1000, highest)
    assert row["rate_pct_min"] == pytest.approx(row["rate_fps_min"] / 10)


def row_of_addresses(name: str, topology: Topology, *settings: str) -> dict[str, Any]:
    """The first row of an address test, which has no trials of a length."""
    _, outcome, _ = run_on_sim(test_of(name), topology, (64,), *settings, "settle_ms=1", "learning_wait_ms=1")
    return dict(outcome.tables[0].rows[0])


@pytest.mark.parametrize("stream_set", ["sizes", "xena"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_class_of_errored_frames_is_told_from_the_others(seed: int, stream_set: str) -> None:
    # Short frames wait behind a long one that is stored and forwarded.
    unseen = replace(Unseen.of(seed, "errored", ports=(2, 4)), queue=64)
    least, most, strict = (unseen.random.choice(pair) for pair in ((60, 64), (1518, 9216), (True, False)))
    ppm = unseen.random.choice([-120, 0, 80])
    filters: dict[str, Any] = {"min_frame_bytes": least, "max_frame_bytes": most, "filter_bad_fcs": strict}
    topology = unseen.topology(ppm=ppm, tester_ppm=ppm, **filters)
    load = unseen.random.choice([1, 30, 100])
    settings = (f"stream_set={stream_set}", f"sweep_start_pct={load}", f"sweep_end_pct={load}", "valid_sizes=12")
    row = row_of("errored_frames", topology, (64, 1000), *settings)
    handling = (row["undersize_handling"], row["oversize_handling"], row["bad_fcs_handling"])
    assert handling == tuple("filtered" if filters else "forwarded" for filters in (least == 64, most == 1518, strict))
    assert row["valid_rx_frames"] == row["valid_tx_frames"] > 0
    for name, passes in (("undersize", least < 64), ("oversize", most > 1518), ("bad_fcs", not strict)):
        assert row[f"{name}_rx_frames"] == (row[f"{name}_tx_frames"] if passes else 0)
    applicable = "not applicable" if unseen.rate_bps > 10**8 else "not supported on sim"
    assert (row["dribble_handling"], row["alignment_handling"]) == (applicable, applicable)
    assert row["outcome"] == ("PASS" if least == 64 and strict else "FAIL")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broadcast_throughput_is_that_of_the_service(seed: int) -> None:
    unseen = Unseen.of(seed, "broadcast", ports=(2, 6))
    size = unseen.random.choice([64, 256, 1518])
    slot_ns = frame_time_ns(size, unseen.rate_bps)
    service_ns = round(float(slot_ns) * unseen.random.uniform(1.2, 4), 3)
    source = unseen.random.randint(1, unseen.ports)
    topology = unseen.topology(broadcast={"service_base_ns": service_ns, "queue_frames": 4})
    settings = (f"source_port={source}", "search_resolution_pct=0.5", "parts=throughput")
    row = row_of("broadcast", topology, (size,), *settings)
    limit_pct = 100 * float(slot_ns) / service_ns
    assert limit_pct - 0.6 <= row["load_pct"] <= limit_pct * (1 + 8 / FRAMES)
    assert row["forwarding_fps"] == pytest.approx(row["offered_fps"] * (unseen.ports - 1), rel=2e-2)


@pytest.mark.parametrize("seed", SEEDS)
def test_many_ports_to_one_of_another_rate_share_it(seed: int) -> None:
    unseen = Unseen.of(seed, "partial", ports=(3, 6))
    one_bps = unseen.rate_bps * unseen.random.choice([1, 2]) if unseen.rate_bps < 10**11 else unseen.rate_bps
    one = unseen.random.randint(1, unseen.ports)
    settings = ("direction=to_one", f"one_port={one}", "parts=throughput", "search_resolution_pct=0.5")
    row = row_of("partially_meshed", unseen.topology({one: one_bps}), (64,), *settings)
    limit = min(100.0, 100 * one_bps / ((unseen.ports - 1) * unseen.rate_bps))
    assert row["theoretical_pct"] == pytest.approx(limit) if limit < 100 else "theoretical_pct" not in row
    # The queue of the one port delays the loss by its frames. Sources in step need room for one another, and for late
    # departures of the tester.
    assert row["load_pct"] <= limit * (1 + (unseen.queue + 2) / (FRAMES * (unseen.ports - 1) * limit / 100)) + 0.01
    if unseen.queue >= 17:
        assert row["load_pct"] >= limit - 0.6
        assert row["forwarding_fps"] <= float(max_rate_fps(64, one_bps)) * (1 + (unseen.queue + 2) / FRAMES)
