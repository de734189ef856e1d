"""The querier of a multicast router on one tester port: it asks hosts for their memberships.

General queries as RFC 2236 3, RFC 3376 6, RFC 2710 4 and RFC 3810 7 say, questions after a leave, and silence while a
querier with a lower address is there. It forwards nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from p4mesh.tester.responders.base import Outgoing, PuntRule
from p4mesh.tester.responders.group_messages import (
    Departure,
    Group,
    Host,
    Query,
    departures,
    punted,
    query_frame,
    read,
)
from p4mesh.traffic.memberships import Version

NS_PER_S = 1_000_000_000
RESPONSE_NS = 10 * NS_PER_S
"""Maximum response time of hosts (RFC 2236 8.3, RFC 3376 8.3, RFC 3810 9.3)."""
LAST_MEMBER_NS = NS_PER_S
"""Distance of the questions after a leave, and the time to answer each (RFC 3376 8.8, RFC 3810 9.8)."""
_STARTUP = 4
"""Queries at the start come in this part of the interval (RFC 3376 8.6)."""

_Asked = tuple[Group, tuple[Group, ...]]
"""A group, and the sources that a question names."""


class Querier:
    """One port; it starts with its first ``next_event``."""

    def __init__(
        self, port: int, host: Host, version: Version, now_ns: int, *, interval_ns: int, robustness: int = 2
    ) -> None:
        self._port = port
        self._host = host
        self._version = version
        self._interval_ns = interval_ns
        self._robustness = robustness
        self._general_ns = now_ns
        self._at_start = robustness
        self._questions: dict[_Asked, tuple[int, int]] = {}
        """Time of the next question about a group that a host has left, and how many follow."""
        self.queries = 0
        """Messages sent."""

    def wants(self) -> Collection[PuntRule]:
        """Return all frames to groups of the IP version: reports and other queriers' questions."""
        return (punted(self._version),)

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Take note of leaves, and of queriers that go before this one."""
        if port != self._port:
            return ()
        heard = read(frame)
        if isinstance(heard, Query):
            if heard.sender is not None and int(heard.sender) < int(self._address):
                # RFC 3376 8.5: the other querier is gone when it was silent for so long.
                self._general_ns = now_ns + self._robustness * self._interval_ns + RESPONSE_NS // 2
                self._questions.clear()
            return ()
        for left in departures(frame):
            self._ask_after(left, now_ns)
        return ()

    def next_event(self) -> int | None:
        """Return when the next query is due."""
        return min([self._general_ns, *(at_ns for at_ns, _ in self._questions.values())])

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Return the queries that are due."""
        if self._general_ns <= now_ns:
            self._at_start = max(0, self._at_start - 1)
            self._general_ns = now_ns + (self._interval_ns // _STARTUP if self._at_start else self._interval_ns)
            yield self._query(None, (), RESPONSE_NS)
        for asked, (at_ns, left) in list(self._questions.items()):
            if at_ns <= now_ns:
                if left > 1:
                    self._questions[asked] = (now_ns + LAST_MEMBER_NS, left - 1)
                else:
                    del self._questions[asked]
                yield self._query(*asked, LAST_MEMBER_NS)

    def _ask_after(self, left: Departure, now_ns: int) -> None:
        sources = left.sources if self._version.has_records else ()
        self._questions.setdefault((left.group, sources), (now_ns, self._robustness))

    def _query(self, group: Group | None, sources: tuple[Group, ...], response_ns: int) -> Outgoing:
        self.queries += 1
        query = Query(self._version, group, sources, response_ns)
        return Outgoing(self._port, query_frame(self._host, query, self._robustness, self._interval_ns))

    @property
    def _address(self) -> Group:
        return self._host.ipv4 if self._version.ip_version == 4 else self._host.link_local
