"""A run that is killed leaves namespaces: the next run and ``p4mesh net clean`` remove them, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh.cli.main import main
from p4mesh.network.netns import NetnsNetwork
from p4mesh.topology.loader import load_topology

BRIDGE = TOPOLOGIES / "bridge-4x10m.yaml"
HOLD = """
import sys, time
from p4mesh.topology.loader import load_topology
from p4mesh.network.netns import NetnsNetwork
with NetnsNetwork(load_topology(sys.argv[1])) as network:
    print(network.namespace, flush=True)
    time.sleep(600)
"""


# Test processes that run side by side each look with a name of their own.
PROBE = f"p4mesh-probe-{os.getpid()}"


def allowed() -> bool:
    made = subprocess.run(["ip", "netns", "add", PROBE], check=False, capture_output=True).returncode == 0
    return made and subprocess.run(["ip", "netns", "delete", PROBE], check=False).returncode == 0


pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not allowed(), reason="network namespaces need root")


def names() -> set[str]:
    return {path.name for path in Path("/run/netns").iterdir()}


def left_by_a_killed_run() -> str:
    """Kill a process that has a namespace with another process in it; return the name."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(BRIDGE)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        holder.send_signal(signal.SIGKILL)
    assert name in names()
    return name


def test_clean_removes_what_a_killed_run_has_left(capsys: pytest.CaptureFixture[str]) -> None:
    name = left_by_a_killed_run()
    sleeping = ["ip", "netns", "exec", name, "sh", "-c", "echo; exec sleep 600"]
    inside = subprocess.Popen(sleeping, stdout=subprocess.PIPE)
    # It is inside before the next run begins, which removes the namespace.
    assert inside.stdout is not None and inside.stdout.readline() == b"\n"
    with NetnsNetwork(load_topology(BRIDGE)) as running:
        left = left_by_a_killed_run()
        assert main(["net", "clean"]) == 0
        assert f"removed {left}" in capsys.readouterr().out
        assert {name, left}.isdisjoint(names())
        assert running.namespace in names(), "that of a running process stays"
    assert inside.wait(10) == -signal.SIGKILL, "a switch that runs on alone is ended"
    assert main(["net", "clean"]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"


def test_the_next_run_removes_what_a_killed_run_has_left() -> None:
    left = left_by_a_killed_run()
    with NetnsNetwork(load_topology(BRIDGE)):
        assert left not in names()


def test_a_namespace_of_somebody_else_stays() -> None:
    other = "p4mesh-of-somebody-else"
    subprocess.run(["ip", "netns", "add", other], check=True)
    try:
        assert main(["net", "clean"]) == 0
        assert other in names()
    finally:
        subprocess.run(["ip", "netns", "delete", other], check=True)
