"""Base of all data plane tests: install, send, expect exactly, read, undo.

A test drives one tester program through P4Runtime and its ports, on whatever bench the run has
started (``--target``). Entries are removed and registers cleared when the test ends, so tests do
not see each other. Every test ends with the check that the reason counters have counted exactly the
frames that it has sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np
import ptf
import ptf.ptfutils
import ptf.testutils as testutils
from benches import Bench
from ptf.base_tests import BaseTest
from scapy.packet import Packet
from signature import test_frame

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.p4runtime import Client, Entity
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import PORT_REASONS
from p4mesh.tester.frames import seed_payload

READ_CELLS = 64
"""Cells that tests use: enough for every flow, transmitter and port number in them."""
_LOOKS = 20
"""At the counters, a settling time apart: 1 s on a switch that shares its processor."""

Counts = TypeVar("Counts")


class TesterTest(BaseTest):
    """One test on a bench with ports 1 to 4."""

    bench: ClassVar[Bench]

    def setUp(self) -> None:
        """Begin with empty tables and cleared registers."""
        super().setUp()
        self.dataplane = self.bench.ports
        self.dataplane.flush()
        self.client: Client = self.bench.client
        self.contract: Contract = self.bench.contract
        self.tester = self.bench.tester
        self.tester.clear(READ_CELLS, self.bench.wait_passes)
        self.run_id = self.bench.next_run()
        self._set_run(self.run_id)
        self._sent = 0
        self._prove_that_empty_tables_drop()
        self._sent, self._reasons = 0, self._count_reasons()

    def tearDown(self) -> None:
        """Each frame that went into a port has one reason."""
        counted = self._settled(
            lambda now: sum(self._counted(name, now) for name in PORT_REASONS), lambda count: count >= self._sent
        )
        self.assertEqual(counted, self._sent, "frames counted at ingress, and frames sent")
        super().tearDown()

    def _prove_that_empty_tables_drop(self) -> None:
        """Without entries a test frame is measured nowhere, a seed ends, and nothing leaves."""
        self._reasons = self._count_reasons()
        self.send(1, test_frame(dst="02:00:00:00:00:01", run=self.run_id))
        self.tester.inject_seed(0, seed_payload(UDP_OVER_IPV4, 64), 0, 1)
        self.bench.settle()
        self.expect_nothing()
        self.assert_reasons(flooded=1, unknown_stream=1)
        self.assertEqual(self.records()["frames"].sum(), 0)
        self.tester.clear(READ_CELLS, self.bench.wait_passes)

    def install(self, *entities: Entity) -> None:
        """Insert entities; they are deleted when the test ends."""
        self.client.insert(list(entities))
        self.addCleanup(self.client.delete, list(reversed(entities)))

    def entry(self, table: str, match: dict, action: str, params: dict, priority: int = 0) -> Entity:
        """A table entry by the names of P4Info."""
        return self.client.schema.table_entry(table, match=match, action=action, params=params, priority=priority)

    def _set_run(self, run: int) -> None:
        """Make ``run`` the current run of reception and transmission."""
        self.client.modify(
            [
                self.client.schema.default_entry("receive_run", "set_receive_run", {"run_id": run}),
                self.client.schema.default_entry("transmit_run", "set_transmit_run", {"run_id": run}),
            ]
        )

    def receiver(self, port: int, mac: str, mask: int = (1 << 48) - 1, offset: int = 0, tag: int = 0) -> Entity:
        """The entry that makes ``port`` own ``mac`` in frames with the tag of a receiver."""
        value = int(mac.replace(":", ""), 16)
        return self.entry(
            "receiver",
            {"port": self.bench.port_of_program(port), "destination_mac": (value, mask)},
            "expected",
            {"flow_offset": offset, "receiver_tag": tag},
            1,
        )

    def send(self, port: int, frame: Packet | bytes) -> None:
        """Send a frame into a port of the tester and let it be processed."""
        self._sent += 1
        testutils.send_packet(self, port, bytes(frame))
        self.bench.settle()

    def records(self) -> np.ndarray:
        """The records of the cells that tests use."""
        return self.tester.read(READ_CELLS, self.bench.wait_passes)

    def assert_reasons(self, **expected: int) -> None:
        """Assert how many frames each reason has counted since the test began, and no others."""

        def since_the_beginning(now: dict[tuple[int, str], int]) -> dict[str, int]:
            counted = {name: self._counted(name, now) for name in dict.fromkeys(reason for _, reason in now)}
            return {name: count for name, count in counted.items() if count}

        self.assertEqual(self._settled(since_the_beginning, lambda counts: counts == expected), expected)

    def _settled(
        self, told: Callable[[dict[tuple[int, str], int]], Counts], complete: Callable[[Counts], bool]
    ) -> Counts:
        """The reason counters: at once if complete, else after the switch had time for the frames."""
        for _ in range(_LOOKS):
            counts = told(self._count_reasons())
            if complete(counts):
                break
            self.bench.settle()
        return counts

    def _counted(self, reason: str, now: dict[tuple[int, str], int]) -> int:
        return sum(count - self._reasons[port, name] for (port, name), count in now.items() if name == reason)

    def expect(self, port: int, frame: Packet | bytes) -> None:
        """Expect exactly this frame on ``port`` next."""
        testutils.verify_packet(self, frame, port)

    def expect_nothing(self) -> None:
        """Expect no (further) frame on any port."""
        testutils.verify_no_other_packets(self)

    def received(self, port: int, count: int, timeout_s: float = 2.0) -> list[bytes]:
        """Exactly ``count`` frames from a port, in order of arrival."""
        frames: list[bytes] = []
        for _ in range(count):
            result = testutils.dp_poll(self, port_number=port, timeout=timeout_s)
            if isinstance(result, self.dataplane.PollFailure):
                self.fail(f"port {port}: {len(frames)} of {count} frames received")
            frames.append(bytes(result.packet))
        return frames

    def _count_reasons(self) -> dict[tuple[int, str], int]:
        special = (self.contract["PORT_LOOP"], self.contract["PORT_CPU"])
        return self.tester.reason_counts((*self.bench.port_numbers, *special))


ptf.config.update(log_dir=None, log_file="/dev/null", relax=False)
ptf.ptfutils.default_timeout = 2.0
ptf.ptfutils.default_negative_timeout = 0.1
