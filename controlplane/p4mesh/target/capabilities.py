"""Declares the capabilities of a target, so that no other code asks for its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from p4mesh.target.loop import LoopModel
from p4mesh.traffic.stamps import StampKind


class Architecture(str, Enum):
    """Tester program that a target runs; it decides how cells are read (docs/DATAPLANE.md, docs/TOFINO.md)."""

    V1MODEL = "v1model"
    TNA = "tna"


@dataclass(frozen=True)
class Stamps:
    """The time stamps that the program sees."""

    tick_ps: int
    """Length of a tick, and thus their resolution."""
    kind: StampKind = StampKind.FIRST_BIT


@dataclass(frozen=True)
class Pipes:
    """Pipelines of a chip that work beside each other."""

    of_port: Mapping[int, int]
    """Pipe of each tester port; all loops are in pipe 0."""
    frames_per_s: int
    """Frames that a pipe passes in each gress: one in each clock."""
    parser_bps: int = 100_000_000_000
    """Line rate that one parser serves, which takes a state of its program in each clock; a faster port has several."""
    pads_in_egress: bool = False
    """The egress parser takes more states for some headers (:mod:`p4mesh.tester.parser_time`)."""
    replication_fifo: int = 192
    """Departures that wait for the replication engine of a pipe; bf_switchd sets this limit at its start."""


@dataclass(frozen=True)
class Capabilities:
    """One target on one topology, before it is opened."""

    target: str
    setting: str
    """Kind of devices and of time, for people who read results: nobody takes a simulated device for a real one."""
    architecture: Architecture
    real_time: bool
    """Time passes by itself, and trials at the same time disturb each other; else it passes in :meth:`Target.wait`."""
    stamps: Stamps
    loop: LoopModel
    start_lead_ns: int
    """Time between the start request and the first departure that the target needs at least."""
    scheduling_jitter_ns: int
    """Largest delay of the target outside of its loop; it limits how exactly a short trial shows its load."""
    pipes: Pipes | None = None
    """None where nothing but ports and loops limits the rate of frames."""
    other_loops: tuple[LoopModel, ...] = ()
    """Ports in loopback beside the recirculation port; a stream circulates in one of them or there."""
    bad_fcs: bool = False
    """Ports can send frames with a wrong frame check sequence."""
    checks_payload: bool = False
    """Ports compare the payload of test frames with what was sent."""
    sums_payload: bool = False
    """The program compares a sum of it instead: the check of a signature covers what is behind it, too."""
    stamps_controller_frames: bool = True
    """The program keeps when a frame of the controller leaves."""
    captures_faults: bool = True
    """The program hands faulty frames to the controller."""
    tunnels: bool = True
    """The program sends and receives frames in GRE tunnels."""
    drops_shown_after_ns: int = 0
    """Time after which counters of what is lost inside the target show it; trials wait at least as long."""
    counts_seeds: bool = False
    """Seeds of streams that have ended are counted at the port of their loop, each once."""
    cuts_frames: bool = True
    """The program sends frames of several sizes from one seed; else each size needs a stream."""
    resets_devices: bool = False
    """The devices under test are simulated, and those whose model has a reset can be reset."""
    causes_failures: bool = False
    """Failures that the topology describes can be caused."""
    software_devices: bool = False
    """Devices under test are software, which loses single frames now and then at any load."""
    largest_frame_bytes: int = 9216
    """Largest frame, with FCS, that the target carries."""
    unmeasured: tuple[str, ...] = ()
    """Columns of tables that the target does not measure."""
    unsupported_headers: tuple[tuple[str, ...], ...] = ()
    """Chains of IPv6 extension headers behind which the program does not find the signature."""
