"""The meaning of 100 % load: the line, a cap of the ports, a rate in any unit, or a share of these; results show both.

Loads of tests are percent of line rate inside. Where a user caps the ports or scales the axis, parameters are percent
of that, and are turned into percent of line rate before the test begins; a rate in frames, or in bits that leave out
a part of the frame, is another share of the line at each frame size, so they are turned for each size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.options.parameters import Parameter, ParameterSet, Value, decimal, shortened, show, text
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Outcome, Table, is_number
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.rates import VALID_RATES, Rate, RateUnit, line_share

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
FULL_LOAD = text(
    "full_load",
    _SECTION,
    "rate of a port that is 100 % of every load, with its unit, such as 1000 frames/s, 20 Mbit/s L1, 20 Mbit/s L2, "
    "20 Mbit/s no FCS, 50 % or 50 % of cap; empty = line rate or cap",
)
_AT_LINE_RATE = {
    "rfc2889.forward_pressure": "overload of the line",
    "rfc2544.back_to_back": "bursts at line rate",
    "rfc2544.system_recovery": "overload of the line",
    "rfc5180.hop_by_hop": "loads that the RFC gives",
    "rfc5180.back_to_back": "bursts at line rate",
    "rfc5180.system_recovery": "overload of the line",
    "rfc5695.system_recovery": "overload of the line",
    "rfc5695.back_to_back": "bursts at line rate",
    "srv6.back_to_back": "bursts at line rate",
    "srv6.system_recovery": "overload of the line",
}
"""Tests whose loads are not percent that a cap could scale, and what they need instead."""
_BPS_PER_MBPS = 1_000_000
_PPM_PER_PCT = 10_000


class LoadAxis(Extension):
    """The parameters of the axis, for tests whose loads can be scaled."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        """Cap and fraction, where every load of the test is a percentage that the user gives."""
        known = {parameter.name for parameter in method.parameters}
        offered = PPM_BELOW in known and method.name not in _AT_LINE_RATE and not method.name.startswith("messages.")
        return (PORT_RATE_CAP, RATE_FRACTION, FULL_LOAD) if offered else ()

    def check(self, case: Case) -> None:
        """Raise ParameterError for a cap above the line, and for ports of which it would mean different loads."""
        if (full := full_load_of(case.parameters)) is not None:
            _check_full_load(full, case)
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

    def parameters_for(self, unit: Unit, case: Case) -> ParameterSet:
        """The parameters of a unit, whose loads a rate scales by its frame size."""
        if full_load_of(case.parameters) is None:
            return case.parameters
        return _scaled(case.method, case.parameters, scale_of(case.bed, case.parameters, unit.frame_size))

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome with percent of the cap beside percent of line rate."""
        outcome = assemble(results)
        full = full_load_of(case.parameters)
        if full is None and scale_of(case.bed, case.parameters) == 1:
            return outcome
        sizes = sorted({unit.frame_size for unit in results})
        scales = {size: scale_of(case.bed, case.parameters, size) for size in sizes}
        if full is None:
            scale = scale_of(case.bed, case.parameters)
            full_mbps = float(scale * case.bed.slowest_rate_bps / _BPS_PER_MBPS)
            note = (
                f"100 % of a load is {number_text(full_mbps)} Mbit/s on each port, {number_text(100 * scale)} % of "
                "line rate."
            )
        else:
            shares = ", ".join(
                f"{number_text(100 * scale)} % of line rate at {size} B" for size, scale in scales.items()
            )
            fraction = case.parameters.number(RATE_FRACTION.name)
            part = "" if fraction == 100 else f"{show(fraction)} % of "
            note = f"100 % of a load is {part}{case.parameters.text(FULL_LOAD.name)} on each port: {shares}."
        tables = tuple(_with_cap(table, scales) for table in outcome.tables)
        return replace(outcome, tables=tables, deviations=(*outcome.deviations, note))


def full_load_of(parameters: ParameterSet) -> Rate | None:
    """The rate that is 100 % of every load; None without one. Raises ParameterError for a text that is none."""
    given = str(parameters.values.get(FULL_LOAD.name, ""))
    if not given:
        return None
    try:
        return Rate.parse(given)
    except ValueError:
        raise ParameterError(f"--set {FULL_LOAD.name}={shortened(given)}: not a rate", hint=VALID_RATES) from None


