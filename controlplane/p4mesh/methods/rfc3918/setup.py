"""Ports, groups, hosts and streams that the tests of RFC 3918 share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

from p4mesh.errors import ParameterError
from p4mesh.layers import UDP_OVER_IPV4, UDP_OVER_IPV6, Frame
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import (
    HIGHEST_PORT,
    Parameter,
    ParameterSet,
    boolean,
    choice,
    decimal,
    integer,
    port_number,
    text,
)
from p4mesh.methods.options.shared import HEADERS
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct, tx_frames
from p4mesh.traffic.memberships import MembershipChange, Memberships, Version
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast
from p4mesh.traffic.patterns.base import USUAL_GROUP
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec

MULTICAST, BURDEN = "multicast", "burden"
"""Names of streams."""
MAX_GROUPS = 4096
DURATION_S = 30
LATENCY_DURATION_S = 120
"""RFC 3918 5.1."""
_FIRST_GROUPS = {4: USUAL_GROUP, 6: "ff1e::1:1"}
_LAST_GROUPS = {4: IPv4Address("239.255.255.255"), 6: IPv6Address((1 << 128) - 1)}
_LOCAL_GROUPS = IPv4Network("224.0.0.0/24")
_SCOPE_BIT, _LINK_SCOPE = 112, 2
"""Place of the scope in an IPv6 group, and the scope that stays in its network (RFC 4291 2.7)."""
_OWN = ("frame_format", "vlan_id", "burst_frames")
"""Parameters of every trial that the protocol of the hosts decides."""


def setup_parameters(clause: str, groups: int = 10) -> tuple[Parameter, ...]:
    """Parameters of ports, groups and hosts; ``clause`` is the one about the test's configuration."""
    hosts = "RFC 3918 3"
    return (
        choice(
            "protocol", Version.IGMPV3.value, hosts, "how hosts join and leave", tuple(one.value for one in Version)
        ),
        port_number("source_port", 1, clause, "the port that sends to the groups"),
        integer("groups", groups, "groups", clause, "groups that every receiving port joins", (1, MAX_GROUPS)),
        text("first_group", clause, f"first of consecutive groups; empty = {_FIRST_GROUPS[4]} or {_FIRST_GROUPS[6]}"),
        text("only_sender", hosts, "IP address of the one sender that hosts ask for; empty = any"),
        integer("joins_per_s", 1000, "joins/s", hosts, "pace of joins and leaves of all ports", (1, 1_000_000)),
        integer("robustness", 2, "reports", hosts, "how often each join and leave is reported", (1, 7)),
        integer(
            "querier_port",
            0,
            "port number",
            hosts,
            "port on which the tester is the querier; 0 = none",
            (0, HIGHEST_PORT),
        ),
        integer("query_interval_s", 125, "s", hosts, "distance of the querier's general queries", (1, 31_744)),
        decimal("join_wait_ms", "2000", "ms", hosts, "silence between joins and traffic", ("0", "600000")),
        decimal("leave_wait_ms", "2000", "ms", hosts, "silence after the leaves", ("0", "600000")),
    )


def verify_parameter() -> Parameter:
    """Parameter of tests whose members must receive before they measure."""
    return boolean("joins_verify", True, "RFC 3918 3", "before each trial every member must receive every group")


def trial_parameters(clause: str, duration_s: int = DURATION_S) -> tuple[Parameter, ...]:
    """Parameters of every trial but those that the protocol decides; ``duration_s`` is the standard's."""
    return tuple(item for item in shared.trial_parameters(clause, duration_s) if item.name not in _OWN)


def burden_parameters(clause: str) -> tuple[Parameter, ...]:
    """Parameters of ports that burden the device with unicast."""
    return (
        integer("burden_ports", 2, "ports", clause, "last ports of the topology, a full mesh of unicast", (2, 511)),
        decimal("burden_load_pct", "50", "% of line rate", clause, "load of each of them", ("0.0001", "100")),
    )


