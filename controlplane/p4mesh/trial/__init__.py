"""TrialSpec -> TrialResult on any target.

Owns: the phases of a trial, the allocation of cells, pacing, read-out, classification and the
conservation checks. Refuses: searching, and knowing which target it drives.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p4mesh.target.base import Target
    from p4mesh.tester.contract import Contract
    from p4mesh.topology import Topology
    from p4mesh.trial.engine import TrialEngine


@contextmanager
def open_measurer(topology: Topology) -> Iterator[TrialEngine]:
    """Start the simulated network of a topology; yields what can measure trials on it."""
    from p4mesh.target.sim import SimTarget
    from p4mesh.tester.contract import load_contract

    contract = load_contract()
    with _engine(SimTarget(topology, contract), contract) as engine:
        yield engine


@contextmanager
def open_on_bmv2(topology: Topology) -> Iterator[TrialEngine]:
    """Start simple_switch_grpc on veth interfaces; yields what can measure trials on it."""
    from p4mesh.target.bmv2 import Bmv2Target
    from p4mesh.tester.contract import load_contract

    contract = load_contract()
    with _engine(Bmv2Target(topology, contract), contract) as engine:
        yield engine


@contextmanager
def open_live(topology: Topology) -> Iterator[TrialEngine]:
    """Start the engine on veth interfaces; yields what can measure trials on it."""
    from p4mesh.target.live import LiveTarget
    from p4mesh.tester.contract import load_contract

    contract = load_contract()
    with _engine(LiveTarget(topology, contract), contract) as engine:
        yield engine


@contextmanager
def open_on_tofino(topology: Topology) -> Iterator[TrialEngine]:
    """Connect to the switch of a topology; yields what can measure trials on it."""
    from pathlib import Path

    from p4mesh.p4runtime import Client
    from p4mesh.target.tofino import TofinoTarget, load_tofino_contract, switch_of
    from p4mesh.tester.dataplane import SwitchPorts
    from p4mesh.tester.tofino_dataplane import TofinoDataPlane
    from p4mesh.trial.engine import TrialEngine

    switch = switch_of(topology)
    contract = load_tofino_contract(switch.chip, Path(switch.device_config))
    devices = {port.number: port.device_port for port in topology.tester_ports if port.device_port is not None}
    ports = SwitchPorts(devices, tuple(loop.device_port for loop in switch.front_loops))
    with (
        TofinoTarget(topology) as target,
        Client(target.address, target.device_id, switch.election_id) as client,
    ):
        dataplane = TofinoDataPlane(client, contract, ports)
        dataplane.load_program()
        yield TrialEngine(target, contract, dataplane)


@contextmanager
def _engine(target: Target, contract: Contract) -> Iterator[TrialEngine]:
    from p4mesh.p4runtime import Client
    from p4mesh.tester.dataplane import DataPlane
    from p4mesh.trial.engine import TrialEngine

    with target, Client(target.address, target.device_id) as client:
        dataplane = DataPlane(client, contract)
        dataplane.load_program()
        yield TrialEngine(target, contract, dataplane)
