"""Frames and seeds that a Tofino loses inside: the trial is INVALID, and its reason names the counter.

Method: a fake bf_switchd whose MACs and traffic manager count; the device behind it moves counters during the trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.fake_bfruntime import TOFINO_2, FakeBfSwitchd
from support.fake_tofino import FakeTofino
from support.tofino_beds import (
    DEVICE_PORTS,
    PORTS_OF_TOFINO_2,
    PROGRAM,
    bfrt_text,
    bfrt_topology,
    mesh,
    p4runtime_topology,
    switch,
    switch_of_chip,
    tofino_2_topology,
)
from support.tofino_chip import LOOP

from p4mesh.run.calibration import calibrate
from p4mesh.run.options import RunOptions
from p4mesh.target import tofino
from p4mesh.target.chips import CHIPS, Chip
from p4mesh.target.tofino import BfTofinoTarget
from p4mesh.tester.contract import P4SRC
from p4mesh.tester.tofino_contract import load_tofino_contract
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

FRAMES = 40
FAST = Stream("fast", 128, Fraction(40_000_000), FRAMES, Pairs(), (1,), (3,))
"""From device port 0 to device port 128; its rate takes dozens of seeds."""
SPEC = replace(mesh(), streams=(FAST,), duration_ns=1000)


def measured(chip: FakeBfSwitchd, spec: TrialSpec = SPEC) -> TrialResult:
    with open_measurer(bfrt_topology(chip.address), "tofino") as measurer:
        return measurer.measure(spec)


def reason_after(monkeypatch: pytest.MonkeyPatch, moves: Callable[[FakeBfSwitchd, int], bool]) -> str:
    """Reason why a trial is INVALID in which ``moves`` is told of each frame, and may keep it from the program."""
    chips: list[FakeBfSwitchd] = []
    forward = switch()

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [] if moves(chips[0], number) else forward(port, mac, number)

    with switch_of_chip(monkeypatch, device) as chip:
        chips.append(chip)
        result = measured(chip)
        assert chip.faults == []
    assert result.status is Verdict.INVALID
    return result.reason


def test_a_trial_in_which_no_counter_moves_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: what was counted before the trial is not its own."""
    with switch_of_chip(monkeypatch, switch()) as chip:
        chip.statistics[128] |= {"$FramesReceivedOK": 1_000, "$FramesDroppedBufferFull": 7}
        chip.drops["pipe", 1]["mc_queue_drop_packets"] = 5
        chip.drops["eg_port", 128]["drop_count_packets"] = 6
        result = measured(chip)
    assert (result.status, result.reason, result.rx_frames) == (Verdict.MEASURED, "", FRAMES)


def test_frames_that_the_mac_has_and_the_program_has_not_are_no_loss_of_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def moves(chip: FakeBfSwitchd, number: int) -> bool:
        chip.statistics[128]["$FramesReceivedOK"] += number < 3
        return number < 3

    assert reason_after(monkeypatch, moves) == (
        "port 3 received 40 good frames by its MAC ($FramesReceivedOK without PAUSE), of which 37 came to the program"
    )


