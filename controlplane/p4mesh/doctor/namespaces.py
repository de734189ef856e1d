"""Checks for the targets on Linux interfaces: namespaces, veth cables, bridges, raw sockets."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

from p4mesh.causes import network_hint, program_hint
from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.network import own_namespaces
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.nodes.base import find_program
from p4mesh.topology.loader import parse_topology

_ETH_P_ALL = 3
_ANSWER_S = 30
_BRIDGE = """\
name: doctor
tester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}
nodes:
  - {name: bridge, device: ethernet_switch, ports: [{numbers: 1-2, rate_bps: 1000000000}]}
links: [{from: tester:1-2, to: bridge:1-2}]
"""


def linux(_: Asked) -> Iterator[Finding]:
    """Look at the operating system and its network commands."""
    if sys.platform != "linux":
        yield Finding("Linux", Health.MISSING, f"this is {sys.platform}", "use Linux, or --target sim")
        return
    path = find_program("ip")
    if path is None:
        yield Finding("Linux", Health.MISSING, "ip not found", "apt-get install iproute2")
    else:
        yield Finding("Linux", Health.OK, path)


def namespaces(_: Asked) -> Iterator[Finding]:
    """Build a network of two cables and a bridge in a namespace of its own, and remove it."""
    if not own_namespaces.has_rights():
        yield _of_an_ordinary_user()
        return
    with NetnsNetwork(parse_topology("doctor", _BRIDGE)) as network:
        carriers = network.carriers()
    up = sum(is_up for is_up, _ in carriers.values())
    found = f"{up} of {len(carriers)} links of a network namespace are up"
    if up == len(carriers):
        yield Finding("network namespaces", Health.OK, found)
    else:
        yield Finding("network namespaces", Health.MISSING, found, "load the kernel modules veth and bridge")


def _of_an_ordinary_user() -> Finding:
    """Try what a run does that lacks rights for networks of the machine."""
    command = [sys.executable, "-m", own_namespaces.MODULE, sys.executable, "-c", ""]
    tried = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_ANSWER_S)
    if tried.returncode:
        problem, _, mend = tried.stderr.strip().partition("\n hint: ")
        return Finding("network namespaces", Health.MISSING, problem.removeprefix("error: "), mend)
    found = "of the process's own, for networks without interfaces of this machine: those need more rights"
    return Finding("network namespaces", Health.OK, found)


def raw_sockets(_: Asked) -> Iterator[Finding]:
    """Open a socket that sees whole frames, where that needs no namespaces of the process's own."""
    if not own_namespaces.has_rights():
        return
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)).close()
    except OSError as error:
        yield Finding("raw sockets", Health.MISSING, str(error.strerror), network_hint(error.errno))
    else:
        yield Finding("raw sockets", Health.OK, "AF_PACKET")


def simple_switch(_: Asked) -> Iterator[Finding]:
    """Look for the P4 software switch."""
    path = find_program("simple_switch_grpc")
    if path is None:
        yield Finding(
            "simple_switch_grpc", Health.MISSING, "not found", "install p4lang's packages (p4lang-bmv2) and try again"
        )
        return
    try:
        shown = subprocess.run(
            [path, "--version"], check=False, capture_output=True, text=True, errors="replace", timeout=_ANSWER_S
        )
    except subprocess.TimeoutExpired:
        problem = f"{path} --version has not ended after {_ANSWER_S} s"
        yield Finding("simple_switch_grpc", Health.MISSING, problem, "run it by hand to see why")
        return
    except OSError as error:
        mend = program_hint(error.errno, "install it again")
        yield Finding("simple_switch_grpc", Health.MISSING, f"{path}: {error.strerror}", mend)
        return
    version = (shown.stdout.strip() or shown.stderr.strip()).splitlines()
    if shown.returncode or not version:
        problem = version[-1] if version else f"it says nothing, and ends with exit code {shown.returncode}"
        yield Finding("simple_switch_grpc", Health.MISSING, problem, f"{path} must run: install it again")
    else:
        yield Finding("simple_switch_grpc", Health.OK, f"{version[0]} at {path}")
