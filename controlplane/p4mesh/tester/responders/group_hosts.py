"""Hosts on tester ports that receive multicast groups: they join, leave, and answer queries of routers.

One host per port. Joins and leaves are paced, reports with records are packed; times and random delays are those of
the RFCs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import ceil

from p4mesh.errors import ParameterError
from p4mesh.tester.responders.base import Outgoing, PuntRule
from p4mesh.tester.responders.group_messages import (
    Group,
    Host,
    OtherReport,
    Query,
    Record,
    RecordKind,
    RecordReport,
    ether_type,
    leave,
    packed,
    punted,
    read,
    report,
)
from p4mesh.tester.stations import Station
from p4mesh.traffic.memberships import Version

_NS_PER_S = 1_000_000_000
MAX_JOINS_PER_S = 1_000_000
_UNSOLICITED_NS = {False: 10 * _NS_PER_S, True: _NS_PER_S}
"""Longest time to the repetition of a report, by whether it has records: RFC 2236 8.10, RFC 3376 8.11."""
_OLDER_ROUTER_NS = 260 * _NS_PER_S
"""Time for which an older router is remembered with the default intervals (RFC 3376 8.12, RFC 3810 9.12)."""


@dataclass(frozen=True)
class Filter:
    """Source filter of a group: a host receives the named senders, or all but the named ones."""

    sources: frozenset[Group] = frozenset()
    exclude: bool = True

    def change_records(self, group: Group, before: Filter | None) -> tuple[Record, ...]:
        """Return the records of a host that changes to this filter (RFC 3376 5.1, RFC 3810 6.1)."""
        known = before or Filter(exclude=False)
        if known.exclude != self.exclude:
            kind = RecordKind.TO_EXCLUDE if self.exclude else RecordKind.TO_INCLUDE
            return (Record(kind, group, _ordered(self.sources)),)
        wider, narrower = self.sources - known.sources, known.sources - self.sources
        if self.exclude:
            wider, narrower = narrower, wider
        changes = ((RecordKind.ALLOW_NEW, wider), (RecordKind.BLOCK_OLD, narrower))
        return tuple(Record(kind, group, _ordered(sources)) for kind, sources in changes if sources)

    def state_record(self, group: Group, asked: frozenset[Group] = frozenset()) -> Record | None:
        """Return the answer of a host to a query for the group, or for some sources of it; None without an answer."""
        if asked:
            received = asked - self.sources if self.exclude else asked & self.sources
            return Record(RecordKind.IS_INCLUDE, group, _ordered(received)) if received else None
        kind = RecordKind.IS_EXCLUDE if self.exclude else RecordKind.IS_INCLUDE
        return Record(kind, group, _ordered(self.sources))


ANY_SENDER = Filter()
_NO_SENDER = Filter(exclude=False)


@dataclass(frozen=True, eq=False)
class _Memberships:
    """The groups that a host receives. Hosts that have made the same changes share it."""

    filters: Mapping[Group, Filter] = field(default_factory=dict)

    @cached_property
    def answer(self) -> tuple[RecordReport, ...]:
        """The reports that answer a query for all groups."""
        records = (one.state_record(group) for group, one in self.filters.items())
        return packed([record for record in records if record is not None])


@dataclass(frozen=True, eq=False)
class _Change:
    """From some memberships to others: the host gets ``senders`` of each group."""

    before: _Memberships
    groups: tuple[Group, ...]
    senders: Filter
    after: _Memberships
    records: tuple[Record, ...]

    @cached_property
    def packed(self) -> tuple[RecordReport, ...]:
        """The reports that tell it."""
        return packed(self.records)

    @staticmethod
    def of(before: _Memberships, groups: tuple[Group, ...], senders: Filter) -> _Change:
        filters = dict(before.filters)
        records: list[Record] = []
        for group in groups:
            records += senders.change_records(group, filters.get(group))
            if senders == _NO_SENDER:
                filters.pop(group, None)
            else:
                filters[group] = senders
        return _Change(before, groups, senders, _Memberships(filters), tuple(records))


@dataclass
class _Port:
    """A host: its memberships, and the answers that it owes."""

    host: Host
    memberships: _Memberships
    owed_all_ns: int | None = None
    owed_ns: dict[Group, int] = field(default_factory=dict)
    asked: dict[Group, frozenset[Group]] = field(default_factory=dict)
    """Sources of the queries that are owed an answer; empty = the whole group."""
    older_until_ns: int = -1

    @property
    def filters(self) -> Mapping[Group, Filter]:
        """The groups that it receives."""
        return self.memberships.filters


@dataclass(frozen=True)
class _Message:
    """Changes to report, and how often again."""

    port: int
    report: RecordReport
    repetitions: int
    again: bool = False


class GroupHosts:
    """The hosts of some ports, all with one protocol; routers that speak the older version of it get older reports."""

    def __init__(
        self,
        stations: Mapping[int, Station],
        version: Version,
        *,
        joins_per_s: int,
        random_up_to: Callable[[int], int],
        robustness: int = 2,
    ) -> None:
        """Take the pace of all ports together in memberships per second, and how often each change is reported.

        ``random_up_to`` draws a whole number from 1 to its argument.
        """
        if not 1 <= joins_per_s <= MAX_JOINS_PER_S:
            raise ParameterError(f"{joins_per_s} joins per second", hint=f"use 1 to {MAX_JOINS_PER_S}")
        self.version = version
        nothing = _Memberships()
        self._ports = {port: _Port(Host(one.mac, one.ipv4), nothing) for port, one in stations.items()}
        self._last_change = _Change.of(nothing, (), _NO_SENDER)
        self._pace_ns = Fraction(_NS_PER_S, joins_per_s)
        self._robustness = robustness
        self._random_up_to = random_up_to
        self._waiting: deque[_Message] = deque()
        self._free_ns = Fraction(0)
        self._timers: list[tuple[int, int, int, Group | _Message | None]] = []
        """(time, order, port, reason: None = the answer for all groups, a group, or a message again)."""
        self._order = count()

    @property
    def pending_changes(self) -> int:
        """Joins and leaves that have not been reported once."""
        return sum(len(message.report.records) for message in self._waiting)

    @property
    def repeats(self) -> bool:
        """Whether a change waits for its repetition."""
        return any(isinstance(due, _Message) for _, _, _, due in self._timers)

    def memberships(self, port: int) -> Mapping[Group, Filter]:
        """Return the memberships of the host of a port."""
        return self._ports[port].filters

    def join(self, port: int, groups: Iterable[Group], now_ns: int, senders: Filter = ANY_SENDER) -> None:
        """Receive groups; the first report leaves as soon as the pace allows it.

        Raises ParameterError for single senders with a protocol that has no records.
        """
        if senders != ANY_SENDER and not self.version.has_records:
            raise ParameterError(
                f"{self.version.value} cannot ask for single senders of a group", hint="use igmpv3 or mldv2"
            )
        self._change(port, groups, senders, now_ns)

    def leave(self, port: int, groups: Iterable[Group], now_ns: int) -> None:
        """Receive groups no longer."""
        self._change(port, groups, _NO_SENDER, now_ns)

    def wants(self) -> Collection[PuntRule]:
        """Return all frames to groups of the IP version: queries go to all systems, or to the group asked for."""
        return (punted(self.version),)

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Take note of queries and of reports of other hosts; answers follow after their random delay."""
        host = self._ports.get(port)
        if host is None or int.from_bytes(frame[12:14], "big") != ether_type(self.version):
            return ()
        heard = read(frame)
        if isinstance(heard, Query):
            self._asked(port, host, heard, now_ns)
        elif isinstance(heard, OtherReport) and not self._speaks_records(host, now_ns):
            host.owed_ns.pop(heard.group, None)
        return ()

    def next_event(self) -> int | None:
        """Return when the next report is due."""
        while self._timers and not self._is_due(self._timers[0]):
            heappop(self._timers)
        times = [ceil(self._free_ns)] if self._waiting else []
        return min([*times, *(timer[0] for timer in self._timers[:1])], default=None)

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Return the reports that are due."""
        if self._waiting and self._free_ns <= now_ns:
            message = self._waiting.popleft()
            # Late frames are not made up for, so that the pace is never exceeded.
            self._free_ns = max(self._free_ns, now_ns - Fraction(1)) + self._pace_ns * len(message.report.records)
            yield from self._sent(message, now_ns)
        while self._timers and self._timers[0][0] <= now_ns:
            timer = heappop(self._timers)
            if self._is_due(timer):
                yield from self._answered(timer[2], timer[3], now_ns)

    def _change(self, port: int, groups: Iterable[Group], senders: Filter, now_ns: int) -> None:
        host = self._ports[port]
        if not self._waiting:
            self._free_ns = max(self._free_ns, Fraction(now_ns))
        change = self._shared_change(host.memberships, tuple(groups), senders)
        host.memberships = change.after
        packs = self._speaks_records(host, now_ns)
        for part in change.packed if packs else [RecordReport((record,)) for record in change.records]:
            once = not self.version.has_records and part.records[0].kind is RecordKind.TO_INCLUDE
            self._waiting.append(_Message(port, part, 0 if once else self._robustness - 1))

    def _shared_change(self, before: _Memberships, groups: tuple[Group, ...], senders: Filter) -> _Change:
        """Return a change; hosts that make the same one after the other share it."""
        last = self._last_change
        if not (last.before is before and last.senders == senders and last.groups == groups):
            last = self._last_change = _Change.of(before, groups, senders)
        return last

    def _sent(self, message: _Message, now_ns: int) -> Iterable[Outgoing]:
        """Send a change, and repeat it after a while unless something else has changed by then."""
        if message.repetitions:
            limit_ns = _UNSOLICITED_NS[self._speaks_records(self._ports[message.port], now_ns)]
            again = _Message(message.port, message.report, message.repetitions - 1, again=True)
            self._set_timer(now_ns + self._random_up_to(limit_ns), message.port, again)
        yield from self._frames(message.port, (message.report,), now_ns, stamped=not message.again)

    def _answered(self, port: int, due: Group | _Message | None, now_ns: int) -> Iterable[Outgoing]:
        host = self._ports[port]
        if isinstance(due, _Message):
            known = due.report.records
            current = tuple(record for record in known if _still_true(record, host.filters.get(record.group)))
            if current:
                same = due.report if len(current) == len(known) else RecordReport(current)
                yield from self._sent(_Message(port, same, due.repetitions, due.again), now_ns)
            return
        if due is None:
            host.owed_all_ns = None
            yield from self._frames(port, host.memberships.answer, now_ns)
            return
        del host.owed_ns[due]
        asked = host.asked.pop(due, frozenset())
        answer = host.filters[due].state_record(due, asked) if due in host.filters else None
        if answer is not None:
            yield from self._frames(port, (RecordReport((answer,)),), now_ns)

    def _frames(
        self, port: int, told: Iterable[RecordReport], now_ns: int, *, stamped: bool = False
    ) -> Iterable[Outgoing]:
        """Yield the messages; those that tell of a change for the first time are stamped."""
        host = self._ports[port]
        if self._speaks_records(host, now_ns):
            for one in told:
                yield Outgoing(port, one.frame(host.host), stamped)
            return
        for record in (record for one in told for record in one.records):
            if record.kind not in (RecordKind.TO_INCLUDE, RecordKind.BLOCK_OLD):
                yield Outgoing(port, report(host.host, record.group), stamped)
            elif record.group not in host.filters:
                yield Outgoing(port, leave(host.host, record.group), stamped)

    def _asked(self, port: int, host: _Port, query: Query, now_ns: int) -> None:
        if not query.version.has_records:
            host.older_until_ns = now_ns + _OLDER_ROUTER_NS
        due_ns = now_ns + self._random_up_to(max(1, query.max_response_ns))
        if query.group is None and self._speaks_records(host, now_ns):
            if host.filters and (host.owed_all_ns is None or due_ns < host.owed_all_ns):
                host.owed_all_ns = due_ns
                self._set_timer(due_ns, port, None)
            return
        for group in [query.group] if query.group else list(host.filters):
            if group not in host.filters or (host.owed_all_ns is not None and host.owed_all_ns <= due_ns):
                continue
            self._owe(port, host, group, frozenset(query.sources), due_ns)
            due_ns = now_ns + self._random_up_to(max(1, query.max_response_ns))

    def _owe(self, port: int, host: _Port, group: Group, sources: frozenset[Group], due_ns: int) -> None:
        known_ns = host.owed_ns.get(group)
        if known_ns is None:
            host.asked[group] = sources
        elif not (sources and host.asked[group]):
            # A query of the whole group is answered for all of it.
            host.asked[group] = frozenset()
        else:
            host.asked[group] |= sources
        if known_ns is None or due_ns < known_ns:
            host.owed_ns[group] = due_ns
            self._set_timer(due_ns, port, group)

    def _speaks_records(self, host: _Port, now_ns: int) -> bool:
        return self.version.has_records and now_ns > host.older_until_ns

    def _set_timer(self, at_ns: int, port: int, due: Group | _Message | None) -> None:
        heappush(self._timers, (at_ns, next(self._order), port, due))

    def _is_due(self, timer: tuple[int, int, int, Group | _Message | None]) -> bool:
        """Return whether a timer has not been replaced by an earlier one, or stopped."""
        at_ns, _, port, due = timer
        host = self._ports[port]
        if isinstance(due, _Message):
            return True
        return (host.owed_all_ns if due is None else host.owed_ns.get(due)) == at_ns


def _still_true(record: Record, now: Filter | None) -> bool:
    """Return whether nothing has been changed since a change was reported."""
    sources, now = frozenset(record.sources), now or _NO_SENDER
    if record.kind in (RecordKind.ALLOW_NEW, RecordKind.BLOCK_OLD):
        return (sources <= now.sources) == (now.exclude == (record.kind is RecordKind.BLOCK_OLD))
    return now == Filter(sources, exclude=record.kind is RecordKind.TO_EXCLUDE)


def _ordered(sources: frozenset[Group]) -> tuple[Group, ...]:
    return tuple(sorted(sources, key=int))
