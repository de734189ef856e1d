"""The table of trials whose losses are of several kinds: frames that were lost, corrupted, or perhaps only late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Table
from p4mesh.store.run_files import StoredTrial

_COLUMNS = (
    fields.UNIT,
    fields.TRIAL,
    fields.LOAD_PCT,
    fields.EXPECTED_FRAMES,
    fields.LOST_FRAMES,
    fields.CORRUPTED_FRAMES,
    fields.DOUBTFUL_FRAMES,
)
_KINDS = (fields.CORRUPTED_FRAMES.key, fields.DOUBTFUL_FRAMES.key)


def payload_note(bed: Bed) -> tuple[str, ...]:
    """The sentence on what of corrupted payloads is not seen; none where all of it is."""
    if bed.sums_payload:
        return (
            "Payloads are compared by a sum of 16 bits, together with signatures: changes that make up for each other "
            "are not seen, and corrupted frames may have a damaged signature instead.",
        )
    if bed.compares_payload:
        return ()
    return (f"Payloads behind the signature are not compared with what was sent: not supported on {bed.target}.",)


def kinds_of_loss_tables(trials_of: Mapping[str, Sequence[StoredTrial]]) -> tuple[Table, ...]:
    """The table of the trials with corrupted or doubtful frames; none without such a trial."""
    rows = tuple(
        {
            "unit": unit,
            "trial": trial.index,
            "load_pct": trial.load_pct,
            "expected_frames": trial.result["expected_rx_frames"],
            "lost_frames": trial.result["lost_frames"],
            **{kind: trial.result.get(kind, 0) for kind in _KINDS},
        }
        for unit, trials in trials_of.items()
        for trial in trials
        if trial.status.trusted and any(trial.result.get(kind) for kind in _KINDS)
    )
    if not rows:
        return ()
    note = "Of the frames that count as lost. The others never came, or not as test frames."
    return (Table("kinds_of_loss", "Kinds of loss", _COLUMNS, rows, note, keys=("unit", "trial")),)
