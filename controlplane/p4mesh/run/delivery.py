"""Remembers loads that the tester could not send in a run or suite, so that later searches do not try them again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction

from p4mesh.store.codec import decode
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

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

    def recall(self, trials: Iterable[StoredTrial]) -> None:
        """Keep those of an earlier run that were not delivered."""
        for trial in trials:
            if trial.result.get("undelivered"):
                self.note(decode(TrialSpec, trial.spec), decode(TrialResult, trial.result))

    def refused(self, spec: TrialSpec) -> TrialResult | None:
        """The result of a trial that need not be tried, because less was not delivered; else None."""
        less = [known for known in self._undelivered.get(_shape(spec), ()) if _at_most(known, spec)]
        if len(less) < _WITNESSES:
            return None
        lowest = min(less, key=_total_fps)
        reason = f"oload_mismatch: not tried, as the tester did not deliver '{lowest.label}' before"
        return not_measured(spec, Verdict.INVALID, reason, undelivered=True)


def _shape(spec: TrialSpec) -> Hashable:
    """Work of the tester in a trial, at any rate; which port a frame for one port goes to makes no difference."""
    to_one: dict[Hashable, list[Stream]] = {}
    to_many: list[Hashable] = []
    for stream in spec.streams:
        kind = (stream.frame_sizes_bytes, stream.burst, stream.arrivals, stream.bad_fcs, any(stream.start_offset_ns))
        if stream.pattern.to_many:
            to_many.append((kind, stream.pattern, stream.tx_ports, stream.rx_ports))
        else:
            to_one.setdefault(kind, []).append(stream)
    ports = (
        (
            kind,
            frozenset(port for stream in streams for port in stream.tx_ports),
            frozenset(port for stream in streams for port in stream.rx_ports),
        )
        for kind, streams in to_one.items()
    )
    return frozenset(ports), tuple(to_many)


def _at_most(known: TrialSpec, asked: TrialSpec) -> bool:
    """Whether no port sent faster or longer in a trial than in another one of the same shape."""
    faster = _fps_of_ports(asked)
    return known.duration_ns <= asked.duration_ns and all(
        rate_fps <= faster[port] for port, rate_fps in _fps_of_ports(known).items()
    )


def _fps_of_ports(spec: TrialSpec) -> dict[int, Fraction]:
    rates: dict[int, Fraction] = {}
    for stream in spec.streams:
        for port in stream.tx_ports:
            rates[port] = rates.get(port, Fraction(0)) + stream.rate_fps
    return rates


def _total_fps(spec: TrialSpec) -> Fraction:
    return sum((stream.rate_fps * len(stream.tx_ports) for stream in spec.streams), Fraction(0))
