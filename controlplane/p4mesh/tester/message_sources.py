"""Sources of messages in a plan: what the data plane counts as a whole, beside the flow of each position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from p4mesh.tester.plan import Limits, MessageSource, Plan, StreamPlan, require
from p4mesh.traffic.patterns import Message


def with_messages(plan: Plan, limits: Limits) -> Plan:
    """Adds a source for each (stream, transmit port, receive port) of the messages of a plan.

    None on a target whose program does not count messages. Raises UnsupportedError when the program has fewer sources
    or rules than that.
    """
    if not limits.message_sources:
        return plan
    sources = tuple(_sources(plan))
    require(len(sources), limits.message_sources, "sources of messages", limits)
    require(sum(len(source.blocks) for source in sources), limits.message_rules, "rules for messages", limits)
    return replace(plan, messages=sources)


def _sources(plan: Plan) -> Iterator[MessageSource]:
    flows = {flow.cell: flow for flow in plan.flows} if any(map(_frames, plan.streams)) else {}
    number = 0
    for planned in sorted(plan.streams, key=lambda item: item.origin):
        frames = _frames(planned)
        if not frames:
            continue
        for transmitter in planned.transmitters:
            last = transmitter.flow_base + transmitter.positions
            for first in range(transmitter.flow_base, last, frames):
                yield MessageSource(number, planned.origin, transmitter.port, flows[first].rx_port, first, frames)
                number += 1


def _frames(planned: StreamPlan) -> int:
    """Frames of a message; 0 for a stream without messages."""
    pattern = planned.stream.pattern
    return pattern.frames if isinstance(pattern, Message) else 0
