"""Received frames that the program hands to the controller: because something is wrong with them, or all of them.

The program counts down: of each kind it hands over no more frames than were asked for, so a storm of faults costs the
channel to the controller nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from p4mesh.p4runtime import PacketIn
from p4mesh.tester.contract import Contract
from p4mesh.tester.switch_client import Entity, SwitchClient

GAP, LATE = "gap", "late"
"""A frame behind a gap of its flow, and one that came after later ones."""
FAULTS = ("damaged", "stale", "misdirected", "flooded", "foreign")
"""Reasons of frames that are pictures of faults themselves."""
FAULT_KINDS = (*FAULTS, GAP, LATE)
ALL_KINDS = ("expected", *FAULT_KINDS)
"""Kinds of all frames but those that are punted."""
_ORDERS = {GAP: "ORDER_GAP", LATE: "ORDER_LATE"}
_FIELD_BYTES = 4
_FIELDS = 3


@dataclass(frozen=True)
class CapturedPacket:
    """A frame as it came to a port of the tester."""

    kind: str
    port: int
    ticks: int
    """First bit, by the clock of the target."""
    cell: int
    """Cell that the signature names; 0 without one, as are the two numbers."""
    sequence: int
    expected_sequence: int
    """Number that was expected next in the cell; for measured frames."""
    frame: bytes
    """Bytes of the frame, without FCS."""


class FaultCapture:
    """The capture of one data plane."""

    match_fields: tuple[str, ...] = ("reason", "order")
    """Keys of the program's table ``capture``."""

    def __init__(
        self,
        client: SwitchClient,
        contract: Contract,
        number_of: Callable[[int], int],
        keep: Callable[[PacketIn], object],
    ) -> None:
        self._client = client
        self._contract = contract
        self._number_of = number_of
        self._keep = keep
        """Takes a packet-in of any kind, and hands those of this kind to :meth:`keep`."""
        self.forget()

    def forget(self) -> None:
        """Begin anew with a program that has just been loaded."""
        self._trial = 0
        self._kinds: Sequence[str] = ()
        self._entries: list[Entity] = []
        self._counted = 0
        self._packets: list[PacketIn] = []

    def begin(self, frames: int, kinds: Sequence[str] = FAULT_KINDS) -> None:
        """Have the first ``frames`` frames of each kind handed over from now on."""
        self.end()
        self._trial += 1
        self._kinds = kinds
        self._entries = [self._entry(number, kind, frames) for number, kind in enumerate(kinds)]
        self._client.insert(self._entries)

    def end(self) -> None:
        """Have no more frames handed over."""
        self._client.delete(self._entries)
        self._entries = []

    def take(self) -> list[CapturedPacket]:
        """Frames handed over since the last call, in their order; waits for those that are on their way."""
        counted = self._handed_over()
        before, self._counted = self._counted, counted
        missing = counted - before - len(self._packets)
        while missing > 0 and (packets := self._client.take_packet_ins(missing)):
            for packet in packets:
                self._keep(packet)
            missing = counted - before - len(self._packets)
        taken, self._packets = self._packets, []
        return [self._captured(packet) for packet in taken]

    def keep(self, packet: PacketIn) -> bool:
        """Keep a packet-in if it is a captured frame; return whether it is."""
        captured = packet.metadata["kind"] == self._contract.constants.get("CAPTURED_FRAME")
        if captured:
            self._packets.append(packet)
        return captured

    def _handed_over(self) -> int:
        """Frames of all trials since the program was loaded."""
        numbers = range(len(self._kinds))
        return sum(data.packets for _, data in self._client.read_counters("captured", numbers))

    def _entry(self, number: int, kind: str, frames: int) -> Entity:
        reason = self._contract.reason("EXPECTED" if kind in _ORDERS else kind.upper())
        keys = {"reason": reason}
        if "order" in self.match_fields:
            keys["order"] = self._contract[_ORDERS.get(kind, "ORDER_NEXT")]
        return self._client.schema.table_entry(
            "capture",
            match=keys,
            action="capture_first",
            params={"kind_number": number, "trial_number": self._trial, "frames": frames},
        )

    def _captured(self, packet: PacketIn) -> CapturedPacket:
        length = _FIELD_BYTES * _FIELDS
        cell, sequence, expected = (
            int.from_bytes(packet.payload[at : at + _FIELD_BYTES], "big") for at in range(0, length, _FIELD_BYTES)
        )
        return CapturedPacket(
            self._kinds[packet.metadata["flags"]],
            self._number_of(packet.metadata["port"]),
            packet.metadata["time"],
            cell,
            sequence,
            expected,
            packet.payload[length:],
        )
