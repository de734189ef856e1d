"""Describes the group memberships of hosts on tester ports in a trial, and their messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from p4mesh.errors import ParameterError
from p4mesh.traffic.patterns import GroupRange

MAX_JOINS_PER_S = 1_000_000


class Version(str, Enum):
    """A protocol by which hosts tell their memberships."""

    IGMPV2 = "igmpv2"
    IGMPV3 = "igmpv3"
    MLDV1 = "mldv1"
    MLDV2 = "mldv2"

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return 4 if self in (Version.IGMPV2, Version.IGMPV3) else 6

    @property
    def has_records(self) -> bool:
        """Whether reports have records, which can name single senders."""
        return self in (Version.IGMPV3, Version.MLDV2)

    @property
    def older(self) -> Version:
        """The protocol that is spoken with an older router."""
        return Version.IGMPV2 if self.ip_version == 4 else Version.MLDV1


@dataclass(frozen=True)
class MembershipChange:
    """Hosts join, or leave, while the streams run; they tell it in the order of their ports."""

    at_ns: int
    """Time from the first departure to the first report."""
    ports: tuple[int, ...]
    joins: bool
    """False: they leave."""


@dataclass(frozen=True)
class Memberships:
    """Groups that are joined before the streams of a trial run and left after them."""

    version: Version
    groups: tuple[GroupRange, ...]
    """Groups with the ports that receive them."""
    sources: tuple[str, ...] = ()
    """The only senders that are received; empty = all (RFC 3376, RFC 3810)."""
    joins_per_s: int = 1000
    """Joins in a second, of all ports together."""
    robustness: int = 2
    """Number of reports of a change, and the robustness variable of the querier."""
    querier_port: int = 0
    """Port on which the tester is the querier; 0 = none."""
    query_interval_ns: int = 125_000_000_000
    join_wait_ns: int = 2_000_000_000
    """Silence between the last report and the streams."""
    leave_wait_ns: int = 2_000_000_000
    """Silence after the last report of the trial."""
    verify: bool = True
    """Before the streams run, at least one frame of every group must reach every member."""
    change: MembershipChange | None = None
    """Ports that join in it are not members before."""

    def __post_init__(self) -> None:
        if not 1 <= self.joins_per_s <= MAX_JOINS_PER_S:
            raise ParameterError(f"{self.joins_per_s} joins per second", hint=f"use 1 to {MAX_JOINS_PER_S}")
        if self.sources and not self.version.has_records:
            raise ParameterError(
                f"{self.version.value} cannot ask for single senders of a group", hint="use igmpv3 or mldv2"
            )

    def at_start(self) -> tuple[GroupRange, ...]:
        """Groups with the ports that join before the streams run."""
        if self.change is None or not self.change.joins:
            return self.groups
        later = set(self.change.ports)
        kept = ((part, tuple(port for port in part.receivers if port not in later)) for part in self.groups)
        return tuple(GroupRange(part.first, part.count, ports) for part, ports in kept if ports)

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports with a host, in ascending order."""
        return tuple(sorted({port for part in self.groups for port in part.receivers}))

    @property
    def count(self) -> int:
        """Number of pairs of a group and a port."""
        return sum(part.count * len(part.receivers) for part in self.groups)


def report_bytes(version: Version) -> int:
    """Length, with FCS, of the frame that tells of one group and of all or no senders."""
    return {Version.IGMPV2: 64, Version.IGMPV3: 64, Version.MLDV1: 90, Version.MLDV2: 94}[version]
