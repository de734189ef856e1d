"""Tables of throughput as RFC 2544 26.1 and methodology 2.1 ask for, from unit results."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.base import UnitResult
from p4mesh.methods.mesh import Mesh
from p4mesh.methods.results.outcome import Column, Table
from p4mesh.methods.results.rate_tables import state_text
from p4mesh.traffic.line_rate import l2_rate_bps
from p4mesh.trial.result import TrialResult

_SIZE = Column("frame_size_bytes", "Frame size", "B")
COLUMNS = (
    _SIZE,
    Column("state", "Result"),
    Column("theoretical_fps", "Theoretical", "frames/s", 0),
    Column("throughput_fps", "Throughput", "frames/s", 0),
    Column("throughput_pct", "Throughput", "% of line", 4),
    Column("throughput_l1_mbps", "L1", "Mbit/s", 2),
    Column("throughput_l2_mbps", "L2", "Mbit/s", 2),
    Column("trials", "Trials"),
    Column("duration_ms", "Duration", "ms", 3),
    Column("fails_at_pct", "Fails at", "% of line", 4),
    Column("tried_pct", "Last tried", "% of line", 4),
    Column("loss_pct", "Loss there", "%", 4),
)
DIRECTION_COLUMNS = (
    _SIZE,
    Column("load_pct", "Load", "% of line", 4),
    Column("from_ports", "From ports"),
    Column("to_ports", "To ports"),
    Column("tx_frames", "Tx", "frames"),
    Column("rx_frames", "Rx", "frames"),
    Column("lost_frames", "Lost", "frames"),
)
_NOTE = (
    "Rates are sums over all transmitting ports. Duration is that of the trial that decided. 'Fails at' is the lowest "
    "load tried that lost frames. 'Last tried' and its loss stand where no throughput was found."
)


def throughput_table(results: Sequence[UnitResult], advertised: str = "") -> Table:
    """Return theoretical rate, throughput and how it was decided, per frame size; ``advertised`` closes the note."""
    rows = []
    for result in results:
        shown, found = result["shown"], result["result_pct"] is not None
        size = result["frame_size_bytes"]
        offered_fps = shown["offered_fps"]
        rows.append(
            {
                "frame_size_bytes": size,
                "state": state_text(result),
                "theoretical_fps": result["theoretical_fps"],
                "throughput_fps": offered_fps if found else None,
                "throughput_pct": shown["load_pct"] if found else None,
                "throughput_l1_mbps": shown["offered_l1_mbps"] if found else None,
                "throughput_l2_mbps": float(l2_rate_bps(1, size)) * offered_fps / 1_000_000 if found else None,
                "trials": result["trials"],
                "duration_ms": shown["duration_ms"],
                "fails_at_pct": result["upper_pct"],
                "tried_pct": None if found else shown["load_pct"],
                "loss_pct": None if found else shown["loss_pct"],
            }
        )
    note = f"{_NOTE} {advertised}".rstrip()
    return Table("throughput", "Throughput: highest load without loss", COLUMNS, tuple(rows), note)


def advertised_value(results: Sequence[UnitResult], protocol: str) -> str:
    """Return the one number that RFC 2544 26.1 lets a vendor advertise: that of the smallest frame size."""
    smallest = min(results, key=lambda result: int(result["frame_size_bytes"]))
    if smallest["result_pct"] is None:
        return ""
    return (
        f"As a single value: {smallest['shown']['offered_fps']:.0f} frames/s with {smallest['frame_size_bytes']} B "
        f"frames, of {smallest['theoretical_fps']:.0f} frames/s that the lines carry, {protocol}."
    )


def directions(mesh: Mesh, result: TrialResult) -> list[UnitResult]:
    """Return what was sent and received in each direction of a trial."""
    rows = []
    for leg in mesh.legs:
        flows = [flow for flow in result.flows if flow.tx_port in leg.tx_ports and flow.rx_port in leg.rx_ports]
        ports = {port.port: port for port in result.ports}
        if flows:
            sent, received = sum(flow.tx_frames for flow in flows), sum(flow.rx_frames for flow in flows)
        else:
            sent = sum(ports[port].tx_frames for port in leg.tx_ports if port in ports)
            received = sum(ports[port].rx_frames for port in leg.rx_ports if port in ports)
        rows.append(
            {
                "from_ports": ", ".join(map(str, leg.tx_ports)),
                "to_ports": ", ".join(map(str, leg.rx_ports)),
                "tx_frames": sent,
                "rx_frames": received,
                "lost_frames": sent - received,
            }
        )
    return rows


def direction_table(results: Sequence[UnitResult]) -> Table:
    """Return sent and received frames per direction, in the trial that decided."""
    rows = tuple(
        {"frame_size_bytes": result["frame_size_bytes"], "load_pct": result["shown"]["load_pct"], **row}
        for result in results
        for row in result["shown"]["directions"]
    )
    keys = ("frame_size_bytes", "from_ports", "to_ports")
    return Table("throughput_directions", "Throughput: each direction", DIRECTION_COLUMNS, rows, "", True, keys)
