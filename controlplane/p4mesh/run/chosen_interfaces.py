"""Topologies with the interfaces, and the way to reach them, that the user names beside the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from p4mesh.errors import UsageError
from p4mesh.methods.options.parameters import shortened
from p4mesh.run.options import RunOptions
from p4mesh.topology import Topology, load_topology


def chosen_topology(options: RunOptions) -> Topology:
    """The topology of a run that no run file describes, with what the user has chosen for it."""
    if options.topology is None and options.interfaces is not None:
        from p4mesh.run.unknown_device import SWITCH, topology_at

        topology = topology_at(options.interfaces.split(","), options.device or SWITCH)
        return topology_of(topology, options.access, options.interfaces)
    if options.device is not None:
        raise UsageError(
            f"--device {options.device}: the topology says what the device is",
            hint="leave it out, or name the interfaces of the device (--interfaces) instead of a topology",
        )
    return topology_of(options.topology, options.access, options.interfaces)


def topology_of(
    topology: str | Path | Topology | None, access: str | None = None, interfaces: str | None = None
) -> Topology:
    """A topology as it is or the one in a file, with what the user has chosen for it.

    Raises TopologyError, and UsageError for a choice that does not fit the topology.
    """
    if topology is None:
        raise UsageError(
            "the following arguments are required: --topology",
            hint="name a test set-up, for example topologies/*.yaml, a run file that names one, or --interfaces",
        )
    found = topology if isinstance(topology, Topology) else load_topology(topology)
    if access is not None:
        live = structs.replace(found.live, access=access)
        found = replace(found, live=live, chosen={**found.chosen, "access": access})
    return found if interfaces is None else _on_interfaces(found, interfaces)


def _on_interfaces(topology: Topology, text: str) -> Topology:
    names = text.split(",")
    ports = topology.tester_ports
    if len(names) != len(ports) or not all(names):
        raise UsageError(
            f"--interfaces {shortened(text)}: {len(names)} names for the {len(ports)} ports of the tester",
            hint="name an interface of this machine for each port in their order, such as enp3s0f0,enp3s0f1",
        )
    if len(set(names)) != len(names):
        raise UsageError(f"--interfaces {shortened(text)}: a name comes twice", hint="name each interface once")
    changed = tuple(replace(port, interface=name) for port, name in zip(ports, names, strict=True))
    return replace(topology, tester_ports=changed, chosen={**topology.chosen, "interfaces": text})
