"""Checks of a Tofino switch that a topology names."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.target.tofino import TofinoTarget, switch_of
from p4mesh.tester.programs import contract_of

_WAIT_S = 5


def switch(asked: Asked) -> Iterator[Finding]:
    """Read the switch of the topology, and the program that is compiled for its chip."""
    if asked.topology is None:
        yield Finding("switch", Health.MISSING, "no topology named", "name one with --topology; docs/TOFINO.md")
        return
    chip = switch_of(asked.topology).chip
    contract = contract_of(TofinoTarget, asked.topology)
    yield Finding("switch", Health.OK, f"{chip}, compiled program with {contract['FLOWS']} flows")


def server(asked: Asked) -> Iterator[Finding]:
    """Connect to the server of the switch."""
    if asked.topology is None:
        return
    address = switch_of(asked.topology).address
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _WAIT_S).close()
    except OSError as error:
        yield Finding(
            "server of the switch", Health.MISSING, f"{address}: {error.strerror or error}", "start it; docs/TOFINO.md"
        )
    else:
        yield Finding("server of the switch", Health.OK, f"{address} takes connections")
