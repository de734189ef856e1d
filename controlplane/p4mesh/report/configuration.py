"""Configuration of a run: parameters, ports, time stamps, calibration and the topology, as stored with the run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import yaml

from p4mesh.methods.options.effects import unused
from p4mesh.quantities import decimals_text, grouped, number_text
from p4mesh.report.document import Bullets, Chapter, Facts, Grid, GridRow, Head, Listing, Paragraph
from p4mesh.topology.line_codes import NONE
from p4mesh.topology.model import TESTER
from p4mesh.traffic.stamps import StampKind

_BPS_PER_GBPS = 1_000_000_000
_MOST_CABLES = 3
_ABOUT_PARAMETERS = (Head("Unit"), Head("Clause"), Head("Meaning"))
REPORT_NOTES = (
    *("Lab", "Customer", "Operator", "Report number"),
    *("Vendor", "Model", "Serial", "Firmware", "Model parameters"),
)
"""Notes that a report of a lab begins with: who measured for whom, and on which device."""
_EDGES = {
    StampKind.FIRST_BIT: "from the first bit sent to the first bit received",
    StampKind.SOFTWARE: "between time stamps that software takes around whole frames",
    StampKind.PARSER: "from the egress parser of the chip to the first bit received",
}


def configuration_chapters(config: dict[str, Any]) -> tuple[Chapter, ...]:
    """Configuration echo, and the calibration where there is one."""
    topology = config["topology"]
    sent = (_traffic(config["traffic"]),) if "traffic" in config else ()
    described = (Paragraph(topology["description"]),) if topology["description"] else ()
    return (
        Chapter("Parameters", "parameters", (_changed(config),)),
        *sent,
        Chapter("Calibration and time stamps", "calibration", _calibration(config)),
        Chapter("Configuration", "configuration", (_as_they_are(config), _ports(config)), annex=True),
        Chapter(
            f"Topology {topology['name']}",
            "topology",
            (*described, Listing("Topology file", topology["text"])),
            annex=True,
        ),
    )


def notes_of(config: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Notes of the topology and of the user, with their names as people write them."""
    return tuple(
        (name[:1].upper() + name[1:].replace("_", " "), text) for name, text in config.get("notes", {}).items()
    )


def tester_text(config: dict[str, Any]) -> str:
    """The tester in one line: version, target, ports."""
    rates: dict[int, int] = {}
    for port in config["ports"]:
        rates[port["rate_bps"]] = rates.get(port["rate_bps"], 0) + 1
    ports = " and ".join(
        f"{count} ports of {number_text(rate / _BPS_PER_GBPS)} Gbit/s" for rate, count in sorted(rates.items())
    )
    return f"P4Mesh {config['version']} on {config['target']}, {ports}"


