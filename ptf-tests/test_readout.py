"""Read-out and requests: ranges, clearing, silence, frames of the controller, frames to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from base import READ_CELLS, TesterTest
from scapy.layers.l2 import Ether
from signature import test_frame

from p4mesh.errors import TargetError
from p4mesh.p4runtime import Client, PacketColumns, PacketIn, columns_of
from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.records import READ_TICKS

STATION = "02:00:00:00:00:01"


class FramesOfTheControllerAreStamped(TesterTest):
    """Goal: the port of a frame that asks for it keeps when it left; other frames and ports keep nothing."""

    def runTest(self) -> None:
        if "STAMP_SENT" not in self.contract.constants:
            self.skipTest("the program keeps no time of frames of the controller")
        frame = bytes.fromhex("0200000000010200000000020800").ljust(60, b"\1")
        times = []
        for stamped in (True, False, True):
            self.tester.send(2, frame, stamped=stamped)
            self.bench.settle()
            self.expect(2, frame)
            times.append(int(self.records()["controller_departure"][2]))
        self.assertGreater(times[0], 0)
        self.assertEqual(times[1], times[0])
        self.assertGreater(times[2], times[0])
        self.assertEqual(int(self.records()["controller_departure"][1]), 0)
        self.tester.clear(READ_CELLS, self.bench.wait_passes)
        self.assertEqual(int(self.records()["controller_departure"][2]), 0)


class ReadingIsARangeInOrder(TesterTest):
    """Goal: one request gives one record per cell of its range, each once."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        for flow in (3, 4, 4, 6):
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=flow, sequence=[3, 4, 4, 6].count(flow)))
        self.client.packet_out(b"", kind=self.contract["KIND_READ"], value=3, count=4)
        self.bench.wait_passes(10)
        records = self.client.take_packet_ins(4)
        self.assertEqual([int.from_bytes(record.payload[:4], "big") for record in records], [3, 4, 5, 6])
        self.assertEqual({record.metadata["kind"] for record in records}, {self.contract["KIND_READ"]})
        self.assertEqual(self.client.take_packet_ins(1, timeout_s=0.05), [])


class ClearingEmptiesOnlyItsRange(TesterTest):
    """Goal: a silent clearing pass reports its last cell only and leaves other cells alone."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        for flow in range(4):
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=flow))
        flags = self.contract["FLAG_CLEAR"] | self.contract["FLAG_SILENT"]
        self.client.packet_out(b"", kind=self.contract["KIND_READ"], flags=flags, value=1, count=2)
        self.bench.wait_passes(10)
        (record,) = self.client.take_packet_ins(1)
        self.assertEqual(int.from_bytes(record.payload[:4], "big"), 2)
        self.assertEqual(list(self.records()["frames"][:4]), [1, 0, 0, 1])


def measured(records: np.ndarray) -> list[object]:
    """All fields of records but the time of their reading."""
    return records[[name for name in records.dtype.names or () if name != READ_TICKS]].tolist()


class ReadingDoesNotDisturb(TesterTest):
    """Goal: two readings in a row give the same records."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=2))
        first, second = self.records(), self.records()
        self.assertEqual(measured(first), measured(second))
        self.assertEqual(len(first), READ_CELLS)


class ManyFlowsAreReadOut(TesterTest):
    """Goal: the flows of a 64-port mesh (4,032) are read by one request; on the engine those of a
    256-port mesh (65,280)."""

    def runTest(self) -> None:
        cells = 65_280 if self.bench.exact else 4_032
        self.install(self.receiver(1, STATION))
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=cells - 1))
        self.addCleanup(self.tester.clear, cells, self.bench.wait_passes)
        records = self.tester.read(cells, self.bench.wait_passes)
        self.assertEqual(records["frames"].sum(), 1)
        self.assertEqual(records["frames"][cells - 1], 1)
        self.assertEqual(list(records["cell"][:3]), [0, 1, 2])


class ChannelTest(TesterTest):
    """Reads through a channel that loses, repeats or delays packet-ins."""

    __test__ = False

    def setUp(self) -> None:
        super().setUp()
        if self.bench.name == "tofino":
            self.skipTest("a record comes in several packet-ins there")
        self.install(self.receiver(1, STATION))
        for flow in range(4):
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=flow))
        self.channel = Channel(self.client)
        self.reader = DataPlane(cast(Client, self.channel), self.contract)

    def read(self) -> np.ndarray:
        return self.reader.read(READ_CELLS, self.bench.wait_passes)


