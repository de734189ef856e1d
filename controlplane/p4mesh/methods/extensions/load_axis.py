"""The meaning of 100 % load: the line, a cap of the ports, or a fraction of either; results show both.

Loads of tests are percent of line rate inside. Where a user caps the ports or scales the axis, parameters are percent
of that, and are turned into percent of line rate before the test begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.options.parameters import Parameter, ParameterSet, Value, decimal, show
from p4mesh.methods.results.outcome import Cell, Column, Outcome, Table

PPM_BELOW, SCALED_FRAMES = "ppm_below", "scaled_frames"
_LOAD_UNIT, _COLUMN_UNIT, _CAP_UNIT = "% of line rate", "% of line", "% of cap"
_SECTION = "RFC 2889 5.1.2"
_NONE = "none"
PORT_RATE_CAP = decimal(
    "port_rate_cap_mbps",
    _NONE,
    "Mbit/s",
    _SECTION,
    "rate of a port with preamble and gap that is 100 % of every load; none = line rate",
    ("0.001", "400000"),
    (_NONE,),
)
RATE_FRACTION = decimal(
    "rate_fraction_pct",
    "100",
    "%",
    _SECTION,
    "share of line rate or cap that is 100 % of every load",
    ("0.0001", "100"),
)
_AT_LINE_RATE = {
    "rfc2889.forward_pressure": "overload of the line",
    "rfc2544.back_to_back": "bursts at line rate",
    "rfc2544.system_recovery": "overload of the line",
    "rfc5180.hop_by_hop": "loads that the RFC gives",
}
"""Tests whose loads are not percent that a cap could scale, and what they need instead."""
_BPS_PER_MBPS = 1_000_000
_PPM_PER_PCT = 10_000


class LoadAxis(Extension):
    """The parameters of the axis, for tests whose loads can be scaled."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        """Return cap and fraction, where every load of the test is a percentage that the user gives."""
        known = {parameter.name for parameter in method.parameters}
        offered = PPM_BELOW in known and method.name not in _AT_LINE_RATE and not method.name.startswith("messages.")
        return (PORT_RATE_CAP, RATE_FRACTION) if offered else ()

    def check(self, case: Case) -> None:
        """Raise ParameterError for a cap above the line, and for ports of which it would mean different loads."""
        if case.parameters.values.get(PORT_RATE_CAP.name, _NONE) == _NONE:
            return
        cap = case.parameters.number(PORT_RATE_CAP.name)
        if case.bed.mixed_rates:
            raise ParameterError(
                f"{PORT_RATE_CAP.name}={show(cap)}: the ports have different line rates",
                hint="name ports of one rate with --ports, or use rate_fraction_pct",
            )
        line = Fraction(case.bed.slowest_rate_bps, _BPS_PER_MBPS)
        if cap > line:
            raise ParameterError(
                f"{PORT_RATE_CAP.name}={show(cap)}: above the line rate of the ports",
                hint=f"a cap is at most {show(line)} Mbit/s here",
            )

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """Return the outcome with percent of the cap beside percent of line rate."""
        outcome = assemble(results)
        scale = scale_of(case.bed, case.parameters)
        if scale == 1:
            return outcome
        full_mbps = float(scale * case.bed.slowest_rate_bps / _BPS_PER_MBPS)
        note = f"100 % of a load is {full_mbps:g} Mbit/s on each port, {float(100 * scale):g} % of line rate."
        tables = tuple(_with_cap(table, scale) for table in outcome.tables)
        return replace(outcome, tables=tables, deviations=(*outcome.deviations, note))


def scale_of(bed: Bed, parameters: ParameterSet) -> Fraction:
    """Return the share of line rate that is 100 % of every load."""
    if RATE_FRACTION.name not in parameters.values:
        return Fraction(1)
    fraction = parameters.number(RATE_FRACTION.name) / 100
    if parameters.is_word(PORT_RATE_CAP.name):
        return fraction
    return fraction * parameters.number(PORT_RATE_CAP.name) * _BPS_PER_MBPS / bed.slowest_rate_bps


def on_line(method: Method, bed: Bed, parameters: ParameterSet) -> ParameterSet:
    """Return the parameters with every load in percent of line rate.

    The highest load becomes that of the axis, and trials become so much longer that they have as many frames.
    """
    scale = scale_of(bed, parameters)
    if scale == 1:
        return parameters
    values: dict[str, Value] = dict(parameters.values)
    for parameter in method.parameters:
        if parameter.unit == _LOAD_UNIT and not parameters.is_word(parameter.name):
            values[parameter.name] = parameters.number(parameter.name) * scale
    highest = 100 - parameters.number(PPM_BELOW) / _PPM_PER_PCT
    values[PPM_BELOW] = (100 - highest * scale) * _PPM_PER_PCT
    if SCALED_FRAMES in values:
        values[SCALED_FRAMES] = ceil(parameters.integer(SCALED_FRAMES) / scale)
    return ParameterSet(values)


def _with_cap(table: Table, scale: Fraction) -> Table:
    """Return a table with a column in percent of the cap behind each one in percent of line rate."""
    columns: list[Column] = []
    added: dict[str, str] = {}
    for column in table.columns:
        columns.append(column)
        if column.unit == _COLUMN_UNIT:
            added[column.key] = f"{column.key.removesuffix('_pct')}_of_cap_pct"
            columns.append(replace(column, key=added[column.key], unit=_CAP_UNIT))
    rows = tuple({**row, **_cells(row, added, scale)} for row in table.rows)
    return replace(table, columns=tuple(columns), rows=rows)


def _cells(row: Mapping[str, Cell], added: Mapping[str, str], scale: Fraction) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for key, of_cap in added.items():
        value = row.get(key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        cells[of_cap] = float(value) / float(scale) if number else value  # type: ignore[arg-type]
    return cells