def cables_text(config: dict[str, Any]) -> str:
    """The cables of the tester in one line, by groups of the topology, and when they were measured."""
    # In C, where the library has that: the text is known to be valid.
    document = yaml.load(config["topology"]["text"], getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    links = document["links"] if isinstance(document, dict) else []
    ends = [link for link in links if TESTER in (_node(link["from"]), _node(link["to"]))]
    # Cables of real machines have the delay that they have.
    delays = StampKind(config["time_stamps"]["kind"]) is StampKind.FIRST_BIT
    shown = [_cable(link, delays) for link in ends[:_MOST_CABLES]]
    if len(ends) > _MOST_CABLES:
        more = len(ends) - _MOST_CABLES
        shown.append(f"{more:,} more group{'s' * (more != 1)}")
    return "; ".join([*shown, _calibrated(config["calibration"])])


def _calibrated(calibration: dict[str, Any] | None) -> str:
    """Place and day of each measurement of the wires that the latencies are corrected by."""
    if not calibration:
        return "not calibrated"
    runs = (f"{run['topology']} on {run['target']}, {run['date_utc'][:10]}" for run in calibration["runs"])
    return f"calibrated ({'; '.join(dict.fromkeys(runs))})"


def _cable(link: dict[str, Any], with_delay: bool) -> str:
    delay = f", {number_text(link.get('latency_ns', 0))} ns" if with_delay else ""
    code = link.get("line_code", NONE)
    if code == NONE:
        return f"{link['from']} to {link['to']}{delay}"
    own = f" of {number_text(link['line_code_ns'])} ns" if with_delay and "line_code_ns" in link else ""
    return f"{link['from']} to {link['to']}{delay}, line code {code}{own}"


def _node(end: str) -> str:
    return end.partition(":")[0]


def device_text(config: dict[str, Any]) -> str:
    """Names of the devices that the tester's ports are cabled to."""
    return ", ".join(dict.fromkeys(port["attached_to"] for port in config["ports"]))


def _changed(config: dict[str, Any]) -> Grid | Paragraph:
    """Parameters that differ from their defaults. Runs of before did not keep defaults: all their values are shown."""
    found = [item for item in config["parameters"] if item["value"] != item.get("default")]
    if not found:
        return Paragraph("All parameters have their defaults.")
    keys = ("name", "value", "default", "unit", "section", "summary")
    heads = (Head("Parameter", key=True), Head("Value", number=True), Head("Default", number=True), *_ABOUT_PARAMETERS)
    rows = tuple(GridRow(tuple(grouped(item.get(key, "-")) for key in keys)) for item in found)
    idle = [item["name"] for item in found if item["name"] in _unused(config)]
    note = f"Without effect, because of the values of others: {', '.join(idle)}." if idle else ""
    return Grid("Changed from their defaults", heads, rows, note)


def _as_they_are(config: dict[str, Any]) -> Grid:
    """Parameters at their defaults, those alone that have an effect with the values of the others."""
    keys = ("name", "value", "unit", "section", "summary")
    idle = _unused(config)
    rows = tuple(
        GridRow(tuple(grouped(item[key]) for key in keys))
        for item in config["parameters"]
        if item["value"] == item.get("default") and item["name"] not in idle
    )
    heads = (Head("Parameter", key=True), Head("Value", number=True), *_ABOUT_PARAMETERS)
    return Grid("Parameters at their defaults", heads, rows, folded=True)


def _unused(config: dict[str, Any]) -> frozenset[str]:
    return unused({item["name"]: item["value"] for item in config["parameters"]})


def _ports(config: dict[str, Any]) -> Grid:
    heads = (
        Head("Port", number=True, key=True),
        Head("Name"),
        Head("Rate", "Gbit/s", number=True),
        Head("Shortest gap", "bits", number=True),
        Head("Clock", "ppm", number=True),
        Head("Cabled to"),
    )
    rows = tuple(
        GridRow(
            (
                str(port["number"]),
                port["name"],
                number_text(port["rate_bps"] / _BPS_PER_GBPS),
                str(port["ifg_bits"]),
                number_text(port["clock_offset_ppm"]),
                port["attached_to"],
            )
        )
        for port in config["ports"]
    )
    return Grid("Ports of the tester", heads, rows, folded=True)


def _traffic(traffic: dict[str, Any]) -> Chapter:
    """Traffic file of the run, and the settings on top of it."""
    settings = (Bullets("Set in addition", tuple(traffic["settings"])),) if traffic["settings"] else ()
    return Chapter(f"Traffic {traffic['name']}", "traffic", (*settings, Listing("Traffic file", traffic["text"])))


def _calibration(config: dict[str, Any]) -> tuple[Paragraph | Grid | Facts | Bullets, ...]:
    stamps = config["time_stamps"]
    edges = _EDGES[StampKind(stamps["kind"])]
    resolution = float(Fraction(stamps["resolution_ns"]))
    text = f"Latency is measured {edges}, resolution {number_text(resolution)} ns."
    calibration = config["calibration"]
    if not calibration:
        return (Paragraph(f"{text} No calibration was given: the wires between tester and device are part of it."),)
    heads = (
        Head("Tx port", number=True, key=True),
        Head("Rx port", number=True, key=True),
        Head("Frame size", "B", number=True, key=True),
        Head("Median", "ns", number=True),
        Head("Error", "+- ns", number=True),
        Head("Min", "ns", number=True),
        Head("Max", "ns", number=True),
        Head("Samples", "frames", number=True),
    )
    keys = ("median_ns", "median_error_ns", "min_ns", "max_ns")
    rows = tuple(
        GridRow(
            (
                *(str(wire[key] or "-") for key in ("tx_port", "rx_port", "frame_size_bytes")),
                *(decimals_text(Fraction(wire[key]), 3) for key in keys),
                number_text(wire["samples"]),
            )
        )
        for wire in calibration["wires"]
    )
    return Paragraph(text), Grid("Wires, measured before the run", heads, rows, folded=True)
