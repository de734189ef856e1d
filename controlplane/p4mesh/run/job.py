"""The job: the input that every measuring process of a run needs, and the way to its measurer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast, runtime_checkable

from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.topology import Topology
from p4mesh.trial.onlooker import Onlooker
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

_MEASURER = "p4mesh.trial.opening:open_measurer"
"""Named, not imported: only processes that measure need gRPC, which takes long to load."""


class Measurer(Protocol):
    """The trial engine, seen from here."""

    def measure(self, spec: TrialSpec, onlooker: Onlooker | None = None, /) -> TrialResult:
        """Run one trial; ``onlooker`` watches its streams."""
        ...


@runtime_checkable
class DescribedMeasurer(Measurer, Protocol):
    """A measurer that says on what machine it measures."""

    def facts(self) -> tuple[str, ...]:
        """A line for each fact."""
        ...


Opener = Callable[[Topology], AbstractContextManager[Measurer]]


@dataclass(frozen=True)
class Job:
    """A test with its input; the same in every process."""

    method: Method
    topology: Topology
    bed: Bed
    parameters: ParameterSet
    opener: str = ""
    """Instead of the target's own, as module:function, so that worker processes can find it."""
    setting: str = ""
    """Kind of devices and of time, as the target declares it for people."""
    simulated: bool = False
    """Devices are simulated, so that there can be any number of them."""
    memory: str = ""
    """Reason why trials on one device depend on each other; empty where the learning phase restores everything."""
    memory_without_verification: str = ""
    """The same for trials that do not verify the learned addresses."""
    capture_frames: int = 0
    """Frames of each reason that are captured of each trial; 0: none."""
    chosen: tuple[str, ...] = ()
    """Parameters that follow from the topology, in sentences."""


def opener_of(target: str, instead: str = "") -> Opener:
    """The function that opens measurers on a target, or ``module:function`` instead of it."""
    module, _, function = (instead or _MEASURER).partition(":")
    found = getattr(importlib.import_module(module), function)
    return cast(Opener, found if instead else partial(found, target=target))
