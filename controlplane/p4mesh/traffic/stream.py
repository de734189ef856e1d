"""Defines streams independent of any target: bursts, modifiers and streams.

All rates are exact rationals in frames per second, all sizes are bytes from the first byte of the
destination address to the last byte of the FCS (RFC 2544 section 9, RFC 1242 section 3.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from p4mesh.layers import UDP_OVER_IPV4, Frame, Modifiable
from p4mesh.traffic.addresses import OwnAddresses
from p4mesh.traffic.arrivals import OnOff, Poisson, Profile, Recorded
from p4mesh.traffic.patterns.base import USUAL_GROUP, Pattern

MIN_BURST_FRAMES, MAX_BURST_FRAMES = 1, 930
"""Burst sizes of RFC 2889 5.1.2."""


COUNTING = bytes(range(256))
"""Pattern of a payload that counts up (methodology 0.2)."""


@dataclass(frozen=True)
class Burst:
    """Bursts of ``frames``; the mean rate is the stream's rate."""

    frames: int
    rate_fps: Fraction | None = field(default=None, metadata={"stored": "if set"})
    """Rate within a burst; None: that of the line, with the minimum gap. Slots fit into the distance of two bursts: the
    rate is higher than this by less than a slot in it."""


@dataclass(frozen=True)
class Progression:
    """Adds 0, ``step``, 2 ``step``, ... and starts again after ``count`` values.

    ``step`` may be negative; the sum is a signed number of 32 bits.
    """

    count: int
    step: int = 1


