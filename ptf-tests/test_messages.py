"""Messages of several frames: complete and damaged ones, and the times of complete ones."""

from __future__ import annotations

from typing import Any

from base import TesterTest
from signature import test_frame

STATION = "02:00:00:00:00:01"
FIRST_FLOW, FRAMES, SOURCE = 8, 4, 3
ALL_ONES = (1 << 64) - 1
LONGEST_LATENCY = (1 << 32) - 1
"""Longest latency of a flow, in ticks: longer ones are cut to it, while times of messages have all bits."""


class MessageTest(TesterTest):
    """Sends frames of messages of 4, whose positions are flows 8 to 11, and reads what their source has counted."""

    __test__ = False

    def setUp(self) -> None:
        super().setUp()
        if "MESSAGE_SOURCES" not in self.contract.constants:
            self.skipTest("the program does not count messages")
        self.tester.clear_messages(SOURCE + 1, self.bench.wait_passes)
        self.install(
            self.receiver(1, STATION),
            self.entry(
                "message",
                {"flow": (FIRST_FLOW, 0xFFFC)},
                "part_of_message",
                {
                    "message_source": SOURCE,
                    "first_flow": FIRST_FLOW,
                    "last_flow": FIRST_FLOW + FRAMES - 1,
                    "message_frames": FRAMES,
                },
                1,
            ),
        )

    def arrive(self, *frames: str, stamps: dict[str, int] | None = None) -> None:
        """Send frames by name: message number and position, such as 03 for the last frame of the first message."""
        for name in frames:
            self.send(
                1,
                test_frame(
                    dst=STATION,
                    run=self.run_id,
                    flow=FIRST_FLOW + int(name[1]),
                    sequence=int(name[0]),
                    transmit_time=(stamps or {}).get(name, 0),
                ),
            )

    def now_ns(self) -> int:
        """The time of the clock that stamps arrivals, from a frame of a flow that is in no message."""
        flow = FIRST_FLOW - 1
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=flow, sequence=0))
        return int(self.records()[flow]["last_arrival"])

    def messages(self) -> Any:
        """The record of the source; sources without messages must have counted nothing."""
        records = self.tester.read_messages(SOURCE + 1, self.bench.wait_passes)
        self.assertEqual(records["complete"][:SOURCE].sum() + records["damaged"][:SOURCE].sum(), 0)
        return records[SOURCE]

    def assert_counted(self, complete: int, damaged: int, newest: int, arrived: int) -> None:
        found = self.messages()
        counted = tuple(int(found[name]) for name in ("complete", "damaged", "newest", "arrived"))
        self.assertEqual(counted, (complete, damaged, newest, arrived))


class MessagesWithAllFramesAreComplete(MessageTest):
    """Goal: a message is complete with its last frame, whatever the order of its frames, and whatever copies came."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive("00", "01", "02")
        self.assert_counted(complete=0, damaged=0, newest=0, arrived=3)
        self.arrive("03", "03")
        self.assert_counted(complete=1, damaged=0, newest=0, arrived=4)
        self.arrive("13", "11", "11", "10", "12", "20")
        self.assert_counted(complete=2, damaged=0, newest=2, arrived=1)


class MessagesWithLostFramesAreDamaged(MessageTest):
    """Goal: a lost frame damages its message once a later one begins; a message that never came is damaged, too."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive("00", "01", "03")
        self.assert_counted(complete=0, damaged=0, newest=0, arrived=3)
        self.arrive("11", "12", "13")
        self.assert_counted(complete=0, damaged=1, newest=1, arrived=3)
        self.arrive("40", "41", "42", "43")
        self.assert_counted(complete=1, damaged=4, newest=4, arrived=4)
        self.arrive("50")
        self.assert_counted(complete=1, damaged=4, newest=5, arrived=1)


class FramesBehindALaterMessageChangeNothing(MessageTest):
    """Goal: a frame that comes after one of a later message does not complete its own."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive("00", "01", "02", "10", "03", "11", "12", "13")
        self.assert_counted(complete=1, damaged=1, newest=1, arrived=4)


class FramesOfOtherFlowsAreInNoMessage(MessageTest):
    """Goal: flows outside of the rules, and frames that are not expected, change nothing."""

    __test__ = True

    def runTest(self) -> None:
        other: dict[str, Any] = {"dst": STATION, "sequence": 0}
        self.send(1, test_frame(run=self.run_id, flow=FIRST_FLOW - 1, **other))
        self.send(1, test_frame(run=self.run_id, flow=FIRST_FLOW + FRAMES, **other))
        self.send(2, test_frame(run=self.run_id, flow=FIRST_FLOW, **other))
        self.send(1, test_frame(run=self.run_id ^ 1, flow=FIRST_FLOW, **other))
        self.assert_counted(complete=0, damaged=0, newest=0, arrived=0)


class TimesAreThoseOfFirstAndLastFrames(MessageTest):
    """Goal: FIFO, LILO and FILO of complete messages. Method: stamps whose differences are known; the arrivals are
    later by what the flows of the first and the last position have measured. All stamps are of this moment: cells for
    latency hold 4.29 s, and the clock may have run for longer."""

    __test__ = True

    def runTest(self) -> None:
        recent = self.now_ns() - 10_000
        stamps = {"00": recent + 7_000, "03": recent + 1_000, "30": recent + 100, "33": recent + 4_000}
        self.arrive("00", "01", "02", "03", "20", "21", "23", stamps=stamps)
        self.arrive("30", "31", "32", "33", stamps=stamps)
        found, records = self.messages(), self.records()
        self.assertEqual(int(found["complete"]), 2)
        first, last = records[FIRST_FLOW], records[FIRST_FLOW + FRAMES - 1]
        self.assertEqual(min(int(found["fifo_max"]), LONGEST_LATENCY), int(first["latency_last"]))
        self.assertEqual(min(int(found["lilo_max"]), LONGEST_LATENCY), int(last["latency_last"]))
        for name in ("fifo", "lilo", "filo"):
            low, high = ALL_ONES - int(found[f"{name}_min_inverted"]), int(found[f"{name}_max"])
            self.assertEqual(low + high, int(found[f"{name}_sum"]), name)
        # FILO is LILO and the distance of the departures: -6,000 in the first message, 3,900 in the last one.
        self.assertEqual(int(found["filo_max"]) - int(found["lilo_max"]), 3_900)
        self.assertEqual(int(found["filo_sum"]) - int(found["lilo_sum"]), 3_900 - 6_000)


class ClearingEmptiesMessages(MessageTest):
    """Goal: a clearing pass with the flag of messages makes a source as it was at the beginning."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive("00", "01", "02", "03", "30")
        self.tester.clear_messages(SOURCE + 1, self.bench.wait_passes)
        found = self.messages()
        self.assertEqual({name: int(found[name]) for name, _ in self.contract.message_fields if found[name]}, {})
