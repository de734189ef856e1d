"""The session of one unit: answers from disk first, then from the bench; every trial goes to the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Protocol

from p4mesh.engine_module import engine_hint
from p4mesh.errors import EngineMissingError, RunDirectoryError
from p4mesh.measurement.faults import Faults
from p4mesh.measurement.samples import Sample
from p4mesh.methods.base import TrialNote, Unit
from p4mesh.methods.criterion import judged
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import FaultsCaptured, SampleTaken, TrialFinished
from p4mesh.run.job import Job, Measurer, opener_of
from p4mesh.store.codec import canonical, decode, encode
from p4mesh.store.live_file import WatchedTrial
from p4mesh.store.run_directory import RunDirectory
from p4mesh.store.run_files import StoredTrial, Timing
from p4mesh.trial.onlooker import FaultRequest, Look, Onlooker
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Publish = Callable[[TrialFinished | SampleTaken | FaultsCaptured], None]
"""Comes back when the trial, the sample, or what was captured is on disk."""
TakeLook = Callable[[Look], None]


@dataclass(frozen=True)
class Measured:
    """An answer, and the wall-clock facts about it."""

    result: TrialResult
    started_utc: str
    elapsed_s: float
    samples: tuple[Sample, ...] = ()
    """Samples that no onlooker has taken while the trial ran."""
    faults: Faults | None = None
    """None where none were asked for, or where its streams did not start."""


class Bench(Protocol):
    """Where the trials of one unit are measured."""

    def measure(self, spec: TrialSpec, before: Sequence[TrialSpec]) -> Measured:
        """Measure on the unit's own device; one that is new measures the trials of ``before`` first."""
        ...

    def leave_device(self) -> None:
        """Give up the unit's own device: the next trial on it meets a new one."""
        ...

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Take note of trials that may be measured ahead, each on a new device; earlier ones are forgotten."""
        ...

    def measure_announced(self, spec: TrialSpec) -> Measured:
        """The answer to an announced trial."""
        ...


class UnitSession:
    """The session of one unit. The device that a trial meets depends on the method alone, never on processes."""

    def __init__(
        self,
        job: Job,
        unit: Unit,
        directory: RunDirectory,
        publish: Publish,
        bench: Bench,
        limits: DeliveryLimits,
    ) -> None:
        """Answer from what ``directory`` holds now, else from the bench; the unit that this one follows is finished.

        ``limits`` are those of all units that share a tester.
        """
        self._job = job
        self._limits = limits
        self._unit = unit
        self._stored = directory.stored(unit.key)
        self._kept = directory.kept(unit.key)
        self._publish = publish
        self._bench = bench
        before = job.method.follows(unit)
        followed = directory.stored(before.key) if before else ()
        self._followed = {_question(trial.spec): trial for trial in followed if trial.status.trusted}
        self._index = 0
        self._announced: dict[int, TrialSpec] = {}
        self._on_device: list[TrialSpec] = []
        """Trials that the unit's own device has had."""

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Let independent trials be measured ahead, where devices are simulated and keep nothing."""
        numbered = [replace(spec, number=self._index + place) for place, spec in enumerate(specs)]
        self._announced = {}
        if not self._job.simulated or not all(self._stands_alone(spec) for spec in numbered):
            return
        self._announced = {spec.number: spec for spec in numbered}
        self._bench.leave_device()
        self._on_device.clear()
        known = {*range(len(self._stored)), *self._kept}
        self._bench.announce([spec for spec in numbered if spec.number not in known and self._same(spec) is None])

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """The result of a trial once it is on disk; one that the tester cannot send is not tried again."""
        refused = None if self._index in self._announced else self._limits.refused(spec)
        if refused is not None:
            return refused
        result = self._answer(spec, note)
        self._limits.note(spec, result)
        return result

    def _answer(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        index, self._index = self._index, self._index + 1
        spec = replace(spec, number=index)
        question = encode(spec)
        alone = self._announced.get(index) == spec
        same = self._same(spec)
        if not alone and same is None:
            self._drop_announced()
            self._on_device.append(spec)
        if index < len(self._stored):
            known = self._stored[index]
            if known.spec != question:
                raise RunDirectoryError(
                    f"trial {index} of {self._unit.key} on disk is not the trial that this version asks for",
                    hint="start a new run in another directory",
                )
            self._publish(TrialFinished(known, None, note.remaining))
            return decode(TrialResult, known.result)
        if same is not None:
            return self._taken_from(same, spec, note)
        kept = self._kept.get(index)
        if alone and kept is not None and kept.spec == question:
            measured = Measured(decode(TrialResult, kept.result), kept.started_utc, kept.elapsed_s)
        elif alone:
            measured = self._bench.measure_announced(spec)
        else:
            measured = self._bench.measure(spec, self._trials_before())
        for sample in measured.samples:
            self._publish(SampleTaken(self._unit.key, index, sample))
        if measured.faults is not None:
            self._publish(FaultsCaptured(self._unit.key, index, measured.faults))
        self._finish(spec, note, measured)
        return measured.result

    def _same(self, spec: TrialSpec) -> StoredTrial | None:
        """The trial of the followed unit that asks the same, where trials do not depend on each other."""
        return self._followed.get(_question(encode(spec))) if self._stands_alone(spec) else None

    def _taken_from(self, same: StoredTrial, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """The result of an equal trial, under the label of the one that is asked."""
        result = replace(decode(TrialResult, same.result), label=spec.label)
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._finish(spec, note, Measured(result, now, 0.0), f"trial {same.index} of {same.unit}")
        return result

    def _finish(self, spec: TrialSpec, note: TrialNote, measured: Measured, taken_from: str = "") -> None:
        """Put a trial into the journal."""
        key, index, result = self._unit.key, spec.number, measured.result
        answer = float(note.load_pct), _verdict(result, note), encode(spec), encode(result)
        trial = StoredTrial(key, index, *answer, taken_from)
        self._publish(
            TrialFinished(trial, Timing(key, index, measured.started_utc, measured.elapsed_s), note.remaining)
        )

    def _drop_announced(self) -> None:
        if self._announced:
            self._announced = {}
            self._bench.announce(())

    def _trials_before(self) -> tuple[TrialSpec, ...]:
        """The trials that a new device must measure before it can take the trial that is asked now.

        The trials on disk have left theirs in a state that matters where a trial builds on another one, and
        where devices keep more than the learning phase of a trial restores.
        """
        builds = any(spec.continues for spec in self._on_device)
        if self._job.simulated:
            builds = builds or any(self._finds_memory(spec) for spec in self._on_device)
        return tuple(self._on_device[:-1]) if builds else ()

    def _stands_alone(self, spec: TrialSpec) -> bool:
        """Whether a trial may be measured ahead on a device of its own, and then perhaps not be wanted.

        False for one that meets the state which another trial has left, and for one that runs a command of the user.
        """
        hooks = spec.reset.hook or (spec.interruption and spec.interruption.hook)
        return not (spec.continues or hooks or self._finds_memory(spec))

    def _finds_memory(self, spec: TrialSpec) -> bool:
        """Whether devices may keep state for a trial: without learning, they still know earlier addresses."""
        memory = self._job.memory if spec.learning.verify else self._job.memory_without_verification
        return bool(memory) or not spec.learning.enabled


@contextmanager
def opened(job: Job, iteration: int) -> Iterator[Measurer]:
    """Start the target of an iteration; every one meets other random numbers, the same in every run."""
    topology = replace(job.topology, seed=job.topology.seed + iteration - 1)
    with ExitStack() as stack:
        try:
            measurer = stack.enter_context(opener_of(job.bed.target, job.opener)(topology))
        except ImportError as error:
            raise EngineMissingError(f"the trial engine does not load: {error}", hint=engine_hint()) from None
        yield measurer


class LookTimes:
    """When a trial is looked at: times in seconds of the clock on the wall, whatever the clock of the target does.

    A pause is half a second, or 20 times as long as the look before it: some switches answer so slowly that looks would
    otherwise be all that they do.
    """

    def __init__(self, begin_s: float) -> None:
        self._began_s = self._ended_s = begin_s

    def begins(self, now_s: float) -> bool:
        """Whether a look is due, and begins now."""
        due = now_s - self._ended_s >= max(0.5, 20 * (self._ended_s - self._began_s))
        if due:
            self._began_s = now_s
        return due

    def ends(self, now_s: float) -> None:
        self._ended_s = now_s


def watched_trial(unit: Unit, spec: TrialSpec) -> WatchedTrial:
    """The description of a trial for those who watch it."""
    sizes = sorted({stream.frame_size_bytes for stream in spec.streams})
    return WatchedTrial(unit.key, spec.number, spec.label, spec.duration_ns, tuple(sizes))


def timed(
    job: Job,
    measurer: Measurer,
    spec: TrialSpec,
    take_look: TakeLook,
    take_sample: Callable[[Sample], None] | None = None,
    wants_end: Callable[[], bool] = lambda: False,
) -> Measured:
    """Measure one trial, with its wall-clock facts; samples that nobody takes come with it, and faults."""
    started, begin = datetime.now(timezone.utc), time.monotonic()
    samples: list[Sample] = []
    faults: list[Faults] = []
    looks = LookTimes(begin)

    def look(found: Look) -> None:
        looks.ends(time.monotonic())
        take_look(found)

    wanted = FaultRequest(job.capture_frames, faults.append) if job.capture_frames else None
    onlooker = Onlooker(take_sample or samples.append, wants_end, lambda: looks.begins(time.monotonic()), look, wanted)
    result = measurer.measure(spec, onlooker)
    return Measured(
        _from_first_departure(result),
        started.isoformat(timespec="milliseconds"),
        round(time.monotonic() - begin, 6),
        tuple(samples),
        # The last ones: those before are of transmissions that verified something, and found nothing wrong.
        faults[-1] if faults else None,
    )


def _question(spec: Mapping[str, Any]) -> str:
    """Question of a trial: everything but its label and its place in the unit."""
    return canonical({name: value for name, value in spec.items() if name not in ("label", "number")})


def _verdict(result: TrialResult, note: TrialNote) -> Verdict:
    """The verdict on one trial for the log: MEASURED for one that has no criterion of its own, or cannot tell."""
    return judged(note.judge(result) if note.judge and result.status.trusted else result.status)


def _from_first_departure(result: TrialResult) -> TrialResult:
    """The result with times counted from its first departure.

    The target's clock depends on the trials before this one, which a resumed run has not made.
    """
    origin_ns = result.first_tx_ns
    flows = tuple(
        replace(
            flow,
            first_rx_ns=flow.first_rx_ns - origin_ns if flow.rx_frames else 0,
            last_rx_ns=flow.last_rx_ns - origin_ns if flow.rx_frames else 0,
            first_tx_ns=flow.first_tx_ns - origin_ns,
            last_gap_tx_ns=None if flow.last_gap_tx_ns is None else flow.last_gap_tx_ns - origin_ns,
        )
        for flow in result.flows
    )
    ports = tuple(
        port if port.controller_tx_ns is None else replace(port, controller_tx_ns=port.controller_tx_ns - origin_ns)
        for port in result.ports
    )
    return replace(result, first_tx_ns=0, last_tx_ns=result.last_tx_ns - origin_ns, flows=flows, ports=ports)
