"""GSI timing network (2025): data master broadcasts, bunch-to-bucket measurements, and latencies of mixed traffic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p4mesh.run.options import TrafficOptions
from p4mesh.run.traffic import run_traffic
from p4mesh.topology import load_topology
from published.table import ROOT, Comparison, Quantity, Row, measured, published_tables

_REPORT = "GSI timing network (2025): four White Rabbit switches in a chain"
_ABOUT = """`topologies/gsi-4-layers.yaml`, for table 3.3.e `gsi-4-layers-vlans.yaml`. The model claims the throughput
of broadcasts, their smallest and mean latency, and that measurements of ports in step fail at low loads. Trials of 3.1
take 30 ms instead of 30 s. It does not explain the largest latencies (management and PTP frames of the switches), the
mean at 750 bytes (a load 0.02 % below the limit), nor the first 12 frames that every receiver of service frames lost.
The losses of tables 3.3.b to 3.3.d are not compared: on `sim` senders of one rate keep their phases, so that the same
ports collide in every round, or none."""
_PUBLISHED = published_tables("published_timing_network.json")
_PHASES = {"learning_wait_ms": 1, "settle_ms": 10, "restabilise_ms": 0}


def _size(cell: str) -> str:
    return cell.split()[0]


def _by_size(table: str) -> dict[str, dict[str, Any]]:
    return {f"{row['frame_size_B']} B": row for row in _PUBLISHED[table]["rows"]}


def _broadcast(cell: str, folder: Path) -> Row:
    settings = {**_PHASES, "duration_ms": 30}
    tables = measured("gsi.dm_broadcast", "gsi-4-layers", _size(cell), settings, folder)
    (rate,) = tables["broadcast"]
    over_ports = next(
        row for row in tables["broadcast_latency"] if row["device"] == "access" and row["mode"] != "single frame"
    )
    return {
        "tx_rate_pct": rate["tx_pct"] / 0.9,
        "tx_rate_kfps": rate["tx_fps"] / 1000,
        "lat_min_lo_us": over_ports["min_us_low"],
        "lat_avg_lo_us": over_ports["avg_us_low"],
        "lat_max_hi_us": over_ports["max_us_high"],
    }


def _to_one(cell: str, folder: Path) -> Row:
    settings = {**_PHASES, "duration_ms": 10000, "parts": "throughput"}
    (rate,) = measured("gsi.b2b", "gsi-4-layers", _size(cell), settings, folder)["throughput"]
    return {"tx_rate_pct": rate["tx_pct"] / 0.009, "result": rate["state"], "loss_pct": rate["loss_pct"]}


def _latencies(cell: str, folder: Path) -> Row:
    settings = ("dm.rate=10 Mbit/s L1", "b2b.rate=2 Mbit/s L1", "duration_s=2")
    (dm, b2b, service) = _mixed(settings, folder)
    row = {"DM": dm, "B2B": b2b, "Service": service}[cell.split(":")[0]]
    return {
        "lat_min_lo_us": row["latency_us_min"],
        "lat_avg_us": row["latency_us_avg"],
        "lat_max_hi_us": row["latency_us_max"],
    }


def _mixed(settings: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Return the classes of one run; without its sweep, the file has one."""
    file = folder / "mixed.yaml"
    file.write_text((ROOT / "traffic" / "gsi-mixed.yaml").read_text().partition("sweep:")[0])
    network = load_topology(ROOT / "topologies" / "gsi-4-layers-vlans.yaml")
    finished = run_traffic(TrafficOptions(file, network, settings=tuple(settings), out=folder / "run", jobs=1))
    return [dict(row) for table in finished.outcome.tables if table.name == "classes" for row in table.rows][:3]


_DM = {cell: {**row, **_by_size("t3_1_b_dm_latency")[cell]} for cell, row in _by_size("t3_1_a_dm_throughput").items()}
_LATENCIES = {
    row["traffic"]: {**row, "lat_avg_us": (row["lat_avg_lo_us"] + row["lat_avg_hi_us"]) / 2}
    for row in _PUBLISHED["t3_3_e_latency"]["rows"]
}

COMPARISONS = (
    Comparison(
        "tn_3_1",
        _REPORT,
        _ABOUT,
        "Tables 3.1: data master broadcasts; rate in % of 900 Mbit/s, latency LILO in us",
        (
            Quantity("tx_rate_pct", "rate"), Quantity("tx_rate_kfps", "kframes/s", 1),
            Quantity("lat_min_lo_us", "min, low"), Quantity("lat_avg_lo_us", "avg, low"),
            Quantity("lat_max_hi_us", "max, high"),
        ),
        _DM,
        _broadcast,
        "Latencies are the lowest over the ports of the fourth layer: the report's tester modules have offsets up to "
        "0.8 us, which make its highest ones; the model's have none.",
    ),
    Comparison(
        "tn_3_2",
        _REPORT,
        _ABOUT,
        "Table 3.2: 17 ports to one; rate in % of 9 Mbit/s",
        (Quantity("tx_rate_pct", "rate"), Quantity("result", "result"), Quantity("loss_pct", "loss %")),
        _by_size("t3_2_b2b_throughput"),
        _to_one,
        cheap=("750 B",),
    ),
    Comparison(
        "tn_3_3_e",
        _REPORT,
        _ABOUT,
        "Table 3.3.e: latency LILO of mixed traffic, in us",
        (
            Quantity("lat_min_lo_us", "min, low"), Quantity("lat_avg_us", "avg"),
            Quantity("lat_max_hi_us", "max, high"),
        ),
        _LATENCIES,
        _latencies,
        "The tester rounds the starts of the nine service ports to one moment: the largest latencies of the model are "
        "those of nine long broadcasts at once. The lowest of DM is that of the snooping port on the first layer.",
    ),
)  # fmt: skip
