"""The engine (Rust, engine/python). Times are picoseconds of virtual time."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

class EngineError(Exception):
    """The engine refused a request; the message says what, where and what is valid."""

class ConfigError(EngineError):
    """The document of a network is not valid: ``problem`` is wrong at ``place``, where ``valid`` is valid."""

    place: tuple[str | int, ...]
    """Keys and indexes."""
    problem: str
    valid: str | None
    """None where the problem says it."""

def describe_config() -> str:
    """Return the keys of a network and of the device models as JSON: rules of a JSON Schema."""

class RoutingPeer:
    """A host that speaks BGP and BFD. It acts when it is given a frame or the time, which is in ns and never goes back.

    ``interfaces`` have ``address`` and ``prefix_bits``; ``sessions`` have ``address`` (of the neighbour),
    ``neighbour_as``, ``own_as``, ``router_id``, ``hold_time_s``, ``passive``, ``connect_retry_s``, ``bfd_interval_us``
    (None without BFD), ``bfd_multiplier``, ``multihop`` (None for a neighbour on the wire, else the own address, which
    may be on no wire, and the gateway), ``both_families`` (whether routes of both versions are spoken of, whatever
    those of the interfaces are), and ``graceful_restart`` (None where routes go with the session, else the seconds to
    come back in and whether routes stay after a NOTIFICATION, too). ``seed`` decides what TCP draws.
    """

    def __init__(
        self, mac: bytes, interfaces: Sequence[object], sessions: Sequence[object], seed: int, now_ns: int
    ) -> None: ...
    def on_frame(self, frame: bytes, now_ns: int) -> None: ...
    def on_time(self, now_ns: int) -> None: ...
    def next_event(self, now_ns: int) -> int | None: ...
    def take_frames(self) -> list[bytes]: ...
    def take_events(self) -> list[tuple[int, int, str, str | None]]:
        """Return (session, time in ns, what, why): ``up``, ``down``, ``announced``, ``bfd_up`` and ``bfd_down``."""

    def is_up(self, session: int) -> bool: ...
    def state(self, session: int) -> str:
        """State of RFC 4271 8.2.2, in lower case."""

    def counts(self, session: int) -> tuple[dict[str, int], dict[str, int]]:
        """Messages sent and received so far.

        Keys: ``opens``, ``updates``, ``keepalives``, ``notifications``, ``route_withdraws``, ``ends_of_routes``.
        """

    def learned(self, session: int) -> int: ...
    def received(self, session: int) -> int:
        """Number of routes of the neighbour, with those in whose path the own AS is, which are not learned."""

    def routes(self, session: int, behind: str | None, count: int) -> list[dict[str, Any]]:
        """Routes of the neighbour behind a network in their order, or the first ones.

        Keys: ``network``, ``origin`` (igp, egp, incomplete), ``as_path`` (whether each segment is a set, and its
        numbers), ``next_hop``, ``metric``, ``local_preference``, ``communities`` (numbers) and
        ``extended_communities`` (bytes).
        """

    def announce(self, session: int, networks: Sequence[str], now_ns: int, attributes: object | None = None) -> None:
        """Announce networks, with ``attributes`` that have the keys of a route but its network.

        An ``as_path`` of None is that of the own AS; else it goes out as it is.
        """

    def withdraw(self, session: int, networks: Sequence[str], now_ns: int) -> None: ...
    def stop(self, session: int, now_ns: int) -> None:
        """End a session with a NOTIFICATION; it neither connects nor listens until it is started."""

    def start(self, session: int, now_ns: int) -> None:
        """Start a session that was stopped; others go on."""

    def notify(self, session: int, notification: tuple[int, int], close_after_ns: int, now_ns: int) -> bool:
        """End a session with a NOTIFICATION (code and subcode); false where it is not up. It connects again."""

    def restart(self, session: int, notification: tuple[int, int] | None, away_ns: int, now_ns: int) -> bool:
        """Restart a session gracefully (RFC 4724), away for a time; false where it is not up."""

class Stations:
    """Test stations, one per port, which have the attributes of :class:`p4mesh.tester.stations.Station`.

    They answer ARP and neighbour discovery; frames that leave are (port, frame, whether its time is to be kept).
    """

    def __init__(self, stations: Sequence[object]) -> None: ...
    def on_frame(self, port: int, frame: bytes, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def on_time(self, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def next_event(self) -> int | None: ...
    def questions(self, wanted: Sequence[tuple[int, int]]) -> list[tuple[int, bytes, bool]]:
        """Ask for the routers of (port, IP version)."""

    @property
    def routers(self) -> dict[tuple[int, int], bytes]:
        """MAC addresses of the routers that have answered, by (port, IP version)."""

    def expect_answer(self, frame: bytes) -> None:
        """Count from now on the datagrams that come from where this one goes."""

    @property
    def answers(self) -> int: ...
    def forget_answers(self) -> None: ...

class GroupHosts:
    """Hosts of some ports that receive multicast groups (RFC 2236, RFC 3376, RFC 2710, RFC 3810).

    ``version`` is the value of a :class:`p4mesh.traffic.memberships.Version`, ``joins_per_s`` the pace of all ports
    together, ``robustness`` how often each change is reported.
    """

    def __init__(
        self, stations: Sequence[object], version: str, *, joins_per_s: int, robustness: int, seed: int
    ) -> None: ...
    def join(
        self,
        port: int,
        groups: Sequence[IPv4Address | IPv6Address],
        now_ns: int,
        sources: Sequence[IPv4Address | IPv6Address] = (),
        exclude: bool = True,
    ) -> None:
        """Receive groups from ``sources`` alone, or with ``exclude`` from all others."""

    def leave(self, port: int, groups: Sequence[IPv4Address | IPv6Address], now_ns: int) -> None: ...
    def memberships(self, port: int) -> list[IPv4Address | IPv6Address]: ...
    @property
    def pending_changes(self) -> int:
        """Joins and leaves that have not been reported once."""

    @property
    def repeats(self) -> bool:
        """A change waits for its repetition."""

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def on_time(self, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def next_event(self) -> int | None: ...

class Querier:
    """The querier of a multicast router on the port of a station."""

    def __init__(self, station: object, version: str, now_ns: int, *, interval_ns: int, robustness: int) -> None: ...
    def on_frame(self, port: int, frame: bytes, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def on_time(self, now_ns: int) -> list[tuple[int, bytes, bool]]: ...
    def next_event(self) -> int | None: ...

class SimNetwork:
    """A network in virtual time, with a P4Runtime server on its tester between ``serve`` and ``stop``."""

    def __init__(self, config: str) -> None: ...
    def serve(self, address: str = "127.0.0.1:0", device_id: int = 1) -> int: ...
    def stop(self) -> None: ...
    def run_until(self, ps: int, packet_outs: int = 0, timeout_s: float = 60.0) -> tuple[int, int]: ...
    def advance(self, ps: int, packet_outs: int = 0, timeout_s: float = 60.0) -> tuple[int, int]: ...
    def advance_to_packet_in(self, ps: int, packet_outs: int = 0, timeout_s: float = 60.0) -> tuple[int, int]: ...
    def settle(self, max_ps: int, packet_outs: int = 0, timeout_s: float = 60.0) -> tuple[int, int, bool]: ...
    @property
    def now_ps(self) -> int: ...
    @property
    def packet_ins_total(self) -> int: ...
    def in_flight(self) -> int: ...
    def ports(self) -> list[tuple[int, int]]: ...
    def set_link(self, node: str, port: int, up: bool) -> None: ...
    def set_gap_bits(self, node: str, port: int, gap_bits: int) -> None: ...
    def set_bad_fcs(self, port: int, rules: list[tuple[int, int, int]]) -> None: ...
    def set_payload(self, port: int, offsets_bytes: list[int], mark: list[int], counts_behind_bytes: int) -> None: ...
    def damaged_payloads(self) -> list[tuple[int, int]]: ...
    def bad_fcs_counts(self) -> list[tuple[int, int, int]]: ...
    def links(self) -> list[tuple[int, bool, int]]: ...
    def take_refused_routes(self) -> list[tuple[str, int, int, int]]: ...
    def reset_device(self, name: str, off_ps: int = 0) -> None: ...
    def cause_failures(self, count: int) -> int: ...
    def reseed(self, number: int) -> None: ...
    def truth(self) -> dict[str, Any]: ...
    def host_send(self, name: str, port: int, frame: bytes) -> None: ...
    def host_take(self, name: str) -> list[tuple[int, int, bytes]]: ...
    def load_program(self, json: str) -> None: ...
    def packet_out(self, frame: bytes) -> None: ...
    def take_packet_ins(self) -> list[bytes]: ...

def cable_delays(
    near: str, far: str, access: str = "best"
) -> tuple[int, int, tuple[int, int] | None, list[tuple[int, int, int]]]: ...

class LiveSwitch:
    """A switch in wall-clock time on Linux interfaces, or on pcap files when ``use_files_s`` is given."""

    def __init__(
        self,
        interfaces: list[tuple[int, str]],
        program: str | None = None,
        *,
        cpu_port: int | None = 510,
        drop_port: int = 511,
        timestamp_tick_ps: int = 1_000_000,
        use_files_s: float | None = None,
        seed: int = 1,
        access: str = "best",
        own_cores: int = 0,
        beside: list[LiveSwitch] = ...,
        pcap_directory: Path | None = None,
    ) -> None: ...
    @property
    def cores(self) -> tuple[int | None, int | None]: ...
    def ports(self) -> dict[int, str]: ...
    def serve(
        self,
        address: str = "127.0.0.1:0",
        device_id: int = 1,
        tls: tuple[bytes, bytes, bytes | None] | None = None,
        memory_bytes: int = 512 << 20,
    ) -> int: ...
    def trace(self, shown_bytes: int = 0, passes: bool = True) -> None: ...
    def take_trace(self) -> tuple[list[str], int]: ...
    def start(self) -> None: ...
    def wait(self, timeout_s: float) -> bool: ...
    def stop(self) -> None: ...
    def begin_departures(self, stamped: bool) -> None: ...
    def set_payload(self, offsets_bytes: list[int], mark: list[int], counts_behind_bytes: int) -> None: ...
    def damaged_payloads(self) -> dict[int, int]: ...
    def take_pauses(self) -> tuple[int, int]: ...
    def stamps(self) -> dict[int, tuple[str, tuple[int, int, tuple[int, int] | None, list[tuple[int, int, int]]]]]: ...
    def counters(self) -> dict[str, int]: ...
