"""Rates of the control plane, client and server in one process: ``python p4runtime_bench.py``.

Prints one JSON object. The switch is a simulated one whose clock stands still; every number is per
second of wall time, everything included (building entities, encoding, server, decoding).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter

from support.p4runtime_support import DEVICE_ID, PROGRAMS, Switch

from p4mesh.p4runtime import Client
from p4mesh.p4runtime.stubs import p4r

ENTRIES = 100_000
CELLS = 1 << 20
PACKETS = 65_536


def rate(count: int, work: Callable[[], object]) -> int:
    start = perf_counter()
    work()
    return round(count / (perf_counter() - start))


def main() -> None:
    switch = Switch()
    network = switch.network
    rates = {}
    with Client(switch.address, DEVICE_ID, timeout_s=60) as client:
        client.set_pipeline(PROGRAMS / "large.p4info.txtpb", PROGRAMS / "large.json")
        s = client.schema

        def entries(port: int) -> list[p4r.TableEntry]:
            return [
                s.table_entry("exact_table", {"destination": 0xABCD00000000 + i}, "set", {"port": port, "flow": i})
                for i in range(ENTRIES)
            ]

        rates["entries_built_per_s"] = rate(ENTRIES, lambda: entries(1))
        rates["entries_inserted_per_s"] = rate(ENTRIES, lambda: client.insert(entries(1)))
        rates["entries_modified_per_s"] = rate(ENTRIES, lambda: client.modify(entries(2)))
        rates["entries_read_per_s"] = rate(ENTRIES, lambda: list(client.read(s.table("exact_table"))))
        rates["entries_deleted_per_s"] = rate(ENTRIES, lambda: client.delete(entries(2)))
        rates["counter_cells_read_per_s"] = rate(CELLS, lambda: client.read_counter_array("flow_counter"))
        rates["register_cells_read_per_s"] = rate(CELLS, lambda: client.read_registers("flow_register"))

        def packets() -> None:
            for flow in range(PACKETS):
                client.packet_out(b"", kind=1, flow=flow)
            network.advance(1_000_000, client.packet_outs_sent)
            assert len(client.take_packet_ins(PACKETS)) == PACKETS

        rates["packet_out_and_in_pairs_per_s"] = rate(PACKETS, packets)
        for flow in range(PACKETS):
            network.packet_out(b"\0\1" + flow.to_bytes(4, "big"))

        def packet_ins() -> None:
            network.advance(10**9)
            assert len(client.take_packet_ins(PACKETS)) == PACKETS

        rates["packet_ins_per_s"] = rate(PACKETS, packet_ins)
    network.stop()
    print(json.dumps(rates, indent=2))


if __name__ == "__main__":
    main()