class LostRecordsAreReadAgain(ChannelTest):
    """Goal: lost records are noticed and read again, and cells that have come are not read again."""

    __test__ = True

    def runTest(self) -> None:
        expected = self.read()
        self.assertEqual(self.channel.requested, [(0, READ_CELLS)])
        lost = {3, 4, 17, READ_CELLS - 1}
        self.channel.fault = lambda packets: [p for p in packets if cell_of(p) not in lost or self.channel.repeated]
        self.assertEqual(measured(self.read()), measured(expected))
        self.assertEqual(self.channel.requested[1:], [(0, READ_CELLS), (3, 2), (17, 1), (READ_CELLS - 1, 1)])


class RecordsThatStayLostAreAnError(ChannelTest):
    """Goal: a channel that loses a record every time ends in an error with the number of them."""

    __test__ = True

    def runTest(self) -> None:
        self.channel.fault = lambda packets: [packet for packet in packets if cell_of(packet) != 5]
        with self.assertRaisesRegex(TargetError, f"1 of {READ_CELLS} records were not received in 3 attempts"):
            self.read()


class RepeatedAndLateRecordsAreNotTakenForNewOnes(ChannelTest):
    """Goal: copies of records are kept once, and records of an earlier reading are never results."""

    __test__ = True

    def runTest(self) -> None:
        late: list[PacketIn] = []

        def twice(packets: list[PacketIn]) -> list[PacketIn]:
            late.extend(packets)
            return [copy for packet in packets for copy in (packet, packet)]

        self.channel.fault = twice
        self.assertEqual(self.read()["frames"].sum(), 4)
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=2, sequence=1))
        self.channel.fault = lambda packets: [*late, *packets]
        records = self.read()
        self.assertEqual(list(records["frames"][:4]), [1, 1, 2, 1])
        self.reader.clear(READ_CELLS, self.bench.wait_passes)
        self.assertEqual(self.read()["frames"].sum(), 0)


class Channel:
    """A P4Runtime client whose packet-ins go through ``fault``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue: list[PacketIn] = []
        self.requested: list[tuple[int, int]] = []
        self.fault: Callable[[list[PacketIn]], list[PacketIn]] = list

    @property
    def repeated(self) -> bool:
        """Whether the last request repeats a part of an earlier one."""
        return self.requested[-1] != (0, READ_CELLS)

    def packet_out(self, payload: bytes, **metadata: int) -> None:
        self.requested.append((metadata["value"], metadata["count"]))
        self._client.packet_out(payload, **metadata)

    def take_packet_ins(self, count: int, timeout_s: float | None = None) -> list[PacketIn]:
        if len(self._queue) < count:
            self._queue += self.fault(self._client.take_packet_ins(count - len(self._queue), timeout_s=0.2))
        taken, self._queue = self._queue[:count], self._queue[count:]
        return taken

    def take_packet_columns(self, count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        return columns_of(self.take_packet_ins(count, timeout_s))

    def lost_packet_ins(self) -> dict[str, int]:
        return self._client.lost_packet_ins()


def cell_of(packet: PacketIn) -> int:
    """The cell that a record is about."""
    return int.from_bytes(packet.payload[:4], "big")


class ControllerFrameLeavesItsPort(TesterTest):
    """Goal: a frame of the controller leaves the named port unchanged, and no other."""

    def runTest(self) -> None:
        frame = bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=STATION, type=0x0806) / bytes(46))
        self.tester.send(3, frame)
        self.bench.settle()
        self.expect(3, frame)
        self.expect_nothing()
        self.assert_reasons()


class UnknownRequestsAreRefused(TesterTest):
    """Goal: requests of unknown kind, and readings of no cell, end with a reason."""

    def runTest(self) -> None:
        self.client.packet_out(b"x" * 60, kind=99)
        self.client.packet_out(b"", kind=self.contract["KIND_READ"], count=0)
        self.bench.settle()
        self.expect_nothing()
        self.assert_reasons(bad_request=2)


class PuntedFrameReachesTheController(TesterTest):
    """Goal: without an entry an ARP frame is foreign and ends; with one the controller gets it."""

    def runTest(self) -> None:
        frame = bytes(Ether(dst=STATION, src=STATION, type=0x0806) / bytes(range(46)))
        self.send(2, frame)
        self.assertEqual(self.client.take_packet_ins(1, timeout_s=0.05), [])
        self.install(self.entry("punt", {"ether_type": (0x0806, 0xFFFF)}, "to_controller", {}, 1))
        self.send(2, frame)
        (packet,) = self.client.take_packet_ins(1)
        self.assertEqual(packet.payload, frame)
        expected = (self.contract["KIND_SEND"], self.bench.port_of_program(2))
        self.assertEqual((packet.metadata["kind"], packet.metadata["port"]), expected)
        self.expect_nothing()
        self.assert_reasons(foreign=1, punted=1)
