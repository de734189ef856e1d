"""Progress of a run on stderr: trial, load, loss, and how much remains."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from p4mesh.cli.notice import Notice
from p4mesh.cli.output import tell
from p4mesh.quantities import number_text
from p4mesh.run.events import (
    Event,
    NotRun,
    RunStarted,
    SampleTaken,
    SuiteStarted,
    TesterOpened,
    TrialFinished,
    WiresMeasured,
    WorkerLost,
)
from p4mesh.run.outlook import Outlook
from p4mesh.store.live_file import Progress as RunProgress
from p4mesh.traffic.line_rate import NS_PER_S

_STRAYS = ("flooded", "misdirected")


class Progress:
    """An observer that prints one line per trial."""

    def __init__(
        self,
        notice: Notice | None = None,
        stream: TextIO | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        watch: bool = False,
    ) -> None:
        self._notice = notice
        self._watch = watch
        self._lost: dict[tuple[str, str], int] = {}
        self._stream = stream
        self._outlook = Outlook(clock_s)

    def __call__(self, event: Event) -> None:
        """Show an event."""
        self._outlook.note(event)
        if isinstance(event, TrialFinished):
            self._trial(event)
        elif isinstance(event, SampleTaken):
            if self._watch:
                self._sample(event)
        elif isinstance(event, SuiteStarted):
            self._place(event.directory)
        elif isinstance(event, RunStarted):
            self._place(event.directory)
            self._start(event)
        elif isinstance(event, TesterOpened):
            for fact in event.facts:
                self._line(fact)
        elif isinstance(event, WorkerLost):
            self._line(f"worker {event.worker} is lost, {event.workers_left} left: its trial is measured again")
        elif isinstance(event, NotRun):
            self._line(f"{event.test}: not run: {event.reason}")
        elif isinstance(event, WiresMeasured):
            measured = f"{event.ports} ports" if event.ports else f"{event.directions} directions"
            self._line(f"{event.frame_size_bytes:>5} B  {measured} measured")

    def _place(self, directory: Path) -> None:
        if self._notice is not None:
            self._notice.place(directory)

    def _start(self, run: RunStarted) -> None:
        resumed = "" if run.trials_stored is None else f", resuming after {run.trials_stored:,} stored trials"
        kind = "worker" if run.cluster else "process"
        workers = f"1 {kind}" if run.workers == 1 else f"{run.workers} {kind}{'s' if run.cluster else 'es'}"
        where = f" of {run.cluster}" if run.cluster else ""
        parts = f"{len(run.trials_expected)} part{'s' * (len(run.trials_expected) != 1)}"
        self._line(f"{run.test} on {run.topology}: {parts}, {workers}{where}{resumed}")
        for told in filter(None, (run.time_needed, run.sampling)):
            self._line(told)
        if run.workers > 1 and run.one_device:
            self._line(f"trials of one part run one after the other: {run.one_device}")

    def _trial(self, finished: TrialFinished) -> None:
        progress = self._outlook.progress
        result = finished.trial.result
        expected = result["expected_rx_frames"]
        early_frames = (result.get("transient") or {}).get("frames", 0)
        loss = f"loss {100 * (result['lost_frames'] + early_frames) / expected:8.4f} %" if expected else "no frames"
        size, _, part = finished.trial.unit.rpartition("B/")
        strays = "".join(f"  {result[f'{word}_frames']:,} {word}" for word in _STRAYS if result.get(f"{word}_frames"))
        queues = result.get("queues") or {"trend": ""}
        filling = (
            f"  a queue fills by {number_text(queues['excess_ppm'], 4)} ppm" if queues["trend"] == "filling" else ""
        )
        trust = "" if finished.trial.status.trusted else f"  {finished.trial.status.value}: {result['reason']}"
        taken_from = f"  ({finished.trial.taken_from})" if finished.trial.taken_from else ""
        origin = "  (stored)" if finished.timing is None else taken_from
        where = f"{size:>4} B {part:<10}" if size else part
        self._line(
            f"[{progress.done:>3,}/~{progress.done + progress.left:,}] {where} load {finished.trial.load_pct:8.4f} %"
            f"  {loss}{strays}{filling}{trust}{origin}  {_outlook(progress)}"
        )

    def _sample(self, taken: SampleTaken) -> None:
        """Print a line per class: what was lost since the sample before, and where the last gap was."""
        for counts in taken.sample.classes:
            key = (taken.unit, counts.name)
            fresh = counts.lost_frames - self._lost.get(key, 0)
            self._lost[key] = counts.lost_frames
            gap = "" if counts.last_gap_ns is None else f", last gap at {counts.last_gap_ns / NS_PER_S:.6f} s"
            self._line(
                f"{taken.sample.at_ns / NS_PER_S:10.3f} s  {counts.name}: {counts.tx_frames:,} sent, "
                f"{counts.rx_frames:,} received, {counts.lost_frames:,} lost ({fresh:+,d}){gap}"
            )

    def _line(self, text: str) -> None:
        tell(text, self._stream)


def _outlook(progress: RunProgress) -> str:
    if not progress.left:
        return "| last trials"
    time_left = "" if progress.left_s is None else f", ~{progress.left_s:,.0f} s"
    return f"| ~{progress.left:,} left{time_left}"
