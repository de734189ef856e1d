"""Runs tests: sessions, workers, journal and resume. The public Python API; docs/API.md shows it at work.

Owns: place and order of measurements, and that every finished trial is on disk before the next one starts.
Refuses: printing. An observer gets events and may show them.

``from p4mesh import run`` names this package and its one verb: the package can be called as :func:`run`.
"""

from __future__ import annotations

import sys
from types import ModuleType

from p4mesh._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from p4mesh.run.calibration import FinishedCalibration, calibrate
    from p4mesh.run.events import (
        Event,
        FaultsCaptured,
        NotRun,
        Observer,
        RunFinished,
        RunStarted,
        SampleTaken,
        SuiteStarted,
        TesterOpened,
        TrafficSeen,
        TrialFinished,
        UnitFinished,
        WiresMeasured,
        WorkerLost,
    )
    from p4mesh.run.options import RunOptions
    from p4mesh.run.run_files import run_file
    from p4mesh.run.single import FinishedRun, run
    from p4mesh.run.suite import FinishedSuite, run_suite
    from p4mesh.run.traffic import run_traffic

__all__ = [
    "Event",
    "FaultsCaptured",
    "FinishedCalibration",
    "FinishedRun",
    "FinishedSuite",
    "NotRun",
    "Observer",
    "RunFinished",
    "RunOptions",
    "RunStarted",
    "SampleTaken",
    "SuiteStarted",
    "TesterOpened",
    "TrafficSeen",
    "TrialFinished",
    "UnitFinished",
    "WiresMeasured",
    "WorkerLost",
    "calibrate",
    "run",
    "run_file",
    "run_suite",
    "run_traffic",
]

__getattr__ = lazily(
    __name__,
    {
        "calibration": ("FinishedCalibration", "calibrate"),
        "events": (
            *("Event", "FaultsCaptured", "NotRun", "Observer", "RunFinished", "RunStarted", "SampleTaken"),
            "SuiteStarted",
            *("TesterOpened", "TrafficSeen", "TrialFinished", "UnitFinished", "WiresMeasured", "WorkerLost"),
        ),
        "options": ("RunOptions",),
        "run_files": ("run_file",),
        "single": ("FinishedRun", "run"),
        "suite": ("FinishedSuite", "run_suite"),
        "traffic": ("run_traffic",),
    },
)


class _Callable(ModuleType):
    def __call__(self, options: RunOptions, observer: Observer | None = None) -> FinishedRun:
        from p4mesh.run.events import unobserved
        from p4mesh.run.single import run

        return run(options, observer or unobserved)


sys.modules[__name__].__class__ = _Callable
