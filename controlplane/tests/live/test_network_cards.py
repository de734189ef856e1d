"""Interfaces that a run names, with a bridge that P4Mesh has not made behind them, as network cards have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from support.hand_made import machine
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.network.namespaces import existing
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
PORTS = (1, 2, 3, 4)
LONG = ("run", "rfc2544.latency", "--topology", "back-to-back", "--sizes", "512", "--set", "duration_ms=60000")


@pytest.mark.parametrize(("access", "shown"), [("af_xdp", "AF_XDP"), ("af_packet", "AF_PACKET")])
def test_a_device_outside_of_the_machine_is_measured(access: str, shown: str) -> None:
    stream = Stream("mesh", 512, Fraction(200), 200, FullMesh(), PORTS, PORTS, UDP_OVER_IPV4)
    spec = TrialSpec(
        "mesh", (stream,), 10**9, Learning(wait_ns=200_000_000), settle_ns=300_000_000, restabilise_ns=0, per_flow=True
    )
    with machine(pairs=4) as here:
        here.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        here.ip("link", "set", "br0", "up")
        for port in PORTS:
            here.ip("link", "set", f"b{port}", "master", "br0", "up")
        topology = topology_of(shipped_on("bridge-4x10m"), access, "a1,a2,a3,a4")
        with open_measurer(topology, "live") as measurer:
            facts = measurer.tester.target.facts()
            result = valid(lambda: measurer.measure(spec))
        assert here.state("a1") == (True, True)
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (800, 800, 0)
    assert "devices: bridge is not made by this run, at a1, a2, a3, a4" in facts
    assert any(fact.startswith(f"ports 1, 2, 3, 4: {shown}") for fact in facts), facts


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ((signal.SIGHUP,), 128 + signal.SIGHUP),
        ((signal.SIGINT, signal.SIGINT), 128 + signal.SIGINT),
        ((signal.SIGHUP, signal.SIGTERM), 128 + signal.SIGHUP),
        ((signal.SIGTERM, signal.SIGKILL), -signal.SIGKILL),
        ((signal.SIGKILL,), -signal.SIGKILL),
    ],
    ids=["SIGHUP", "Ctrl-C twice", "SIGHUP, SIGTERM", "SIGTERM, SIGKILL", "SIGKILL"],
)
@pytest.mark.parametrize("mounts", ["of the machine", "of ip netns exec"])
def test_every_end_gives_interfaces_back(
    signals: tuple[signal.Signals, ...], code: int, mounts: str, tmp_path: Path
) -> None:
    """In the middle of a trial; two signals come within 50 ms, as from a terminal that is closed."""
    with machine(pairs=1) as here:
        before = {name: here.state(name) for name in ("a1", "b1")}
        within = ("ip", "netns", "exec", here.name) if mounts == "of ip netns exec" else ()
        words = (sys.executable, "-m", "p4mesh", *LONG, "--target", "live", "--interfaces", "a1,b1")
        process = subprocess.Popen(
            here.command(*within, *words), stderr=subprocess.PIPE, start_new_session=True, cwd=tmp_path
        )
        assert process.stderr is not None
        while b"threads:" not in (line := process.stderr.readline()):
            assert line, "the run has ended"
        for number in signals:
            os.killpg(process.pid, number)
            time.sleep(0.05)
        # Whatever gives them back holds the pipe: at its end they are back.
        errors = process.stderr.read()
        assert process.wait() == code, errors
        assert {name: here.state(name) for name in before} == before
        assert not [name for name in existing() if name.startswith(f"p4mesh-{process.pid}-")]
