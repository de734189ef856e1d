"""Counts of a plan and a reading, with no trial around them: what a server would do."""

from __future__ import annotations

from fractions import Fraction

from support.networks import parsed, switch

from p4mesh.measurement.counting import count
from p4mesh.target.table import TARGETS
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.opening import open_tester
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

PORTS = (1, 2, 3, 4)
FRAMES = 300
MESH = Stream("mesh", 64, Fraction(100_000), FRAMES, FullMesh(), PORTS, PORTS)


def test_counts_of_streams_that_no_trial_has_started() -> None:
    """Each port sends 300 frames, 100 to each other port; halfway about half of them have come."""
    with open_tester(TARGETS["sim"], parsed(switch())) as instrument:
        plan = instrument.plan((MESH,), HistogramPer.STREAM)
        instrument.load(plan)
        instrument.arm()
        instrument.wait(instrument.start() + 1_500_000)
        half = count(plan, instrument.read(), instrument.tick_ps)
        instrument.wait(2_000_000)
        instrument.drain()
        counts = count(plan, instrument.read(), instrument.tick_ps, per_flow=True)

    assert 590 < half.rx_frames < 650
    assert (counts.intended_frames, counts.tx_frames, counts.rx_frames, counts.lost_frames) == (1200, 1200, 1200, 0)
    assert [(port.port, port.tx_frames, port.rx_frames) for port in counts.ports] == [(p, 300, 300) for p in PORTS]
    assert {(flow.tx_port, flow.rx_port): flow.rx_frames for flow in counts.flows} == {
        (source, sink): 100 for source in PORTS for sink in PORTS if sink != source
    }
    assert counts.latency is not None and counts.latency.count == 1200
    assert [found.latency.count for found in counts.histograms] == [1200]
