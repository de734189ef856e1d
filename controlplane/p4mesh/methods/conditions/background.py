"""The results of trials that sent other streams than the test asked for: counts of the test streams alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from p4mesh.measurement.counts import FlowCounts, LatencyStats
from p4mesh.trial.result import TrialResult


def renamed(result: TrialResult, names: Mapping[str, str]) -> TrialResult:
    """The result with flows called as in the trial that the test asked for, not as their parts."""
    return replace(
        result,
        flows=tuple(replace(flow, stream=names.get(flow.stream, flow.stream)) for flow in result.flows),
        histograms=tuple(replace(item, stream=names.get(item.stream, item.stream)) for item in result.histograms),
        outages=tuple(replace(item, stream=names.get(item.stream, item.stream)) for item in result.outages),
    )


def without(result: TrialResult, background: set[str]) -> TrialResult:
    """The counts of a trial without those of its background streams.

    Percentiles are left out: the histogram of the trial holds all streams.
    """
    flows = tuple(flow for flow in result.flows if flow.stream not in background)
    # A broadcast has a flow per receiver; its frames are sent once.
    others = sum(
        max(flow.tx_frames for flow in result.flows if (flow.stream, flow.tx_port) == key)
        for key in {(flow.stream, flow.tx_port) for flow in result.flows if flow.stream in background}
    )
    return replace(
        result,
        intended_frames=result.intended_frames - others,
        tx_frames=result.tx_frames - others,
        expected_rx_frames=sum(flow.tx_frames for flow in flows),
        rx_frames=sum(flow.rx_frames for flow in flows),
        lost_frames=sum(flow.lost_frames for flow in flows),
        duplicate_frames=sum(flow.duplicate_frames for flow in flows),
        reordered_frames=sum(flow.reordered_frames for flow in flows),
        doubtful_frames=sum(flow.doubtful_frames for flow in flows),
        latency=_latency(flows),
        flows=flows,
        outages=tuple(outage for outage in result.outages if outage.stream not in background),
    )


def _latency(flows: Sequence[FlowCounts]) -> LatencyStats | None:
    parts = [flow.latency for flow in flows if flow.latency is not None and flow.latency.count]
    if not parts:
        return None
    jittered = [part for part in parts if part.jitter_count]
    return LatencyStats(
        count=sum(part.count for part in parts),
        min_ns=min(part.min_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        sum_ns=sum(part.sum_ns for part in parts),
        jitter_count=sum(part.jitter_count for part in jittered),
        jitter_min_ns=min((part.jitter_min_ns for part in jittered), default=0.0),
        jitter_max_ns=max((part.jitter_max_ns for part in jittered), default=0.0),
        jitter_sum_ns=sum(part.jitter_sum_ns for part in jittered),
        added_bytes=sum(part.count * part.added_bytes for part in parts) / sum(part.count for part in parts),
    )
