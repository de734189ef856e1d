"""The tester program on a Tofino: cells are read in three passes, and in every pipe that has tester ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from p4mesh.errors import TargetError
from p4mesh.p4runtime import Client, P4RuntimeError
from p4mesh.target.chips import PORTS_PER_PIPE
from p4mesh.tester.cell_reader import RecordFormat, WaitForPasses
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane, SwitchPorts
from p4mesh.tester.halves import PASSES_PER_CELL, records_of_halves

_LOOP_PORTS = "TesterIngressParser.loop_ports"
_OF_PORTS = "spacing_min_inverted"
"""Field of a record that belongs to the port of its number, not to the flow or the transmitter."""


class TofinoDataPlane(DataPlane):
    """Programs and reads one tester on a Tofino (docs/TOFINO.md, "Registers and pipes")."""

    numeric_ports = True

    def __init__(self, client: Client, contract: Contract, ports: SwitchPorts) -> None:
        form = RecordFormat(lambda payloads: records_of_halves(payloads, contract), PASSES_PER_CELL)
        super().__init__(client, contract, ports, form)
        pipes = sorted({device // PORTS_PER_PIPE for device in ports.devices.values()})
        self._loops = tuple(contract["PORT_LOOP"] + PORTS_PER_PIPE * pipe for pipe in pipes)
        self._port_cells = 1 + max(ports.devices.values())

    def load_program(self) -> None:
        """Push the compiled tester and install what every trial needs, with the front ports that are in the loop."""
        super().load_program()
        if self._ports.front_loops:
            members = [{"": port} for port in self._ports.front_loops]
            try:
                self._client.modify([self._client.schema.value_set(_LOOP_PORTS, members)])
            except P4RuntimeError as error:
                raise TargetError(
                    f"the switch refuses the front ports in loopback: {error.message}",
                    hint="leave tester.tofino.front_loops out, or use a P4Runtime server with ValueSetEntry",
                ) from None

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of cells 0 to ``cells`` - 1 and of all ports, in every pipe."""
        self._sweep(cells, wait, 0)

    def clear_windows(self, cells: int, wait: WaitForPasses) -> None:
        """Clear the duplicate windows of all cells, and everything else there."""
        for place in range(1 << self._contract["WINDOW_BITS"]):
            self._sweep(cells, wait, place)

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Return the records of cells 0 to ``cells`` - 1.

        A register counts in one pipe, and is 0 in all others: the largest is the sum.
        """
        found = self.read_some([range(max(cells, self._port_cells))], wait)
        spacings = found[_OF_PORTS].copy()
        found[_OF_PORTS] = 0
        for number, device in self._ports.devices.items():
            if number < len(found):
                found[_OF_PORTS][number] = spacings[device]
        return found[:cells]

    def read_some(self, wanted: Sequence[range], wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Return the records of some cells, from whichever pipe they count in."""
        found: np.ndarray[Any, Any] | None = None
        for loop in self._loops:
            self._enter(loop)
            records = self._reader.read(wanted, wait, port=loop)
            found = records if found is None else _joined(found, records)
        assert found is not None, "a tester has ports"
        return found

    def _sweep(self, cells: int, wait: WaitForPasses, window: int) -> None:
        for loop in self._loops:
            self._enter(loop)
            self._reader.clear(max(cells, self._port_cells), wait, window=window, port=loop)

    def _enter(self, loop_port: int) -> None:
        """Let records of reading frames in the loop of a port come to the controller."""
        self._set_groups(self._groups | self._reading_group(loop_port))


def _joined(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    joined = left.copy()
    for name in joined.dtype.names or ():
        joined[name] = np.maximum(left[name], right[name])
    return joined
