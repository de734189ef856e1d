"""Tables of runs of formats 5 and 6, which had several words for one quantity, in the words of today."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MESH_THROUGHPUT = "mesh_throughput"
_WORDS = {
    "tx_pct": "load_pct",
    "tx_fps": "offered_fps",
    "tx_l1_mbps": "offered_l1_mbps",
    "rx_pct": "forwarding_pct",
    "rx_fps": "forwarding_fps",
    "rx_l1_mbps": "forwarding_l1_mbps",
    "received_pct": "forwarding_pct",
    "aggregate_fps": "forwarding_fps",
    "frames_per_s": "forwarding_fps",
    "l2_tbps": "forwarding_l2_tbps",
    "throughput_tbps": "forwarding_l2_tbps",
    "line_rate_pct": "line_pct",
    "fails_at_pct": "upper_pct",
    "fails_at_fps": "upper_fps",
    "fails_at": "upper_addresses",
    "failed_groups": "upper_groups",
    "output_limit_pct": "theoretical_pct",
    "sent_frames": "tx_frames",
    "received_frames": "rx_frames",
    "received_bytes": "rx_bytes",
    "misordered_frames": "reordered_frames",
    "packets": "tx_frames",
    "multicast_tx": "multicast_tx_frames",
    "multicast_lost": "multicast_lost_frames",
    "unicast_tx": "unicast_tx_frames",
    "unicast_lost": "unicast_lost_frames",
    "mol_pct": "frmol_offered_pct",
    "avg_us_stddev": "stddev_us",
    "status": "state",
    **{f"latency_us_{word}": f"{word}_us" for word in ("min", "avg", "max", "low", "high", "p50", "p99", "p99_9")},
    **{f"jitter_us_{word}": f"jitter_{word}_us" for word in ("min", "avg", "max")},
}
_WORDS_OF_TABLE = {
    "throughput_per_port": {
        "tx_pct": "throughput_pct",
        "tx_fps": "throughput_fps",
        "tx_l1_mbps": "throughput_l1_mbps",
    },
    "congestion": {"tx_pct": "offered_pct"},
    "forward_pressure": {"tx_pct": "offered_pct"},
    "address_learning": {"fails_at_pct": "upper_rate_pct"},
    "maximum_forwarding_rate": {
        "mfr_load_pct": "load_pct",
        "mfr_load_fps": "offered_fps",
        "mfr_tx_frames": "tx_frames",
        "mfr_rx_frames": "rx_frames",
        "mfr_loss_pct": "loss_pct",
    },
}
"""Where a word of one table meant something else than in the others."""
_KEY = re.compile(r"(?P<word>.*?)(?P<cap>_of_cap)?(?P<unit>_pct)?(?P<size>_\d+B)?")
"""A column may be in percent of the cap, or of one frame size."""


def todays_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table of a run of format 5 or 6, in the words of today."""
    keys = [column["key"] for column in table["columns"]]
    meshed = table["name"] == "throughput" and "rx_pct" in keys
    words = {**_WORDS, **_WORDS_OF_TABLE.get(table["name"], {})}

    def todays(key: str) -> str:
        found = _KEY.fullmatch(key)
        assert found is not None
        cap, unit, size = (found[name] or "" for name in ("cap", "unit", "size"))
        if not cap and not size:
            return words.get(key, key)
        word = f"{found['word']}{unit}"
        return f"{words.get(word, word).removesuffix(unit)}{cap}{unit}{size}"

    renamed = {
        "name": _MESH_THROUGHPUT if meshed else table["name"],
        "columns": [{**column, "key": todays(column["key"])} for column in table["columns"]],
        "rows": [{todays(key): cell for key, cell in row.items()} for row in table["rows"]],
    }
    named = {name: [todays(key) for key in table[name]] for name in ("keys", "headline") if name in table}
    return {**table, **renamed, **named}
