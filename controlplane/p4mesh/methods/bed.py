"""Describes the test set-up to methods: the tester's ports in configuration order."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.traffic.line_rate import STANDARD_IFG_BYTES, own_line_rate_bps
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.calibration import Calibration


@dataclass(frozen=True)
class Port:
    """One tester port: its number in streams and results, its name for people, its line rate."""

    number: int
    name: str
    rate_bps: int
    ifg_bits: int = 8 * STANDARD_IFG_BYTES
    attached_to: str = ""
    """Node at the other end of the cable."""
    pads_short_frames: bool = True
    """Whether frames below 64 bytes leave with padding, as on most hardware."""
    clock_offset_ppm: float = 0.0
    """Known offset of its clock from nominal."""
    role: str = field(default="", metadata={"stored": "if set"})
    """Role of the port in the set-up, from the topology."""
    layer: str = field(default="", metadata={"stored": "if set"})
    """Layer of the network that the port belongs to, from the topology."""

    @property
    def own_rate_bps(self) -> int:
        """Line rate by the port's own clock: 100 % of its load."""
        return own_line_rate_bps(self.rate_bps, self.clock_offset_ppm)


@dataclass(frozen=True)
class TimeStamps:
    """Resolution and kind of the tester's time stamps."""

    resolution_ns: Fraction
    kind: StampKind = StampKind.FIRST_BIT


@dataclass(frozen=True)
class Bed:
    """The ports of one topology. Their order is the order 1..N of methodology 0.4."""

    topology: str
    ports: tuple[Port, ...]
    uplink_rate_bps: int = 0
    """Rate of all links between devices together; 0 without such links."""
    target: str = "sim"
    sends_bad_fcs: bool = False
    """Whether the ports of the target can send frames with a wrong frame check sequence."""
    unmeasured: tuple[str, ...] = ()
    """Columns of tables that the target does not measure."""
    compares_payload: bool = field(default=True, metadata={"stored": "if set"})
    """Whether the target compares payloads with what was sent."""
    sums_payload: bool = field(default=False, metadata={"stored": "if set"})
    """Whether it does so by a sum of 16 bits that covers the signature, too."""
    stamps: TimeStamps = TimeStamps(Fraction(1))
    histograms: int = 256
    """Largest number of histograms in a trial."""
    calibration: Calibration | None = None
    """Latencies of wires, shown beside measured latencies."""
    unsupported_headers: tuple[tuple[str, ...], ...] = ()
    """Chains of IPv6 extension headers that the tester cannot measure behind."""
    stamps_controller_frames: bool = True
    """Whether the tester keeps when a frame of the controller leaves, such as the report of a host."""
    tunnels: bool = field(default=True, metadata={"stored": "if set"})
    """Whether the tester sends and receives frames in GRE tunnels."""
    stream_per_size: bool = field(default=False, metadata={"stored": "if set"})
    """Whether the tester needs a stream for each frame size."""
    ends_tunnels: bool = field(default=True, metadata={"stored": "if set"})
    """Whether a device under test may be the end of tunnels: one with a program, or one that the topology does not
    describe."""
    resets_devices: bool = True
    """Whether devices under test can be reset without a reset command from the user."""
    reset_times_s: tuple[tuple[str, float], ...] = ()
    """Simulated devices that can be reset, and the time that a reset takes."""
    failures: int = field(default=0, metadata={"stored": "if set"})
    """Failures of the devices that a test can cause."""
    wires: tuple[tuple[int, int], ...] = field(default=(), metadata={"stored": "if set"})
    """Ports of the tester that are linked to each other."""
    announces_routes: bool = field(default=False, metadata={"stored": "if set"})
    """Whether stations tell their routers by BGP which networks are behind them."""
    silence_noticed_s: float | None = field(default=None, metadata={"stored": "if set"})
    """Time within which stations and routers notice each other's silence; None where there are no sessions, or where
    nobody notices."""
    routes_back_s: float | None = field(default=None, metadata={"stored": "if set"})
    """Time within which a router that has lost its sessions has their routes again; None where stations have no
    sessions, or do not notice."""

    @property
    def defines_latency(self) -> bool:
        """Whether latency has a definition of RFC 1242, from which the others follow: its first bits are known.

        A stamp of an egress parser is a constant before the first bit, and a measurement over wires gives the constant.
        """
        kind = self.stamps.kind
        return kind is StampKind.FIRST_BIT or (kind is StampKind.PARSER and self.calibration is not None)

    @property
    def keeps_departures(self) -> bool:
        """Whether the MAC keeps when a frame leaves, behind the stamp that the frame has from the program."""
        return self.stamps.kind is StampKind.PARSER and self.stamps_controller_frames

    @property
    def port_numbers(self) -> tuple[int, ...]:
        """Port numbers in configuration order."""
        return tuple(port.number for port in self.ports)

    def rate_bps(self, number: int) -> int:
        """Nominal line rate of one port, in bit/s."""
        return next(port.rate_bps for port in self.ports if port.number == number)

    @property
    def slowest_rate_bps(self) -> int:
        """Lowest line rate of all ports in bit/s, by their own clocks: 100 % of a load that every one must carry."""
        return min(port.own_rate_bps for port in self.ports)

    @property
    def mixed_rates(self) -> bool:
        """Whether ports have different nominal line rates."""
        return len({port.rate_bps for port in self.ports}) > 1

    def require_port(self, parameter: str, number: int) -> int:
        """The port that a parameter names; raises ParameterError where there is none."""
        if number not in self.port_numbers:
            raise ParameterError(
                f"{parameter}={number}: topology '{self.topology}' has no such port",
                hint=f"ports are {self.port_numbers[0]} to {self.port_numbers[-1]}",
            )
        return number

    def require_ports(self, test: str, minimum: int) -> None:
        """Raise TopologyError when the pattern of ``test`` needs more ports than there are."""
        if len(self.ports) < minimum:
            raise TopologyError(
                f"{test} needs at least {minimum} tester ports, topology '{self.topology}' has {len(self.ports)}",
                hint="add ports under tester.ports and links for them",
            )

    def common_rate_bps(self, test: str) -> int:
        """The rate that every port can send: the nominal line rate by the slowest clock.

        Raises TopologyError when nominal line rates differ.
        """
        rates = sorted({port.rate_bps for port in self.ports})
        if len(rates) > 1:
            listed = ", ".join(f"{rate} bit/s" for rate in rates)
            raise TopologyError(
                f"{test} needs tester ports of one line rate, topology '{self.topology}' has {listed}",
                hint="give every entry of tester.ports the same rate_bps",
            )
        return self.slowest_rate_bps
