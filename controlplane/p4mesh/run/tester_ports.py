"""The tester's ports as methods know them, and those that the user names."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Port
from p4mesh.methods.options.parameters import shortened
from p4mesh.methods.port_names import PortNames
from p4mesh.topology.model import TESTER, PortRef, Topology


def ports_of(topology: Topology) -> tuple[Port, ...]:
    """The tester's ports in their order."""
    far_ends = {near: far for link in topology.links for near, far in (link.ends, link.ends[::-1])}
    return tuple(
        Port(
            port.number,
            port.name,
            port.rate_bps,
            port.ifg_bits,
            far_ends[PortRef(TESTER, port.number)].node,
            port.options.get("pad_to_minimum", True),
            port.clock_offset_ppm,
            port.role,
            port.layer,
        )
        for port in topology.tester_ports
    )


def chosen_ports(ports: Sequence[Port], text: str | None) -> tuple[Port, ...]:
    """The ports that ``--ports`` names, in its order; all of them without it. Raises ParameterError."""
    if text is None:
        return tuple(ports)

    def complain(_: Sequence[str | int], problem: str, hint: str) -> ParameterError:
        return ParameterError(f"--ports {shortened(text)}: {problem}", hint=hint)

    numbered = {port.number: port for port in ports}
    return tuple(numbered[number] for number in PortNames(ports, complain).ports(text, ()))
