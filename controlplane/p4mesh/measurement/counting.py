"""From a plan and a reading of it to counts: at rest, or of what has come so far while the streams run."""

from __future__ import annotations

from p4mesh.measurement.counts import Counts, FlowCounts
from p4mesh.measurement.departure_correction import corrected
from p4mesh.measurement.departures import departures, load_error_ppm, start_differences, window
from p4mesh.measurement.flow_arrays import FlowArrays, flow_arrays
from p4mesh.measurement.flow_counts import flow_counts, stray_counts
from p4mesh.measurement.interarrival import interarrival_stats
from p4mesh.measurement.latency_stats import histogram_stats, latency_of_all
from p4mesh.measurement.message_stats import message_counts
from p4mesh.measurement.port_counts import port_counts
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading


def count(
    plan: Plan, reading: Reading, tick_ps: int, *, per_flow: bool = False, flows: FlowArrays | None = None
) -> Counts:
    """Counts of a reading; ``flows`` are those of :func:`flow_arrays`, where they are known already."""
    flows = flows or flow_arrays(plan, reading)
    records, expected = reading.records, flows.expected
    frames = reading.of_all_ports
    unique = int(flows.unique[expected].sum())
    duplicates = int(flows.duplicates[expected].sum())
    back_at_source = int((flows.unique + flows.duplicates)[~expected].sum())
    expected_rx = int(flows.sent[expected].sum())
    first, last = departures(plan, records)
    start_skew, start_spread = start_differences(plan, records)
    ports = port_counts(plan, reading, flows, tick_ps, window(plan, records, tick_ps))
    counts = Counts(
        intended_frames=sum(t.frames for stream in plan.streams for t in stream.transmitters),
        tx_frames=frames["transmitted"],
        expected_rx_frames=expected_rx,
        rx_frames=unique + duplicates,
        lost_frames=int(flows.lost[expected].sum()),
        doubtful_frames=int(flows.doubtful[expected].sum()),
        duplicate_frames=duplicates,
        reordered_frames=int(flows.reordered[expected].sum()),
        # A frame to many ports that comes back to its source: the program counts it as one of its flow.
        flooded_frames=frames["flooded"] + back_at_source,
        foreign_frames=frames["foreign"],
        stale_frames=frames["stale"],
        damaged_frames=sum(port.damaged_frames for port in ports),
        first_tx_ns=first * tick_ps // 1000,
        last_tx_ns=last * tick_ps // 1000,
        ports=ports,
        corrupted_frames=sum(port.corrupted_frames for port in ports),
        latency=latency_of_all(plan, records, reading.bins, tick_ps),
        flows=flow_counts(plan, reading, flows, tick_ps) if per_flow else (),
        start_skew_ns=start_skew * tick_ps // 1000,
        start_spread_ns=start_spread * tick_ps // 1000,
        oload_error_ppm=load_error_ppm(plan, records),
        histograms=histogram_stats(plan, records, reading.bins, tick_ps),
        misdirected_frames=frames["misdirected"],
        strays=stray_counts(plan, reading, flows),
        messages=message_counts(plan, reading, tick_ps),
        interarrival=interarrival_stats(plan, records, reading.interarrival, tick_ps),
    )
    return corrected(counts, plan, records, reading.stamps)


def count_flows(plan: Plan, reading: Reading, tick_ps: int, *names: str) -> tuple[FlowCounts, ...]:
    """Counts of the flows of some streams, by default of all, whatever else the ports carry.

    A reading of these streams alone (:meth:`p4mesh.tester.instrument.Tester.read`) is enough.
    """
    own = plan.of_streams(names)
    return flow_counts(own, reading, flow_arrays(own, reading), tick_ps)
