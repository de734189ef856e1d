"""Matrices as heat maps: received rate of every port, loss and latency from port to port, where they differ.

A part of a test in which all ports or pairs are alike is not shown. All others have one scale of colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from p4mesh.report.document import Chart, Paragraph
from p4mesh.report.line_charts import SCHEMA
from p4mesh.report.panels import MOST_PANELS, evenly, note_on
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.line_rate import NS_PER_US

_MOST_CELLS = 20_000
_COLUMNS = 2
_WIDTH = 300
_LONG_NAME = 40
"""A part with a longer name has a row of the figure for itself."""
_ALIKE = 0.01
"""Values whose spread is at most this share of the largest are alike: nobody sees a difference of colours."""
_SMALLEST, _LARGEST = 6, 18
"""Height of a cell in pixels."""

_Flows = list[dict[str, Any]]
"""Stored counts of the flows from one port to another."""


def port_chart(trials: Sequence[StoredTrial]) -> Chart | Paragraph | None:
    """Frames of every receiving port in the trials whose ports differ; None where less than two receive."""
    several = [trial for trial in trials if trial.status.trusted and len(_receivers(trial)) > 1]
    trusted = [trial for trial in several if _differ([port["rx_frames"] for port in _receivers(trial)])]
    alike = len(several) - len(trusted)
    note = "Every port's numbers are in trial_ports.csv."
    if alike:
        note = f"In {alike:,} of {len(several):,} trials all receiving ports got the same, within 1 %. {note}"
    if several and not trusted:
        return Paragraph(note)
    if sum(len(_receivers(trial)) for trial in trusted) > _MOST_CELLS:
        trusted = list({trial.unit: trial for trial in trusted}.values())
        note = f"The last trial of each part only. {note}"
    values = [
        {
            "part": trial.unit,
            "x": trial.index,
            "y": port["port"],
            "load": trial.load_pct,
            "value": _of_mean_pct(port["rx_frames"], trial),
            "frames": port["rx_frames"],
        }
        for trial in trusted
        for port in _receivers(trial)
    ]
    if not values:
        return None
    values, chosen = _panels(values)
    note = f"{chosen} {note}".strip()
    title = "Frames received by every port: difference from the mean of the ports, in the trials whose ports differ"
    told = [("load", "load (% of line)"), ("frames", "frames received"), ("value", "difference (%)")]
    return Chart("port_rates", title, _spec(title, values, "trial", "port", "%", told), note=note)


def flow_charts(trials: Sequence[StoredTrial]) -> tuple[Chart | Paragraph, ...]:
    """Loss and mean latency from port to port, in the last trusted trial of each part that kept its flows."""
    kept = {trial.unit: trial for trial in trials if trial.status.trusted and trial.result["flows"]}
    last, note = _shown(kept)
    if kept and not last:
        return (Paragraph(f"Flows: more than {_MOST_CELLS:,} in each part; trials.jsonl has their counts."),)
    kinds: tuple[tuple[str, str, str, Callable[[_Flows], float | None]], ...] = (
        ("flow_loss", "Frames that did not arrive, from port to port", "frames", _lost),
        ("flow_latency", "Mean latency from port to port", "us", _mean_us),
    )
    found: list[Chart | Paragraph] = []
    for name, title, unit, value_of in kinds:
        values = [value for unit, trial in last.items() for value in _differing(unit, trial, value_of)]
        if not values:
            continue
        values, chosen = _panels(values)
        told = [("load", "load (% of line)"), ("value", unit)]
        spec = _spec(title, values, "transmit port", "receive port", unit, told)
        found.append(Chart(name, title, spec, note=f"{chosen} {note}".strip()))
    return tuple(found)


def _differing(unit: str, trial: StoredTrial, value_of: Callable[[_Flows], float | None]) -> list[dict[str, Any]]:
    """Cells of the pairs of ports of a trial, each of all flows between them; none where all are alike."""
    pairs: dict[tuple[int, int], _Flows] = {}
    for flow in trial.result["flows"]:
        pairs.setdefault((flow["tx_port"], flow["rx_port"]), []).append(flow)
    found: list[dict[str, Any]] = [
        {"part": unit, "x": tx_port, "y": rx_port, "load": trial.load_pct, "value": value}
        for (tx_port, rx_port), flows in pairs.items()
        if (value := value_of(flows)) is not None
    ]
    return found if _differ([cell["value"] for cell in found]) else []


def _differ(values: Sequence[float]) -> bool:
    return bool(values) and max(values) - min(values) > _ALIKE * max(abs(value) for value in values)


def _shown(kept: Mapping[str, StoredTrial]) -> tuple[dict[str, StoredTrial], str]:
    """The first parts that a page has room for, and a note on the choice."""
    shown: dict[str, StoredTrial] = {}
    cells = 0
    for unit, trial in kept.items():
        cells += len(trial.result["flows"])
        if cells <= _MOST_CELLS:
            shown[unit] = trial
    note = "The last trial of each part that kept its flows apart, where they differ by more than 1 %."
    if len(shown) < len(kept):
        note += f" {len(shown)} of {len(kept)} parts: the others have more flows than a page has room for."
    return shown, note


def _panels(cells: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The cells of the parts that are drawn, and a note on the choice."""
    parts = list(dict.fromkeys(cell["part"] for cell in cells))
    chosen = set(evenly(parts, MOST_PANELS))
    return [cell for cell in cells if cell["part"] in chosen], note_on(len(chosen), len(parts), "parts")


