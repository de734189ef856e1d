"""Interfaces that a topology names are used, and only those; they come back as they were, after kill -9 too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.hand_made import Machine, machine
from support.networks import parsed, switch, wire
from support.processes import wait_until_gone

from p4mesh.cli.main import main
from p4mesh.errors import TargetError, TopologyError, UnsupportedError
from p4mesh.network.machine import switch_offloads_off
from p4mesh.network.namespaces import existing, is_here
from p4mesh.network.netns import NetnsNetwork
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.topology import Topology

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is not installed"),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed"),
]
HOLD = """
import sys, time
from p4mesh.topology.loader import parse_topology
from p4mesh.network.netns import NetnsNetwork
with NetnsNetwork(parse_topology("wire", sys.argv[1])) as network:
    print(network.namespace, flush=True)
    time.sleep(600)
"""
WIRE = wire(tester_port={1: "interface: a1", 2: "interface: b1"})


@pytest.fixture
def here() -> Iterator[Machine]:
    with machine(pairs=2) as made:
        yield made


def on(interfaces: str) -> Topology:
    return topology_of(parsed(wire()), interfaces=interfaces)


def test_named_interfaces_come_back_as_they_were_and_others_are_not_touched(here: Machine) -> None:
    before = {name: here.state(name) for name in ("a1", "b1", "a2", "b2")}
    assert before["a1"] == (True, True)
    assert before["b1"] == (False, True)
    with NetnsNetwork(parsed(WIRE)) as network:
        assert here.interfaces() == {"a2", "b2"}
        assert {name: here.state(name) for name in ("a2", "b2")} == {name: before[name] for name in ("a2", "b2")}
        assert [network.interface(port) for port in (1, 2)] == ["a1", "b1"]
        inside = Machine(network.namespace)
        assert [inside.state(name) for name in ("a1", "b1")] == [(True, False), (True, False)]
        with pytest.raises(UnsupportedError, match="toggle_link is not supported on live for the cable"):
            network.set_links(up=False, target="live")
    assert {name: here.state(name) for name in before} == before


MOUNTS = {
    "mounts of the machine": (),
    "mounts of its own": ("unshare", "--mount"),
    "ip netns exec": ("ip", "netns", "exec", f"p4mesh-machine-{os.getpid()}"),
}
"""Where a run is: in ``ip netns exec`` it has mounts of its own, and namespaces made there go with them."""


@contextmanager
def holding(here: Machine, mounts: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process that uses a1 and b1, with the namespace that they are in."""
    command = here.command(*MOUNTS[mounts], sys.executable, "-c", HOLD, WIRE)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        left = holder.stdout.readline().strip()
        assert here.interfaces() == {"a2", "b2"}
        yield holder, left


def keeper_of(network: str) -> int:
    """The number of the process that keeps the interfaces of a network."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if network.encode() in words:
                return int(entry.name)
    raise AssertionError(f"{network} has no keeper")


@pytest.mark.parametrize("mounts", MOUNTS)
def test_interfaces_of_a_killed_run_come_back_by_themselves(
    mounts: str, here: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: here.state(name) for name in ("a1", "b1")}
    with holding(here, mounts) as (holder, left):
        keeper = keeper_of(left)
        holder.send_signal(signal.SIGKILL)
        wait_until_gone(keeper)
    assert {name: here.state(name) for name in ("a1", "b1")} == before
    assert left not in existing()
    assert main(["net", "clean"]) == 0
    assert left not in capsys.readouterr().out


@pytest.mark.parametrize("mounts", MOUNTS)
def test_interfaces_come_back_when_everything_was_killed(
    mounts: str, here: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: here.state(name) for name in ("a1", "b1")}
    with holding(here, mounts) as (holder, left):
        os.kill(keeper_of(left), signal.SIGKILL)
        holder.send_signal(signal.SIGKILL)
    assert here.interfaces() == {"a2", "b2"}
    assert main(["net", "clean"]) == 0
    assert f"removed {left}\n" in capsys.readouterr().out
    assert {name: here.state(name) for name in ("a1", "b1")} == before


def test_what_cannot_be_given_back_is_the_last_word(here: Machine) -> None:
    command = here.command(sys.executable, "-c", HOLD, WIRE)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        left = holder.stdout.readline().strip()
        Machine(left).ip("link", "delete", "a1")
        holder.send_signal(signal.SIGKILL)
        told = holder.communicate()[1].splitlines()
    assert told == [f"error: not given back: interface '{name}': it is gone" for name in ("a1", "b1")]
    assert left not in existing()


def test_interfaces_that_the_kernel_took_back_are_as_they_were(here: Machine) -> None:
    """Without its name, the namespace of a killed run goes with its last process.

    The kernel brings hardware home, switched off and with offloads off, and removes virtual interfaces, so that the
    test makes them again.
    """
    before = {name: here.state(name) for name in ("a1", "b1")}
    with holding(here, "mounts of its own") as (holder, left):
        subprocess.run(["umount", f"/run/netns/{left}"], check=True)
        os.kill(keeper_of(left), signal.SIGKILL)
        holder.send_signal(signal.SIGKILL)
    assert not is_here(left)
    here.ip("link", "add", "a1", "type", "veth", "peer", "name", "b1")
    for name in before:
        switch_offloads_off(name)
    assert {name: here.state(name) for name in before} == dict.fromkeys(before, (False, False))
    assert main(["net", "clean"]) == 0
    assert {name: here.state(name) for name in before} == before


def test_a_network_that_fails_gives_its_interfaces_back(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = here.state("a1")

    def fail(_: object) -> None:
        raise TargetError("no more", hint="none")

    monkeypatch.setattr(NetnsNetwork, "_wait_until_ready", fail)
    with pytest.raises(TargetError, match="no more"):
        NetnsNetwork(on("a1,b1")).__enter__()
    assert here.state("a1") == before


def test_an_interface_that_something_uses_is_refused(here: Machine) -> None:
    here.ip("address", "add", "192.0.2.1/24", "dev", "a1")
    here.ip("link", "add", "br0", "type", "bridge")
    here.ip("link", "set", "b1", "master", "br0")
    before = here.interfaces()
    for interfaces, message in (
        ("a1,b2", "interface 'a1' has the address 192.0.2.1, so that something may use it"),
        ("a2,b1", "interface 'b1' belongs to 'br0'"),
        ("a2,enp9s0", "interface 'enp9s0': no such interface"),
    ):
        with pytest.raises(TargetError) as caught:
            NetnsNetwork(on(interfaces)).__enter__()
        assert caught.value.message == message
    assert here.interfaces() == before


def test_a_device_at_named_interfaces_is_outside_of_the_network(here: Machine) -> None:
    topology = parsed(switch(ports=2, tester_port={1: "interface: a1", 2: "interface: a2"}))
    for end in ("b1", "b2"):
        here.ip("link", "set", end, "up")
    with NetnsNetwork(topology) as network:
        assert network.nodes == ()
        assert network.outside == {"dut": ("a1", "a2")}


def test_a_device_cannot_be_half_outside() -> None:
    topology = parsed(switch(ports=2, tester_port={1: "interface: a1"}))
    with pytest.raises(TopologyError) as caught:
        NetnsNetwork.check(topology)
    assert caught.value.message == "test.yaml: dut:2 is outside of this machine, and tester:2 is no interface of it"
