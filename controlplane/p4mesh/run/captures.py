"""Results of what trials have captured: tables, a finding, and the file that programs for packets read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.record import table_of
from p4mesh.store.fault_file import CAPTURES, CapturedTrial
from p4mesh.store.pcapng_file import CAPTURE, pcapng_of
from p4mesh.store.run_directory import RunDirectory
from p4mesh.tester.fault_capture import FAULTS

_MOST_ROWS = 2000
_TRIAL = (fields.UNIT, fields.TRIAL)
_TRIAL_COLUMNS = (
    *_TRIAL,
    *(Column(f"{reason}_frames", reason.capitalize(), "frames") for reason in FAULTS),
    fields.LOST_FRAMES,
    fields.NAMED_FRAMES,
)
_LOST_COLUMNS = (
    *_TRIAL,
    fields.STREAM,
    retitled(fields.TX_PORT, "From port"),
    retitled(fields.RX_PORT, "To port"),
    retitled(fields.PART, "Position"),
    fields.FIRST_SEQUENCE,
    fields.LAST_SEQUENCE,
    retitled(fields.LOST_FRAMES, "Frames"),
    retitled(fields.LATE_FRAMES, "Perhaps late"),
)


def write_capture(directory: RunDirectory, unit_order: Sequence[str]) -> None:
    """Write the captured frames of the trials so far as pcap-ng; no file where there are none."""
    trials = directory.captured(unit_order)
    if any(trial.faults.frames for trial in trials):
        directory.write_bytes(CAPTURE, pcapng_of(trials))


def capture_tables(trials: Sequence[CapturedTrial]) -> tuple[Table, ...]:
    """How many frames of each trial were captured, and the names of the lost ones."""
    lost = [(trial, lost) for trial in trials for lost in trial.faults.lost]
    rows = [
        (_place(trial), vars(found), {"last_sequence": found.last_sequence, "lost_frames": found.frames})
        for trial, found in lost[:_MOST_ROWS]
    ]
    cut = f" The first {_MOST_ROWS} of {len(lost)} ranges; {CAPTURES} has all." if len(lost) > _MOST_ROWS else ""
    return (
        table_of(
            "captured_frames",
            "Captured frames",
            _TRIAL_COLUMNS,
            [(_place(trial), _counts(trial)) for trial in trials if trial.faults.frames or trial.faults.lost_frames],
            f"Trials with faults or losses. The frames are in {CAPTURE}, with reason, port and time as comments.",
            keys=(),
            detail=True,
        ),
        table_of(
            "lost_frames",
            "Lost frames by flow and sequence number",
            _LOST_COLUMNS,
            rows,
            "Numbers begin with 0 in each trial and flow. Of ranges with 'Perhaps late', so many frames of the flow at "
            f"most came late; all others are lost.{cut}",
            keys=(),
            detail=True,
        ),
    )


def capture_finding(trials: Sequence[CapturedTrial]) -> str:
    """In one line what was captured."""
    counts = Counter(frame.reason for trial in trials for frame in trial.faults.frames)
    lost = sum(trial.faults.lost_frames for trial in trials)
    named = sum(trial.faults.named_frames for trial in trials)
    what = ", ".join(f"{counts[reason]} {reason}" for reason in FAULTS if counts[reason])
    frames = f"{what} frames, in {CAPTURE}" if what else "no faulty frames"
    names = f"; {named} of {lost} lost frames are named by flow and number in lost_frames.csv" if lost else ""
    return f"captured: {frames}{names}"


def _place(trial: CapturedTrial) -> dict[str, Cell]:
    return {"unit": trial.unit, "trial": trial.trial}


def _counts(trial: CapturedTrial) -> dict[str, Cell]:
    counts = Counter(frame.reason for frame in trial.faults.frames)
    return {
        **{f"{reason}_frames": counts[reason] for reason in FAULTS},
        "lost_frames": trial.faults.lost_frames,
        "named_frames": trial.faults.named_frames,
    }
