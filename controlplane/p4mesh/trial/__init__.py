"""TrialSpec -> TrialResult on any target.

Owns: the phases of a trial, the allocation of cells, pacing, read-out, classification and the
conservation checks. Refuses: searching, and knowing which target it drives.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p4mesh.topology import Topology
    from p4mesh.trial.engine import TrialEngine


@contextmanager
def open_measurer(topology: Topology) -> Iterator[TrialEngine]:
    """Start the target of a topology with the tester program; yields what can measure trials."""
    from p4mesh.p4runtime import Client
    from p4mesh.target.contract import load_contract
    from p4mesh.target.sim import SimTarget
    from p4mesh.trial.dataplane import DataPlane
    from p4mesh.trial.engine import TrialEngine

    contract = load_contract()
    with SimTarget(topology, contract) as target, Client(target.address, target.device_id) as client:
        dataplane = DataPlane(client, contract)
        dataplane.load_program()
        yield TrialEngine(target, contract, dataplane)
