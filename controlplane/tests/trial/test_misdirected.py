"""Misdirected payload (methodology 0.1): the destination of the port, and the payload of a frame for another one."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, changed, shipped

from p4mesh.cli.main import main
from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.target.loop import LoopModel
from p4mesh.tester.bad_fcs import bad_fcs_rules
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.stations import receiver_tag
from p4mesh.topology import Topology
from p4mesh.traffic.addresses import BROADCAST_MAC
from p4mesh.traffic.patterns import Broadcast, FullMesh, Pairs, Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ROUTER = "p4-l3-4ports"
FRAMES = 300
LIMITS = Limits.of(load_contract(), 1000, LoopModel(10**11, 700_000), "sim")
_ROUTE = "198.18.3.0, prefix_bits: 24}}, action: to_next_hop, params: "
WRONG_ROUTE = (f"{_ROUTE}[3]", f"{_ROUTE}[4]")
"""Network 3 behind next hop 4: the router gives its frames the address of station 4, and sends them there."""


def measure(topology: Topology, learning: Learning) -> TrialResult:
    """Send FRAMES frames from 1 to 3 and from 2 to 4 through the router."""
    stream = Stream("s", 128, Fraction(100_000), FRAMES, Pairs(), (1, 2), (3, 4), UDP_OVER_IPV4, routed=True)
    with open_measurer(topology) as measurer:
        return measurer.measure(TrialSpec("routed", (stream,), 3_000_000, learning, per_flow=True))


def test_frames_behind_a_wrong_route_are_misdirected_and_lost() -> None:
    """Goal: port 4 owns the address of every frame that it gets; those made for port 3 are no frames received."""
    result = measure(changed(ROUTER, WRONG_ROUTE), Learning(enabled=False))

    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.misdirected_frames, result.flooded_frames) == (FRAMES, 0)
    assert (result.tx_frames, result.rx_frames, result.lost_frames) == (2 * FRAMES, FRAMES, FRAMES)
    ports = {port.port: port for port in result.ports}
    assert [(ports[n].rx_frames, ports[n].misdirected_frames) for n in (3, 4)] == [(0, 0), (FRAMES, FRAMES)]
    assert {(flow.tx_port, flow.lost_frames) for flow in result.flows} == {(1, FRAMES), (2, 0)}


def test_a_right_router_misdirects_nothing() -> None:
    result = measure(shipped(ROUTER), Learning(wait_ns=1_000_000))
    assert (result.status, result.misdirected_frames, result.lost_frames) == (Verdict.MEASURED, 0, 0)


def test_verification_says_that_frames_are_misdirected() -> None:
    result = measure(changed(ROUTER, WRONG_ROUTE), Learning(wait_ns=1_000_000))
    assert result.status is Verdict.INVALID
    assert "2 frames came to a port with its address and were made for another one" in result.reason


def test_a_run_shows_misdirected_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Goal: trial log, port log and findings have the count."""
    topology = tmp_path / "wrong.yaml"
    topology.write_text((TOPOLOGIES / f"{ROUTER}.yaml").read_text().replace(*WRONG_ROUTE))
    settings = ("routed=true", "learning_frames=0", "duration_ms=1", "settle_ms=1", "full_sweep=false", "step_pct=10")
    command = ["run", "rfc2544.frame_loss", "--topology", str(topology), "--sizes", "128", "--jobs", "1"]
    command += ["--out", str(tmp_path / "run"), *(word for text in settings for word in ("--set", text))]

    assert main(command) == 0
    shown = capsys.readouterr()
    with (tmp_path / "run" / "trials.csv").open() as trials, (tmp_path / "run" / "trial_ports.csv").open() as ports:
        counts = [int(row["misdirected_frames"]) for row in csv.DictReader(trials)]
        at = {row["port"] for row in csv.DictReader(ports) if row["misdirected_frames"] != "0"}
    assert all(counts)
    assert at == {"4"}
    where = f"{len(counts)} of {len(counts)} trials of 128B/frame_loss"
    assert f"misdirected payload: {sum(counts):,} frames in {where}" in shown.out
    assert f"{counts[0]} misdirected" in shown.err


def test_destination_and_receiver_have_the_tag_of_the_port_and_frames_to_many_none() -> None:
    streams = (
        Stream("mesh", 64, Fraction(1000), 10, FullMesh(), (1, 2, 255, 256), (1, 2, 255, 256)),
        Stream("all", 64, Fraction(1000), 10, Broadcast(), (1,), (2, 255)),
        Stream("far", 64, Fraction(1000), 10, Pairs(), (1,), (2,), routed=True, router_macs=(b"\2" * 6,)),
    )
    plan = make_plan(streams, LIMITS, dict.fromkeys((1, 2, 255, 256), 10**9))
    tags = {(stream.name, station.port): station.receiver_tag for stream, station in plan.destinations}

    assert tags == {
        ("mesh", 1): 2, ("mesh", 2): 3, ("mesh", 255): 1, ("mesh", 256): 2, ("all", 0): 0, ("far", 2): 3,
    }  # fmt: skip
    owned = {(receiver.port, receiver.mac == BROADCAST_MAC): receiver.tag for receiver in plan.receivers}
    assert {port: owned[port, False] for port in (1, 2, 255, 256)} == {1: 2, 2: 3, 255: 1, 256: 2}
    assert {tag for (_, to_many), tag in owned.items() if to_many} == {0}
    assert {receiver_tag(port) for port in range(1, 512)} == set(range(1, 256)), "0 belongs to frames to many"


def test_rules_for_a_bad_fcs_are_those_of_each_flow() -> None:
    """Goal: the six bytes at the signature: magic, run, tag of the receiver, flow."""
    streams = (
        Stream("good", 64, Fraction(1000), 10, Pairs(), (1,), (2,)),
        Stream("bad", 64, Fraction(1000), 10, Rotate(), (1,), (2, 3), bad_fcs=True),
        Stream("all", 64, Fraction(1000), 10, Broadcast(), (3,), (1, 2), bad_fcs=True),
    )
    plan = make_plan(streams, replace(LIMITS, bad_fcs=True), dict.fromkeys((1, 2, 3), 10**9))
    rules = bad_fcs_rules(plan, 9, load_contract())
    first = {flow.sequence_cell for flow in plan.flows if flow.tx_port == 3}

    assert rules == {
        1: [(42, 0x504D_09_03_0001, 0x504D_09_03_0001), (42, 0x504D_09_04_0002, 0x504D_09_04_0002)],
        3: [(42, 0x504D_09_00_0000 + min(first), 0x504D_09_00_0000 + min(first))],
    }
    assert len(first) == 1
