"""Three switches in a row under sim, live and Mininet from one topology file; P4 switches in a Mininet script."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.linux_devices import ATTEMPTS, needs_root, run_live
from support.networks import TOPOLOGIES, shipped

from p4mesh.network import namespaces
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.verdict import Verdict

pytestmark = [
    pytest.mark.live,
    needs_root,
    pytest.mark.skipif(shutil.which("mnexec") is None, reason="mininet is not installed"),
    pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not installed"),
]
FILE = TOPOLOGIES / "three-switches.yaml"
TEST = "rfc2544.frame_loss"
PORTS = "1,3,2,4"
"""Pairs whose frames pass one switch, two and three."""
SETTINGS = (*("rate_fraction_pct=5", "duration_ms=500", "settle_ms=300", "learning_wait_ms=200", "restabilise_ms=0"),)


@contextmanager
def started(net: Any) -> Iterator[Any]:
    try:
        net.start()
        yield net
    finally:
        net.stop()


def run_in_mininet(tester: Any, directory: Path, *words: str) -> dict[str, Any]:
    """The results of a run in a Mininet network, the first that the tester could carry out."""
    outputs = []
    for attempt in range(ATTEMPTS):
        done = tester.p4mesh("run", *words, "--json", "--out", str(directory / str(attempt)))
        if done.returncode == 0:
            found: dict[str, Any] = json.loads(done.stdout)
            return found
        outputs.append(done.stdout + done.stderr)
    raise AssertionError("\n".join(outputs))


def counts(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The frames of the first load: sent, and those that came; software loses single ones on a busy machine."""
    return rows[0]["tx_frames"], rows[0]["rx_frames"]


@contextmanager
def listening(host: Any) -> Iterator[socket.socket]:
    """Open a raw socket on the only interface of a host."""
    with (
        namespaces.entered(f"/proc/{host.pid}/ns/net"),
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5)) as raw,
    ):
        raw.bind((f"{host.name}-eth0", 0x88B5))
        raw.settimeout(10)
        yield raw


def test_one_file_is_a_network_of_sim_live_and_mininet(tmp_path: Path) -> None:
    topology = shipped("three-switches")
    simulated = run(RunOptions(TEST, topology, "128", SETTINGS, tmp_path / "sim", ports=PORTS)).outcome
    assert simulated.state is Verdict.MEASURED
    measured = run_live(TEST, topology, 128, tmp_path / "live", *SETTINGS, ports=PORTS)
    from p4mesh.mininet import network_of

    with started(network_of(topology)) as net:
        assert {switch.part.software for switch in net.switches} == {"p4mesh_switch", "simple_switch_grpc", "bridge"}
        words = (TEST, "--topology", str(FILE), "--sizes", "128", "--ports", PORTS)
        found = run_in_mininet(
            net["tester"], tmp_path / "mininet", *words, *(word for item in SETTINGS for word in ("--set", item))
        )
    own = f"p4mesh-{os.getpid()}-"
    assert not [name for name in namespaces.existing() if name.startswith(own)]
    sent, received = counts(simulated.tables[0].rows)
    assert sent == received
    for rows in (measured.tables[0].rows, found["tables"][0]["rows"]):
        assert counts(rows)[0] == sent
        assert counts(rows)[1] > 0.9 * sent


def test_p4_switches_of_a_script_forward() -> None:
    """The classes beside Mininet's own hosts and links, as in a script that has no topology file."""

    from p4mesh.mininet import Mininet, P4MeshSwitch, SimpleSwitchGrpc

    net = Mininet(controller=None, build=False)
    groups = [{"group": 1, "ports": [1, 2]}]
    first = net.addSwitch("s1", cls=P4MeshSwitch, program="l2_switch", groups=groups)
    second = net.addSwitch("s2", cls=SimpleSwitchGrpc, program="l2_switch", groups=groups)
    hosts = [net.addHost(f"h{number}") for number in (1, 2)]
    net.addLink(hosts[0], first)
    net.addLink(first, second)
    net.addLink(second, hosts[1])
    with started(net):
        frame = bytes.fromhex("020000000002 020000000001 88b5").ljust(60, b"\x2a")
        with listening(hosts[1]) as far, listening(hosts[0]) as near:
            near.send(frame)
            assert far.recv(2048) == frame
        assert first.address != second.address
