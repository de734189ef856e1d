"""Makes the result of a trial from its counts, or of one that sent nothing."""

from __future__ import annotations

from p4mesh.measurement.counts import Counts
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict


def trial_result(
    spec: TrialSpec, status: Verdict, reason: str, counts: Counts, *, undelivered: bool = False
) -> TrialResult:
    """Result with these counts, without what the features of the trial add."""
    return TrialResult(status, reason, spec.label, spec.duration_ns, undelivered=undelivered, **vars(counts))


def not_measured(spec: TrialSpec, status: Verdict, reason: str, *, undelivered: bool = False) -> TrialResult:
    """Result of a trial whose streams have not been started."""
    intended = sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams)
    return trial_result(spec, status, reason, Counts(intended_frames=intended), undelivered=undelivered)
