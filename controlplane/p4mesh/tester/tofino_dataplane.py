"""The tester program on a Tofino, which has registers in every pipe with tester ports.

With P4Runtime cells are read in three passes of a reading frame; with BF Runtime, their registers
(:mod:`p4mesh.tester.register_dataplane`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from p4mesh.errors import TargetError, UnsupportedError
from p4mesh.layers import Encapsulation, ExtensionHeader, Mpls
from p4mesh.layers.extension import UNIT_BYTES
from p4mesh.target.chips import PORTS_PER_PIPE
from p4mesh.tester.cell_reader import RecordFormat, WaitForPasses
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane, SwitchPorts
from p4mesh.tester.frames import FCS_BYTES, SIGNATURE_BYTES
from p4mesh.tester.halves import PASSES_PER_CELL, SHORTEST_PACKET_OUT_BYTES, records_of_halves
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import READ_TICKS
from p4mesh.tester.switch_client import SwitchClient
from p4mesh.traffic.stream import Stream

_LOOP_PORTS = "TesterIngressParser.loop_ports"
_WINDOW_CELLS = 64
"""Records that the CPU port and its driver are given at a time; a reading frame alone makes some 450,000 a second."""
OF_PORTS = "spacing_min_inverted"
"""Field of a record that belongs to the port of its number, not to the flow or the transmitter."""
_OF_SENT_FLOWS = frozenset({"flow_sequence"})
_OF_TRANSMITTERS = frozenset({"departures", "first_departure", "last_departure"})
_CELL = "cell"
_RECEIVED = "frames received"


class TofinoDataPlane(DataPlane, ABC):
    """Programs and reads one tester on a Tofino (docs/TOFINO.md, "Registers and pipes")."""

    numeric_ports = True
    groups_return_seeds = False
    counters_see_fcs = True

    def __init__(self, client: SwitchClient, contract: Contract, ports: SwitchPorts) -> None:
        form = RecordFormat(
            lambda payloads: records_of_halves([row.tobytes() for row in payloads], contract),
            PASSES_PER_CELL,
            _WINDOW_CELLS,
        )
        super().__init__(client, contract, ports, form)
        self._pipes = sorted({device // PORTS_PER_PIPE for device in ports.devices.values()})

    def load_program(self) -> None:
        """Push the compiled tester and the entries that every trial needs, with the front ports in the loop."""
        super().load_program()
        if self._ports.other_loops:
            members = [{"": port} for port in self._ports.other_loops]
            try:
                self._client.modify([self._client.schema.value_set(_LOOP_PORTS, members)])
            except TargetError as error:
                raise TargetError(
                    f"the switch refuses the front ports in loopback: {error.message}",
                    hint="leave tester.tofino.front_loops and inner_loops out, or use BF Runtime or a P4Runtime "
                    "server with ValueSetEntry",
                ) from None

    def _seed_fields_of(self, stream: Stream) -> dict[str, int]:
        fields = super()._seed_fields_of(stream)
        if stream.keeps_departures:
            fields["flags"] |= self._contract["STAMP_SENT"]
        return fields

    def configure(self, plan: Plan, run: int) -> None:
        """Install a plan; raise UnsupportedError for frames that the program cannot send.

        Those are seeds that would grow on their way to the switch, and headers beyond the parser.
        """
        header = self._client.schema.info.headers["packet_out"]
        header_bytes = sum(field.bitwidth for field in header.metadata) // 8
        shortest = SHORTEST_PACKET_OUT_BYTES - header_bytes + SIGNATURE_BYTES + FCS_BYTES
        for stream in plan.streams:
            if stream.stream.frame_size_bytes < shortest:
                raise UnsupportedError(
                    f"not supported on tofino: stream '{stream.stream.name}' has frames of "
                    f"{stream.stream.frame_size_bytes} bytes, whose seeds would be padded on their way to the switch",
                    hint=f"use frames of {shortest} bytes or more",
                )
            labels, most_labels = len(stream.stream.frame.all_of(Mpls)), self._contract["LABELS"]
            if labels > most_labels:
                raise UnsupportedError(
                    f"not supported on tofino: stream '{stream.stream.name}' has {labels} MPLS labels",
                    hint=f"use {most_labels} at most, or --target sim",
                )
            headers = stream.stream.frame.extensions
            if not fits_the_parser(headers, self._contract["EXTENSION_UNITS"]):
                raise UnsupportedError(
                    f"not supported on tofino: stream '{stream.stream.name}' has the IPv6 extension headers "
                    f"{', '.join(header.kind for header in headers)}",
                    hint=f"use {self._contract['EXTENSION_UNITS'] * UNIT_BYTES} bytes of headers at most; "
                    "only the last one, or the one before esp, may be longer than 8",
                )
        super().configure(plan, run)

    def read_some(self, wanted: Sequence[range], wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of some cells, from whichever pipe they count in."""
        return joined_pipes(self._of_pipes(wanted, wait))

    def _ipdv_bins(self, records: np.ndarray[Any, Any], finer_bits: int) -> range:
        """None: the program has no histograms of IPDV."""
        return range(0)

    @abstractmethod
    def _of_pipes(self, wanted: Sequence[range], wait: WaitForPasses) -> dict[int, np.ndarray[Any, Any]]:
        """Records of some cells of every pipe that has tester ports."""


