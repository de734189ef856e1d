"""Measurement: sequence, duplicates, latency, jitter, histogram, arrival spacing."""

from __future__ import annotations

from base import TesterTest
from signature import test_frame

STATION = "02:00:00:00:00:01"
ALL_ONES = 0xFFFFFFFF


class SequenceTest(TesterTest):
    """Sends the sequence numbers of one flow in a given order."""

    __test__ = False

    def arrive(self, *sequences: int) -> None:
        self.install(self.receiver(1, STATION))
        for sequence in sequences:
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=7, sequence=sequence))


class GapsAreNoReordering(SequenceTest):
    """Goal: lost frames leave a gap; nothing is duplicate or reordered."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive(0, 1, 5, 6, 9)
        record = self.records()[7]
        self.assertEqual(record["frames"], 5)
        self.assertEqual(record["next_sequence"], 10)
        self.assertEqual((record["duplicates"], record["reordered"]), (0, 0))


class LateFramesAreReordered(SequenceTest):
    """Goal: a frame behind a later one of its flow is reordered, and received."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive(0, 3, 1, 2, 4)
        record = self.records()[7]
        self.assertEqual(record["frames"], 5)
        self.assertEqual((record["duplicates"], record["reordered"]), (0, 2))


class CopiesAreDuplicates(SequenceTest):
    """Goal: the second and third copy of a frame are duplicates, in and out of order."""

    __test__ = True

    def runTest(self) -> None:
        self.arrive(0, 0, 1, 2, 1, 2, 2)
        record = self.records()[7]
        self.assertEqual(record["frames"], 3)
        self.assertEqual((record["duplicates"], record["reordered"]), (4, 0))


class LatencyIsArrivalMinusDeparture(TesterTest):
    """Goal: latency and jitter of known time stamps. Method: stamps so old that the distance of the
    frames' arrivals does not matter, except for a constant that the test takes from the record."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        for sequence, stamp in enumerate((1000, 400, 900)):
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=4, sequence=sequence, transmit_time=stamp))
        record = self.records()[4]
        self.assertEqual(record["frames"], 3)
        shortest = ALL_ONES - int(record["latency_min_inverted"])
        longest = int(record["latency_max"])
        self.assertEqual(shortest, int(record["first_arrival"]) - 1000)
        self.assertEqual(int(record["latency_last"]), int(record["last_arrival"]) - 900)
        self.assertGreaterEqual(longest, shortest + 600)
        self.assertLessEqual(3 * shortest, int(record["latency_sum"]))
        self.assertLessEqual(int(record["latency_sum"]), 3 * longest)
        jitter_min = ALL_ONES - int(record["jitter_min_inverted"])
        self.assertEqual(int(record["jitter_sum"]), jitter_min + int(record["jitter_max"]))
        self.assertEqual(record["latency_overflows"], 0)


class LatencyBeyondTheCellSaturates(TesterTest):
    """Goal: a latency of more than 32 bits is the largest value and is counted, never aliased."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=4, transmit_time=(1 << 48) - (1 << 40)))
        record = self.records()[4]
        self.assertEqual(record["latency_max"], ALL_ONES)
        self.assertEqual(record["latency_overflows"], 1)


class HistogramBinHoldsTheLatency(TesterTest):
    """Goal: the bin of a frame is the one that docs/DATAPLANE.md gives for its latency."""

    def runTest(self) -> None:
        self.install(
            self.receiver(1, STATION),
            self.entry(
                "histogram",
                {"port": 1, "flow": (4, 0xFFFFFF)},
                "use_histogram",
                {"first_cell": self.contract["HISTOGRAM_BINS"]},
                1,
            ),
        )
        before = self._bins()
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=4, transmit_time=1))
        latency = int(self.records()[4]["latency_last"])
        octave = max(latency.bit_length() - 1, 5)
        expected = latency if latency < 64 else (octave - 5) * 64 + (latency >> (octave - 6)) % 64
        changed = {cell: count - before[cell] for cell, count in self._bins().items() if count != before[cell]}
        self.assertEqual(changed, {self.contract["HISTOGRAM_BINS"] + expected: 1})

    def _bins(self) -> dict[int, int]:
        first = self.contract["HISTOGRAM_BINS"]
        cells = list(range(first, first + self.contract["HISTOGRAM_BINS"]))
        return {cell: data.packets for cell, data in self.client.read_counters("latency_histogram", cells)}


class ArrivalSpacingIsTheSmallest(TesterTest):
    """Goal: the smallest distance of two frame starts on a port, whatever the frames are."""

    def runTest(self) -> None:
        for gap_ns in (40_000_000, 10_000_000, 30_000_000):
            self.send(3, bytes(60))
            self.bench.wait(gap_ns)
        self.send(3, bytes(60))
        spacing_ns = (ALL_ONES - int(self.records()[3]["spacing_min_inverted"])) * self.bench.tick_ps // 1000
        self.assertGreaterEqual(spacing_ns, 10_000_000)
        if self.bench.exact:
            self.assertEqual(spacing_ns, 10_000_000 + self.bench.settle_ns)
