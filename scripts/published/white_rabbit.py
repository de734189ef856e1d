"""White Rabbit switch (2023): meshes, which the report finds to fail at every load, and latency of broadcasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from published.table import Comparison, Quantity, Row, measured, published_tables, searched

_REPORT = "White Rabbit switch WRS-3/18 (2023): throughput of meshes, latency of broadcasts"
_ABOUT = """`topologies/wrs-18x1g-meshes.yaml`. All senders are in step, and of their frames that come at one moment
2.7 % of those beyond the fourth are lost: 2.1 % of all frames of a full mesh. So searches end at their smallest load
with FAIL, as in the report; ours try their minimum too, and the load before it is compared. Trials take 3 s, those of
the report 30. The tests `test_published_*` compare other tables of this report.

Now and then a frame of the switch itself is in the way of a broadcast for 2.6 us.

Parameters from cells: the 2.7 % from the mean of table 1.1; the 2.6 us from the largest less the smallest latency of
1,518 bytes in table 1.9, how often from the model of the timing network; the latency from the smallest ones of 64 and
128 bytes; `broadcast.service_by_size` from the broadcast throughput of another run. Predictions are the single rows
of table 1.1, tables 1.2 and 1.3, the smallest and largest latencies of the other sizes, and all jitter.

Sampling: a loss stands beside its standard error, that of n frames that are lost independently of each other, and an
average jitter beside the error that the result has for it. Rates and results have none: the losses are far from what
the searches accept. Smallest latencies have none, since all frames meet the same; the largest ones are those of 30 ms,
in which one to eighteen frames of the switch are in the way.

It does not explain the rows that pass at 0.02 to 0.5 % (full mesh at 1,280 bytes), nor why ratios differ from size to
size by more than their errors: losses of the report depend on how its senders happened to start, which it does not
print. Nor the largest latencies of 64 to 512 bytes, 1.2 to 211 us above the model's: the report's averages of 64, 128
and 512 bytes, 4.5 to 94 us, show that its loads leave the replication hardly any time, so that a queue lasts which a
frame of the switch has filled. The model has the jitter at the output, behind the replication, and the limit of that
is known within 1.6 to 9 % (the steps of its searches); how long a queue lasts depends on the last 0.1 % of it.

Of the undersize frames of table 1.8, 4.5e-5 to 5.7e-5 are lost at 10 to 60 %, 8.6e-5 to 8.8e-5 at 70 to 90 %, and no
other frame. One chance for each, 5.2e-5, gives the first six rows within their sampling (chi-square 7.9 of 5 degrees
of freedom) and not the others; behind four layers it is 6e-4, eleven times as much, where one chance in each would be
four times. The model loses none: its chances are the same for frames of all sizes, and valid ones lose nothing.

The smallest latencies behind the second to the fourth layer are no predictions: `wrs-4-layers.yaml` has its hops of
2.585, 2.67 and 2.64 us from them. The hop of the first layer, 2.696 us, would be 0.03 to 0.11 us too long for each;
the report prints single figures, whose tester modules are off by up to 0.58 us."""
_PUBLISHED = published_tables("published_white_rabbit_throughput.json")
_TESTS = {
    "t1_1_throughput_full_mesh": ("rfc2889.fully_meshed", "Table 1.1: full mesh"),
    "t1_2_throughput_1_to_n": ("rfc2889.partially_meshed", "Table 1.2: one port to seventeen, and back"),
    "t1_3_throughput_n_to_n": ("rfc2889.unidirectional", "Table 1.3: nine ports to nine"),
}


def _comparison(table: str) -> Comparison:
    test, title = _TESTS[table]

    def run_cell(cell: str, folder: Path) -> Row:
        settings = {
            "learning_wait_ms": 1, "settle_ms": 10, "restabilise_ms": 0, "duration_ms": 3000, "parts": "throughput",
            "search_method": "bisect",
        }  # fmt: skip
        row = searched(measured(test, "wrs-18x1g-meshes", cell.split()[0], settings, folder))
        shown = {key: row[key] for key in ("loss_pct", "loss_error_pct")}
        return {"tx_rate_pct": row["load_pct"], **shown, "result": row["state"]}

    rows: list[dict[str, Any]] = _PUBLISHED[table]["rows"]
    return Comparison(
        f"wr_{table[1:4]}",
        _REPORT,
        _ABOUT,
        f"{title}; rate in % of line",
        (
            Quantity("tx_rate_pct", "rate", 3),
            Quantity("loss_pct", "loss %", error="loss_error_pct"),
            Quantity("result", "result"),
        ),
        {f"{row['frame_size_B']} B": row for row in rows},
        run_cell,
        cheap=("1518 B",) if table.endswith("full_mesh") else (),
    )


def _broadcast(cell: str, folder: Path) -> Row:
    settings = {"learning_wait_ms": 1, "settle_ms": 10, "restabilise_ms": 0, "duration_ms": 30}
    tables = measured("rfc2889.broadcast", "wrs-18x1g-meshes", cell.split()[0], settings, folder)
    (row,) = (row for row in tables["broadcast_latency"] if row["mode"] == "stream")
    return {
        "lat_min_hi_us": row["min_us_high"],
        "lat_max_hi_us": row["max_us_high"],
        "jit_avg_hi_us": row["jitter_avg_us_high"],
        "jit_avg_error_us": row["jitter_avg_error_us_high"],
        "jit_max_hi_us": row["jitter_max_us_high"],
    }


_LATENCY = Comparison(
    "wr_1_9",
    _REPORT,
    _ABOUT,
    "Table 1.9: broadcasts from one port to seventeen; latency LILO and jitter of the highest port, in us",
    (
        Quantity("lat_min_hi_us", "min"), Quantity("lat_max_hi_us", "max"),
        Quantity("jit_avg_hi_us", "jitter avg", 3, error="jit_avg_error_us"), Quantity("jit_max_hi_us", "jitter max"),
    ),
    {f"{row['frame_size_B']} B": row for row in _PUBLISHED["t1_9_latency"]["rows"]},
    _broadcast,
    "The report's tester modules have offsets up to 1 us, which make its lowest ports; the model's have none.",
    cheap=("1518 B",),
)  # fmt: skip

COMPARISONS = (*map(_comparison, _TESTS), _LATENCY)
