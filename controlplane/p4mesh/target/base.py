"""Defines the interface of a target: an address, a clock, the links, and the declaration of its capabilities."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

from p4mesh.errors import UnsupportedError
from p4mesh.target.capabilities import Capabilities
from p4mesh.topology import Topology
from p4mesh.topology.keys import TlsFiles
from p4mesh.traffic.line_rate import PS_PER_S
from p4mesh.traffic.refused_routes import RefusedRoutes
from p4mesh.traffic.stamps import PortStamps

BadFcsRule = tuple[int, int, int]
"""(offset in bytes, lowest, highest): frames whose six bytes at the offset, as a number, lie in the range."""


@dataclass(frozen=True)
class CountedPayload:
    """Payload of frames with a mark: bytes count up from 0, and again after 255, to the end of the frame."""

    offsets_bytes: tuple[int, ...]
    """Places at which the mark may stand, the usual ones first."""
    mark: bytes
    counts_behind_bytes: int
    """From the beginning of the mark to the first byte that counts."""


@dataclass(frozen=True)
class ProgramPorts:
    """Numbers of the program for the loop, the controller and drops; a target sets these ports up."""

    loop: int
    """The recirculation port."""
    cpu: int
    """The port of the controller."""


@dataclass(frozen=True)
class LinkState:
    """The link of one tester port."""

    up: bool
    losses: int
    """Number of times that the link has gone down so far."""


@dataclass(frozen=True)
class Pauses:
    """How long departures that were due have waited, because the target had no processor for them."""

    longest_ns: int = 0
    late_ns: int = 0
    """Sum of the pauses that are longer than usual. What was due in them left at once when they were over."""


@dataclass(frozen=True)
class MacCounts:
    """Frames that the MAC of a port has counted since it was switched on; None where it keeps no such count."""

    bad_fcs_sent: int = 0
    bad_fcs_received: int | None = None
    """Discarded: the program does not see them."""
    pause_received: int | None = None
    runts_received: int | None = None
    """Shorter than 64 bytes."""
    good_received: int | None = None
    """But for PAUSE frames; all of them come to the program, if the target loses none."""
    buffer_full: int | None = None
    """Good frames that were dropped in front of the program."""
    corrupted_received: int | None = None
    """With another payload than :meth:`Target.expect_payload` has said; discarded."""
    last_departure_ns: int | None = None
    """When the last of the frames left whose departure the MAC was to keep, by the clock of the program."""

    def since(self, before: MacCounts) -> MacCounts:
        """Counts after those of ``before``; of a MAC that was switched off in between, those since then."""
        return MacCounts(
            _counted(self.bad_fcs_sent, before.bad_fcs_sent),
            _difference(self.bad_fcs_received, before.bad_fcs_received),
            _difference(self.pause_received, before.pause_received),
            _difference(self.runts_received, before.runts_received),
            _difference(self.good_received, before.good_received),
            _difference(self.buffer_full, before.buffer_full),
            _difference(self.corrupted_received, before.corrupted_received),
            None if self.last_departure_ns == before.last_departure_ns else self.last_departure_ns,
        )


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else _counted(now, before)


def _counted(now: int, before: int) -> int:
    """Difference of two readings; a count that has gone back began anew."""
    return now - before if now >= before else now


class PacketIO(Protocol):
    """The controller's side of packet I/O, as far as a clock has to know it."""

    @property
    def packet_outs_sent(self) -> int:
        """Packet-outs so far."""

    @property
    def packet_ins_taken(self) -> int:
        """Packet-ins that the controller has taken so far."""

    def take_packet_in(self, timeout_s: float) -> bool:
        """Wait for the next packet-in, in time of the wall clock; return whether one has come."""


def require_one_switch(target: str, topology: Topology) -> None:
    """Raise UnsupportedError for a tester of several switches."""
    if topology.switches > 1:
        raise UnsupportedError(
            f"not supported on {target}: a tester of {topology.switches} switches",
            hint="leave tester.switches out, or use --target sim or live",
        )


