"""The data planes of a tester of several switches as one: its ports and cells are those of all of them.

Each switch runs the tester program on an equal part of the ports. What a plan has for a port goes to its switch;
destinations go to all, since each sends to all ports. Cell c of switch s is cell ``s * FLOWS + c`` of the tester.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from p4mesh.tester.cell_ranges import ranges_of
from p4mesh.tester.cell_reader import WaitForPasses
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane, PortTotals, Reason
from p4mesh.tester.histogram import Bins, Histogram, InterarrivalBins
from p4mesh.tester.plan import Plan, StreamPlan
from p4mesh.tester.responders import PuntRule
from p4mesh.tester.switch_client import SwitchClient

_POLL_S = 0.01
_OF_PORTS = ("spacing_min_inverted", "controller_departure")
"""Fields of records that belong to the port of the cell's number."""


class SeveralDataPlanes(DataPlane):
    """Programs and reads the switches of a tester; the clients must be their primaries."""

    def __init__(
        self, switches: Sequence[DataPlane], client: SwitchClient, contract: Contract, numbers: Sequence[Sequence[int]]
    ) -> None:
        """``numbers``: tester ports of each switch, the n-th of which is port n of its program."""
        super().__init__(client, contract)
        self._switches = switches
        self._stride = contract["FLOWS"]
        self._port_numbers = numbers
        self._switch_of = {port: switch for switch, ports in enumerate(numbers) for port in ports}
        self._cells = [0] * len(switches)
        self._indexes: list[set[int]] = [set() for _ in switches]

    def load_program(self) -> None:
        """Push the compiled tester to all switches."""
        for switch in self._switches:
            switch.load_program()

    @property
    def is_connected(self) -> bool:
        """False once the server of a switch has gone."""
        return all(switch.is_connected for switch in self._switches)

    def ensure_connected(self) -> None:
        """Connect again to servers that have gone since the last use."""
        for switch in self._switches:
            switch.ensure_connected()

    @property
    def packet_outs_sent(self) -> int:
        """Packet-outs so far, to all switches."""
        return sum(switch.packet_outs_sent for switch in self._switches)

    def configure(self, plan: Plan, run: int) -> None:
        """Give each switch its part of a plan."""
        self._cells = self._cells_of(plan)
        for number, switch in enumerate(self._switches):
            part = self._part(plan, number)
            self._indexes[number] = {stream.index for stream in part.streams}
            switch.configure(part, run)

    def _part(self, plan: Plan, switch: int) -> Plan:
        own = frozenset(self._port_numbers[switch])
        first = switch * self._stride

        def of_switch(stream: StreamPlan) -> StreamPlan:
            transmitters = tuple(
                replace(item, id=item.id - first, flow_base=item.flow_base - first)
                for item in stream.transmitters
                if item.port in own
            )
            return replace(stream, transmitters=transmitters)

        streams = [of_switch(stream) for stream in plan.streams]
        sends = [bool(stream.transmitters) for stream in streams]
        return replace(
            plan,
            streams=tuple(compress(streams, sends)),
            loop_uses=tuple(compress(plan.loop_uses, sends)),
            receivers=tuple(receiver for receiver in plan.receivers if receiver.port in own),
            histogram_rules=tuple(rule for rule in plan.histogram_rules if rule.port in own),
        )

    def _cells_of(self, plan: Plan) -> list[int]:
        """Cells that a reading pass must visit on each switch."""
        columns = plan.columns
        senders = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
        cells = np.concatenate([columns.cell, columns.sequence_cell, np.array(senders, dtype=np.int64)])
        highest = [len(ports) for ports in self._port_numbers]
        for switch in range(len(self._switches)):
            own = cells[cells // self._stride == switch] % self._stride
            highest[switch] = max(highest[switch], int(own.max(initial=0)))
        return [1 + cell for cell in highest]

    def renew(self, plan: Plan) -> None:
        """Let transmitters of the plan send more frames."""
        for number, switch in enumerate(self._switches):
            switch.renew(self._part(plan, number))

    def admit_streams(self, streams: Collection[int]) -> None:
        """Install the entries of streams again, of those that have been removed."""
        for switch, own in zip(self._switches, self._indexes, strict=True):
            switch.admit_streams([stream for stream in streams if stream in own])

    def stop_streams(self, streams: Collection[int]) -> None:
        """Remove the entries of streams."""
        for switch in self._switches:
            switch.stop_streams(streams)

    def send(self, port: int, frame: bytes, *, stamped: bool = False) -> None:
        """Send one frame of the controller out of a port."""
        self._switches[self._switch_of[port]].send(port, frame, stamped=stamped)

    def inject_seed(
        self, stream: int, payload: bytes, number: int, count: int, loop: int = 0, fraction_q32: int = 0
    ) -> None:
        """Put a seed into the loop of each switch that sends the stream, all at one time."""
        for switch, own in zip(self._switches, self._indexes, strict=True):
            if stream in own:
                switch.inject_seed(stream, payload, number, count, loop, fraction_q32)

    def start(self, streams: range, lead_ticks: int) -> None:
        """Start streams on all switches together."""
        # A request ends at a stream that its switch does not have.
        for switch, own in zip(self._switches, self._indexes, strict=True):
            for run in ranges_of(stream for stream in streams if stream in own):
                switch.start(run, lead_ticks)

    def punt(self, rules: Collection[PuntRule]) -> None:
        """Have the frames of these rules handed to the controller; rules of a port are for its switch."""
        for number, switch in enumerate(self._switches):
            switch.punt([rule for rule in rules if self._concerns(rule, number)])

    def _concerns(self, rule: PuntRule, switch: int) -> bool:
        port = dict(rule.keys).get("port")
        return not isinstance(port, int) or self._switch_of[port] == switch

    @property
    def packet_ins_taken(self) -> int:
        """Packet-ins so far, from all switches."""
        return sum(switch.packet_ins_taken for switch in self._switches)

    def take_packet_in(self, timeout_s: float) -> bool:
        """Wait for the next packet-in of any switch."""
        rounds = max(1, int(timeout_s / (_POLL_S * len(self._switches))))
        return any(switch.take_packet_in(_POLL_S) for _ in range(rounds) for switch in self._switches)

    def take_handed(self) -> list[tuple[int, bytes]]:
        """(port, frame) of every punted frame that is here already."""
        return [found for switch in self._switches for found in switch.take_handed()]

    def take_punted(self, ports: Sequence[int]) -> list[tuple[int, bytes]]:
        """(port, frame) of every frame that was handed to the controller since the last call."""
        parts = zip(self._switches, self._by_switch(ports), strict=True)
        return [found for switch, own in parts for found in switch.take_punted(own)]

    def _by_switch(self, ports: Sequence[int]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self._switches]
        for port in ports:
            found[self._switch_of[port]].append(port)
        return found

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of the cells that the plan uses."""
        for switch, own in zip(self._switches, self._cells, strict=True):
            switch.clear(own, wait)

    @property
    def passes_per_cell(self) -> int:
        """Rounds of the loop that a reading frame makes for a cell."""
        return self._switches[0].passes_per_cell

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of cells 0 to ``cells`` - 1; those that the plan does not use are 0."""
        parts = [switch.read(own, wait) for switch, own in zip(self._switches, self._cells, strict=True)]
        found = np.zeros(cells, dtype=parts[0].dtype)
        octets = found.view(np.dtype((np.void, found.itemsize)))
        for number, part in enumerate(parts):
            first = number * self._stride
            own = part[: max(0, cells - first)].view(octets.dtype)
            octets[first : first + len(own)] = own
        for name in _OF_PORTS if found.dtype.names else ():
            values = [part[name][1 : 1 + len(own)] for part, own in zip(parts, self._port_numbers, strict=True)]
            found[name] = 0
            found[name][[port for own in self._port_numbers for port in own]] = np.concatenate(values)
        return found

    def read_some(self, wanted: Sequence[range], wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of some cells, in their order; fields of ports are missing from them."""
        found = []
        for part in wanted:
            first = part.start
            while first < part.stop:
                switch, local = divmod(first, self._stride)
                count = min(part.stop - first, self._stride - local)
                found.append(self._switches[switch].read_some([range(local, local + count)], wait))
                first += count
        return np.concatenate(found)

    def reason_counts(self, ports: Sequence[int]) -> dict[Reason, int]:
        """Frames per (port, reason) since the program was loaded."""
        parts = zip(self._switches, self._by_switch(ports), strict=True)
        return {place: count for switch, own in parts for place, count in switch.reason_counts(own).items()}

    def port_totals(self, ports: Sequence[int]) -> dict[int, PortTotals]:
        """Test frames sent, and frames received for any reason, of each port."""
        parts = zip(self._switches, self._by_switch(ports), strict=True)
        return {port: total for switch, own in parts for port, total in switch.port_totals(own).items()}

    def ended_seeds(self) -> int:
        """Seeds that have ended in the loops of all switches."""
        return sum(switch.ended_seeds() for switch in self._switches)

    @property
    def counts_strays(self) -> bool:
        """Whether flooded and misdirected frames are counted per flow: switches have equal flow numbers, so no."""
        return False

    def histogram_counts(
        self, histograms: Sequence[Histogram], records: np.ndarray[Any, Any], *, counts_times: bool
    ) -> dict[int, Bins]:
        """Frames per bin of each histogram, on all switches."""
        parts = [switch.histogram_counts(histograms, records, counts_times=counts_times) for switch in self._switches]
        return {
            number: Bins(_sum([part[number].latency for part in parts]), _sum([part[number].ipdv for part in parts]))
            for number in parts[0]
        }

    def interarrival_counts(
        self, histograms: Sequence[Histogram], records: np.ndarray[Any, Any]
    ) -> dict[int, InterarrivalBins]:
        """Frames per bin of the time since the frame before, on all switches."""
        parts = [switch.interarrival_counts(histograms, records) for switch in self._switches]
        return {
            number: InterarrivalBins(
                _sum([part[number].arrivals for part in parts]), _sum([part[number].departures for part in parts])
            )
            for number in parts[0]
        }


def _sum(counts: Sequence[Sequence[int]]) -> list[int]:
    return [sum(of_bin) for of_bin in zip(*counts, strict=True)]
