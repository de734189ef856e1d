"""Measurers with closed-form answers that worker processes open by name, and scenes that they play.

A worker loads this module for each process that is started: it imports what a measurer needs, and no test.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from support.fakes import FakeMeasurer

from p4mesh.errors import HookError, TargetError
from p4mesh.topology import Topology
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

LOG, SCENE, OUT = "P4MESH_TEST_LOG", "P4MESH_TEST_SCENE", "P4MESH_TEST_OUT"
REFUSED = "P4MESH_TEST_REFUSED"
PATIENCE_S = 600
CLEAN_PCT = 75
"""Loads up to this lose nothing: the sweep of 26.3 is 100, 90, 80, 70, 60 %."""


def note(text: str) -> None:
    """Add a line to the log that all processes share."""
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} {text}\n")


def lines() -> list[list[str]]:
    return [line.split(" ") for line in Path(os.environ[LOG]).read_text(encoding="utf-8").splitlines()]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"nothing happened; log: {lines()}"
        time.sleep(0.005)


def seen(*line: str) -> bool:
    return any(tuple(words[1:]) == line for words in lines())


def kept_lines() -> int:
    path = Path(os.environ[OUT]) / "ahead.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def ahead_of_the_first(load: str) -> None:
    """While 100 % is measured, 90 % begins."""
    if load == "100":
        until(lambda: seen("begin", "90"))


def beyond_the_stop(load: str) -> None:
    """60 %, the last one that is asked for, ends only after 50 % has been measured, which nobody wants."""
    if load == "60":
        until(lambda: seen("end", "50"))


def processors_and_overlap(load: str) -> None:
    note(f"on {','.join(map(str, sorted(os.sched_getaffinity(0))))}")
    ahead_of_the_first(load)


def error_beyond_the_stop(load: str) -> None:
    if load == "50":
        note("raise 50")
        raise TargetError("50 % cannot be measured", hint="nobody asked for it")
    if load == "60":
        until(lambda: seen("raise", "50"))


def death_beyond_the_stop(load: str) -> None:
    if load == "50":
        note("raise 50")
        os.kill(os.getpid(), signal.SIGKILL)
    if load == "60":
        until(lambda: seen("raise", "50"))


def error_that_is_asked_for(load: str) -> None:
    if load == "100":
        until(lambda: seen("begin", "90"))
    if load == "90":
        raise HookError("90 % cannot be measured", hint="look at the device")


def bug(load: str) -> None:
    if load == "90":
        raise RuntimeError("what no one has thought of")


def death_that_is_asked_for(load: str) -> None:
    if load == "90":
        os.kill(os.getpid(), signal.SIGKILL)


def breaks_after_one_was_kept(load: str) -> None:
    """The first attempt at 100 % ends the run when 90 % has been measured ahead and is on disk."""
    if load == "100" and not seen("broken"):
        until(lambda: kept_lines() > 0)
        note("broken")
        raise TargetError("the machine breaks", hint="resume")


def held(load: str) -> None:
    """80 % takes for ever, until the log says that the run goes on again."""
    if load == "80":
        until(lambda: seen("resumed"))


def searches_meet(trial: str) -> None:
    if trial == "throughput 64":
        until(lambda: seen("begin", "throughput", "512"))


class Actor(FakeMeasurer):
    """Loses frames above CLEAN_PCT, writes what it does to the log, and does what the scene asks for."""

    def __init__(self) -> None:
        super().__init__(lambda spec, sent: sent if load_of(spec) <= CLEAN_PCT else sent // 2)

    def measure(self, spec: TrialSpec, note_: object = None) -> TrialResult:
        load = f"{float(load_of(spec)):g}"
        note(f"begin {load}")
        scene = os.environ[SCENE]
        if scene:
            globals()[scene](load)
        result = super().measure(spec)
        note(f"end {load}")
        return result


def load_of(spec: TrialSpec) -> Fraction:
    return Fraction(spec.label.rpartition(" %")[0].rpartition(" ")[2])


@contextmanager
def open_actor(_: Topology) -> Iterator[Actor]:
    note("open")
    yield Actor()


class Namer(FakeMeasurer):
    """Loses nothing, writes part and frame size of its trials to the log, and does what the scene asks for."""

    def measure(self, spec: TrialSpec, note_: object = None) -> TrialResult:
        part, size = spec.label.split(" ")[:2]
        note(f"begin {part} {size}")
        scene = os.environ[SCENE]
        if scene:
            globals()[scene](f"{part} {size}")
        return super().measure(spec)


@contextmanager
def open_namer(_: Topology) -> Iterator[Namer]:
    yield Namer()


class Halving(FakeMeasurer):
    """Loses half above 75 % of line rate, and writes part, frame size and load of its trials to the log."""

    def __init__(self) -> None:
        super().__init__(
            lambda spec, sent: sent if load_of(spec) <= CLEAN_PCT else sent // 2,
            status=lambda spec: Verdict.INVALID if spec.label == os.environ[REFUSED] else Verdict.MEASURED,
        )

    def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
        part, size = spec.label.split(" ")[:2]
        with Path(os.environ[LOG]).open("a", encoding="utf-8") as log:
            log.write(f"{size}B/{part} {float(load_of(spec)):g}\n")
        return super().measure(spec)


@contextmanager
def open_halving(_: Topology) -> Iterator[Halving]:
    yield Halving()
