"""Remembers loads that the tester could not send in a run, so that later searches do not try them again."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from p4mesh.trial.not_measured import not_measured
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

_WITNESSES = 2
"""Trials that must have failed to be sent at a load or below it: a single one may have been chance."""


class DeliveryLimits:
    """The trials that the tester could not send, by their streams and ports."""

    def __init__(self) -> None:
        self._undelivered: dict[Hashable, list[TrialSpec]] = {}

    def note(self, spec: TrialSpec, result: TrialResult) -> None:
        """Keep a trial that was not delivered."""
        if result.undelivered:
            self._undelivered.setdefault(_shape(spec), []).append(spec)

    def refused(self, spec: TrialSpec) -> TrialResult | None:
        """Return the result of a trial that need not be tried, because less was not delivered; else None."""
        less = [known for known in self._undelivered.get(_shape(spec), ()) if _at_most(known, spec)]
        if len(less) < _WITNESSES:
            return None
        lowest = min(less, key=_total_fps)
        reason = f"oload_mismatch: not tried, as the tester did not deliver '{lowest.label}' in this run"
        return not_measured(spec, Status.INVALID, reason, undelivered=True)


def _shape(spec: TrialSpec) -> Hashable:
    return tuple(
        (stream.frame_size_bytes, stream.pattern, stream.tx_ports, stream.rx_ports, stream.burst, stream.bad_fcs)
        for stream in spec.streams
    )


def _at_most(known: TrialSpec, asked: TrialSpec) -> bool:
    """Return whether a trial sent no faster and no longer than another one of the same shape."""
    streams = zip(known.streams, asked.streams, strict=True)
    return known.duration_ns <= asked.duration_ns and all(
        first.rate_fps <= second.rate_fps for first, second in streams
    )


def _total_fps(spec: TrialSpec) -> Fraction:
    return sum((stream.rate_fps * len(stream.tx_ports) for stream in spec.streams), Fraction(0))
