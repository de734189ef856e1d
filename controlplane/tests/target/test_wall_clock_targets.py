"""Targets live and bmv2: an RFC 2889 full-mesh trial of four ports through the same code as sim.

Needs root for network namespaces; bmv2 needs simple_switch_grpc. A skipped test names the missing part.
"""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.faults import Faults
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.target.simple_switch import PROGRAM
from p4mesh.topology import load_topology
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.onlooker import FaultRequest, Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, Reset, ResetAction, TrialSpec
from p4mesh.verdict import Verdict

TOPOLOGY = TOPOLOGIES / "bridge-4x10m.yaml"

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
without_bmv2 = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not installed")


@pytest.mark.parametrize("target", ["live", pytest.param("bmv2", marks=without_bmv2)])
def test_full_mesh_of_four_ports_over_a_linux_bridge(target: str) -> None:
    ports = (1, 2, 3, 4)
    stream = Stream("mesh", 128, Fraction(500), 500, FullMesh(), ports, ports)
    learning = Learning(wait_ns=100_000_000)
    spec = TrialSpec("mesh", (stream,), 10**9, learning, settle_ns=300_000_000, restabilise_ns=0, per_flow=True)
    with open_measurer(load_topology(TOPOLOGY), target) as measurer:
        # A busy machine makes the switch late; such a trial says so and is measured again.
        results = (measurer.measure(spec) for _ in range(3))
        result = next((found for found in results if found.status is Verdict.MEASURED), None)
    assert result is not None
    assert (result.tx_frames, result.rx_frames, result.lost_frames) == (2000, 2000, 0)
    assert result.flooded_frames == 0
    assert len(result.flows) == 12
    assert {flow.tx_frames for flow in result.flows} == {166, 167}
    # The smallest may be 0 within its error: what kernel stamps show of the way out is subtracted on average.
    assert result.latency is not None and 0 <= result.latency.min_ns < result.latency.sum_ns / 2000


@pytest.mark.parametrize("target", ["live", pytest.param("bmv2", marks=without_bmv2)])
def test_flooded_frames_are_captured_as_they_came(target: str) -> None:
    """Goal: of frames for a station that the bridge does not know, the first ones on the ports they were not for."""
    found: list[Faults] = []
    stream = Stream("s", 128, Fraction(200), 100, Pairs(), (1,), (2,))
    spec = TrialSpec(
        "flooded", (stream,), 500_000_000, Learning(enabled=False), settle_ns=300_000_000, restabilise_ns=0
    )
    with open_measurer(load_topology(TOPOLOGY), target) as measurer:
        result = measurer.measure(spec, Onlooker(lambda _: None, faults=FaultRequest(3, found.append)))
    (faults,) = found
    flooded = [frame for frame in faults.frames if frame.reason == "flooded"]
    assert result.flooded_frames > 100, result.reason
    assert len(flooded) == 3
    assert {frame.flow for frame in flooded} == {"s 1->2"}
    assert all(frame.port in (3, 4) and len(frame.frame) == 124 and b"PM" in frame.frame for frame in flooded)
    assert [frame.sequence for frame in flooded] == sorted(frame.sequence or 0 for frame in flooded)


@pytest.mark.parametrize("target", ["live", pytest.param("bmv2", marks=without_bmv2)])
def test_links_are_switched_between_trials_and_a_loss_during_one_is_an_abort(target: str) -> None:
    ports = (1, 2, 3, 4)
    stream = Stream("mesh", 128, Fraction(200), 400, FullMesh(), ports, ports)
    reset = Reset(ResetAction.TOGGLE_LINK, link_off_ns=200_000_000, link_on_delay_ns=100_000_000)
    learning = Learning(wait_ns=100_000_000)
    spec = TrialSpec("mesh", (stream,), 2 * 10**9, learning, settle_ns=300_000_000, restabilise_ns=0, reset=reset)
    with open_measurer(load_topology(TOPOLOGY), target) as measurer:
        before = measurer.tester.target.links()
        # A busy machine may send late and make the trial INVALID; its frames come through all the same.
        toggled = measurer.measure(spec)
        after = measurer.tester.target.links()
        cut = threading.Timer(1.5, measurer.tester.target.set_links, (False,))
        cut.start()
        aborted = measurer.measure(replace(spec, reset=Reset()))
        cut.join()
        dark = measurer.measure(replace(spec, reset=Reset()))
    assert toggled.status is not Verdict.ABORT, toggled.reason
    assert (toggled.tx_frames, toggled.lost_frames) == (1600, 0), toggled.reason
    assert all(link.up for link in (*before.values(), *after.values()))
    assert all(after[port].losses > before[port].losses for port in ports)
    assert aborted.status is Verdict.ABORT
    assert aborted.reason.startswith("loss of link on port"), "on those that were down when the trial was over"
    assert (dark.status, dark.reason) == (Verdict.ABORT, "no link on ports 1, 2, 3, 4")


def test_a_cable_between_two_tester_ports_cannot_be_switched() -> None:
    wire = load_topology(TOPOLOGY.with_name("back-to-back.yaml"))
    with (
        open_measurer(wire, "live") as measurer,
        pytest.raises(UnsupportedError, match=r"^toggle_link is not supported on live for"),
    ):
        measurer.tester.target.set_links(up=False)


def test_scripted_outages_are_refused_on_linux() -> None:
    topology = load_topology(TOPOLOGY)
    links = tuple(replace(link, outages=({"at_s": 1},)) for link in topology.links)
    with (
        pytest.raises(UnsupportedError, match="outages of the link from tester:1 to bridge:1"),
        open_measurer(replace(topology, links=links), "live"),
    ):
        pass


@without_bmv2
def test_failures_of_a_p4_device_are_caused_on_bmv2(tmp_path: Path) -> None:
    """The topology file of sim, with the device in a simple_switch_grpc of its own."""
    settings = ("rates=200 frames/s", "failures=5", "repetitions=1", "duration_ms=1000", "learning_wait_ms=200")
    options = RunOptions(
        "recirculation.delta",
        load_topology(TOPOLOGIES / "p4-reroute.yaml"),
        "118",
        (*settings, "settle_ms=300", "restabilise_ms=0"),
        tmp_path / "run",
        target="bmv2",
    )
    tables = {table.name: table.rows for table in run(options).outcome.tables}
    trials = {row["moment"]: row for row in tables["repetitions"] if row["failures"] != 0}
    # A busy machine may send late and make a trial INVALID; its frames come through all the same.
    assert trials["before"]["tx_frames"] == 200 and trials["before"]["lost_frames"] == 0
    assert trials["during"]["tx_frames"] == 200 and trials["during"]["lost_frames"] < 100
    assert trials["tester alone"]["lost_frames"] == 0
