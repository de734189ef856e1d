"""The question that a trial answers: ``measure(TrialSpec) -> TrialResult``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from p4mesh.tester.histogram import FlowName, HistogramPer
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.memberships import Memberships
from p4mesh.traffic.routing_event import RoutingEvent
from p4mesh.traffic.stream import Stream
from p4mesh.trial.sampling import Sampling

EXCESS_LIMIT_PPM = 50
"""Excess that tests exclude unless told otherwise."""


@dataclass(frozen=True)
class Learning:
    """Learning phase before the trial (methodology 0.3 b)."""

    enabled: bool = True
    ports: tuple[int, ...] = ()
    """Ports whose addresses the device learns; empty = every port of the streams."""
    addresses: tuple[tuple[int, bytes], ...] = ()
    """(port, MAC address) that the device learns instead; empty = those that the ports have."""
    rate_fps: int = 1000
    frames_per_address: int = 1
    wait_ns: int = 2_000_000_000
    verify: bool = True
    """Send at least one frame per address and require the expected port without flooding."""


@dataclass(frozen=True)
class Hook:
    """A command of the user's, with its arguments; no shell."""

    command: str
    timeout_ns: int


class ResetAction(str, Enum):
    """Reset of the device before a trial (methodology 0.3, reset_dut_between)."""

    NONE = "none"
    TOGGLE_LINK = "toggle_link"
    """The links of all tester ports go down and come up: a switch forgets its addresses."""
    WAIT_AGING = "wait_aging"
    HOOK = "hook"


@dataclass(frozen=True)
class Reset:
    """A reset before the trial, with what its action needs."""

    action: ResetAction = ResetAction.NONE
    link_off_ns: int = 1_000_000_000
    link_sync_ns: int = 30_000_000_000
    """The links must be up again within this time; the trial is ABORT otherwise."""
    link_on_delay_ns: int = 1_000_000_000
    aging_ns: int = 0
    hook: Hook | None = None


@dataclass(frozen=True)
class Interruption:
    """A reset of the device while the streams run (RFC 6201)."""

    after_ns: int
    """Time from the first departure to the reset."""
    sample_ns: int
    """Distance of the looks at the receivers that find the last frame before the interruption."""
    hook: Hook | None = None
    """Command that triggers the reset; None resets the simulated device."""
    device: str = ""
    off_ns: int = 0
    """Time that the simulated device is without power before it starts."""
    failures: int = field(default=0, metadata={"stored": "if set"})
    """Failures of the devices, 1 to this number, that begin instead of a reset."""


@dataclass(frozen=True)
class TrialSpec:
    """One trial: streams that start together, then silence, then read-out.

    ``duration_ns`` is the nominal transmission time; each stream carries its exact frame count.
    """

    label: str
    streams: tuple[Stream, ...]
    duration_ns: int
    learning: Learning = field(default_factory=Learning)
    settle_ns: int = 2_000_000_000
    """Wait for residual frames; the trial engine extends it while frames are in flight."""
    restabilise_ns: int = 5_000_000_000
    """Silence after the trial (RFC 2544 23e)."""
    per_flow: bool = False
    """Keep one row per flow in the result, not only per port and in total."""
    histograms: HistogramPer | None = None
    """Histograms of latency and IPDV, for percentiles; None = no histogram."""
    histogram_flows: tuple[FlowName, ...] = ()
    """Flows with a histogram when there is one per flow; empty = every flow."""
    interarrival: HistogramPer | None = field(default=None, metadata={"stored": "if set"})
    """Histograms of the times between frames of a flow, at sender and receiver, instead of those of IPDV. Each is of
    frames of one histogram of latency; None = none."""
    reset: Reset = field(default_factory=Reset)
    number: int = 0
    """Number of the trial in its unit; simulated devices draw other random numbers in each trial."""
    continues: bool = False
    """The device must be as the trial before left it, so that one is repeated when a run resumes here."""
    stop_on_los: bool = True
    """A loss of link on any port of the tester ends the trial as ABORT."""
    interruption: Interruption | None = None
    controller_frames: tuple[ControllerFrame, ...] = ()
    """Frames of the controller, in order of their times."""
    sampling: Sampling | None = field(default=None, metadata={"stored": "if set"})
    """Samples that are taken while the streams run; None = none."""
    watch_queues: bool = field(default=False, metadata={"stored": "if set"})
    """Read latencies while the streams run, and say whether a queue of the device fills."""
    watch_losses: bool = field(default=False, metadata={"stored": "if set"})
    """Read counters while the streams run, and say whether the device forwarded more at first; so do watched queues."""
    excess_limit_ppm: int = field(default=EXCESS_LIMIT_PPM, metadata={"stored": "if set"})
    """Excess of the arrivals at a queue that must not be missed; a trial that could miss it is too short to tell."""
    memberships: Memberships | None = field(default=None, metadata={"stored": "if set"})
    """Groups that hosts on the ports receive; None = no host speaks."""
    failures: int = field(default=0, metadata={"stored": "if set"})
    """Failures of the devices, 1 to this number, that are there before the trial begins."""
    routing_event: RoutingEvent | None = field(default=None, metadata={"stored": "if set"})
    """Change that the receivers make to their BGP sessions while the streams run; None = none."""
    received_headers: str = field(default="", metadata={"stored": "if set"})
    """Stack of layers that received frames must have, of which the first ones are looked at; empty = any."""
    departure_error_ns: int | None = field(default=None, metadata={"stored": "if set"})
    """Largest delay of a departure, where the loop has room for as many seeds; None = what the rates need."""