class InBandTofinoDataPlane(TofinoDataPlane):
    """Reads and clears cells by reading frames, as on every target with P4Runtime."""

    def __init__(self, client: SwitchClient, contract: Contract, ports: SwitchPorts) -> None:
        super().__init__(client, contract, ports)
        self._loops = tuple(contract["PORT_LOOP"] + PORTS_PER_PIPE * pipe for pipe in self._pipes)
        self._port_cells = 1 + max(ports.devices.values())

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of cells 0 to ``cells`` - 1 and of all ports, in every pipe."""
        self._sweep(cells, wait, 0)

    def clear_windows(self, cells: int, wait: WaitForPasses) -> None:
        """Clear the duplicate windows of all cells, and everything else there."""
        for place in range(1 << self._contract["WINDOW_BITS"]):
            self._sweep(cells, wait, place)

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of cells 0 to ``cells`` - 1 of all pipes, joined by :func:`joined_pipes`."""
        found = self.read_some([range(max(cells, self._port_cells))], wait)
        spacings = found[OF_PORTS].copy()
        found[OF_PORTS] = 0
        for number, device in self._ports.devices.items():
            if number < len(found):
                found[OF_PORTS][number] = spacings[device]
        return found[:cells]

    def _of_pipes(self, wanted: Sequence[range], wait: WaitForPasses) -> dict[int, np.ndarray[Any, Any]]:
        of_pipes = {}
        for loop in self._loops:
            self._enter(loop)
            of_pipes[loop // PORTS_PER_PIPE] = self._reader.read(wanted, wait, port=loop)
        return of_pipes

    def _sweep(self, cells: int, wait: WaitForPasses, window: int) -> None:
        for loop in self._loops:
            self._enter(loop)
            self._reader.clear(max(cells, self._port_cells), wait, window=window, port=loop)

    def _enter(self, loop_port: int) -> None:
        """Let records of reading frames in the loop of a port come to the controller."""
        self._set_groups(self._groups | self._reading_group(loop_port))


def fits_the_parser(headers: Sequence[ExtensionHeader], units: int) -> bool:
    """Whether the program finds UDP behind these IPv6 extension headers (p4src/tna/parser.p4)."""
    sizes = [header.header_bytes for header in headers]
    in_front = sizes[: -2 if headers and isinstance(headers[-1], Encapsulation) else -1]
    return sum(sizes) <= units * UNIT_BYTES and all(size == UNIT_BYTES for size in in_front)


def joined_pipes(of_pipes: Mapping[int, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Joins the records of several pipes: every cell has the values of the pipe that has counted there.

    A flow has one transmit port and one receive port, and a transmitter one port, so that one pipe has counted for
    each of them and all others hold 0. Raises TargetError where that does not hold: values of two pipes cannot be
    joined, as a minimum, a last latency and a jitter are of one order of arrivals.
    """
    pipes = sorted(of_pipes)
    joined = of_pipes[pipes[0]].copy()
    names = [name for name in joined.dtype.names or () if name not in {_CELL, READ_TICKS, OF_PORTS}]
    apart = _OF_SENT_FLOWS | _OF_TRANSMITTERS
    for what, fields in (
        (_RECEIVED, [name for name in names if name not in apart]),
        ("frames sent", sorted(_OF_SENT_FLOWS)),
        ("departures", sorted(_OF_TRANSMITTERS)),
    ):
        counted = np.array([np.any([of_pipes[pipe][name] != 0 for name in fields], axis=0) for pipe in pipes])
        twice = np.flatnonzero(counted.sum(axis=0) > 1)
        if len(twice):
            cell = int(twice[0])
            of_cell = " and ".join(str(pipe) for pipe, here in zip(pipes, counted[:, cell], strict=True) if here)
            raise TargetError(
                f"cell {cell} has counts of {what} in pipes {of_cell}, where one pipe is to count",
                hint="a device has changed the port of a flow during the trial, or the switch was not cleared",
            )
        for place, pipe in enumerate(pipes):
            taken = [*fields, READ_TICKS] if what == _RECEIVED else fields
            for name in taken:
                joined[name][counted[place]] = of_pipes[pipe][name][counted[place]]
    # A port has one pipe, and the numbers of ports are cells of every pipe.
    joined[OF_PORTS] = np.max([of_pipes[pipe][OF_PORTS] for pipe in pipes], axis=0)
    return joined
