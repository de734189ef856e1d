"""Matrices as heat maps: received rate of every port in every trial, loss and latency of every flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from p4mesh.report.document import Chart, Paragraph
from p4mesh.report.line_charts import SCHEMA
from p4mesh.store.run_files import StoredTrial

_MOST_CELLS = 20_000
_NS_PER_S = 1_000_000_000
_NS_PER_US = 1000
_COLUMNS = 2
_WIDTH = 300
_SMALLEST, _LARGEST = 6, 18
"""Height of a cell in pixels."""


def port_chart(trials: Sequence[StoredTrial]) -> Chart | None:
    """Receive rate of every port in every trial; None where trials have less than two ports."""
    trusted = [trial for trial in trials if trial.status.trusted and len(trial.result["ports"]) > 1]
    note = "Every port's numbers are in trial_ports.csv."
    if sum(len(trial.result["ports"]) for trial in trusted) > _MOST_CELLS:
        trusted = list({trial.unit: trial for trial in trusted}.values())
        note = f"The last trial of each part only. {note}"
    values = [
        {
            "part": trial.unit,
            "x": trial.index + 1,
            "y": port["port"],
            "load": trial.load_pct,
            "value": _per_second(port["rx_frames"], trial),
        }
        for trial in trusted
        for port in trial.result["ports"]
    ]
    if not values or not any(value["value"] for value in values):
        return None
    title = "Frames received per second by every port in every trial"
    told = [("load", "load (% of line)"), ("value", "frames/s")]
    return Chart("port_rates", title, _spec(title, values, "trial", "port", "frames/s", told), note=note)


def flow_charts(trials: Sequence[StoredTrial]) -> tuple[Chart | Paragraph, ...]:
    """Loss and mean latency of every flow, in the last trusted trial of each part that kept its flows."""
    kept = {trial.unit: trial for trial in trials if trial.status.trusted and trial.result["flows"]}
    last, note = _shown(kept)
    if kept and not last:
        return (Paragraph(f"Flows: more than {_MOST_CELLS:,} in each part; trials.jsonl has their counts."),)
    kinds: tuple[tuple[str, str, str, Callable[[dict[str, Any]], float | None]], ...] = (
        ("flow_loss", "Frames lost by every flow", "lost frames", _lost),
        ("flow_latency", "Mean latency of every flow", "us", _mean_us),
    )
    found: list[Chart | Paragraph] = []
    for name, title, unit, value_of in kinds:
        values = [
            {"part": unit_key, "x": flow["tx_port"], "y": flow["rx_port"], "load": trial.load_pct, "value": value}
            for unit_key, trial in last.items()
            for flow in trial.result["flows"]
            if (value := value_of(flow)) is not None
        ]
        if len({(value["x"], value["y"]) for value in values}) < 2:
            continue
        if name == "flow_loss" and not any(value["value"] for value in values):
            continue
        told = [("load", "load (% of line)"), ("value", unit)]
        spec = _spec(title, values, "transmit port", "receive port", unit, told)
        found.append(Chart(name, title, spec, note=note))
    return tuple(found)


def _shown(kept: Mapping[str, StoredTrial]) -> tuple[dict[str, StoredTrial], str]:
    """The first parts that a page has room for, and a note on the choice."""
    shown: dict[str, StoredTrial] = {}
    cells = 0
    for unit, trial in kept.items():
        cells += len(trial.result["flows"])
        if cells <= _MOST_CELLS:
            shown[unit] = trial
    note = "The last trial of each part that kept its flows apart."
    if len(shown) < len(kept):
        note += f" {len(shown)} of {len(kept)} parts: the others have more flows than a page has room for."
    return shown, note


def _spec(
    title: str, values: list[dict[str, Any]], x_title: str, y_title: str, unit: str, told: list[tuple[str, str]]
) -> dict[str, Any]:
    lines = len({value["y"] for value in values})
    parts = list(dict.fromkeys(value["part"] for value in values))
    step = max(_SMALLEST, min(_LARGEST, 400 // lines))
    places = {axis: sorted({value[axis] for value in values}) for axis in ("x", "y")}

    def axis(field: str, name: str) -> dict[str, Any]:
        every = max(1, len(places[field]) // 16 + (len(places[field]) > 16))
        return {
            "field": field,
            "type": "ordinal",
            "title": name,
            "axis": {"labelAngle": 0, "values": places[field][::every]},
        }

    return {
        "$schema": SCHEMA,
        "description": title,
        "data": {"values": values},
        "facet": {"field": "part", "type": "nominal", "title": None, "sort": parts},
        "columns": _COLUMNS,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {
            "width": _WIDTH,
            "height": {"step": step},
            "mark": {"type": "rect"},
            "encoding": {
                "x": axis("x", x_title),
                "y": axis("y", y_title),
                "color": {
                    "field": "value",
                    "type": "quantitative",
                    "title": unit,
                    "scale": {"scheme": "viridis", "zero": unit != "us"},
                    "legend": {"orient": "bottom", "format": "~s", "gradientLength": 200},
                },
                "tooltip": [
                    {"field": "part", "title": "part"},
                    {"field": "x", "title": x_title},
                    {"field": "y", "title": y_title},
                    *({"field": key, "type": "quantitative", "title": name, "format": ".6~g"} for key, name in told),
                ],
            },
        },
    }


def _per_second(frames: int, trial: StoredTrial) -> float:
    return float(f"{frames * _NS_PER_S / max(1, trial.spec['duration_ns']):.6g}")


def _lost(flow: dict[str, Any]) -> float | None:
    return float(flow["tx_frames"] - flow["rx_frames"] + flow["duplicate_frames"])


def _mean_us(flow: dict[str, Any]) -> float | None:
    latency = flow.get("latency")
    return latency["sum_ns"] / latency["count"] / _NS_PER_US if latency and latency["count"] else None
