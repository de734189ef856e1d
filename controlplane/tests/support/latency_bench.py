"""Tests that measure latency, on delays that a test chooses."""

from __future__ import annotations

from fractions import Fraction

from support.beds import GIGABIT, make_bed
from support.delays import DelayMeasurer, Delays
from support.runs import run_units

from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed, TimeStamps
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.calibration import Calibration, CalibrationRun, Wire

QUICK = ("scaled_frames=100", "search_resolution_pct=10")
_TARGETS = {StampKind.FIRST_BIT: ("sim", 1), StampKind.SOFTWARE: ("bmv2", 1000), StampKind.PARSER: ("tofino", 1)}


def bed(*rates_bps: int, stamps: StampKind = StampKind.FIRST_BIT, calibration: Calibration | None = None) -> Bed:
    """A bed of ports with these rates, whose target has these time stamps."""
    target, resolution_ns = _TARGETS[stamps]
    return make_bed(
        rates_bps=rates_bps or (GIGABIT, GIGABIT),
        target=target,
        stamps=TimeStamps(Fraction(resolution_ns), stamps),
        calibration=calibration,
    )


def run(test: Method, where: Bed, delays: Delays, size: int, *settings: str) -> tuple[DelayMeasurer, Outcome]:
    """Run a test in short; return what has measured, and the outcome."""
    measurer = DelayMeasurer(delays)
    return measurer, run_units(test, where, measurer, (size,), *QUICK, *settings)[1]


def rows(outcome: Outcome, name: str) -> tuple[dict[str, Cell], ...]:
    (table,) = (table for table in outcome.tables if table.name == name)
    return table.rows


def wires(*medians_ns: float, size: int = 128, rate_bps: int = GIGABIT) -> Calibration:
    """A calibration of ports 1 -> 2, 2 -> 1."""
    run_of = CalibrationRun("cable", "00", "sim", 1.0, "2026-01-01T00:00:00+00:00", "0")
    pairs = ((1, 2), (2, 1))
    return Calibration(
        (run_of,),
        tuple(
            Wire(tx, rx, rate_bps, rate_bps, size, median, 0.0, median, median, 101, 0)
            for (tx, rx), median in zip(pairs, medians_ns, strict=True)
        ),
    )
