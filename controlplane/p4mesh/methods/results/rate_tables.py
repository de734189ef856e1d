"""Tables and figures of throughput and forwarding rate (methodology 2.1, 3.1), from unit results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from p4mesh.methods.base import UnitResult
from p4mesh.methods.results.outcome import Cell, Column, Figure, Series, State, Table
from p4mesh.methods.search.throughput import verdict_of
from p4mesh.trial.result import Status

Results = Sequence[UnitResult]

START_WITHIN_PCT = 1
"""All ports have started after this share of the trial (RFC 2889: 300 ms of 30 s)."""
_WHOLE_LINE_PCT = 100
_SIZE = Column("frame_size_bytes", "Frame size", "B")

THROUGHPUT_COLUMNS = (
    _SIZE,
    Column("state", "Result"),
    Column("tx_pct", "Tx", "% of line", 4),
    Column("tx_l1_mbps", "Tx (L1)", "Mbit/s", 2),
    Column("tx_fps", "Tx", "frames/s", 0),
    Column("rx_pct", "Rx", "% of line", 4),
    Column("rx_l1_mbps", "Rx (L1)", "Mbit/s", 2),
    Column("rx_fps", "Rx", "frames/s", 0),
    Column("loss_pct", "Loss", "%", 4),
    Column("lost_frames", "Lost", "frames"),
    Column("upper_pct", "Fails at", "% of line", 4),
    Column("trials", "Trials"),
)

LIMIT_COLUMN = Column("theoretical_pct", "Theoretical maximum per port", "% of line", 4)
"""Shown where the pattern over-subscribes an output, so that no device has 100 %."""

FORWARDING_COLUMNS = (
    _SIZE,
    Column("theoretical_fps", "Theoretical", "frames/s", 0),
    Column("mfr_fps", "MFR", "frames/s", 0),
    Column("mfr_offered_pct", "Oload at MFR", "% of line", 2),
    Column("frmol_fps", "FRMOL", "frames/s", 0),
    Column("frmol_offered_pct", "Oload at MOL", "% of line", 2),
    Column("flooded_frames", "Flooded", "frames"),
    Column("state", "Result"),
)


def throughput_table(results: Results) -> Table:
    """Return the throughput table; a FAIL row shows the last load tried and its loss."""
    rows = []
    for result in results:
        shown = result["shown"]
        rows.append(
            {
                "frame_size_bytes": result["frame_size_bytes"],
                "state": state_text(result),
                "tx_pct": shown["load_pct"],
                "tx_fps": shown["offered_fps"],
                "tx_l1_mbps": shown["offered_l1_mbps"],
                "rx_pct": shown["received_pct"],
                "rx_fps": shown["forwarding_fps"],
                "rx_l1_mbps": shown["received_l1_mbps"],
                "loss_pct": shown["loss_pct"],
                "lost_frames": shown["lost_frames"],
                "upper_pct": result["upper_pct"],
                "trials": result["trials"],
                LIMIT_COLUMN.key: result["load_limit_pct"],
            }
        )
    limited = any(result["load_limit_pct"] < _WHOLE_LINE_PCT for result in results)
    return Table(
        "throughput",
        "Throughput: highest load without loss",
        (*THROUGHPUT_COLUMNS, LIMIT_COLUMN) if limited else THROUGHPUT_COLUMNS,
        tuple(rows),
        "Rates are sums over all transmitting ports. 'Fails at' is the lowest load tried that lost frames.",
    )


def forwarding_table(results: Results, loss_limit_pct: Fraction | None) -> Table:
    """Return one row per frame size: MFR with its offered load, FRMOL, and the verdict."""
    keys = [column.key for column in FORWARDING_COLUMNS if column.key != "state"]
    rows = tuple({**{key: result[key] for key in keys}, "state": sweep_state(result).value} for result in results)
    note = (
        "MFR is the highest forwarding rate of the sweep, FRMOL the one at its last load; sums over all ports. MFR is "
        "that of the loads of the sweep alone (RFC 2285 3.6.3): it reads below a throughput that lies between them."
    )
    note += f" {criterion_note(loss_limit_pct)}"
    return Table("forwarding_rate", "Forwarding rate: MFR and FRMOL", FORWARDING_COLUMNS, rows, note)


def criterion_note(loss_limit_pct: Fraction | None) -> str:
    """Return the sentence that says what PASS means for a sweep."""
    if loss_limit_pct is None:
        return "PASS: executed; no threshold of loss is set."
    return f"PASS: no load lost more than {float(loss_limit_pct):g} % of its frames."


def sweep_tables(results: Results) -> tuple[Table, Table]:
    """Return load against received rate and load against loss, one column per frame size."""
    return (
        _sweep_table("sweep_received", "Forwarding-rate sweep: received rate", "received_pct", "Rx", results),
        _sweep_table("sweep_loss", "Forwarding-rate sweep: frame loss", "loss_pct", "loss", results),
    )


def _sweep_table(name: str, title: str, key: str, word: str, results: Results) -> Table:
    columns = [Column("load_pct", "Tx", "% of line", 2)]
    by_load: dict[float, dict[str, Cell]] = {}
    for result in results:
        size = result["frame_size_bytes"]
        column = Column(f"{key}_{size}B", f"{size} B {word}", "% of line" if key == "received_pct" else "%", 4)
        columns.append(column)
        for row in result["rows"]:
            cells = by_load.setdefault(row["load_pct"], {"load_pct": row["load_pct"]})
            cells[column.key] = row[key] if row["status"] == Status.VALID.value else row["status"]
    rows = tuple(by_load[load] for load in sorted(by_load))
    return Table(name, title, tuple(columns), rows, keys=("load_pct",))


def port_table(throughput: Results, forwarding: Results) -> Table:
    """Return forwarding rate and flood count of every port in every trial (RFC 2889 5.1.4, 5.1.5)."""
    columns = (
        Column("part", "Part"),
        _SIZE,
        Column("load_pct", "Tx", "% of line", 4),
        Column("port", "Port"),
        Column("tx_frames", "Tx", "frames"),
        Column("rx_frames", "Rx", "frames"),
        Column("forwarding_fps", "Forwarding rate", "frames/s", 0),
        Column("flooded_frames", "Flooded", "frames"),
    )
    rows = tuple(
        {"part": part, "frame_size_bytes": result["frame_size_bytes"], "load_pct": row["load_pct"], **port}
        for part, results in (("throughput", throughput), ("forwarding", forwarding))
        for result in results
        for row in (result["rows"] if part == "forwarding" else [result["shown"]])
        for port in row["ports"]
    )
    note = "Throughput: the trial of the result. Flooded: test frames that do not belong to the port."
    keys = ("part", "frame_size_bytes", "load_pct", "port")
    return Table("port_rates", "Rates and flood counts per port", columns, rows, note, True, keys)


def rate_figure(throughput: Results, forwarding: Results) -> Figure:
    """Return frame size against frame rate: theoretical, throughput and MFR (RFC 2889 5.1.5)."""
    theory = {result["frame_size_bytes"]: result["theoretical_fps"] for result in (*throughput, *forwarding)}
    series = [Series("theoretical maximum", _points(theory), theoretical=True)]
    found = {
        result["frame_size_bytes"]: result["shown"]["offered_fps"]
        for result in throughput
        if result["result_pct"] is not None
    }
    peaks = {result["frame_size_bytes"]: result["mfr_fps"] for result in forwarding if result["mfr_fps"] is not None}
    if found:
        series.append(Series("throughput", _points(found)))
    if peaks:
        series.append(Series("maximum forwarding rate", _points(peaks)))
    return Figure("rate", "Frame rate against frame size, all ports", "frame size (B)", "frames/s", tuple(series))


def load_figures(forwarding: Results) -> tuple[Figure, ...]:
    """Return load against received rate and against loss, one line per frame size."""
    if not forwarding:
        return ()
    return tuple(
        Figure(name, title, "intended load (% of line rate)", label, _lines(forwarding, key), 100.0, 100.0)
        for name, title, label, key in (
            ("received", "Received rate against load", "received (% of line rate)", "received_pct"),
            ("loss", "Frame loss against load", "loss (%)", "loss_pct"),
        )
    )


def sweep_state(result: UnitResult) -> State:
    """Return the verdict on one sweep, the worst of its trials: without a threshold executed is PASS."""
    return _worst({State(row["verdict"]) for row in result["rows"]})


def overall_state(throughput: Results, sweeps: Results) -> State:
    """Return the verdict on searches and sweeps, the worst of all; DONE where there are none."""
    return _worst({State(verdict_of(result)) for result in throughput} | {sweep_state(result) for result in sweeps})


def _worst(states: Set[State]) -> State:
    ranking = (State.ABORT, State.INVALID, State.FAIL, State.PASS)
    return next((state for state in ranking if state in states), State.DONE)


def findings(results: Mapping[str, Results]) -> tuple[str, ...]:
    """Return what must not be overlooked: flooding, other faults of the device or tester, untrusted trials."""
    found = []
    for part, units in results.items():
        for unit in units:
            where = f"{part} {unit['frame_size_bytes']} B"
            if unit["flooded_frames"]:
                found.append(f"flooding detected: {unit['flooded_frames']} frames ({where})")
            for word in ("duplicate", "reordered"):
                count = sum(row[f"{word}_frames"] for row in unit["rows"])
                if count:
                    found.append(f"{count} {word} frames received ({where})")
            skewed = max(unit["rows"], key=lambda row: row["start_skew_pct"])
            if skewed["start_skew_pct"] > START_WITHIN_PCT:
                found.append(
                    f"ports started up to {skewed['start_skew_us']:.4g} us apart, {skewed['start_skew_pct']:.3g} % "
                    f"of the trial ({where} at {skewed['load_pct']:g} %): RFC 2889 allows {START_WITHIN_PCT} %"
                )
            for row in unit["rows"]:
                if row["status"] != Status.VALID.value:
                    found.append(f"{row['status']} trial, {where} at {row['load_pct']:g} %: {row['reason']}")
    return tuple(found)


def state_text(result: UnitResult) -> str:
    """Return the verdict of a search, with what qualifies it in brackets."""
    verdict = verdict_of(result)
    if verdict != result["state"]:
        return f"{verdict} (below {result['goal']['threshold_pct']:g} %)"
    return f"{verdict} (at least)" if result["at_least"] else verdict


def _points(values: Mapping[int, float]) -> tuple[tuple[float, float], ...]:
    return tuple((float(size), float(values[size])) for size in sorted(values))


def _lines(results: Results, key: str) -> tuple[Series, ...]:
    return tuple(
        Series(
            f"{result['frame_size_bytes']} B",
            tuple((row["load_pct"], row[key]) for row in result["rows"] if row["status"] == Status.VALID.value),
        )
        for result in results
    )