def _check_full_load(full: Rate, case: Case) -> None:
    given = case.parameters.text(FULL_LOAD.name)
    if case.bed.mixed_rates:
        raise ParameterError(
            f"{FULL_LOAD.name}={given}: the ports have different line rates",
            hint="name ports of one rate with --ports, or use rate_fraction_pct",
        )
    capped = not case.parameters.is_word(PORT_RATE_CAP.name)
    if (full.unit is RateUnit.CAP) is not capped:
        raise ParameterError(
            f"{FULL_LOAD.name}={given}: {'goes with no cap' if capped else 'there is no cap'}",
            hint=f"set {PORT_RATE_CAP.name} with a rate in % of cap, and only then",
        )


def require_room(bed: Bed, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> None:
    """Raise ParameterError when the rate that is 100 % of every load is above the line at one of the frame sizes."""
    if full_load_of(parameters) is None:
        return
    for size in sizes:
        share = scale_of(bed, parameters, size)
        if share > 1:
            given = parameters.text(FULL_LOAD.name)
            raise ParameterError(
                f"{FULL_LOAD.name}={given}: {number_text(100 * share)} % of the line at {size} B",
                hint="100 % of a load is at most 100 % of the line at every frame size",
            )


def scale_of(bed: Bed, parameters: ParameterSet, size: FrameSize | None = None) -> Fraction:
    """The share of line rate that is 100 % of every load; that of a rate depends on the frame size."""
    if RATE_FRACTION.name not in parameters.values:
        return Fraction(1)
    fraction, line_bps = parameters.number(RATE_FRACTION.name) / 100, bed.slowest_rate_bps
    cap_bps = None
    if not parameters.is_word(PORT_RATE_CAP.name):
        cap_bps = parameters.number(PORT_RATE_CAP.name) * _BPS_PER_MBPS
    full = full_load_of(parameters)
    if full is not None:
        if not size:
            raise ParameterError(
                f"{FULL_LOAD.name}={parameters.text(FULL_LOAD.name)}: the test sends several frame sizes together",
                hint=f"use {PORT_RATE_CAP.name} or {RATE_FRACTION.name}",
            )
        return fraction * line_share(full.fps(size, line_bps, cap_bps), size, line_bps)
    return fraction if cap_bps is None else fraction * cap_bps / line_bps


def on_line(method: Method, bed: Bed, parameters: ParameterSet) -> ParameterSet:
    """The parameters with every load in percent of line rate, where that does not depend on the frame size.

    The highest load becomes that of the axis, and trials become so much longer that they have as many frames.
    """
    if full_load_of(parameters) is not None:
        return parameters
    scale = scale_of(bed, parameters)
    return parameters if scale == 1 else _scaled(method, parameters, scale)


def _scaled(method: Method, parameters: ParameterSet, scale: Fraction) -> ParameterSet:
    values: dict[str, Value] = dict(parameters.values)
    for parameter in method.parameters:
        if parameter.unit == _LOAD_UNIT and not parameters.is_word(parameter.name):
            values[parameter.name] = parameters.number(parameter.name) * scale
    highest = 100 - parameters.number(PPM_BELOW) / _PPM_PER_PCT
    values[PPM_BELOW] = (100 - highest * scale) * _PPM_PER_PCT
    if SCALED_FRAMES in values:
        values[SCALED_FRAMES] = ceil(parameters.integer(SCALED_FRAMES) / scale)
    return ParameterSet(values)


def _with_cap(table: Table, scales: Mapping[FrameSize, Fraction]) -> Table:
    """A table with a column in percent of the cap behind each one in percent of line rate.

    ``scales`` are those of the frame sizes; a row without a size has that of all sizes, if they have the same.
    """
    common = next(iter(scales.values())) if len(set(scales.values())) == 1 else None
    columns: list[Column] = []
    added: dict[str, str] = {}
    for column in table.columns:
        columns.append(column)
        if column.unit == _COLUMN_UNIT:
            added[column.key] = f"{column.key.removesuffix('_pct')}_of_cap_pct"
            columns.append(replace(column, key=added[column.key], unit=_CAP_UNIT))
    rows = tuple({**row, **_cells(row, added, _of_row(row, scales, common))} for row in table.rows)
    return replace(table, columns=tuple(columns), rows=rows)


def _of_row(row: Mapping[str, Cell], scales: Mapping[FrameSize, Fraction], common: Fraction | None) -> Fraction | None:
    size = row.get("frame_size_bytes")
    return scales.get(size, common) if isinstance(size, int) else common


def _cells(row: Mapping[str, Cell], added: Mapping[str, str], scale: Fraction | None) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for key, of_cap in added.items():
        value = row.get(key)
        if is_number(value):
            value = None if scale is None else float(value) / float(scale)
        cells[of_cap] = value
    return cells
