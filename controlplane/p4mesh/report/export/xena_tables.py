"""Result tables in the columns of Xena2889's reports, as CSV: for people who compare with reports that they have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.store.csv_files import table_csv

_BPS_PER_MBPS = 1_000_000
_SIZE = ("Packet Size", "frame_size_bytes")
_RESULT = ("Result", "state")
_TX = (("Tx Rate (Percent)", "load_pct"), ("Tx Rate (L1 Bit/s)", "offered_l1_mbps"), ("Tx Rate (Fps)", "offered_fps"))
_RX = (
    ("Rx Rate (Percent)", "forwarding_pct"),
    ("Rx Rate (L1 Bit/s)", "forwarding_l1_mbps"),
    ("Rx Rate (Fps)", "forwarding_fps"),
)
_LOSS = (("Loss Rate (Percent)", "loss_pct"), ("Loss (Packets)", "lost_frames"))
_ADDRESSES = (
    *(("Address Count", "addresses"), ("Learning Rate (Fps)", "learning_rate_fps"), ("Test Tx", "test_tx_frames")),
    *(("Test Flood", "test_flood_frames"), ("Learning Rx", "learning_rx_frames")),
    *(("Learning Flood", "learning_flood_frames"), ("Monitor Flood", "monitor_flood_frames"), ("Result", "verdict")),
)
LAYOUT: Mapping[str, Sequence[tuple[str, str]]] = {
    "mesh_throughput": (_SIZE, _RESULT, *_TX, *_RX, *_LOSS),
    "broadcast": (_SIZE, _RESULT, *_TX, ("Rx Rate (Fps)", "forwarding_fps"), *_LOSS),
    "broadcast_latency_ports": (
        *(_SIZE, ("Port", "port"), ("Latency Min (us)", "min_us"), ("Latency Avg (us)", "avg_us")),
        *(("Latency Max (us)", "max_us"), ("Jitter Min (us)", "jitter_min_us"), ("Jitter Avg (us)", "jitter_avg_us")),
        ("Jitter Max (us)", "jitter_max_us"),
    ),
    "congestion": (
        *(_SIZE, ("Tx Rate (Percent)", "offered_pct"), ("Tx (Packets)", "tx_frames")),
        *(("Uncongested Tx (Packets)", "uncongested_tx_frames"), ("Uncongested Rx (Packets)", "uncongested_rx_frames")),
        *(("Uncongested Loss (Percent)", "uncongested_loss_pct"), ("Congested Tx (Packets)", "congested_tx_frames")),
        *(("Congested Rx (Packets)", "congested_rx_frames"), ("Congested Loss (Percent)", "congested_loss_pct")),
        *(("HOLB", "head_of_line_blocking"), ("Back Pressure", "back_pressure"), _RESULT),
    ),
    "forward_pressure": (
        *(
            _SIZE,
            ("Tx (Packets)", "tx_frames"),
            ("Tx Rate (Fps)", "offered_fps"),
            ("Tx Utilization (Percent)", "offered_pct"),
        ),
        *(
            ("Rx (Packets)", "rx_frames"),
            ("Rx Rate (Fps)", "forwarding_fps"),
            ("Rx Utilization (Percent)", "forwarding_pct"),
        ),
        ("Result", "finding"),
    ),
    "maximum_forwarding_rate": (
        *(_SIZE, ("Tx Rate (Percent)", "load_pct"), ("Tx Rate (Fps)", "offered_fps")),
        *(
            ("Tx (Packets)", "tx_frames"),
            ("Rx (Packets)", "rx_frames"),
            ("Loss Rate (Percent)", "loss_pct"),
        ),
        *(("MFR (Fps)", "mfr_fps"), ("FRMOL (Fps)", "frmol_fps"), _RESULT),
    ),
    "address_caching": (*(_SIZE, ("Capacity Min", "capacity_min"), ("Capacity Max", "capacity_max"), _RESULT),),
    "address_caching_iterations": (_SIZE, *_ADDRESSES),
    "address_learning": (
        *(_SIZE, ("Address Count", "number"), ("Learning Rate Min (Fps)", "rate_fps_min")),
        *(("Learning Rate Max (Fps)", "rate_fps_max"), _RESULT),
    ),
    "address_learning_iterations": (_SIZE, *_ADDRESSES),
    "errored_frames": (
        *(_SIZE, ("Tx Rate (Percent)", "load_pct"), ("Tx Total (Packets)", "total_tx_frames")),
        *(("Rx Total (Packets)", "total_rx_frames"), ("Tx Valid (Packets)", "valid_tx_frames")),
        *(("Rx Valid (Packets)", "valid_rx_frames"), ("Tx Oversize (Packets)", "oversize_tx_frames")),
        *(("Rx Oversize (Packets)", "oversize_rx_frames"), ("Tx Undersize (Packets)", "undersize_tx_frames")),
        *(("Rx Undersize (Packets)", "undersize_rx_frames"), ("Tx FCS Errors (Packets)", "bad_fcs_tx_frames")),
        ("Rx FCS Errors (Packets)", "bad_fcs_rx_frames"),
    ),
}
"""Columns of each table: title in Xena's words, and key of ours."""
_SWEEP = "forwarding"
_SWEEP_TABLES = {"sweep_received": "Rx Rate (Percent)", "sweep_loss": "Loss Rate (Percent)"}


def xena_csv(outcome: Outcome) -> dict[str, str]:
    """Tables of a test as CSV by their names; empty for a test that Xena2889 does not have.

    Where the load axis has a cap, percentages are those of the cap, as on a Xena tester.
    """
    tables = {table.name: table for table in outcome.tables}
    found = {name.removeprefix("mesh_"): _csv(tables[name], LAYOUT[name]) for name in LAYOUT if name in tables}
    if all(name in tables for name in _SWEEP_TABLES):
        found[_SWEEP] = _sweep(tables)
    return found


def _csv(table: Table, layout: Sequence[tuple[str, str]]) -> str:
    known = {column.key for column in table.columns}
    used = [(title, _of_cap(key, known)) for title, key in layout if key in known]
    rows = [{title: _value(title, row.get(key)) for title, key in used} for row in table.rows]
    return table_csv([title for title, _ in used], rows)


def _of_cap(key: str, known: set[str]) -> str:
    capped = f"{key.removesuffix('_pct')}_of_cap_pct"
    return capped if capped in known else key


def _value(title: str, cell: Cell) -> Cell:
    if "L1 Bit/s" in title and isinstance(cell, int | float):
        return float(Fraction(cell) * _BPS_PER_MBPS)
    return cell


def _sweep(tables: Mapping[str, Table]) -> str:
    """CSV with a row per load, and received and lost percent of each size beside each other."""
    received = tables["sweep_received"]
    load = _of_cap("load_pct", {column.key for column in received.columns})
    sizes = [match[1] for column in received.columns if (match := re.fullmatch(r"forwarding_pct_(\d+)B", column.key))]
    titles = ["Tx Rate (Percent)", *(f"{size} B {words}" for size in sizes for words in _SWEEP_TABLES.values())]
    rows = []
    for number, row in enumerate(received.rows):
        cells: dict[str, Cell] = {titles[0]: row.get(load)}
        for size in sizes:
            for name, words in _SWEEP_TABLES.items():
                key = f"{'forwarding' if name == 'sweep_received' else 'loss'}_pct_{size}B"
                cells[f"{size} B {words}"] = tables[name].rows[number].get(key)
        rows.append(cells)
    return table_csv(titles, rows)
