"""The definition of latency that figures show: that of the tables of the run, where all frames allow it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from p4mesh.methods.results.latency import LATENCY_DEFINITION, NAME_WITHOUT_DEFINITION, Definition, offset_ns
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.stamps import StampKind

_MIXED = "Latency is {}, not {} as in the tables: frames of several sizes or port rates share a bin."
Latency = dict[str, Any]
"""Stored statistics of some frames."""


def measured_definition(config: dict[str, Any]) -> str:
    """Definition of the latencies of trials (RFC 1242 3.8), as the time stamps of the target give it."""
    return NAME_WITHOUT_DEFINITION[StampKind(config["time_stamps"]["kind"])]


class ShownLatency:
    """Converts measured latencies of a run to the definition of its tables; of trials that can all be converted."""

    def __init__(self, config: dict[str, Any], trials: Sequence[StoredTrial]) -> None:
        self._rates = {port["number"]: port["rate_bps"] for port in config["ports"]}
        wanted = _wanted(config)
        lines = [self._line(trial) for trial in trials]
        self._definition = wanted if wanted is not None and None not in lines else None
        self.name = measured_definition(config) if self._definition is None else self._definition.value
        self.note = "" if wanted is None or wanted.value == self.name else _MIXED.format(self.name, wanted.value)

    def shift_ns(self, trial: StoredTrial, latency: Latency) -> float:
        """Time to add to each measured latency."""
        line = self._line(trial)
        if self._definition is None or line is None:
            return 0.0
        return float(offset_ns(self._definition, *line, latency.get("added_bytes", 0.0)))

    def _line(self, trial: StoredTrial) -> tuple[int, int, int] | None:
        """Frame size, input and output rate; None where frames differ in them."""
        found: set[tuple[int, int, int]] = set()
        for stream in trial.spec["streams"]:
            ports = {*stream["tx_ports"], *stream["rx_ports"]}
            if stream.get("sizes_in_turn_bytes") or not ports <= self._rates.keys():
                return None
            rates = ({self._rates[port] for port in stream[key]} for key in ("tx_ports", "rx_ports"))
            found |= {(stream["frame_size_bytes"], *pair) for pair in product(*rates)}
        return found.pop() if len(found) == 1 else None


def _wanted(config: dict[str, Any]) -> Definition | None:
    if StampKind(config["time_stamps"]["kind"]) is not StampKind.FIRST_BIT:
        return None
    values = {item["name"]: item["value"] for item in config["parameters"]}
    name = values.get(LATENCY_DEFINITION.name, config.get("traffic", {}).get(LATENCY_DEFINITION.name))
    return None if name is None else Definition(name)


def moved(latency: Latency, shift_ns: float) -> Latency:
    """Copy statistics with each latency later by so much."""
    bins = latency.get("bins")
    places = {} if not bins else {key: [value + shift_ns for value in bins[key]] for key in ("low_ns", "high_ns")}
    return {
        **latency,
        "min_ns": latency["min_ns"] + shift_ns,
        "max_ns": latency["max_ns"] + shift_ns,
        "sum_ns": latency["sum_ns"] + latency["count"] * shift_ns,
        "percentiles_ns": [(percent, value + shift_ns) for percent, value in latency.get("percentiles_ns", ())],
        **({"bins": {**bins, **places}} if bins else {}),
    }
