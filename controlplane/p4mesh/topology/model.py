"""The topology model: the YAML file after ranges are expanded and defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from p4mesh.traffic.line_rate import own_line_rate_bps

TESTER = "tester"
"""Name of the tester in links."""


@dataclass(frozen=True)
class TesterPort:
    """One port of the tester."""

    number: int
    name: str
    rate_bps: int
    ifg_bits: int = 96
    clock_offset_ppm: float = 0.0
    start_skew_ns: int = 0
    """Delay of this port's start behind the other ports, as on a chassis without a common start."""
    options: dict[str, Any] = field(default_factory=dict)
    """Rare keys as in the YAML file: stamp offsets, padding, PAUSE, bad FCS."""
    device_port: int | None = None
    """Its number on a Tofino."""
    role: str = ""
    """Role in the set-up; ports with the same role can be named together."""
    layer: str = ""
    """Layer of the network that the port belongs to."""
    interface: str = ""
    """The machine's interface that the port is on Linux; empty: one that P4Mesh makes."""

    @property
    def own_rate_bps(self) -> int:
        """Line rate by the port's own clock."""
        return own_line_rate_bps(self.rate_bps, self.clock_offset_ppm)


@dataclass(frozen=True)
class Loop:
    """The recirculation port in which seed frames circulate."""

    rate_bps: int
    latency_ns: float


@dataclass(frozen=True)
class FrontLoop:
    """A front port of a Tofino in loopback."""

    device_port: int
    rate_bps: int


@dataclass(frozen=True)
class FrontPort:
    """Set-up of a front port of a Tofino."""

    fec: str = "none"
    """``none``, ``firecode`` or ``reed_solomon``."""
    autonegotiation: str = "default"
    """``default``, ``on`` or ``off``."""
    lanes: int | None = None
    """None: as many as its rate usually has."""


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM with which the controller meets a server that uses TLS."""

    ca: str | None = None
    """Authorities of the server's certificate; None: those that gRPC knows."""
    certificate: str | None = None
    key: str | None = None
    server_name: str = ""
    """Name in the server's certificate; empty: the host of the address."""


@dataclass(frozen=True)
class TofinoSwitch:
    """The switch that runs the tester on target ``tofino``."""

    chip: str
    """``tofino1`` or ``tofino2``."""
    address: str
    """HOST:PORT of its server."""
    api: str = "p4runtime"
    """``p4runtime`` or ``bfrt``."""
    device_config: str = ""
    """Path of the compiled program in the server's form, with P4Runtime."""
    program: str = "p4mesh"
    """Name of the program that bf_switchd runs, with BF Runtime."""
    cpu_interface: str = ""
    """Network interface of the CPU port, with BF Runtime."""
    request_timeout_s: float = 30.0
    """Longest time for the answer to a request, with BF Runtime."""
    port_settings: Mapping[int, FrontPort] = field(default_factory=dict)
    """Set-up by device port, with BF Runtime; others have the defaults."""
    pipes: int | None = None
    """None: as many as the usual chip has."""
    device_id: int = 1
    election_id: int = 1
    loop_latency_ns: float | None = None
    """None: what the chip is taken to have."""
    front_loops: tuple[FrontLoop, ...] = ()
    pipe_frames_per_s: int = 1_000_000_000
    """Frames that a pipe passes in each gress."""
    bad_fcs: bool = False
    tls: TlsFiles | None = None
    """None: the connection to the server is not encrypted."""


@dataclass(frozen=True)
class LiveSwitch:
    """The engine that runs the tester on target ``live``."""

    access: str = "best"
    """How interfaces are reached: ``af_xdp``, ``af_packet``, or the best that the kernel has."""
    passes_per_s: int | None = None
    """Passes that the machine manages; None: what is usual."""


@dataclass(frozen=True)
class BgpPeers:
    """Sessions of the stations of routed streams with their routers (RFC 4271); each station has an AS of its own."""

    first_as: int
    """AS of the station on port 1; the others follow."""
    router_as: int
    hold_time_s: int = 90
    bfd_interval_ms: int | None = None
    """None: no BFD (RFC 5880) beside the sessions."""
    bfd_multiplier: int = 3
    wait_s: float = 1.0
    """Time from the last announcement to the start of streams."""


@dataclass(frozen=True)
class DevicePort:
    """One port of a device under test."""

    number: int
    rate_bps: int
    ifg_bits: int = 96
    queue_frames: int = 1024
    clock_offset_ppm: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Device:
    """One device under test: a model of the engine with its parameters, units in their names."""

    name: str
    device: str
    ports: tuple[DevicePort, ...]
    model: dict[str, Any] = field(default_factory=dict)
    on_linux: str = ""
    """The part that stands for it on Linux interfaces; empty: the usual part of its model."""


@dataclass(frozen=True)
class PortRef:
    """One end of a link: ``tester`` or a device name, and a port number."""

    node: str
    port: int

    def __str__(self) -> str:
        """Return the spelling of the YAML file."""
        return f"{self.node}:{self.port}"


@dataclass(frozen=True)
class Link:
    """A full-duplex cable."""

    ends: tuple[PortRef, PortRef]
    latency_ns: float = 0.0
    """Of the cable itself."""
    bit_errors_per_1e15: int = 0
    outages: tuple[dict[str, Any], ...] = ()
    """Losses of link in simulated time, as the YAML file has them."""
    line_code: str = "none"
    """Forward error correction, as ``rs_544_514``."""
    line_code_ns: float = 0.0
    """Latency that the line code adds in each direction."""


@dataclass(frozen=True)
class Topology:
    """A complete test set-up."""

    name: str
    description: str
    source: str
    """Path of the file, as the user gave it."""
    text: str
    """Content of the file, kept for the configuration echo."""
    clock_tick_ps: int
    seed: int
    loop: Loop
    tester_ports: tuple[TesterPort, ...]
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    notes: dict[str, str] = field(default_factory=dict)
    """Notes of the report on the set-up: device, cables, operator and others, in the order of the file."""
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters of tests on this set-up, as ``key=value`` per test; the user's own come first."""
    tofino: TofinoSwitch | None = None
    bgp: BgpPeers | None = None
    live: LiveSwitch = LiveSwitch()
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Choices of the user beside the file: ``access``, ``interfaces``."""
