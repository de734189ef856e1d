"""Hosts that receive groups, and the querier, around the streams of one trial after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address

from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.responders import Outgoing, PuntRule, Responder
from p4mesh.tester.responders.port_hosts import group_hosts, querier
from p4mesh.tester.stations import station
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.memberships import MembershipChange, Memberships

LONGEST_REPORT_BYTES = 1514
"""Length of a report with as many records as fit, without FCS."""
_STEP_NS = 100_000_000


class GroupService:
    """The members of the groups of a trial; nothing is attached in trials without memberships."""

    def __init__(self, packets: PacketService, wait: Callable[[int | Fraction], None]) -> None:
        """Take the packet I/O, and a function that lets the target's time pass while protocols are served."""
        self._packets = packets
        self._wait = wait
        self._given: Memberships | None = None
        self._attached: tuple[Responder, ...] = ()

    def join(self, memberships: Memberships | None, number: int) -> None:
        """Let the hosts of trial ``number`` join, and wait until the last report is out and the device has had time.

        Hosts of an interrupted trial are forgotten.
        """
        self._silence()
        self._given = memberships
        if memberships is None:
            return
        self._members = group_hosts(
            [station(port) for port in memberships.ports],
            memberships.version,
            joins_per_s=memberships.joins_per_s,
            robustness=memberships.robustness,
            seed=number,
        )
        self._hosts = self._members.hosts
        self._alarm = _Alarm()
        self._packets.attach(*self._begin(memberships))
        # A port joins all its ranges at once, so that its reports are full.
        groups_of: dict[int, list[IPv4Address | IPv6Address]] = {}
        for part in memberships.at_start():
            for port in part.receivers:
                groups_of.setdefault(port, []).extend(part.groups)
        for port, groups in groups_of.items():
            self._join(memberships, port, groups, self._packets.now_ns)
        self._finish_changes(memberships)
        self._wait(memberships.join_wait_ns)

    def change_after(self, lead_ns: int) -> None:
        """Let hosts join or leave while the streams run, which begin in ``lead_ns``."""
        memberships = self._given
        if memberships is not None and (change := memberships.change) is not None:
            at_ns = self._packets.now_ns + lead_ns + change.at_ns
            self._alarm.set(at_ns, lambda now_ns: self._change(memberships, change, now_ns))

    def leave(self) -> None:
        """Let all hosts leave their groups, and be silent from then on."""
        memberships, self._given = self._given, None
        if memberships is None:
            return
        for port in memberships.ports:
            self._hosts.leave(port, self._hosts.memberships(port), self._packets.now_ns)
        self._finish_changes(memberships)
        self._wait(memberships.leave_wait_ns)
        self._silence()

    def _silence(self) -> None:
        if self._attached:
            self._packets.detach(*self._attached)
            self._attached = ()

    def _begin(self, memberships: Memberships) -> tuple[Responder, ...]:
        responders: list[Responder] = [self._alarm, self._members]
        if port := memberships.querier_port:
            responders.append(
                querier(
                    station(port),
                    memberships.version,
                    self._packets.now_ns,
                    interval_ns=memberships.query_interval_ns,
                    robustness=memberships.robustness,
                )
            )
        self._attached = tuple(responders)
        return self._attached

    def _finish_changes(self, memberships: Memberships) -> None:
        """Wait until every change has been reported as often as it is to be."""
        while pending := self._hosts.pending_changes:
            self._wait(-(-pending * NS_PER_S // memberships.joins_per_s))
        while self._hosts.repeats:
            self._wait(_STEP_NS)

    def _change(self, memberships: Memberships, change: MembershipChange, now_ns: int) -> None:
        for part in memberships.groups:
            for port in change.ports:
                if port not in part.receivers:
                    continue
                if change.joins:
                    self._join(memberships, port, part.groups, now_ns)
                else:
                    self._hosts.leave(port, part.groups, now_ns)

    def _join(
        self, memberships: Memberships, port: int, groups: Sequence[IPv4Address | IPv6Address], now_ns: int
    ) -> None:
        # Without senders the filter is to exclude none of them (RFC 3376 3.1).
        sources = [ip_address(source) for source in memberships.sources]
        self._hosts.join(port, groups, now_ns, sources, exclude=not sources)


class _Alarm:
    """Calls one function at its time; attached before the responders that the call makes speak."""

    def __init__(self) -> None:
        self._due: tuple[int, Callable[[int], None]] | None = None

    def set(self, at_ns: int, action: Callable[[int], None]) -> None:
        """Call ``action`` with the time when ``at_ns`` is there."""
        self._due = (at_ns, action)

    def wants(self) -> Collection[PuntRule]:
        return ()

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        return ()

    def next_event(self) -> int | None:
        return self._due[0] if self._due else None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        if self._due:
            action, self._due = self._due[1], None
            action(now_ns)
        return ()
