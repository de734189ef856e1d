"""Chooses the sending and the receiving port in the tests of RFC 2889 that need only two."""

from __future__ import annotations

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import Parameter, ParameterSet, port_number
from p4mesh.traffic.patterns import Pairs

MIN_PORTS = 2


def pair_parameters(section: str) -> tuple[Parameter, ...]:
    """The parameters that choose the two ports; ``section`` is the clause about the set-up."""
    return (
        port_number("tx_port", 1, section, "the port that transmits"),
        port_number("rx_port", 2, section, "the port that receives"),
    )


def pair_mesh(test: str, bed: Bed, parameters: ParameterSet) -> Mesh:
    """The traffic from the one port to the other; raises what :func:`pair_of` raises."""
    sender, receiver = pair_of(test, bed, parameters)
    return Mesh((Leg(Pairs(), (sender.number,), (receiver.number,)),), sender.own_rate_bps)


def pair_of(test: str, bed: Bed, parameters: ParameterSet) -> tuple[Port, Port]:
    """Sender and receiver; raises TopologyError or ParameterError when they are not two ports of one rate."""
    bed.require_ports(test, MIN_PORTS)
    numbers = parameters.integer("tx_port"), parameters.integer("rx_port")
    shown = f"tx_port={numbers[0]}, rx_port={numbers[1]}"
    if len({*numbers} & {*bed.port_numbers}) < MIN_PORTS:
        raise ParameterError(
            f"{shown}: two different ports are needed",
            hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
        )
    sender, receiver = (port for number in numbers for port in bed.ports if port.number == number)
    if sender.rate_bps != receiver.rate_bps:
        alike = [str(port.number) for port in bed.ports if port.rate_bps == sender.rate_bps and port != sender]
        raise ParameterError(
            f"{shown}: two ports of one line rate are needed, they have {sender.rate_bps} and "
            f"{receiver.rate_bps} bit/s",
            hint=f"ports of the rate of port {sender.number}: {', '.join(alike) or 'none'}",
        )
    return sender, receiver
