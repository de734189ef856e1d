"""How far a run is: trials done, trials that are expected, and the time that they need. The terminal and the live page
show the same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from p4mesh.run.events import Event, RunStarted, TrialFinished, UnitFinished
from p4mesh.store.live_file import Progress

_TRIALS_BEFORE_OUTLOOK = 5
"""The first trials also start processes and targets; they say little about the rest."""


class Outlook:
    """Counts the trials of one run, from its events."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._remaining: dict[str, int] = {}
        self._started_s = clock_s()
        self._done = self._measured = 0

    def note(self, event: Event) -> bool:
        """Take note of an event; return whether it changes how far the run is."""
        if isinstance(event, RunStarted):
            self._remaining = dict(event.trials_expected)
            self._started_s = self._clock_s()
            self._done = self._measured = 0
        elif isinstance(event, TrialFinished):
            self._done += 1
            self._measured += event.timing is not None and not event.trial.taken_from
            self._remaining[event.trial.unit] = event.remaining
        elif isinstance(event, UnitFinished):
            self._remaining[event.unit] = 0
        else:
            return False
        return True

    @property
    def progress(self) -> Progress:
        """Where the run is now."""
        left = sum(self._remaining.values())
        if not left or self._measured < _TRIALS_BEFORE_OUTLOOK:
            return Progress(self._done, left)
        return Progress(self._done, left, (self._clock_s() - self._started_s) / self._measured * left)
