"""Messages of a trial: from the registers of their sources to counts and times."""

from __future__ import annotations

from typing import Any

import numpy as np

from p4mesh.measurement.counts import MessageCounts, MessageTime
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading

_ALL_ONES = (1 << 64) - 1


def message_counts(plan: Plan, reading: Reading, tick_ps: int) -> tuple[MessageCounts, ...]:
    """Messages of each source; none where the data plane does not count them."""
    if reading.messages is None:
        return ()
    names = plan.names
    found = []
    for source in plan.messages:
        record = reading.messages[source.number]
        sent, complete = int(reading.records["flow_sequence"][source.last_flow]), int(record["complete"])
        found.append(
            MessageCounts(
                stream=names[source.stream],
                tx_port=source.tx_port,
                rx_port=source.rx_port,
                frames=source.frames,
                sent=sent,
                complete=complete,
                damaged=sent - complete,
                **{name: _time(record, name, complete, tick_ps) for name in ("fifo", "lilo", "filo") if complete},
            )
        )
    return tuple(found)


def _time(record: np.void, name: str, count: int, tick_ps: int) -> MessageTime:
    def ns(ticks: Any) -> float:
        return int(ticks) * tick_ps / 1000

    return MessageTime(
        count,
        ns(_ALL_ONES - int(record[f"{name}_min_inverted"])),
        ns(record[f"{name}_max"]),
        ns(record[f"{name}_sum"]),
    )
