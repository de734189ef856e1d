"""Measurement: sequence, duplicates, latency, jitter, histogram, arrival spacing."""

from __future__ import annotations

from collections import Counter

import numpy as np
from base import TesterTest
from signature import test_frame

from p4mesh.tester.records import READ_TICKS
from p4mesh.tester.switch_client import Entity

STATION = "02:00:00:00:00:01"
ALL_ONES = 0xFFFFFFFF
IPDV_ZERO = 1 << 31


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
    """Goal: latency and jitter of known time stamps. Method: stamps around the arrival of an earlier frame, so that the
    distance of the frames' arrivals does not matter, except for a constant that the test takes from the record."""

    def runTest(self) -> None:
        self.install(self.receiver(1, STATION))
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=5))
        begin = int(self.records()[5]["first_arrival"])
        for sequence, stamp in enumerate((begin + 1000, begin + 400, begin + 900)):
            self.send(1, test_frame(dst=STATION, run=self.run_id, flow=4, sequence=sequence, transmit_time=stamp))
        record = self.records()[4]
        self.assertEqual(record["frames"], 3)
        shortest = ALL_ONES - int(record["latency_min_inverted"])
        longest = int(record["latency_max"])
        self.assertEqual(shortest, int(record["first_arrival"]) - begin - 1000)
        self.assertEqual(int(record["latency_last"]), int(record["last_arrival"]) - begin - 900)
        self.assertGreaterEqual(longest, shortest + 600)
        self.assertLessEqual(3 * shortest, sum_of(record, "latency"))
        self.assertLessEqual(sum_of(record, "latency"), 3 * longest)
        jitter_min = ALL_ONES - int(record["jitter_min_inverted"])
        self.assertEqual(sum_of(record, "jitter"), jitter_min + int(record["jitter_max"]))
        self.assertEqual(record["latency_overflows"], 0)


class VariationTest(TesterTest):
    """Sends a flow whose latencies are spread over the whole range of a cell, and computes every
    measure of their variation from the latencies that the records show one by one."""

    __test__ = False
    FLOW = 4

    @property
    def has_ipdv(self) -> bool:
        """Whether the program measures IPDV and RFC 3550 jitter."""
        return "IPDV_MAX" in self.contract.constants

    def vary(self, *arrivals: tuple[int, int]) -> None:
        """Send (sequence, delay) in turn; ``delay`` is added to a latency that grows with time."""
        self.install(self.receiver(1, STATION), histogram(self, self.FLOW))
        before = ipdv_bins(self) if self.has_ipdv else {}
        expected = Variation(
            self.contract.constants.get("SMOOTHED_DIFFERENCE_MAX", 0), self.contract.constants.get("IPDV_MAX", 0)
        )
        for sequence, delay in arrivals:
            # Of the target's own time: it may have run for longer than a latency can be.
            stamp = int(self.records()[self.FLOW][READ_TICKS]) - delay
            frame = test_frame(
                dst=STATION, run=self.run_id, flow=self.FLOW, sequence=sequence, transmit_time=stamp % (1 << 48)
            )
            self.send(1, frame)
            record = self.records()[self.FLOW]
            if int(record["frames"]) > expected.frames:
                expected.arrive(sequence, int(record["latency_last"]))
        self.assertEqual(record["latency_overflows"], 0)
        self.assertEqual(sum_of(record, "latency"), sum(expected.latencies))
        self.assertEqual(ALL_ONES - int(record["jitter_min_inverted"]), min(expected.jitters))
        self.assertEqual(record["jitter_max"], max(expected.jitters))
        self.assertEqual(sum_of(record, "jitter"), sum(expected.jitters))
        if not self.has_ipdv:
            return
        self.assertEqual(record["jitter_smoothed_x16"], expected.smoothed_x16)
        self.assertEqual(record["ipdv_count"], len(expected.ipdvs))
        self.assertEqual(ALL_ONES - int(record["ipdv_min_inverted"]) - IPDV_ZERO, min(expected.ipdvs))
        self.assertEqual(int(record["ipdv_max"]) - IPDV_ZERO, max(expected.ipdvs))
        self.assertEqual(sum_of(record, "ipdv"), sum(expected.ipdvs))
        counted = {cell: count - before[cell] for cell, count in ipdv_bins(self).items() if count != before[cell]}
        self.assertEqual(counted, dict(Counter(self._ipdv_cell(ipdv) for ipdv in expected.ipdvs)))

    def _ipdv_cell(self, ipdv: int) -> int:
        bins = self.contract["HISTOGRAM_BINS"]
        return 2 * bins + bin_of(abs(ipdv)) + (bins if ipdv < 0 else 0)


class VariationFollowsItsDefinitions(VariationTest):
    """Goal: RFC 4689 jitter, RFC 3550 jitter and IPDV of frames in order, behind a gap, late and
    duplicate: jitter over consecutive arrivals, IPDV only behind the frame sent before."""

    __test__ = True

    def runTest(self) -> None:
        delays = (900, 400, 950, 100, 800, 120, 120, 777, 300)
        sequences = (0, 1, 2, 4, 3, 5, 5, 6, 7)
        self.vary(*((sequence, 1_000_000 * delay) for sequence, delay in zip(sequences, delays, strict=True)))
        self.assertEqual(self.records()[self.FLOW]["duplicates"], 1)
        if self.has_ipdv:
            self.assertEqual(self.records()[self.FLOW]["ipdv_count"], 5)


