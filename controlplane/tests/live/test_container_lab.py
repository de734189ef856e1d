"""The tester in a container lab: its files come from the lab file, its command is the one that the lab gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.container_lab import WiredLab, container_lab
from support.linux_devices import ATTEMPTS, needs_root

from p4mesh.cli.main import main

pytestmark = [pytest.mark.live, needs_root]
LAB = f"""\
name: live{os.getpid()}
topology:
  nodes:
    r1:
      kind: linux
      image: alpine
      exec:
        - ip addr add 10.0.1.1/24 dev eth1
        - sh -c "ip addr add 10.0.2.254/24 dev eth2 && sysctl -w net.ipv4.ip_forward=1"
    tester: {{kind: linux, image: p4mesh}}
  links:
    - endpoints: ["tester:eth1", "r1:eth1"]
    - endpoints: ["r1:eth2", "tester:eth2"]
"""
SHORT = (
    *("--sizes", "256", "--set", "duration_ms=300", "--set", "learning_wait_ms=200", "--set", "settle_ms=300"),
    *(
        "--set",
        "restabilise_ms=0",
        "--set",
        "runs=1",
        "--set",
        "search_method=bisect",
        "--set",
        "search_resolution_pct=25",
    ),
)
FRAMES = 500
SCRIPT = f"""\
import sys, time
import snappi
api = snappi.api(location=sys.argv[1])
config = api.config()
for name, own, router in (("eth1", "10.0.1.9", "10.0.1.1"), ("eth2", "10.0.2.9", "10.0.2.254")):
    config.ports.add(name=name, location=name)
    device = config.devices.add(name=name + " host")
    ethernet = device.ethernets.add(name=name + " link", mac="02:00:00:00:00:0" + name[-1])
    ethernet.connection.port_name = name
    ethernet.ipv4_addresses.add(name=name + " address", address=own, gateway=router, prefix=24)
flow = config.flows.add(name="through")
flow.tx_rx.device.set(tx_names=["eth1 address"], rx_names=["eth2 address"])
flow.packet.ethernet().ipv4().udp()
flow.rate.pps = 500
flow.duration.fixed_packets.packets = {FRAMES}
flow.metrics.enable = True
api.set_config(config)
state = api.control_state()
state.traffic.flow_transmit.state = "start"
api.set_control_state(state)
request = api.metrics_request()
request.flow.flow_names = ["through"]
for _ in range(100):
    (metric,) = api.get_metrics(request).flow_metrics
    if metric.transmit == "stopped" and metric.frames_rx == metric.frames_tx:
        break
    time.sleep(0.1)
print(metric.frames_tx, metric.frames_rx)
"""


TAGGED = LAB.replace(
    """        - sh -c "ip addr add 10.0.2.254/24 dev eth2""",
    """        - ip link add link eth2 name eth2.7 type vlan id 7
        - ip link set eth2.7 up
        - sh -c "ip addr add 10.0.2.254/24 dev eth2.7""",
)


def has_vlan_interfaces() -> bool:
    """Whether this kernel makes interfaces for VLANs."""
    added = subprocess.run(
        ["ip", "link", "add", "link", "lo", "name", "p4m-vlan", "type", "vlan", "id", "7"], check=False
    )
    return added.returncode == 0 and subprocess.run(["ip", "link", "del", "p4m-vlan"], check=True).returncode == 0


@pytest.fixture(params=["untagged", "tagged"])
def second(request: pytest.FixtureRequest) -> str:
    """Name of the interface of the second port."""
    if request.param == "tagged" and not has_vlan_interfaces():
        pytest.skip("this kernel has no interfaces for VLANs (module 8021q)")
    return "eth2" if request.param == "untagged" else "eth2.7"


@pytest.fixture
def lab(tmp_path: Path, second: str) -> Iterator[WiredLab]:
    file = tmp_path / "forwards.clab.yml"
    file.write_text(LAB if second == "eth2" else TAGGED)
    with container_lab(file) as wired:
        yield wired


def node_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The node that the command prints for the tester."""
    assert main(["clab", str(folder / "forwards.clab.yml"), "--json"]) == 0
    (node,) = yaml.safe_load(json.loads(capsys.readouterr().out)["node"]).values()
    return dict(node)


def test_the_run_file_measures_a_router_of_the_lab(
    lab: WiredLab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = node_of(tmp_path, capsys)
    lab.wire()
    node["cmd"] = node["cmd"].replace("otg --target live --topology lab/topology.yaml", "run lab/run.yaml --json")
    for attempt in range(ATTEMPTS):
        process = lab.tester_process("tester", node, *SHORT, "--out", str(tmp_path / f"run{attempt}"))
        shown, _ = process.communicate(timeout=300)
        if process.returncode == 0:
            break
    assert process.returncode == 0
    results = json.loads(shown)
    assert len(results["tests"]) == 4, shown


def test_the_api_waits_for_the_links_and_serves_a_script(
    lab: WiredLab, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = lab.tester_process("tester", node_of(tmp_path, capsys), "--json")
    try:
        lab.wire()  # The container is there before its links are.
        assert process.stdout is not None
        place = json.loads(process.stdout.readline())["http"]
        (tmp_path / "script.py").write_text(SCRIPT.replace("eth2", second))
        words = lab.command("tester", sys.executable, str(tmp_path / "script.py"), place)
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout == f"{FRAMES} {FRAMES}\n", done.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
