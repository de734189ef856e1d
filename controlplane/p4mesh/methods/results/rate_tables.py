"""Tables and figures of throughput and forwarding rate (methodology 2.1, 3.1), from unit results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.forwarding import MeshSweep, MeshThroughput, MeshTrial, PortRates
from p4mesh.methods.results.loss_interval import BUCKET_RATES, INTERVAL_COLUMNS, INTERVAL_NOTE
from p4mesh.methods.results.outcome import Cell, Figure, PlaceName, Series, Table, place_of
from p4mesh.methods.results.record import table_of
from p4mesh.methods.results.search_findings import excluded_note, untrusted_trials
from p4mesh.methods.results.searched import FOR_GOOD, FOR_GOOD_NOTE, HasSearch
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.verdict import Verdict


class Counted(Protocol):
    """The result of a unit with the counts of its trials."""

    @property
    def frame_size_bytes(self) -> FrameSize:
        """Frame size with FCS."""
        ...

    @property
    def rows(self) -> Sequence[MeshTrial]:
        """Every trial."""
        ...

    @property
    def flooded_frames(self) -> int:
        """Flooded frames of all trials that count."""
        ...


START_WITHIN_PCT = 1
"""All ports have started after this share of the trial (RFC 2889: 300 ms of 30 s)."""
_WHOLE_LINE_PCT = 100
_LOSS_INTERVAL = "sweep_loss_interval"
_INTERVALS = f"Between which limits each loss lies: {_LOSS_INTERVAL}.csv."

THROUGHPUT_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    fields.STATE,
    fields.LOAD_PCT,
    fields.OFFERED_L1_MBPS,
    fields.OFFERED_FPS,
    fields.FORWARDING_PCT,
    fields.FORWARDING_L1_MBPS,
    fields.FORWARDING_FPS,
    fields.LOSS_PCT,
    fields.LOSS_ERROR_PCT,
    fields.LOST_FRAMES,
    *FOR_GOOD,
    fields.UPPER_PCT,
    fields.TRIALS,
)

_NOTE = (
    "Rates are sums over all transmitting ports. 'Fails at' is the lowest load tried that lost frames or is not "
    f"sustained. {FOR_GOOD_NOTE}"
)
_FAILED = "A FAIL has no throughput: its row is that of the last load tried."


MESH_THROUGHPUT = "mesh_throughput"


def mesh_throughput_table(results: Sequence[MeshThroughput]) -> Table:
    """The throughput of a mesh, sent and received; a FAIL row shows the last load tried and its loss."""
    limited = any(result.theoretical_pct < _WHOLE_LINE_PCT for result in results)
    failed = any(result.search.throughput_pct is None for result in results)
    return table_of(
        MESH_THROUGHPUT,
        "Throughput: highest load without loss",
        (*THROUGHPUT_COLUMNS, *([fields.THEORETICAL_PCT] if limited else [])),
        [
            (
                result.search.trusted_cells,
                result.search.shown.loss_error,
                result,
                result.search.judgement,
                result.search.for_good,
            )
            for result in results
        ],
        " ".join(filter(None, (_NOTE, _FAILED if failed else "", excluded_note(results)))),
        headline=(fields.STATE, fields.LOAD_PCT, fields.OFFERED_FPS, fields.UPPER_PCT),
    )


def forwarding_table(results: Sequence[MeshSweep], loss_limit_pct: Fraction | None) -> Table:
    """One row per frame size: MFR with its offered load, FRMOL, and the verdict."""
    columns = (*MeshSweep.columns(), fields.STATE)
    rows = [(result, {"state": sweep_state(result)}) for result in results]
    note = (
        "MFR is the highest forwarding rate of all trials, those of the search included; FRMOL is the one at the "
        "last load of the sweep. Sums over all ports. Late: the most frames of a trial that came after transmission, "
        "from queues; no rate counts them, and losses of loads do, because a longer trial loses as many more."
    )
    note += f" {BUCKET_RATES} {criterion_note(loss_limit_pct)}"
    headline = (fields.MFR_FPS, fields.MFR_OFFERED_PCT, fields.FRMOL_FPS)
    return table_of("forwarding_rate", "Forwarding rate: MFR and FRMOL", columns, rows, note, headline=headline)


def with_searches(sweeps: Sequence[MeshSweep], searches: Sequence[MeshThroughput]) -> list[MeshSweep]:
    """Sweeps whose MFR is the highest forwarding rate that was seen in any trial of their frame size."""
    rows: dict[FrameSize, list[MeshTrial]] = {sweep.frame_size_bytes: list(sweep.rows) for sweep in sweeps}
    for searched in searches:
        rows.setdefault(searched.frame_size_bytes, []).extend(searched.rows)
    return [sweep.with_best(rows[sweep.frame_size_bytes]) for sweep in sweeps]


def criterion_note(loss_limit_pct: Fraction | None) -> str:
    """The sentence on the verdicts on a sweep."""
    if loss_limit_pct is None:
        return "MEASURED: no threshold of loss is set."
    return f"PASS: no load lost more than {number_text(loss_limit_pct)} % of its frames."


def sweep_tables(results: Sequence[MeshSweep]) -> tuple[Table, Table, Table]:
    """Load against received rate and against loss, a column per frame size, and the interval of each loss."""
    return (
        _sweep_table("sweep_received", "Forwarding-rate sweep: received rate", "forwarding_pct", "Rx", results),
        _sweep_table("sweep_loss", "Forwarding-rate sweep: frame loss", "loss_pct", "loss", results, _INTERVALS),
        _interval_table(results),
    )


def _interval_table(results: Sequence[MeshSweep]) -> Table:
    columns = (
        fields.FRAME_SIZE_BYTES,
        retitled(fields.LOAD_PCT, "Load", digits=2),
        fields.TX_FRAMES,
        fields.LOST_FRAMES,
        fields.LATE_FRAMES,
        fields.EARLY_FRAMES,
        fields.LOSS_PCT,
        *INTERVAL_COLUMNS,
    )
    rows = [
        (
            row,
            {"frame_size_bytes": result.frame_size_bytes},
            row.interval,
            {"early_frames": row.early_frames or None},
        )
        for result in results
        for row in result.rows
        if row.trusted
    ]
    title = "Forwarding-rate sweep: intervals of the losses"
    optional = (fields.EARLY_FRAMES,)
    return table_of(
        _LOSS_INTERVAL, title, columns, rows, INTERVAL_NOTE, optional=optional, keys=columns[:2], detail=True
    )


def _sweep_table(name: str, title: str, key: str, word: str, results: Sequence[MeshSweep], note: str = "") -> Table:
    columns = [retitled(fields.LOAD_PCT, "Load", digits=2)]
    by_load: dict[float, dict[str, Cell]] = {}
    for result in results:
        size = result.frame_size_bytes
        rate = key == fields.FORWARDING_PCT.key
        error = Column(f"forwarding_error_pct_{size}B", f"Error of {size} B", "+- % of line", 4)
        column = Column(
            f"{key}_{size}B", f"{size} B {word}", "% of line" if rate else "%", 4, error.key if rate else ""
        )
        columns += [column, error] if rate else [column]
        for row in result.rows:
            cells = by_load.setdefault(row.load_pct, {"load_pct": row.load_pct})
            if row.trusted:
                cells[column.key] = _share(row, key)
                if rate:
                    cells[error.key] = row.forwarding_error_pct
                cells["corrupted_frames"] = int(cells.get("corrupted_frames") or 0) + (row.corrupted_frames or 0)
            else:
                why = (cells.get(fields.REASON.key), f"{size} B: {row.status.value}")
                cells[fields.REASON.key] = "; ".join(str(text) for text in why if text)
    rows = [by_load[load] for load in sorted(by_load)]
    return table_of(name, title, (*columns, fields.REASON), rows, note, optional=(fields.REASON,), keys=columns[:1])


def _share(row: MeshTrial, key: str) -> float:
    return row.forwarding_pct if key == "forwarding_pct" else row.loss_pct


def port_table(throughput: Sequence[MeshThroughput], forwarding: Sequence[MeshSweep]) -> Table:
    """Forwarding rate and flood count of every port in every trial (RFC 2889 5.1.4, 5.1.5)."""
    columns = (
        fields.PART,
        fields.FRAME_SIZE_BYTES,
        fields.LOAD_PCT,
        *PortRates.columns(),
    )
    shown = [("throughput", result.frame_size_bytes, result.search.shown) for result in throughput]
    swept = [("forwarding", result.frame_size_bytes, row) for result in forwarding for row in result.rows]
    rows = [
        ({"part": part, "frame_size_bytes": size, "load_pct": row.load_pct}, port)
        for part, size, row in (*shown, *swept)
        if row.trusted
        for port in row.ports
    ]
    note = "Throughput: the trial of the result. Flooded: test frames that do not belong to the port."
    title = "Rates and flood counts per port"
    return PortRates.table("port_rates", title, rows, note, columns=columns, keys=columns[:4], detail=True)


def rate_figure(throughput: Sequence[MeshThroughput], forwarding: Sequence[MeshSweep]) -> Figure:
    """Frame size against frame rate: theoretical, throughput and MFR (RFC 2889 5.1.5)."""
    theory = {result.frame_size_bytes: result.theoretical_fps for result in throughput}
    theory |= {result.frame_size_bytes: result.theoretical_fps for result in forwarding}
    series = [Series("theoretical maximum", _points(theory), theoretical=True)]
    found = {
        result.frame_size_bytes: result.search.shown.offered_fps
        for result in throughput
        if result.search.throughput_pct is not None
    }
    peaks = {result.frame_size_bytes: result.mfr.mfr_fps for result in forwarding if result.mfr.mfr_fps is not None}
    if found:
        series.append(Series("throughput", _points(found)))
    if peaks:
        series.append(Series("maximum forwarding rate", _points(peaks)))
    title = "Frame rate against frame size, all ports"
    return Figure("rate", title, "frame size (B)", "frames/s", tuple(series), x_names=PlaceName.of_mixes(theory))


def load_figures(forwarding: Sequence[MeshSweep]) -> tuple[Figure, ...]:
    """Load against received rate and against loss, one line per frame size."""
    if not forwarding:
        return ()
    return tuple(
        Figure(name, title, "intended load (% of line rate)", label, _lines(forwarding, key), 100.0, 100.0)
        for name, title, label, key in (
            ("received", "Received rate against load", "received (% of line rate)", "forwarding_pct"),
            ("loss", "Frame loss against load", "loss (%)", "loss_pct"),
        )
    )


def sweep_state(result: Counted) -> Verdict:
    """The worst verdict on a trial of a sweep; one that was too short to tell says nothing."""
    return Verdict.worst(row.verdict for row in result.rows if row.verdict is not Verdict.UNCLEAR)


def overall_state(throughput: Sequence[HasSearch], sweeps: Sequence[Counted]) -> Verdict:
    """The worst verdict on searches and sweeps."""
    return Verdict.worst((*(result.search.verdict for result in throughput), *map(sweep_state, sweeps)))


def findings(results: Mapping[str, Sequence[Counted]]) -> tuple[str, ...]:
    """Findings on flooding, other faults of the device or tester, and untrusted trials."""
    found = []
    for part, units in results.items():
        for unit in units:
            where = f"{part} {unit.frame_size_bytes} B"
            if unit.flooded_frames:
                found.append(f"flooding detected: {unit.flooded_frames:,} frames ({where})")
            duplicate = sum(row.duplicate_frames for row in unit.rows)
            reordered = sum(row.reordered_frames for row in unit.rows)
            for word, count in (("duplicate", duplicate), ("reordered", reordered)):
                if count:
                    found.append(f"{count:,} {word} frames received ({where})")
            skewed = max(unit.rows, key=lambda row: row.start_skew_pct)
            if skewed.start_skew_pct > START_WITHIN_PCT:
                found.append(
                    f"ports started up to {number_text(skewed.start_skew_us, 4)} us apart, "
                    f"{number_text(skewed.start_skew_pct, 3)} % "
                    f"of the trial ({where} at {number_text(skewed.load_pct)} %): RFC 2889 allows {START_WITHIN_PCT} %"
                )
            # Those of a search stand among the findings of searches.
            of_search = unit.search.rows if isinstance(unit, MeshThroughput) else ()
            found += untrusted_trials(where, [row for row in unit.rows if row not in of_search])
    return tuple(found)


def _points(values: Mapping[FrameSize, float]) -> tuple[tuple[float, float], ...]:
    return tuple((place_of(size), float(values[size])) for size in sorted(values))


def _lines(results: Sequence[MeshSweep], key: str) -> tuple[Series, ...]:
    return tuple(
        Series(
            f"{result.frame_size_bytes} B",
            tuple((row.load_pct, _share(row, key)) for row in result.rows if row.trusted),
        )
        for result in results
    )
