"""Rows of the latency test: summaries of the samples of all runs, per pair of line rates and per pair of ports."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.base import UnitResult
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import latency_tables as latency
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    Definition,
    Group,
    LatencySummary,
    definition_text,
    groups_of,
    merged,
    summary_of,
)
from p4mesh.methods.results.outcome import State
from p4mesh.methods.results.repetition import spread_of
from p4mesh.trial.result import Status, TrialResult


def latency_rows(
    where: UnitResult, bed: Bed, results: Sequence[TrialResult], samples: Sequence[str], parameters: ParameterSet
) -> list[UnitResult]:
    """Return one row per pair of line rates, and one more of each where wires are subtracted."""
    untrusted = [result.status.value for result in results if result.status is not Status.VALID]
    state = untrusted[0] if untrusted else State.PASS.value
    measured = [groups_of(result, samples) for result in results if result.status is Status.VALID]
    links = dict.fromkeys(_link(bed, group) for groups in measured for group in groups)
    name, size = definition_text(bed, parameters), where["frame_size_bytes"]
    if not links:
        return [{**where, "link": None, **latency.latency_cells(None, name), "state": state}]
    rows = []
    for link in links:
        runs = [[group for group in groups if _link(bed, group) == link] for groups in measured]
        for calibrated in (False, True) if bed.calibration else (False,):
            summaries = _summaries(runs, bed, size, _definition(parameters), calibrated=calibrated)
            whole = merged(summaries)
            pairs = _by_pair(runs, bed, size, _definition(parameters), calibrated=calibrated)
            averages = [summary.latency.avg_ns for summary in pairs.values()]
            row = {**where, "link": link, **_over_runs(summaries), "state": state}
            row |= {"avg_low_us": latency.us(min(averages)), "avg_high_us": latency.us(max(averages))}
            row["pairs"] = [
                {"tx_port": tx, "rx_port": rx, **_named(summary, name, calibrated)}
                for (tx, rx), summary in pairs.items()
            ]
            row |= _named(whole, name, calibrated)
            if not calibrated:
                row |= {"variation": latency.variation_cells(whole), "definitions": _definitions(runs, bed, size)}
            rows.append(row)
    return rows


def _definition(parameters: ParameterSet) -> Definition:
    return Definition(parameters.text(LATENCY_DEFINITION.name))


def _named(summary: LatencySummary | None, name: str, calibrated: bool) -> UnitResult:
    return latency.latency_cells(summary, name, latency.CALIBRATED if calibrated else latency.RAW)


def _by_pair(
    runs: Sequence[Sequence[Group]], bed: Bed, size: int, definition: Definition, *, calibrated: bool
) -> dict[tuple[int, int], LatencySummary]:
    """Return the latency of every pair of ports over all runs."""
    groups: dict[tuple[int, int], list[Group]] = {}
    for group in (group for run in runs for group in run):
        groups.setdefault((group.tx_port, group.rx_port), []).append(group)
    found = {pair: summary_of(some, bed, size, definition, calibrated=calibrated) for pair, some in groups.items()}
    return {pair: summary for pair, summary in found.items() if summary is not None}


def _summaries(
    runs: Sequence[Sequence[Group]], bed: Bed, size: int, definition: Definition, *, calibrated: bool = False
) -> list[LatencySummary]:
    found = [summary_of(groups, bed, size, definition, calibrated=calibrated) for groups in runs]
    return [summary for summary in found if summary is not None]


def _over_runs(summaries: Sequence[LatencySummary]) -> UnitResult:
    if not summaries:
        return {}
    average = spread_of([summary.latency.avg_ns for summary in summaries])
    repeated = len(summaries) > 1
    return {
        "runs": len(summaries),
        "stddev_us": average.stddev / 1000 if repeated else None,
        "rsd_pct": average.rsd_pct if repeated else None,
    }


def _definitions(runs: Sequence[Sequence[Group]], bed: Bed, size: int) -> UnitResult:
    """Return the average in every definition, and the smallest FIFO latency."""
    if not bed.stamps.first_bit:
        return {}
    found = {kind: merged(_summaries(runs, bed, size, kind)) for kind in Definition}
    first_bits = found[Definition.FIFO]
    smallest = latency.us(first_bits.latency.min_ns) if first_bits else None
    return {**latency.definition_cells(found), "fifo_min_us": smallest}


def _link(bed: Bed, group: Group) -> str:
    rates = (bed.rate_bps(port) / 1e9 for port in (group.tx_port, group.rx_port))
    return " -> ".join(f"{rate:g}" for rate in rates)
