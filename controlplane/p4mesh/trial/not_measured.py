"""The result of a trial that sent nothing."""

from __future__ import annotations

from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec


def not_measured(spec: TrialSpec, status: Status, reason: str, *, undelivered: bool = False) -> TrialResult:
    """Return the result of a trial whose streams have not been started."""
    return TrialResult(
        status=status,
        reason=reason,
        label=spec.label,
        duration_ns=spec.duration_ns,
        intended_frames=sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams),
        tx_frames=0,
        expected_rx_frames=0,
        rx_frames=0,
        lost_frames=0,
        duplicate_frames=0,
        reordered_frames=0,
        flooded_frames=0,
        foreign_frames=0,
        stale_frames=0,
        damaged_frames=0,
        first_tx_ns=0,
        last_tx_ns=0,
        undelivered=undelivered,
    )
