"""The topology model: the YAML file after ranges are expanded and defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from p4mesh.topology.keys import BgpPeers, LiveSwitch, TofinoSwitch
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

    router_mac: str = ""
    """Address of the router behind the port; empty: the station asks for it."""
    station_mac: bytes = b""
    """Address of the station; empty: that of RFC 4814 4.2."""

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
        """The spelling of the YAML file."""
        return f"{self.node}:{self.port}"


@dataclass(frozen=True)
class Link:
    """A full-duplex cable."""

    ends: tuple[PortRef, PortRef]
    latency_ns: float = 0.0
    """Latency of the cable itself."""
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
    live: LiveSwitch = field(default_factory=LiveSwitch)
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Choices of the user beside the file: ``access``, ``interfaces``."""
    switches: int = 1
    """Switches that the tester is made of, each with an equal run of the ports."""

    @property
    def ports_of_switches(self) -> list[tuple[int, ...]]:
        """Numbers of the tester ports of each switch; of several, the n-th one is port n of its program."""
        numbers = [port.number for port in self.tester_ports]
        share = -(-len(numbers) // self.switches)
        return [tuple(numbers[first : first + share]) for first in range(0, len(numbers), share)]

    @property
    def program_ports(self) -> list[dict[int, int]]:
        """Tester port of each port of the program, for each switch."""
        return [dict(enumerate(ports, 1)) for ports in self.ports_of_switches]

    @property
    def switch_of(self) -> dict[int, int]:
        """Number, from 0, of the switch of each port of a tester of several; empty where there is one."""
        if self.switches == 1:
            return {}
        return {port: switch for switch, ports in enumerate(self.ports_of_switches) for port in ports}
