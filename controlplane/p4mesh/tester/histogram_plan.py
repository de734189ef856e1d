"""Assigns the frames of a trial to histograms.

A histogram is selected by the receive port and the flow number of a frame (table ``histogram`` of the
P4 program), so one stream, one receive port of a stream, or one flow can have a histogram of its own. So can the times
between frames: the same entry names the histogram of latency and that of the times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.tester.flows import Flow
from p4mesh.tester.histogram import FlowName, Histogram, HistogramPer, HistogramRule, blocks, prefixes
from p4mesh.tester.plan import FLOW_BITS, Limits, Plan, require


def with_histograms(plan: Plan, per: HistogramPer | None, chosen: Sequence[FlowName], limits: Limits) -> Plan:
    """Adds histograms per class, stream, (stream, receive port) or flow to a plan.

    Raises UnsupportedError when the program has fewer histograms or rules than that, ParameterError
    when a chosen flow is not one of the plan.
    """
    if per is None:
        return plan
    histograms, rules = _histograms(plan, per, chosen, limits)
    return replace(plan, histograms=histograms, histogram_rules=rules)


def with_interarrival(plan: Plan, per: HistogramPer | None, limits: Limits) -> Plan:
    """Adds histograms of the times between frames to a plan that has its histograms of latency, if it has any.

    Those of latency may not be of fewer frames. Raises UnsupportedError as :func:`with_histograms` does, and where the
    program has no such histograms.
    """
    if per is None:
        return plan
    if not limits.interarrival:
        raise UnsupportedError(
            f"not supported on {limits.target}: histograms of the times between frames",
            hint="leave interarrival out, or use --target sim",
        )
    histograms, rules = _histograms(plan, per, (), limits)
    latency_of = {cell: found.number for found in plan.histograms for cell in found.cells}
    latency = [latency_of.get(found.cells[0], found.number) for found in histograms]
    return replace(
        plan,
        interarrival=histograms,
        histogram_rules=tuple(
            replace(rule, histogram=latency[rule.histogram], interarrival=rule.histogram) for rule in rules
        ),
    )


def with_finer_bins(plan: Plan, limits: Limits) -> Plan:
    """Gives the histograms of a plan as many bins as the program has room for."""
    histograms = max(len(plan.histograms), len(plan.interarrival))
    if not histograms:
        return plan
    bits = min(limits.finer_bits, (limits.histograms // histograms).bit_length() - 1)
    return replace(
        plan,
        histograms=tuple(replace(histogram, finer_bits=bits) for histogram in plan.histograms),
        interarrival=tuple(replace(histogram, finer_bits=bits) for histogram in plan.interarrival),
        histogram_rules=tuple(replace(rule, finer_bits=bits) for rule in plan.histogram_rules),
    )


def _histograms(
    plan: Plan, per: HistogramPer, chosen: Sequence[FlowName], limits: Limits
) -> tuple[tuple[Histogram, ...], tuple[HistogramRule, ...]]:
    if per is HistogramPer.FLOW:
        groups = _flow_groups(plan, chosen, limits)
    elif per is HistogramPer.CLASS:
        groups = _class_groups(plan, limits)
    else:
        groups = _port_groups(plan, limits, per is HistogramPer.STREAM_AND_PORT)
    histograms, rules = [], []
    for number, (name, flows, covered) in enumerate(groups):
        histograms.append(Histogram(number, *name, tuple(flow.cell for flow in flows if flow.expected)))
        rules += [
            HistogramRule(number, port, flow, mask)
            for port in sorted({flow.rx_port for flow in flows})
            for flow, mask in covered
        ]
    require(len(histograms), limits.histograms, "histograms", limits)
    require(len(rules), limits.histogram_rules, "histogram rules", limits)
    return tuple(histograms), tuple(rules)


_Group = tuple[tuple[str, int | None, int | None], Sequence[Flow], list[tuple[int, int]]]
"""(stream, transmit port, receive port), flows, and (flow number, mask) pairs that cover them."""


def _range(flows: Sequence[Flow], limits: Limits) -> list[tuple[int, int]]:
    """Numbers of the flows of a stream. Frames to many carry the first of their cells, which is in the same range."""
    numbers = [flow.cell % limits.flows for flow in flows]
    return prefixes(min(numbers), max(numbers) + 1 - min(numbers), FLOW_BITS)


def _port_groups(plan: Plan, limits: Limits, per_port: bool) -> Iterable[_Group]:
    for number, stream in sorted(plan.names.items()):
        flows = [flow for flow in plan.flows if flow.stream == number]
        covered = _range(flows, limits)
        if not per_port:
            yield (stream, None, None), flows, covered
            continue
        for port in sorted({flow.rx_port for flow in flows if flow.expected}):
            yield (stream, None, port), [flow for flow in flows if flow.rx_port == port], covered


def _class_groups(plan: Plan, limits: Limits) -> Iterable[_Group]:
    """Yield the flows of each class; the streams of a class need not follow each other."""
    classes = {item.origin: item.stream.traffic_class for item in plan.streams}
    for name in dict.fromkeys(classes[number] for number in sorted(classes)):
        covered: list[tuple[int, int]] = []
        members: list[Flow] = []
        for number in (number for number, found in sorted(classes.items()) if found == name):
            flows = [flow for flow in plan.flows if flow.stream == number]
            covered += _range(flows, limits)
            members += flows
        yield (name, None, None), members, covered


def _flow_groups(plan: Plan, chosen: Sequence[FlowName], limits: Limits) -> Iterable[_Group]:
    names = plan.names
    known: dict[FlowName, list[Flow]] = {}
    for flow in plan.flows:
        if flow.expected:
            known.setdefault((names[flow.stream], flow.tx_port, flow.rx_port), []).append(flow)
    for name in chosen or known:
        if name not in known:
            stream, tx_port, rx_port = name
            raise ParameterError(
                f"histogram: the trial has no flow of stream '{stream}' from port {tx_port} to port {rx_port}",
                hint=f"streams are {', '.join(dict.fromkeys(stream for stream, _, _ in known))}",
            )
        flows = known[name]
        numbers = {flow.sequence_cell % limits.flows for flow in flows}
        yield name, flows, blocks(numbers, FLOW_BITS)
