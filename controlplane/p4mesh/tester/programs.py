"""Chooses the compiled program for a target."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from p4mesh.target.base import Target
from p4mesh.target.capabilities import Architecture
from p4mesh.target.tofino import chip_of
from p4mesh.tester.contract import SUMMING_TESTER, TESTER, Contract, load_contract
from p4mesh.tester.tofino_contract import load_tofino_contract
from p4mesh.topology import Topology

_contract = cache(load_contract)
"""Reads and compares the files once in a process."""


def contract_of(target: type[Target], topology: Topology) -> Contract:
    """Chooses the program that a target runs; raises ProgramError where it is missing or stale."""
    capabilities = target.declare(topology)
    if capabilities.architecture is Architecture.V1MODEL:
        return _contract(SUMMING_TESTER if capabilities.sums_payload else TESTER)
    switch = topology.tofino
    assert switch is not None, "a target that declares itself for TNA has found its switch"
    return load_tofino_contract(chip_of(switch), Path(switch.device_config) if switch.device_config else None)
