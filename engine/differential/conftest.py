"""``pytest engine/differential [--live | --record] [--seed N] [--simple-switch PATH]``."""

from __future__ import annotations

import random

import pytest
from harness.bmv2 import PROGRAM, checks_ranges, find_simple_switch


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the harness."""
    group = parser.getgroup("differential")
    group.addoption("--record", action="store_true", help=f"record expectations from {PROGRAM} instead of comparing")
    group.addoption("--live", action="store_true", help=f"compare the engine with {PROGRAM}, random scenarios")
    group.addoption("--seed", type=int, help="seed of --live (default: a new one) or --record (default: 1)")
    group.addoption("--simple-switch", metavar="PATH", help=f"the {PROGRAM} to use")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed once, so that it can be shown."""
    if config.getoption("--record") and config.getoption("--live"):
        raise pytest.UsageError("--record and --live exclude each other")
    if config.option.seed is None:
        config.option.seed = 1 if config.option.record else random.SystemRandom().randrange(1 << 32)


def pytest_report_header(config: pytest.Config) -> str:
    """Say which switches are compared."""
    if config.option.record:
        return f"differential: recording from {PROGRAM}, seed {config.option.seed}"
    if config.option.live:
        return f"differential: engine against {PROGRAM}, --seed {config.option.seed}"
    return "differential: engine against recorded expectations"


@pytest.fixture(scope="session")
def simple_switch(request: pytest.FixtureRequest) -> str:
    """The executable of simple_switch_grpc."""
    executable = find_simple_switch(request.config.getoption("--simple-switch"))
    if executable is None:
        pytest.exit(f"{PROGRAM} is not installed; without --live and --record the stored expectations are used", 3)
    return executable


@pytest.fixture(scope="session")
def ranges_checked(simple_switch: str) -> bool:
    """Whether simple_switch_grpc is a build that can be compared where indices are out of range."""
    return checks_ranges(simple_switch)


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run."""
    return request.config.getoption("--seed")
