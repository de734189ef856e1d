"""``p4mesh calibrate``: measures wires, or the MACs of ports, and stores them beside those measured before."""

from __future__ import annotations

import json

from p4mesh.cli.output import say
from p4mesh.cli.progress import Progress
from p4mesh.errors import EXIT_OK
from p4mesh.methods.chassis.tables import RateAndLatency
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.quantities import number_text
from p4mesh.report.text import table_text
from p4mesh.run.calibration import calibrate
from p4mesh.run.options import RunOptions
from p4mesh.traffic.stamps import StampKind

COLUMNS = (
    *(fields.TX_PORT, fields.RX_PORT, fields.FRAME_SIZE_BYTES),
    Column("median_ns", "Median", "ns", 3),
    Column("median_error_ns", "Error", "+- ns", 3),
    Column("min_ns", "Min", "ns", 3),
    Column("max_ns", "Max", "ns", 3),
    fields.SAMPLES,
)

_MEASURED = {
    StampKind.FIRST_BIT: "First bit sent to first bit received",
    StampKind.SOFTWARE: "Between software time stamps",
    StampKind.PARSER: "Egress parser to first bit received",
}
_WITHOUT_WIRES = "Egress parser to first bit sent"


def measure_wires(options: RunOptions, as_json: bool = False) -> int:
    """Measure every wire in both directions, write the file and show what was measured."""
    finished = calibrate(options, Progress())
    rows: tuple[dict[str, Cell], ...] = tuple(
        {column.key: getattr(wire, column.key) for column in COLUMNS} for wire in finished.measured.wires
    )
    of_wires = bool(finished.rates)
    name, measured = ("Wires", _MEASURED[finished.stamps]) if of_wires else ("Departures", _WITHOUT_WIRES)
    note = f"{measured}, resolution {number_text(finished.resolution_ns)} ns."
    if as_json:
        data = {
            "calibration": str(finished.path),
            "new_wires": finished.added,
            "rates": [row.data() for row in finished.rates],
            "wires": list(rows),
        }
        say(json.dumps(data, indent=1, allow_nan=False))
        return EXIT_OK
    title = f"Rates, latency and jitter of the wires of {finished.topology}, all receivers"
    rates_note = f"{note} Nothing is subtracted. Jitter: RFC 4689."
    if of_wires:
        say(table_text(RateAndLatency.table("rates", title, finished.rates, rates_note)))
    say(table_text(Table("wires", f"{name} of {finished.topology}", COLUMNS, rows, note)))
    known = len(finished.known.wires)
    say(f"calibration: {finished.path}: {known} {name.lower()}, {finished.added} of them new")
    return EXIT_OK
