"""Captured frames of a Tofino with BF Runtime: the chip mirrors them to the CPU port as they were received.

The stateful ALU that tells a frame behind a gap from a late one does not tell which number was expected, so neither is
a kind of its own there. A frame is of the pipe that it came in by, and each pipe counts for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from p4mesh.bfruntime import BfClient, BfRefusedError
from p4mesh.layers.checksum import checksum
from p4mesh.p4runtime import PacketIn
from p4mesh.tester.contract import Contract
from p4mesh.tester.fault_capture import FAULT_KINDS, GAP, LATE, CapturedPacket, FaultCapture
from p4mesh.tester.frames import SIGNATURE_BYTES

_SESSIONS = "$mirror.cfg"
_TAKEN = "capture.taken_cells"
_MAGIC_BYTES = 2
_FLOW, _SEQUENCE = slice(4, 6), slice(6, 10)
"""Places in a signature."""


class MirrorCapture(FaultCapture):
    """The capture of one data plane with BF Runtime."""

    match_fields = ("reason",)

    def __init__(
        self,
        client: BfClient,
        contract: Contract,
        number_of: Callable[[int], int],
        keep: Callable[[PacketIn], object],
    ) -> None:
        self._switch = client
        super().__init__(client, contract, number_of, keep)

    def forget(self) -> None:
        """Begin anew with a program that has just been loaded."""
        super().forget()
        self._has_session = False
        self._left: dict[str, int] = {}

    def begin(self, frames: int, kinds: Sequence[str] = FAULT_KINDS) -> None:
        """Have the first ``frames`` frames of each kind that there is mirrored from now on."""
        if not self._has_session:
            self._open_session()
            self._has_session = True
        kinds = [kind for kind in kinds if kind not in (GAP, LATE)]
        self._left, self._counted = dict.fromkeys(kinds, frames), 0
        super().begin(frames, kinds)

    def take(self) -> list[CapturedPacket]:
        """Frames handed over since the last call, in the order in which they came; of all pipes no more than asked."""
        found = []
        for packet in super().take():
            if self._left[packet.kind]:
                self._left[packet.kind] -= 1
                found.append(packet)
        return found

    def _open_session(self) -> None:
        """Set the session up, which an earlier controller may have left."""
        session = {"$sid": self._contract["SESSION_CAPTURED"]}
        values = {
            "$session_enable": True,
            "$direction": "INGRESS",
            "$ucast_egress_port": self._contract["PORT_CPU"],
            "$ucast_egress_port_valid": True,
        }
        try:
            self._switch.write_fixed("insert", _SESSIONS, session, values, "$normal")
        except BfRefusedError:
            self._switch.write_fixed("modify", _SESSIONS, session, values, "$normal")

    def _handed_over(self) -> int:
        self._switch.sync([_TAKEN])
        cells = self._switch.read_registers(_TAKEN, range(len(self._kinds)))
        return int(cells["low"][cells["high"] == self._trial].sum())

    def _captured(self, packet: PacketIn) -> CapturedPacket:
        signature = self._signature_in(packet.payload)
        return CapturedPacket(
            self._kinds[packet.metadata["flags"]],
            self._number_of(packet.metadata["port"]),
            packet.metadata["time"],
            int.from_bytes(signature[_FLOW], "big"),
            int.from_bytes(signature[_SEQUENCE], "big"),
            0,
            packet.payload,
        )

    def _signature_in(self, frame: bytes) -> bytes:
        """The first signature whose check is right; zeros without one."""
        magic = self._contract["SIGNATURE_MAGIC"].to_bytes(_MAGIC_BYTES, "big")
        at = frame.find(magic)
        while at >= 0:
            found = frame[at : at + SIGNATURE_BYTES]
            if len(found) == SIGNATURE_BYTES and checksum(found) == 0:
                return found
            at = frame.find(magic, at + 1)
        return bytes(SIGNATURE_BYTES)
