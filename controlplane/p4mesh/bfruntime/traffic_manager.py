"""Drops of the traffic manager, by the fixed tables ``tf1.tm.counter`` of a Tofino 1 and ``tf2.tm.counter`` of a 2.

Not among them are frames without destination (``ig_no_dest_drop_packets``), as which the program ends what it has
counted, and ``eg_total_drop_packets``, of which nothing public says what is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.bfruntime.client import BfClient, values_of
from p4mesh.bfruntime.schema import entry_of

_OF_PIPE = "tm.counter.pipe"
_OF_PORTS = ("tm.counter.ig_port", "tm.counter.eg_port")
_DROPS_OF_PIPE = (
    *("ig_buf_full_drop_packets", "mc_queue_drop_packets"),
    *(f"mc_input_fifo_{number}_drop_packets" for number in range(4)),
)
"""Buffer full, queue of a copy full, and the FIFOs in front of the replication engine."""
_DROPS_OF_PORT = "drop_count_packets"
"""Beyond the limits of the port's buffers; in egress, at the end of its queues."""


def has_drop_counters(client: BfClient) -> bool:
    """Whether the switch's SDE shows the counters of its traffic manager."""
    return any(name.endswith(_OF_PIPE) for name in client.bfrt.tables)


def drop_counts(client: BfClient, pipes: Sequence[int], ports: Sequence[int]) -> dict[str, int]:
    """Frames that some pipes and device ports have dropped since the start, by table, counter and place."""
    pipe_table = client.bfrt.table(_OF_PIPE)
    found: dict[str, int] = {}
    for pipe in pipes:
        values = client.read_pipe(_OF_PIPE, pipe)
        found |= {f"{pipe_table.name} {name} of pipe {pipe}": int(values[name]) for name in _DROPS_OF_PIPE}
    for name in _OF_PORTS:
        table = client.bfrt.table(name)
        entries = client.read([entry_of(table, {"dev_port": port}, None, {}) for port in ports])
        for port, entry in zip(ports, entries, strict=True):
            found[f"{table.name} {_DROPS_OF_PORT} of device port {port}"] = int(values_of(table, entry)[_DROPS_OF_PORT])
    return found