def test_pause_frames_that_the_mac_keeps_are_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    chips: list[FakeBfSwitchd] = []
    forward = switch()

    def pauses(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        for name in ("$FramesReceivedoftypePAUSE", "$PriorityPauseFrames"):
            chips[0].statistics[128][name] += 1
            chips[0].statistics[128]["$FramesReceivedOK"] += 1
        return forward(port, mac, number)

    with switch_of_chip(monkeypatch, pauses) as chip:
        chips.append(chip)
        result = measured(chip)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")


def test_frames_that_the_mac_drops_before_the_parser_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def moves(chip: FakeBfSwitchd, number: int) -> bool:
        chip.statistics[128]["$FramesDroppedBufferFull"] += number < 3
        return number < 3

    reason = reason_after(monkeypatch, moves)
    assert reason == "port 3 dropped 3 frames in front of the program ($FramesDroppedBufferFull)"


@pytest.mark.parametrize(
    ("place", "field", "named"),
    [
        *(
            (("pipe", pipe), field, f"tf1.tm.counter.pipe {field} of pipe {pipe}")
            for pipe, field in [
                (0, "ig_buf_full_drop_packets"),
                (1, "mc_queue_drop_packets"),
                (0, "mc_input_fifo_3_drop_packets"),
            ]
        ),
        *(
            ((kind, port), "drop_count_packets", f"tf1.tm.counter.{kind} drop_count_packets of device port {port}")
            for kind, port in [("ig_port", LOOP), ("eg_port", 128)]
        ),
    ],
)
def test_drops_of_the_traffic_manager_are_named(
    monkeypatch: pytest.MonkeyPatch, place: tuple[str, int], field: str, named: str
) -> None:
    def moves(chip: FakeBfSwitchd, number: int) -> bool:
        chip.drops[place][field] += 2
        return False

    assert reason_after(monkeypatch, moves) == f"frames were dropped inside the tester: {2 * FRAMES} by {named}"


def test_drops_at_ports_are_waited_for_until_bf_switchd_has_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: the driver reads them now and then, whatever a request says; they belong to this trial all the same."""
    chips: list[FakeBfSwitchd] = []
    forward = switch()

    def drops(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        chips[0].drops["eg_port", 128]["drop_count_packets"] = 1
        return forward(port, mac, number)

    with switch_of_chip(monkeypatch, drops, drops_polled_s=0.4) as chip:
        monkeypatch.setattr(tofino, "_DROPS_SHOWN_NS", 500_000_000)
        chips.append(chip)
        result = measured(chip)
    assert result.reason == (
        "frames were dropped inside the tester: 1 by tf1.tm.counter.eg_port drop_count_packets of device port 128"
    )


def test_frames_that_the_program_ends_by_itself_are_no_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: frames without destination are those that the program has counted."""
    with (
        switch_of_chip(monkeypatch, switch()) as chip,
        open_measurer(bfrt_topology(chip.address), "tofino") as measurer,
    ):
        before = measurer.tester.target.drop_counts()
        chip.drops["pipe", 0]["ig_no_dest_drop_packets"] += 9
        assert measurer.tester.target.drop_counts() == before


def test_a_tofino_2_has_the_same_counters_by_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (P4SRC / "compiled" / "p4mesh.tofino2.bfrt.json").read_bytes()
    with (
        switch_of_chip(monkeypatch, switch(devices=PORTS_OF_TOFINO_2), program=program, chip=TOFINO_2) as chip,
        open_measurer(tofino_2_topology(chip.address), "tofino") as measurer,
    ):
        found = measurer.tester.target.drop_counts()
        result = measurer.measure(mesh())
    assert {f"tf2.tm.counter.pipe mc_queue_drop_packets of pipe {pipe}" for pipe in (0, 1, 3)} <= found.keys()
    assert "tf2.tm.counter.eg_port drop_count_packets of device port 24" in found, "the port in loopback"
    assert (result.status, result.reason) == (Verdict.MEASURED, "")


def test_a_switch_without_counters_of_its_traffic_manager_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        switch_of_chip(monkeypatch, switch()) as chip,
        open_measurer(bfrt_topology(chip.address), "tofino") as measurer,
    ):
        target = measurer.tester.target
        assert isinstance(target, BfTofinoTarget)
        assert target.facts() == ()
        for name in [name for name in target.client.bfrt.tables if ".tm." in name]:
            del target.client.bfrt.tables[name]
        assert "without table tm.counter.pipe" in target.facts()[0]
        assert measurer.measure(SPEC).status is Verdict.MEASURED