class Target(ABC):
    """A running tester switch; :meth:`open` starts and stops it."""

    name: ClassVar[str]

    def __init__(
        self,
        topology: Topology,
        address: str,
        *,
        device_id: int = 1,
        election_id: int = 1,
        tls: TlsFiles | None = None,
    ) -> None:
        self.topology = topology
        self.capabilities = self.declare(topology)
        self.address = address
        """HOST:PORT, or unix:PATH, of the switch's server: P4Runtime, or BF Runtime on a Tofino that has it."""
        self.other_addresses: tuple[str, ...] = ()
        """Addresses of the other switches of a tester of several, which are devices 2, 3, ..."""
        self.device_id = device_id
        self.election_id = election_id
        self.tls = tls
        """Credentials for the server; None where it does not encrypt."""

    @classmethod
    @abstractmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """Capabilities of the target on a topology; raises TopologyError where it cannot run on it."""

    @classmethod
    def check(cls, topology: Topology) -> None:
        """Raise the errors of :meth:`open` that the topology causes; starts nothing."""
        cls.declare(topology)

    @classmethod
    @abstractmethod
    def open(cls, topology: Topology, ports: ProgramPorts) -> AbstractContextManager[Target]:
        """Start the target; afterwards ``address`` accepts P4Runtime. Leaving stops everything that was started."""

    @abstractmethod
    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Let ``duration_ns`` of the target's time pass after ``packet_outs`` packet-outs in total."""

    def wait_for_packet_in(self, duration_ps: int, packets: PacketIO) -> None:
        """Let time pass until ``packets`` has taken a packet-in, at most ``duration_ps``."""
        packets.take_packet_in(duration_ps / PS_PER_S)

    def facts(self) -> tuple[str, ...]:
        """Facts on the machine that has measured, which the reader of a result must know, a line each."""
        return ()

    @property
    def now_ps(self) -> int:
        """The target's time, which never goes back; only differences have a meaning."""
        return time.monotonic_ns() * 1000

    @property
    def alignment_ns(self) -> Fraction:
        """Time to wait so that a trial begins at a time that does not depend on those before it; 0 in real time."""
        return Fraction(0)

    def reseed(self, packet_outs: int, number: int) -> None:  # noqa: B027 - most targets simulate no chance
        """Once ``packet_outs`` have been handled, start the random numbers of trial ``number``, where there are any."""

    @abstractmethod
    def in_flight(self) -> int:
        """The number of frames known to be between the ports; 0 where it cannot be known."""

    def set_bad_fcs(self, rules: Mapping[int, Sequence[BadFcsRule]]) -> None:
        """Let the frames that the rules of a port choose leave with a bad FCS; others leave unchanged."""
        if rules:
            raise UnsupportedError(f"not supported on {self.name}: frames with a bad FCS", hint="use --target sim")

    def expect_payload(self, payload: CountedPayload) -> None:
        """Let all ports count and discard marked frames with another payload; of targets with ``checks_payload``."""
        raise UnsupportedError(f"not supported on {self.name}: payloads that are compared", hint="use --target sim")

    def mac_counts(self) -> dict[int, MacCounts]:
        """Frames that the MAC of each port has counted since the start; empty where nobody tells."""
        return {}

    def drop_counts(self) -> dict[str, int]:
        """Frames that the target has lost inside since its start, by the name of the counter.

        Empty where nobody tells.
        """
        return {}

    def begin_departures(self, rate_fps: Fraction) -> None:  # noqa: B027 - nothing to do in simulated time or hardware
        """Take note that streams start, which send ``rate_fps`` frames per second on all ports together at most.

        From here on pauses and the errors of departure stamps count.
        """

    def take_pauses(self) -> Pauses:
        """The pauses since the last call; there are none where time is simulated or in hardware."""
        return Pauses()

    def port_stamps(self) -> dict[int, PortStamps]:
        """The stamps of each port since :meth:`begin_departures`; empty where they need no correction."""
        return {}

    @property
    def start_skew_ns_of(self) -> dict[int, int]:
        """Delay of the start of each tester port behind the time that is asked for."""
        return {port.number: port.start_skew_ns for port in self.topology.tester_ports}

    @abstractmethod
    def links(self) -> Mapping[int, LinkState]:
        """The links of the tester's ports."""

    @abstractmethod
    def set_links(self, up: bool) -> None:
        """Switch the links of all tester ports on or off; raises UnsupportedError where that cannot be done."""

    def set_link(self, port: int, up: bool) -> None:
        """Switch the link of one tester port on or off."""
        raise UnsupportedError(
            f"switching the link of one port is not supported on {self.name}",
            hint="use --target sim, live or bmv2, or a Tofino with BF Runtime",
        )

    def reset_device(self, device: str, off_ns: int) -> None:
        """Reset a device of a simulated network, which is without power for ``off_ns`` first.

        Asked only of a target whose capabilities have ``resets_devices``.
        """
        raise UnsupportedError(f"not supported on {self.name}: resets of devices", hint="use --target sim")

    def take_refused_routes(self) -> tuple[RefusedRoutes, ...]:
        """The routes that devices had no room for since the last call; empty where no device tells."""
        return ()

    def cause_failures(self, count: int) -> int:
        """Let failures 1 to ``count`` of the devices begin now, those that have not begun before.

        Returns the time to the last of their changes in ns. Asked only of a target whose capabilities have
        ``causes_failures``.
        """
        raise UnsupportedError(f"not supported on {self.name}: failures of devices", hint="use --target sim")

    @cached_property
    def rate_bps_of(self) -> dict[int, int]:
        """Nominal line rate of each tester port."""
        return {port.number: port.rate_bps for port in self.topology.tester_ports}

    @cached_property
    def own_rate_bps_of(self) -> dict[int, int]:
        """Line rate of each tester port by its own clock."""
        return {port.number: port.own_rate_bps for port in self.topology.tester_ports}