def _spec(
    title: str, values: list[dict[str, Any]], x_title: str, y_title: str, unit: str, told: list[tuple[str, str]]
) -> dict[str, Any]:
    lines = len({value["y"] for value in values})
    parts = list(dict.fromkeys(value["part"] for value in values))
    step = max(_SMALLEST, min(_LARGEST, 400 // lines))
    numbers = [value["value"] for value in values]
    largest = max(abs(number) for number in numbers)
    colours = (
        {"scheme": "blueorange", "domain": [-largest, largest]}
        if min(numbers) < 0
        else {"scheme": "viridis", "domain": [min(numbers) if unit == "us" else 0, largest]}
    )
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
        "facet": {
            "field": "part",
            "type": "nominal",
            "title": None,
            "sort": parts,
            "header": {"labelLimit": _COLUMNS * _WIDTH},
        },
        "columns": _COLUMNS if max(map(len, parts)) <= _LONG_NAME else 1,
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
                    "scale": colours,
                    "legend": {"orient": "bottom", "format": ",.5~r", "gradientLength": 200},
                },
                "tooltip": [
                    {"field": "part", "title": "part"},
                    {"field": "x", "title": x_title},
                    {"field": "y", "title": y_title},
                    *({"field": key, "type": "quantitative", "title": name, "format": ",.6~r"} for key, name in told),
                ],
            },
        },
    }


def _receivers(trial: StoredTrial) -> list[dict[str, Any]]:
    """Counts of the ports that frames are sent to: all of them where a stream does not name its receivers."""
    named = [stream["rx_ports"] for stream in trial.spec["streams"]]
    wanted = set().union(*named) if all(named) else {port["port"] for port in trial.result["ports"]}
    return [port for port in trial.result["ports"] if port["port"] in wanted]


def _of_mean_pct(frames: int, trial: StoredTrial) -> float:
    """How far a port is above or below the mean of the ports of its trial; ports that differ received something."""
    ports = _receivers(trial)
    mean = sum(port["rx_frames"] for port in ports) / len(ports)
    return float(round(100 * (frames / mean - 1), 3))


def _lost(flows: _Flows) -> float:
    return float(sum(flow["tx_frames"] - flow["rx_frames"] + flow["duplicate_frames"] for flow in flows))


def _mean_us(flows: _Flows) -> float | None:
    measured = [latency for flow in flows if (latency := flow.get("latency"))]
    count = sum(latency["count"] for latency in measured)
    return sum(latency["sum_ns"] for latency in measured) / count / NS_PER_US if count else None
