"""One runner, any target: ``pytest ptf-tests --target engine|bmv2|tofino|sources``."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator

import pytest
from base import TesterTest
from benches import BENCHES, PORTS, Bench, Bmv2Bench, EngineBench, SourcesBench, TofinoBench

from p4mesh.topology import load_topology

_CLONE_NEWNET = 0x40000000


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --target, and the options that target tofino needs."""
    parser.addoption("--target", choices=BENCHES, default="engine", help="what runs the P4 program")
    parser.addoption("--switch", metavar="FILE", help="target tofino: topology that names the switch and its ports")
    parser.addoption(
        "--interfaces", metavar="NAME,NAME", help="target tofino: interfaces here that are cabled to ports 1 to 4"
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say which target the tests run on."""
    return f"p4mesh data plane tests on target: {config.getoption('--target')}"


@pytest.fixture(scope="session", autouse=True)
def bench(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start the bench once; every test cleans up behind itself."""
    target = request.config.getoption("--target")
    if target == "bmv2":
        if not Bmv2Bench.available():
            pytest.exit(f"{Bmv2Bench.program} is not installed; use --target engine", returncode=3)
        _enter_new_network_namespace()
    running = _opened(target, request.config)
    TesterTest.bench = running
    yield
    running.close()


def _opened(target: str, config: pytest.Config) -> Bench:
    if target != "tofino":
        benches: dict[str, Callable[[], Bench]] = {"engine": EngineBench, "bmv2": Bmv2Bench, "sources": SourcesBench}
        return benches[target]()
    file, interfaces = config.getoption("--switch"), config.getoption("--interfaces")
    if not file or not interfaces or len(interfaces.split(",")) != len(PORTS):
        pytest.skip("target tofino needs --switch FILE (docs/TOFINO.md) and --interfaces A,B,C,D, cabled to its ports")
    return TofinoBench(load_topology(file), interfaces.split(","))


def _enter_new_network_namespace() -> None:
    """Keep test traffic away from the machine's own interfaces."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        pytest.exit(f"cannot make a network namespace: {os.strerror(ctypes.get_errno())}; run as root", returncode=3)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