@dataclass(frozen=True)
class Setup:
    """The ports of one test by their roles."""

    bed: Bed
    parameters: ParameterSet
    burdened: bool = False

    @property
    def source(self) -> int:
        """The port that sends to groups."""
        return self.parameters.integer("source_port")

    @property
    def burden_ports(self) -> tuple[int, ...]:
        """Ports of the unicast mesh."""
        others = tuple(port for port in self.bed.port_numbers if port != self.source)
        return others[-self.parameters.integer("burden_ports") :] if self.burdened else ()

    @property
    def receivers(self) -> tuple[int, ...]:
        """Ports that join."""
        return tuple(port for port in self.bed.port_numbers if port not in (self.source, *self.burden_ports))

    @property
    def version(self) -> Version:
        """How hosts join."""
        return Version(self.parameters.text("protocol"))

    @property
    def line_rate_bps(self) -> int:
        """100 % of a load: the slowest port's line rate."""
        return self.bed.slowest_rate_bps

    def check(self, test: str, receivers: int = 1, groups: int = 1) -> None:
        """Raise TopologyError or ParameterError where ports, groups or hosts do not fit together."""
        burden = self.parameters.integer("burden_ports") if self.burdened else 0
        self.bed.require_ports(test, 1 + receivers + burden)
        self.bed.require_port("source_port", self.source)
        self.check_hosts(groups)

    def check_hosts(self, groups: int) -> None:
        """Raise ParameterError where the querier's port, the addresses of hosts or the number of groups do not fit."""
        querier = self.parameters.integer("querier_port")
        if querier:
            self.bed.require_port("querier_port", querier)
        for name in ("first_group", "only_sender"):
            self._check_address(name)
        version = self.version.ip_version
        if self.frame.network is None or self.frame.network.version != version:
            raise ParameterError(
                f"--set {HEADERS}: no frames of IPv{version}, which {self.version.value} joins the groups of",
                hint=f"end them with ipv{version}/udp, or use another protocol",
            )
        self._check_groups(groups)

    def _check_address(self, name: str) -> None:
        given = self.parameters.text(name)
        valid = f"an IPv{self.version.ip_version} address for {self.version.value}"
        if not given:
            return
        try:
            address = ip_address(given)
        except ValueError:
            raise ParameterError(f"--set {name}={given}: not valid", hint=f"{name} is {valid}") from None
        if address.version != self.version.ip_version or address.is_multicast != (name == "first_group"):
            kind = "group" if name == "first_group" else "sender"
            raise ParameterError(f"--set {name}={given}: no {kind}", hint=f"{name} is {valid} of a {kind}")
        if name == "only_sender" and not self.version.has_records:
            raise ParameterError(
                f"only_sender={given}: {self.version.value} cannot ask for single senders of a group",
                hint="use protocol=igmpv3 or protocol=mldv2",
            )

    def _check_groups(self, groups: int) -> None:
        """Refuse groups that hosts do not join, and more than there are behind the first one."""
        first = ip_address(self.first_group)
        local = first in _LOCAL_GROUPS if first.version == 4 else int(first) >> _SCOPE_BIT & 0xF <= _LINK_SCOPE
        if local:
            raise ParameterError(
                f"first_group={first}: a group that stays in its network, which switches forward without a join",
                hint=f"use groups such as {_FIRST_GROUPS[first.version]}",
            )
        behind = int(_LAST_GROUPS[first.version]) - int(first) + 1
        if groups > behind:
            raise ParameterError(
                f"first_group={first}: there are {behind} groups from there, the test needs {groups}",
                hint=f"use a lower group, such as {_FIRST_GROUPS[first.version]}",
            )

    def groups(self, count: int | None = None, receivers: Sequence[int] | None = None) -> tuple[GroupRange, ...]:
        """``count`` groups, by default those of the test, that some ports or all receive."""
        wanted = count or self.parameters.integer("groups")
        return (GroupRange(self.first_group, wanted, tuple(receivers or self.receivers)),)

    @property
    def first_group(self) -> str:
        """The first of the consecutive groups."""
        return self.parameters.text("first_group") or _FIRST_GROUPS[self.version.ip_version]

    def stream(self, size: int, rate_fps: Fraction, count: int, groups: tuple[GroupRange, ...]) -> Stream:
        """The stream that the source sends to the groups in turn."""
        ports = tuple(dict.fromkeys(port for part in groups for port in part.receivers))
        return Stream(MULTICAST, size, rate_fps, count, Multicast(groups), (self.source,), ports, self.frame)

    @property
    def frame(self) -> Frame:
        """The headers of all frames: those that are given, else UDP over IP."""
        if self.parameters.values.get(HEADERS):
            return shared.frame_of(self.parameters)
        return UDP_OVER_IPV4 if self.version.ip_version == 4 else UDP_OVER_IPV6

    def burden(self, size: int, duration_ns: int) -> tuple[Stream, ...]:
        """The unicast mesh of the burdening ports, if any."""
        ports = self.burden_ports
        if not ports:
            return ()
        rate_bps = min(port.own_rate_bps for port in self.bed.ports if port.number in ports)
        rate = rate_at_pct(self.parameters.number("burden_load_pct"), size, rate_bps)
        count = max(1, tx_frames(duration_ns, rate))
        return (Stream(BURDEN, size, rate, count, FullMesh(), ports, ports, self.frame),)

    def memberships(
        self,
        groups: tuple[GroupRange, ...],
        *,
        verify: bool,
        change: MembershipChange | None = None,
        robustness: int | None = None,
    ) -> Memberships:
        given = self.parameters
        sender = given.text("only_sender")
        return Memberships(
            self.version,
            groups,
            (sender,) if sender else (),
            given.integer("joins_per_s"),
            robustness or given.integer("robustness"),
            given.integer("querier_port"),
            given.integer("query_interval_s") * NS_PER_S,
            shared.nanoseconds(given, "join_wait_ms"),
            shared.nanoseconds(given, "leave_wait_ms"),
            verify,
            change,
        )

    def trial(
        self,
        label: str,
        streams: tuple[Stream, ...],
        duration_ns: int,
        memberships: Memberships,
        *,
        per_flow: bool = False,
        watch_queues: bool = False,
        watch_losses: bool = False,
        prints_latency: bool = False,
    ) -> TrialSpec:
        """A trial of the streams, around which hosts join and leave."""
        spec = shared.trial_of(
            self.parameters,
            label,
            streams,
            duration_ns,
            per_flow=per_flow,
            watch_queues=watch_queues,
            prints_latency=prints_latency,
        )
        return replace(spec, memberships=memberships, watch_losses=watch_losses)