@dataclass(frozen=True)
class ValueList:
    """Adds the values in turn, each below 2^48."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class PseudoRandom:
    """Adds CRC-32 of (seed, step) under ``mask``, and starts again after ``count`` values."""

    seed: int
    mask: int
    count: int = 1 << 32


@dataclass(frozen=True)
class FieldModifier:
    """Changes one field from frame to frame, on each transmit port by itself."""

    field: Modifiable
    values: Progression | ValueList | PseudoRandom


MOST_STREAMS = 256
"""Streams of a program (p4src/include/sizes.p4)."""
FEWEST_MODIFIERS, MAX_MODIFIERS = 2, 4
"""Modifiers of one stream: of every program, which transmitters name, and of the program that has most."""
MAX_ADDRESSES_PER_PORT = 1024


@dataclass(frozen=True)
class Stream:
    """One stream: the same frame size, rate and pattern on every transmit port.

    Ports are the tester port numbers of the topology, in configuration order, which is the order
    1..N of methodology 0.4.
    """

    name: str
    frame_size_bytes: int
    rate_fps: Fraction
    """Frames per second of *each* transmit port."""
    frame_count: int
    """Frames that each transmit port sends: ``floor(duration * rate)``."""
    pattern: Pattern
    tx_ports: tuple[int, ...]
    rx_ports: tuple[int, ...]
    frame: Frame = UDP_OVER_IPV4
    """Headers; the payload begins with the 18-byte signature."""
    burst: Burst | None = None
    arrivals: Poisson | OnOff | Profile | Recorded | None = field(default=None, metadata={"stored": "if set"})
    """Times of departures; None: evenly spaced, or the bursts."""
    start_offset_ns: tuple[int, ...] = ()
    """Start offset of each transmit port, empty = all 0."""
    priority: int = 0
    """Queue of the transmit port, 0 to 7, larger is more urgent."""
    modifiers: tuple[FieldModifier, ...] = ()
    """Fields that change from frame to frame, up to MAX_MODIFIERS."""
    addresses_per_port: int = 1
    """MAC addresses behind each port, consecutive from the station's: 1, 2, 4, ... 1024 (RFC 2889 5.1.2). Each frame
    has a pseudo-random source and destination of them, in an unchanged order of ports; this takes two modifiers."""
    source_mac: bytes | None = None
    """Address instead of the station's; for streams with one transmit port."""
    destination_mac: bytes | None = None
    """Address instead of the station's; for streams with one receive port."""
    received_at_any_address: bool = field(default=False, metadata={"stored": "if set"})
    """Its frames are expected at their port with any destination MAC address: a device may change it."""
    bad_fcs: bool = False
    """Every frame leaves with a frame check sequence that does not fit; only where the port can do it."""
    multicast_group: str = field(init=False, repr=False, compare=False, default=USUAL_GROUP)
    """First group of the pattern ``multicast``; a part of what is stored of every stream."""
    keeps_departures: bool = field(default=False, metadata={"stored": "if set"})
    """The MAC keeps when its last frames leave; only where it can (:attr:`Bed.keeps_departures`)."""
    may_be_filtered: bool = False
    """The device is meant to drop these frames, or another stream goes to the same addresses: learning is verified
    without them."""
    routed: bool = False
    """Frames go to the device as to a router: to its MAC address on each transmit port, which a trial asks for
    before it begins, with the IP address of the receiver. Frames to many are routed in a tunnel only."""
    received_in_tunnel: bool = field(default=False, metadata={"stored": "if set"})
    """The device sends frames to many to each receiver in a tunnel, which ends at the station of its port."""
    advertised_prefix_bits: int = 0
    """Destinations of a routed stream are hosts behind the receivers, in IPv6 networks of this prefix length (or IPv4
    networks of 24 bits) that the device has a route to; 0 = the receivers themselves."""
    advertised_networks: int = field(default=0, metadata={"stored": "if set"})
    """Networks behind each receiver with destinations of a routed stream; each sender uses one of them. 0 = the one of
    ``advertised_prefix_bits``, or the receivers themselves."""
    network: int = field(default=0, metadata={"stored": "if set"})
    """Number of the network (below ``advertised_networks``) in which a receiver is reached by the sender of its own
    place. The sender n places behind uses network ``(network + n) mod advertised_networks``."""
    router_macs: tuple[bytes, ...] = ()
    """MAC addresses of the routers, one per transmit port; filled in by the trial when they have answered."""
    own_addresses: tuple[OwnAddresses, ...] = field(default=(), metadata={"stored": "if set"})
    """Stations whose addresses follow those of their routers; filled in by the trial, as the MAC addresses are."""
    traffic_class: str = field(default="", metadata={"stored": "if set"})
    """Class of the stream: streams of one class can share one histogram."""
    sizes_in_turn_bytes: tuple[int, ...] = field(default=(), metadata={"stored": "if set"})
    """Frame sizes of each transmit port, one after the other and again from the first; ``frame_size_bytes`` is the
    largest. Each destination gets all of them in as many of its frames. Empty = ``frame_size_bytes`` alone."""

    payload: bytes = field(default=COUNTING, metadata={"stored": "if set"})
    """Bytes behind the signature, again and again. Ports that compare payloads leave it where one does not count up."""

    def __post_init__(self) -> None:
        """Take the group from the pattern, which alone knows it."""
        object.__setattr__(self, "multicast_group", self.pattern.first_group)

    @property
    def has_own_lists(self) -> bool:
        """Whether every transmit port has a destination list of its own: the MAC addresses of its router differ."""
        return len(set(self.router_macs)) > 1

    @property
    def lists_differ(self) -> bool:
        """Whether the destinations of a frame depend on its transmit port."""
        return self.has_own_lists or self.advertised_networks > 0

    @property
    def frame_sizes_bytes(self) -> tuple[int, ...]:
        """Every size of its frames, in their order."""
        return self.sizes_in_turn_bytes or (self.frame_size_bytes,)

    @property
    def mean_frame_bytes(self) -> Fraction:
        """The mean size of its frames."""
        return Fraction(sum(self.frame_sizes_bytes), len(self.frame_sizes_bytes))

    @property
    def burst_frames(self) -> int:
        """Frames of a burst; 1 without bursts."""
        return self.burst.frames if self.burst else 1

    @property
    def address_version(self) -> int:
        """IP version of the addresses between which it goes: 4 for frames without IP."""
        return self.frame.network.version if self.frame.network else 4

    def as_sent(self) -> Stream:
        """Form in which the tester sends this stream: patterns may choose start offsets."""
        return replace(self, pattern=self.pattern.sent_as, start_offset_ns=self.pattern.start_offsets_ns(self))
