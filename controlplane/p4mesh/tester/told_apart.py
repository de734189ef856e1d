"""Plans flows whose frames are told apart by fields that they come with, and finds the numbers that have come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.tester.flows import FlowColumns
from p4mesh.tester.plan import Limits, Plan, require
from p4mesh.tester.reading import Reading
from p4mesh.tester.received_fields import MOST_BITS, MOST_RANGES, ReceivedBits, ToldApart


def with_told_apart(plan: Plan, bits_of: Mapping[str, Sequence[ReceivedBits]], limits: Limits) -> Plan:
    """Add cells for the frames of some streams, by name, that differ in bits of their headers.

    Raises UnsupportedError where the program has no room for them or cannot tell frames apart.
    """
    wanted = {name: tuple(bits) for name, bits in bits_of.items() if bits}
    if not wanted:
        return plan
    if not limits.received_field_rules or limits.switch_of:
        raise UnsupportedError(
            f"not supported on {limits.target}: frames told apart by fields that they come with",
            hint="use a tester of one switch on sim, live or bmv2",
        )
    for name, bits in wanted.items():
        if len({it.header for it in bits}) > 1 or len(bits) > MOST_RANGES or sum(it.count for it in bits) > MOST_BITS:
            raise ParameterError(
                f"stream '{name}' has frames told apart by too much",
                hint=f"up to {MOST_RANGES} ranges of {MOST_BITS} bits together, of one header",
            )
    found: list[ToldApart] = []
    names, columns, cell = plan.names, plan.columns, plan.cells
    for row, number in enumerate(columns.stream.tolist()):
        name = names[number]
        if name in wanted and columns.expected[row]:
            stream, rx_port, flow = (int(it[row]) for it in (columns.stream, columns.rx_port, columns.sequence_cell))
            found.append(ToldApart(row, stream, rx_port, flow, cell, wanted[name]))
            cell = found[-1].cells.stop
    require(cell, limits.flows, "cells of flows whose frames are told apart", limits)
    require(sum(it.rules_count for it in found), limits.received_field_rules, "rules for them", limits)
    return replace(plan, told_apart=tuple(found))


def with_numbers(plan: Plan, reading: Reading) -> Plan:
    """The plan with a flow for each number that frames have come with; its part is the number."""
    blocks = [plan.columns]
    for it in plan.told_apart:
        come = reading.records["frames"][it.cells.start : it.cells.stop] > 0
        numbers = np.flatnonzero(come)
        blocks.append(_flows_of(plan.columns, it, numbers))
    return replace(plan, columns=FlowColumns.joined(blocks)) if plan.told_apart else plan


def _flows_of(columns: FlowColumns, of: ToldApart, numbers: np.ndarray[Any, Any]) -> FlowColumns:
    same = ("sequence_cell", "stream", "tx_port", "rx_port", "expected")
    values = {name: np.full(len(numbers), getattr(columns, name)[of.row]) for name in same}
    return FlowColumns(cell=numbers + of.first_cell, part=tuple(map(str, numbers.tolist())), **values)
