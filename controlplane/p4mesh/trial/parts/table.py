"""The features that a trial may have, in the order in which each phase calls them."""

from __future__ import annotations

from p4mesh.trial.parts.base import Part, Trial
from p4mesh.trial.parts.failing import Failing
from p4mesh.trial.parts.faults import CapturingFaults
from p4mesh.trial.parts.headers import ComparingHeaders
from p4mesh.trial.parts.interruption import Interrupting
from p4mesh.trial.parts.learning import Learning
from p4mesh.trial.parts.memberships import Joining
from p4mesh.trial.parts.queues import QueueWatching
from p4mesh.trial.parts.resetting import Resetting
from p4mesh.trial.parts.routing import Routing
from p4mesh.trial.parts.sampling import TakingSamples
from p4mesh.trial.parts.stations import Stations
from p4mesh.trial.parts.transients import FindingTransients
from p4mesh.trial.parts.watching import Watching

# Routes are announced before learning is verified, whose frames go through the router. Where several features are due
# at once, the first one acts: no reading holds up an interruption, and counters are read before cells, which takes
# time.
PARTS: tuple[type[Part], ...] = (
    Resetting,
    Failing,
    CapturingFaults,
    ComparingHeaders,
    Stations,
    Routing,
    Learning,
    Joining,
    Watching,
    Interrupting,
    FindingTransients,
    QueueWatching,
    TakingSamples,
)


def parts_of(trial: Trial) -> tuple[Part, ...]:
    return tuple(kind(trial) for kind in PARTS if kind.is_wanted(trial))
