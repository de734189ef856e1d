"""Tables of throughput as RFC 2544 26.1 and methodology 2.1 ask for, from unit results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import Direction, MeshThroughput
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Row, table_of
from p4mesh.methods.results.search_findings import excluded_note
from p4mesh.methods.results.searched import FOR_GOOD, FOR_GOOD_NOTE
from p4mesh.traffic.line_rate import l2_rate_bps
from p4mesh.trial.result import TrialResult

_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    fields.STATE,
    fields.THEORETICAL_FPS,
    fields.THROUGHPUT_FPS,
    fields.THROUGHPUT_PCT,
    fields.THROUGHPUT_L1_MBPS,
    fields.THROUGHPUT_L2_MBPS,
    fields.TRIALS,
    fields.DURATION_MS,
    *FOR_GOOD,
    fields.UPPER_PCT,
    fields.TRIED_PCT,
    retitled(fields.LOSS_PCT, "Loss there"),
    fields.LOSS_ERROR_PCT,
)

_NOTE = (
    "Rates are sums over all transmitting ports. Duration is that of the trial that decided. 'Fails at' is the lowest "
    "load tried that lost frames or is not sustained. 'Last tried' and its loss stand where no throughput was found. "
    f"{FOR_GOOD_NOTE}"
)


def throughput_table(results: Sequence[MeshThroughput], advertised: str = "") -> Table:
    """Theoretical rate, throughput and how it was decided, per frame size; ``advertised`` closes the note."""
    rows: list[Row] = []
    for result in results:
        shown, found = result.search.shown, result.search.throughput_pct is not None
        l2_mbps = float(l2_rate_bps(1, result.frame_size_bytes)) * shown.offered_fps / 1_000_000
        rates = {
            "throughput_fps": shown.offered_fps,
            "throughput_l1_mbps": shown.offered_l1_mbps,
            "throughput_l2_mbps": l2_mbps,
        }
        lossy = {"loss_pct": shown.loss_pct, "corrupted_frames": shown.corrupted_frames, **shown.loss_error}
        tried = {"tried_pct": shown.load_pct, **lossy} if shown.trusted else {}
        row = rates if found else tried
        rows.append(
            (result, result.search.judgement, {"duration_ms": shown.duration_ms, **row}, result.search.for_good)
        )
    return table_of(
        "throughput",
        "Throughput: highest load without loss",
        _COLUMNS,
        rows,
        " ".join(text for text in (_NOTE, excluded_note(results), advertised) if text),
        headline=(fields.STATE, fields.THROUGHPUT_PCT, fields.THROUGHPUT_FPS, fields.UPPER_PCT),
    )


def advertised_value(results: Sequence[MeshThroughput], protocol: str) -> str:
    """The one number that RFC 2544 26.1 lets a vendor advertise: that of the smallest frame size."""
    smallest = min(results, key=lambda result: result.frame_size_bytes)
    if smallest.search.throughput_pct is None:
        return ""
    return (
        f"As a single value: {smallest.search.shown.offered_fps:,.0f} frames/s with {smallest.frame_size_bytes} B "
        f"frames, of {smallest.theoretical_fps:,.0f} frames/s that the lines carry, {protocol}."
    )


def directions(legs: Iterable[tuple[Sequence[int], Sequence[int]]], result: TrialResult) -> tuple[Direction, ...]:
    """Frames sent and received in each direction of a trial; ``legs`` are (transmit, receive) ports.

    A port counts a frame that came twice as two: without flows, duplicates hide how many were lost in a direction.
    """
    rows, at_ports = [], CorruptedAtPorts(result)
    lost: int | None
    for tx_ports, rx_ports in legs:
        flows = [flow for flow in result.flows if flow.tx_port in tx_ports and flow.rx_port in rx_ports]
        ports = {port.port: port for port in result.ports}
        if flows:
            sent, received = sum(flow.tx_frames for flow in flows), sum(flow.rx_frames for flow in flows)
            lost = sum(flow.lost_frames for flow in flows)
            corrupted = at_ports.of(flows)
        else:
            sent = sum(ports[port].tx_frames for port in tx_ports if port in ports)
            received = sum(ports[port].rx_frames for port in rx_ports if port in ports)
            lost = None if result.duplicate_frames else sent - received
            found = sum(ports[port].corrupted_frames for port in rx_ports if port in ports)
            corrupted = Corrupted(corrupted_frames=found or None)
        rows.append(
            Direction(
                from_ports=", ".join(map(str, tx_ports)),
                to_ports=", ".join(map(str, rx_ports)),
                tx_frames=sent,
                rx_frames=received,
                lost_frames=lost,
                corrupted=corrupted,
            )
        )
    return tuple(rows)


def direction_table(results: Sequence[MeshThroughput]) -> Table:
    """Sent and received frames per direction, in the trial that decided."""
    rows = [
        ({"frame_size_bytes": result.frame_size_bytes, "load_pct": shown.load_pct}, row)
        for result in results
        for shown in (result.search.shown,)
        if shown.trusted
        for row in shown.directions or ()
    ]
    keys = (fields.FRAME_SIZE_BYTES, fields.FROM_PORTS, fields.TO_PORTS)
    columns = (fields.FRAME_SIZE_BYTES, fields.LOAD_PCT, *Direction.columns())
    title = "Throughput: each direction"
    return Direction.table("throughput_directions", title, rows, columns=columns, keys=keys, detail=True)
