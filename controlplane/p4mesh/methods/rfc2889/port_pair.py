"""Which port sends and which receives in the tests of RFC 2889 that need only two."""

from __future__ import annotations

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.parameters import Parameter, ParameterSet, integer

MIN_PORTS = 2
_NUMBERS = (1, 512)


def pair_parameters(section: str) -> tuple[Parameter, ...]:
    """Return the parameters that choose the two ports; ``section`` is the clause about the set-up."""
    return (
        integer("tx_port", 1, "port number", section, "the port that transmits", _NUMBERS),
        integer("rx_port", 2, "port number", section, "the port that receives", _NUMBERS),
    )


def pair_of(test: str, bed: TestBed, parameters: ParameterSet) -> tuple[TestPort, TestPort]:
    """Return sender and receiver; raises TopologyError or ParameterError when they are not two ports of one rate."""
    bed.require_ports(test, MIN_PORTS)
    bed.common_rate_bps(test)
    numbers = parameters.integer("tx_port"), parameters.integer("rx_port")
    if len({*numbers} & {*bed.port_numbers}) < MIN_PORTS:
        raise ParameterError(
            f"tx_port={numbers[0]}, rx_port={numbers[1]}: two different ports are needed",
            hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
        )
    sender, receiver = (port for number in numbers for port in bed.ports if port.number == number)
    return sender, receiver