class SumsOfLongLatenciesCarry(VariationTest):
    """Goal: sums go beyond 32 bits and below zero without loss, differences beyond what a cell holds
    are taken as its largest one."""

    __test__ = True

    def runTest(self) -> None:
        self.vary(*enumerate((4_200_000_000, 10_000_000, 4_100_000_000, 3_000_000_000, 20_000_000, 30_000_000)))
        record = self.records()[self.FLOW]
        self.assertEqual(int(record["latency_sum_high"]), 2)
        if not self.has_ipdv:
            return
        self.assertEqual(int(record["ipdv_sum_high"]), (1 << 64) - 1)
        self.assertEqual(ALL_ONES - int(record["ipdv_min_inverted"]), IPDV_ZERO - self.contract["IPDV_MAX"])


class Variation:
    """The measures of variation by their definitions (methodology: latency and jitter, section 3)."""

    def __init__(self, smoothed_max: int, ipdv_max: int) -> None:
        self.latencies: list[int] = []
        self.jitters: list[int] = []
        self.ipdvs: list[int] = []
        self.smoothed_x16 = 0
        self._smoothed_max = smoothed_max
        self._ipdv_max = ipdv_max
        self._by_sequence: dict[int, int] = {}

    @property
    def frames(self) -> int:
        return len(self.latencies)

    def arrive(self, sequence: int, latency: int) -> None:
        if self.latencies:
            difference = abs(latency - self.latencies[-1])
            self.jitters.append(difference)
            self.smoothed_x16 += min(difference, self._smoothed_max) - ((self.smoothed_x16 + 8) >> 4)
        if sequence - 1 in self._by_sequence and sequence > max(self._by_sequence):
            ipdv = latency - self._by_sequence[sequence - 1]
            self.ipdvs.append(max(-self._ipdv_max, min(self._ipdv_max, ipdv)))
        self.latencies.append(latency)
        self._by_sequence[sequence] = latency


def sum_of(record: np.void, name: str) -> int:
    """A 96-bit sum of a record, whose upper part is signed."""
    high = int(record[f"{name}_sum_high"])
    return ((high - (1 << 64) if high >> 63 else high) << 32) + int(record[f"{name}_sum_low"])


def bin_of(ticks: int, finer_bits: int = 0) -> int:
    """The place in a histogram (docs/DATAPLANE.md)."""
    octave, bits = ticks.bit_length() - 1, 6 + finer_bits
    return ticks if ticks < 1 << bits else ((octave - bits + 1) << bits) + (ticks >> (octave - bits)) % (1 << bits)


def histogram(test: TesterTest, flow: int, finer_bits: int = 0) -> Entity:
    """Entry that counts a flow on port 1 in histogram number 1."""
    params = {"first_cell": test.contract["HISTOGRAM_BINS"] << finer_bits}
    if "FINER_BITS" in test.contract.constants:
        params["finer_bits"] = finer_bits
    match = {"port": test.bench.port_of_program(1), "flow": (flow, 0xFFFF)}
    return test.entry("histogram", match, "use_histogram", params, 1)


def ipdv_bins(test: TesterTest) -> dict[int, int]:
    """The frames per bin of the IPDV histogram number 1."""
    size = 2 * test.contract["HISTOGRAM_BINS"]
    cells = list(range(size, 2 * size))
    return {cell: data.packets for cell, data in test.client.read_counters("ipdv_histogram", cells)}


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
        self._count(0)

    def _count(self, finer_bits: int) -> None:
        first = self.contract["HISTOGRAM_BINS"] << finer_bits
        self.install(self.receiver(1, STATION), histogram(self, 4, finer_bits))
        before = self._bins(first)
        self.send(1, test_frame(dst=STATION, run=self.run_id, flow=4, transmit_time=1))
        latency = int(self.records()[4]["latency_last"])
        changed = {cell: count - before[cell] for cell, count in self._bins(first).items() if count != before[cell]}
        self.assertEqual(changed, {first + bin_of(latency, finer_bits): 1})

    def _bins(self, first: int) -> dict[int, int]:
        cells = list(range(first, 2 * first))
        return {cell: data.packets for cell, data in self.client.read_counters("latency_histogram", cells)}


class HistogramBinsMayBeFiner(HistogramBinHoldsTheLatency):
    """Goal: a histogram whose entry says so has more bins, each of which is narrower."""

    def runTest(self) -> None:
        if "FINER_BITS" not in self.contract.constants:
            self.skipTest("histograms of this program have bins of one width")
        self._count(self.contract["FINER_BITS"])


class ArrivalSpacingIsTheSmallest(TesterTest):
    """Goal: the smallest distance of two frame starts on a port, of any kind."""

    def runTest(self) -> None:
        for gap_ns in (40_000_000, 10_000_000, 30_000_000):
            self.send(3, bytes(60))
            self.bench.wait(gap_ns)
        self.send(3, bytes(60))
        spacing_ns = (ALL_ONES - int(self.records()[3]["spacing_min_inverted"])) * self.bench.tick_ps // 1000
        self.assertGreaterEqual(spacing_ns, 10_000_000)
        if self.bench.exact:
            self.assertEqual(spacing_ns, 10_000_000 + self.bench.settle_ns)


class LongSilenceIsNoShortSpacing(TesterTest):
    """Goal: a distance of more than 32 bits of ticks saturates; its low bits alone would look short."""

    def runTest(self) -> None:
        if not self.bench.exact:
            self.skipTest("2^32 ticks are 72 minutes of wall clock")
        self.send(3, bytes(60))
        self.bench.wait((1 << 32) + 1000)
        self.send(3, bytes(60))
        self.assertEqual(ALL_ONES - int(self.records()[3]["spacing_min_inverted"]), ALL_ONES)
