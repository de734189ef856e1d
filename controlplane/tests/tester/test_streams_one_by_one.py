"""Streams that are started, read and stopped one by one while others run.

Method: streams A, B and C of known rates on one switch of 1 Gbit/s without loss. Each is read at moments of which the
number of its departures is known, and at rest, where counts are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from support.networks import parsed, switch

from p4mesh.errors import InternalError, ParameterError
from p4mesh.measurement.counting import count, count_flows
from p4mesh.target.table import TARGETS
from p4mesh.tester import instrument as tester
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.opening import open_tester
from p4mesh.traffic.patterns import FullMesh, Multicast, Pairs
from p4mesh.traffic.stream import Stream

US = 1000
MS = 1_000_000
A = Stream("A", 128, Fraction(100_000), 1000, Pairs(), (1,), (2,))
B = Stream("B", 64, Fraction(50_000), 60, FullMesh(), (1, 2, 3, 4), (1, 2, 3, 4))
C = Stream("C", 256, Fraction(10_000), 1000, Multicast(), (3,), (1, 4))


@pytest.fixture
def instrument() -> Iterator[tester.Tester]:
    with open_tester(TARGETS["sim"], parsed(switch())) as opened:
        opened.load(opened.plan((A, B, C), HistogramPer.STREAM))
        yield opened


def begin(instrument: tester.Tester, name: str) -> None:
    """Arm and start a stream, and wait until its first frame departs."""
    instrument.arm(name)
    instrument.wait(instrument.start(name))


def frames(instrument: tester.Tester, name: str) -> tuple[int, int]:
    """The frames of a stream that were sent and received, by a reading of this stream alone."""
    flows = count_flows(instrument.loaded, instrument.read(name), instrument.tick_ps, name)
    assert {flow.stream for flow in flows} == {name}
    return sum(flow.tx_frames for flow in flows), sum(flow.rx_frames for flow in flows)


def test_a_stream_starts_and_stops_while_another_one_runs(instrument: tester.Tester) -> None:
    """A sends a frame each 10 us, B one from each port each 20 us. B has sent all of its 60 when A is stopped."""
    begin(instrument, "A")
    instrument.wait(1 * MS)
    sent, received = frames(instrument, "A")
    assert 100 <= received <= sent <= 102
    assert frames(instrument, "B") == (0, 0)
    before_b = sent

    begin(instrument, "B")
    instrument.wait(400 * US)
    sent, received = frames(instrument, "B")
    assert 4 * 20 <= received <= sent <= 4 * 23
    sent, _ = frames(instrument, "A")
    assert sent >= before_b + 40, "A goes on"

    instrument.stop("A")
    instrument.drain()
    of_a = frames(instrument, "A")
    assert of_a[0] == of_a[1] < 1000
    at_stop = frames(instrument, "B")[0]
    instrument.wait(2 * MS)
    assert frames(instrument, "A") == of_a, "a stream that is stopped sends nothing"
    assert at_stop < 4 * 60
    assert frames(instrument, "B") == (4 * 60, 4 * 60), "B has gone on to its end"


def test_a_stream_that_is_stopped_and_started_again_sends_its_frames_in_all(instrument: tester.Tester) -> None:
    for name in ("A", "C"):
        begin(instrument, name)
    instrument.wait(3 * MS)
    instrument.stop("A")
    sent, _ = frames(instrument, "A")
    assert 300 <= sent <= 310
    instrument.wait(5 * MS)
    assert frames(instrument, "A") == (sent, sent)
    begin(instrument, "A")
    instrument.wait(6 * MS)
    running, _ = frames(instrument, "A")
    assert sent + 600 <= running < 1000
    instrument.wait(100 * MS)
    instrument.stop()
    instrument.drain()
    assert frames(instrument, "A") == (1000, 1000)
    assert frames(instrument, "C") == (2 * 1000, 2 * 1000), "each of its frames has two receivers"

    counts = count(instrument.loaded, instrument.read(), instrument.tick_ps)
    assert (counts.tx_frames, counts.rx_frames, counts.lost_frames, counts.reordered_frames) == (2000, 3000, 0, 0)


def test_a_reading_of_one_stream_reads_its_cells_alone(instrument: tester.Tester) -> None:
    for name in ("A", "C"):
        begin(instrument, name)
    instrument.wait(20 * MS)
    everything, alone = instrument.read(), instrument.read("A")
    own = instrument.loaded.of_streams(["A"])
    assert own.own_cells == sorted({flow.cell for flow in own.flows} | {own.streams[0].transmitters[0].id})
    others = [cell for cell in range(instrument.loaded.cells) if cell not in own.own_cells]
    assert not alone.records["frames"][others].any() and everything.records["frames"][others].any()
    assert alone.records["frames"][own.own_cells].tolist() == everything.records["frames"][own.own_cells].tolist()
    (flow,) = count_flows(instrument.loaded, alone, instrument.tick_ps, "A")
    (same,) = count_flows(instrument.loaded, everything, instrument.tick_ps, "A")
    assert flow == same and flow.latency is not None and flow.latency.count == 1000
    assert set(alone.bins) == {0} and sum(alone.bins[0].latency) == 1000


def test_an_unknown_stream_is_refused(instrument: tester.Tester) -> None:
    with pytest.raises(ParameterError, match="no stream 'D' is loaded") as refused:
        instrument.start("A", "D")
    assert refused.value.hint == "loaded: A, B, C"


def test_a_stream_has_its_seeds_once(instrument: tester.Tester) -> None:
    instrument.arm("A")
    with pytest.raises(InternalError, match="stream 'A' is armed already"):
        instrument.arm()
