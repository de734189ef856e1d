"""Opens a tester: its target, the program for it, and a client that is the primary of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from p4mesh.bfruntime import BfClient
from p4mesh.p4runtime import Client, TlsCredentials
from p4mesh.target.base import ProgramPorts, Target
from p4mesh.target.capabilities import Architecture
from p4mesh.target.tofino import BfTofinoTarget, loops_of
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane, SwitchPorts
from p4mesh.tester.instrument import Tester
from p4mesh.tester.programs import contract_of
from p4mesh.tester.register_dataplane import RegisterDataPlane
from p4mesh.tester.several_dataplanes import SeveralDataPlanes
from p4mesh.tester.switch_client import SwitchClient
from p4mesh.tester.tofino_dataplane import InBandTofinoDataPlane
from p4mesh.topology import Topology


@contextmanager
def open_tester(target: type[Target], topology: Topology) -> Iterator[Tester]:
    """Start a target with the tester program on it; yields the instrument."""
    contract = contract_of(target, topology)
    ports = ProgramPorts(loop=contract["PORT_LOOP"], cpu=contract["PORT_CPU"])
    with (
        target.open(topology, ports) as running,
        client_of(running) as client,
        ExitStack() as stack,
    ):
        dataplane = dataplane_of(running, client, contract)
        if running.other_addresses:
            others = [
                stack.enter_context(Client(address, running.device_id + number))
                for number, address in enumerate(running.other_addresses, 1)
            ]
            dataplane = _joined([client, *others], contract, topology)
        dataplane.load_program()
        yield Tester(running, contract, dataplane)


def _joined(clients: Sequence[SwitchClient], contract: Contract, topology: Topology) -> DataPlane:
    """The data planes of all switches of a tester as one."""
    switches = [
        DataPlane(client, contract, SwitchPorts({port: place for place, port in ports.items()}))
        for client, ports in zip(clients, topology.program_ports, strict=True)
    ]
    return SeveralDataPlanes(switches, clients[0], contract, topology.ports_of_switches)


@contextmanager
def client_of(target: Target) -> Iterator[Client | BfClient]:
    """Yield the client of a running target: its own, or one that is the primary of its P4Runtime server."""
    if isinstance(target, BfTofinoTarget):
        yield target.client
        return
    with Client(target.address, target.device_id, target.election_id, tls=credentials_of(target)) as client:
        yield client


def credentials_of(target: Target) -> TlsCredentials | None:
    """Credentials for the target's server; None where it does not encrypt."""
    files = target.tls
    if files is None:
        return None
    ca, certificate, key = (Path(name) if name else None for name in (files.ca, files.certificate, files.key))
    return TlsCredentials(ca, certificate, key, files.server_name)


def dataplane_of(target: Target, client: Client | BfClient, contract: Contract) -> DataPlane:
    """Chooses the data plane for the target's architecture and client; nothing is loaded yet."""
    if target.capabilities.architecture is Architecture.V1MODEL:
        return DataPlane(client, contract)
    switch = target.topology.tofino
    assert switch is not None, "a target that declares itself for TNA has found its switch"
    devices = {port.number: port.device_port for port in target.topology.tester_ports if port.device_port is not None}
    ports = SwitchPorts(devices, tuple(loops_of(switch)))
    if isinstance(client, BfClient):
        return RegisterDataPlane(client, contract, ports)
    return InBandTofinoDataPlane(client, contract, ports)
