"""``p4mesh net``: a network stays up between commands, is shown, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, parsed

from p4mesh.cli.main import main
from p4mesh.network import namespaces
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.standing import interfaces_of

ROUTER = TOPOLOGIES / "router-4x1g.yaml"
NAME = "p4mesh-net-router-4x1g"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and iproute2"
)


def net(*words: str) -> int:
    return main(["net", *words])


def our_names() -> set[str]:
    return {name for name in namespaces.existing() if name.startswith(NAME)}


@pytest.fixture(autouse=True)
def nothing_is_up() -> None:
    assert our_names() == set(), "a network of this name is up already"


def test_a_network_stays_up_until_it_is_brought_down(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert net("up", str(ROUTER)) == 0
        shown = capsys.readouterr().out
        assert f"router (linux): ip netns exec {NAME}-router ...: p1 up, p2 up, p3 up, p4 up" in shown
        assert net("clean") == 0
        assert our_names() == {NAME, f"{NAME}-router"}, "clean leaves what is up"
        routes = ["ip", "-n", f"{NAME}-router", "route", "get", "198.19.2.9"]
        assert "via 198.18.2.2 dev p2" in subprocess.run(routes, capture_output=True, text=True, check=True).stdout
        capsys.readouterr()
        assert net("status", "--json") == 0
        (network,) = json.loads(capsys.readouterr().out)["networks"]
        assert network["interfaces"]["tester"] == {f"t{port}": True for port in (1, 2, 3, 4)}
        assert net("up", str(ROUTER)) == 2
        assert capsys.readouterr().err.startswith("error: network 'router-4x1g' is up already\n hint: p4mesh net down")
    finally:
        net("down", str(ROUTER))
    assert our_names() == set()
    assert not (namespaces.STATE / NAME).exists()
    capsys.readouterr()
    assert net("down", str(ROUTER)) == 2
    assert capsys.readouterr().err.startswith("error: network 'router-4x1g' is not up\n hint: p4mesh net status")


def test_clean_removes_what_a_killed_command_has_left(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command is killed as soon as it has made its first namespace, and so before the network is complete."""
    command = [sys.executable, "-m", "p4mesh", "net", "up", str(ROUTER)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as building:
        while not our_names():
            assert building.poll() is None
            time.sleep(0.001)
        building.send_signal(signal.SIGKILL)
    assert our_names()
    assert net("status") == 0
    assert NAME not in capsys.readouterr().out
    assert net("clean") == 0
    assert f"removed {NAME}\n" in capsys.readouterr().out
    assert our_names() == set()


@pytest.mark.parametrize(
    "device",
    [
        "device: ethernet_switch",
        "device: p4, program: l2_switch, on_linux: p4mesh_switch",
        'device: router, interfaces: [{port: 1, mac: "02:00:00:00:01:01", addresses: [198.18.1.1/24]}, '
        '{port: 2, mac: "02:00:00:00:01:02", addresses: [198.18.2.1/24]}, '
        '{port: 3, mac: "02:00:00:00:01:03", addresses: [198.18.3.1/24]}]',
    ],
    ids=["switch", "p4", "router"],
)
def test_a_port_without_a_cable_is_a_port(device: str) -> None:
    text = f"""
name: spare
tester: {{ports: [{{numbers: 1-2, rate_bps: 1000000000}}]}}
nodes: [{{name: dut, ports: [{{numbers: 1-3, rate_bps: 1000000000}}], {device}}}]
links: [{{from: "tester:1-2", to: "dut:1-2"}}]
"""
    with NetnsNetwork(parsed(text)) as network:
        assert {"p1", "p2", "p3"} <= {*interfaces_of(network.node("dut").namespace)}