def test_counters_of_the_mac_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: bf_switchd polls its MACs once a second and answers with that, unless it is asked for the hardware."""
    with (
        switch_of_chip(monkeypatch, switch()) as chip,
        open_measurer(bfrt_topology(chip.address), "tofino") as measurer,
    ):
        for count in (1, 2):
            chip.statistics[128]["$FramesReceivedwithFCSError"] = count
            assert measurer.tester.target.mac_counts()[3].bad_fcs_received == count


def test_a_calibration_begins_with_the_counters_of_the_hardware(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Goal: frames that bf_switchd has not polled before the trial are not taken for frames of the trial."""
    chips: list[FakeBfSwitchd] = []

    def wire(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        chips[0].polled_at_s = 0.0
        return [(port ^ 4, 5)]

    with switch_of_chip(monkeypatch, wire) as chip:
        chips.append(chip)
        chip.polled_at_s = float("inf")
        for port in DEVICE_PORTS.values():
            chip.statistics[port]["$FramesReceivedOK"] = 1_000
        links = "links: [{from: tester:1, to: tester:2}, {from: tester:3, to: tester:4}]"
        wired = parse_topology("wires.yaml", re.sub("nodes:.*", links, bfrt_text(chip.address), flags=re.S))
        found = calibrate(RunOptions("", wired, "128", out=tmp_path / "wires.json", target="tofino"))
    assert len(found.known.wires) == len(DEVICE_PORTS)


def test_a_seed_that_does_not_come_back_makes_the_trial_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        switch_of_chip(monkeypatch, switch()) as chip,
        open_measurer(bfrt_topology(chip.address), "tofino") as measurer,
    ):
        seeds = measurer.tester.plan([FAST]).streams[0].seeds
        first = measurer.measure(SPEC)
        chip.seeds_to_lose = 2
        second = measurer.measure(SPEC)
        third = measurer.measure(SPEC)
    assert [result.status for result in (first, second, third)] == [
        Verdict.MEASURED,
        Verdict.INVALID,
        Verdict.MEASURED,
    ]
    assert second.reason == (
        f"{seeds - 2} seeds came back to the loop when the streams ended, {seeds} were injected: "
        "a stream without all of its seeds is slow"
    )
    assert second.undelivered, "it says nothing about the device"


def test_seeds_are_counted_by_p4runtime_too(tmp_path: Path) -> None:
    program = tmp_path / "p4mesh.bin"
    program.write_bytes(PROGRAM)
    with (
        FakeTofino(switch()) as chip,
        open_measurer(p4runtime_topology(program, chip.address), "tofino") as measurer,
    ):
        assert measurer.measure(SPEC).status is Verdict.MEASURED
        chip.seeds_to_lose = 1
        assert "seeds came back to the loop" in measurer.measure(SPEC).reason


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.program)
def test_the_loop_that_is_watched_is_that_of_the_program(chip: Chip) -> None:
    assert load_tofino_contract(chip, None)["PORT_LOOP"] == chip.recirculation_port


def test_a_port_that_is_slower_than_the_clock_of_departures_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: 20 ms at 90 ppm are 1.8 us, or a frame and a half of this stream; nothing is lost."""
    slow = replace(FAST, rate_fps=Fraction(1_000_000), frame_count=20_000)
    with switch_of_chip(monkeypatch, switch()) as chip:
        chip.slower_ppm[0] = 90
        result = measured(chip, replace(SPEC, streams=(slow,), duration_ns=20_000_000))
    assert (result.status, result.lost_frames) == (Verdict.MEASURED, 0)
    (queue,) = result.port_queues
    assert (queue.port, queue.frames, round(queue.slower_ppm)) == (1, 1, 90)


def test_how_long_a_queue_may_become_is_said_before_the_first_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        switch_of_chip(monkeypatch, switch()) as chip,
        open_measurer(bfrt_topology(chip.address, ", loop_headroom_pct: 0"), "tofino") as measurer,
    ):
        assert measurer.facts() == (
            "departures by the clock of the chip: in front of a port of 100 Gbit/s whose own clock is 50 ppm slower, "
            "7,440 more frames of 64 bytes wait after each second at 100 % load, and none up to 99.995 %",
        )


def test_counters_of_a_mac_that_was_switched_off_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: the registers of a MAC are cleared when its port is disabled; the trial has what it counted since then."""
    chips: list[FakeBfSwitchd] = []
    forward = switch()

    def clears(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        if number == FRAMES // 2:
            chips[0].statistics[128].clear()
            chips[0].statistics[128]["$FramesReceivedwithFCSError"] = 4
        return forward(port, mac, number)

    with switch_of_chip(monkeypatch, clears) as chip:
        chips.append(chip)
        chip.statistics[128] |= {"$FramesReceivedOK": 1_000, "$FramesReceivedwithFCSError": 9}
        result = measured(chip)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert {port.port: port.bad_fcs_frames for port in result.ports}[3] == 4
