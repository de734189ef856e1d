"""``--interfaces`` without a topology: a switch or router that no file describes, at interfaces of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.errors import UsageError
from p4mesh.run import unknown_device
from p4mesh.run.options import RunOptions
from p4mesh.run.unknown_device import topology_at

GIGABIT = 1_000_000_000
WAITS = ("learning_wait_ms=200", "settle_ms=200", "restabilise_ms=0")


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two links of 1 and 10 Gbit/s as the kernel shows them, one without a carrier and one that has no rate."""
    for name, speed in (("eth1", "1000\n"), ("eth2", "10000\n"), ("off", "-1\n"), ("virtual", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "speed").write_text(speed)
    monkeypatch.setattr(unknown_device, "_LINKS", tmp_path)
    monkeypatch.setattr(unknown_device, "own_names", lambda names: names)
    return tmp_path


def test_ports_have_the_rates_of_their_links(links: Path) -> None:
    found = topology_at(["eth1", "eth2"], "switch")
    assert [(port.interface, port.rate_bps) for port in found.tester_ports] == [
        ("eth1", GIGABIT),
        ("eth2", 10 * GIGABIT),
    ]
    assert [device.device for device in found.devices] == ["ethernet_switch"]
    assert [tuple(map(str, link.ends)) for link in found.links] == [("tester:1", "dut:1"), ("tester:2", "dut:2")]


def test_a_router_has_host_1_of_each_network(links: Path) -> None:
    (router,) = topology_at(["eth1", "eth2"], "router").devices
    assert [item["addresses"] for item in router.model["interfaces"]] == [
        ["198.18.1.1/24", "2001:2:0:1::1/64"],
        ["198.18.2.1/24", "2001:2:0:2::1/64"],
    ]


@pytest.mark.parametrize(
    ("interfaces", "problem"),
    [
        (["eth1"], "one port cannot send through a device"),
        (["eth1", "eth9"], "no interface 'eth9'"),
        (["eth1", "off"], "the link of 'off' says no rate"),
        (["virtual", "eth1"], "the link of 'virtual' says no rate"),
    ],
)
def test_what_cannot_be_measured_is_said(interfaces: list[str], problem: str, links: Path) -> None:
    with pytest.raises(UsageError, match=problem) as raised:
        topology_at(interfaces, "switch")
    assert raised.value.message.startswith(f"--interfaces {','.join(interfaces)}: ") and raised.value.hint


def test_a_topology_says_what_the_device_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "rfc2544.frame_loss", "--target", "live", "--topology", "back-to-back", "--device", "router"]
    assert main(words) == 2
    assert "--device router: the topology says what the device is" in capsys.readouterr().err


def test_devices_of_the_option_are_those_of_the_set_up(links: Path) -> None:
    for device in ("switch", "router"):
        assert RunOptions("rfc2544.frame_loss", target="live", interfaces="eth1,eth2", device=device).device == device
        assert topology_at(["eth1", "eth2"], device).name == f"unknown-{device}-eth1-eth2"


@pytest.fixture
def bridge() -> Iterator[str]:
    """A namespace in which interfaces e1 and e2 are cabled to a bridge."""
    name = f"p4mesh-unknown-{os.getpid()}"
    commands = [f"ip netns add {name}", f"ip -n {name} link add br0 type bridge", f"ip -n {name} link set br0 up"]
    for port in (1, 2):
        commands += [
            f"ip -n {name} link add e{port} type veth peer name d{port}",
            f"ip -n {name} link set d{port} master br0",
            f"ip -n {name} link set e{port} up",
            f"ip -n {name} link set d{port} up",
        ]
    try:
        for command in commands:
            subprocess.run(command.split(), check=True, capture_output=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_a_bridge_that_nobody_has_described_is_measured(bridge: str, tmp_path: Path) -> None:
    words = "run rfc2544.frame_loss --target live --interfaces e1,e2 --sizes 128 --out run"
    settings = [f"--set {text}" for text in ("rate_fraction_pct=0.01", "duration_ms=100", "step_pct=10", *WAITS)]
    command = f"ip netns exec {bridge} {sys.executable} -m p4mesh {words} {' '.join(settings)}"
    done = subprocess.run(command.split(), check=False, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert "A switch that no file describes, at e1, e2" in done.stderr
    assert "tester:1 e1: station 30:00:01:2a:1c:2d, 198.18.1.2" in done.stderr
    trials = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    assert any(json.loads(trial)["result"]["ports"][0]["tx_frames"] for trial in trials)
