"""What a tester transmits, independent of any target: frame templates, patterns and streams.

All rates are exact rationals in frames per second, all sizes are bytes from the first byte of the
destination address to the last byte of the FCS (RFC 2544 section 9, RFC 1242 section 3.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction


class PatternKind(str, Enum):
    """Order in which one source visits its destinations (methodology 0.4)."""

    FULL_MESH = "full_mesh"
    """RFC 2889 5.1.3: ``dst(i, k) = 1 + ((i + (k mod (N-1))) mod N)``; transmit ports = receive ports."""
    ROTATE = "rotate"
    """RFC 2889 5.4: ``dst(i, k) = r[(i - 1 + k) mod K]``; also one-to-many and many-to-one."""
    PAIRS = "pairs"
    """Transmit port i to receive port i only."""
    IN_PHASE = "in_phase"
    """RFC 2544 section 16: every source sends the same sequence r[k mod K]."""
    BROADCAST = "broadcast"
    """Every frame to ff:ff:ff:ff:ff:ff, expected once on every receive port but the source."""
    MULTICAST = "multicast"
    """Every frame to one group address, expected once on every receive port but the source."""


@dataclass(frozen=True)
class FrameTemplate:
    """Headers of a test frame. The payload begins with the 18-byte signature.

    ``ethertype`` 0xFFFF gives plain Ethernet II; ``ip_version`` 4 or 6 gives UDP over IP.
    """

    ip_version: int | None = 4
    vlan_ids: tuple[int, ...] = ()
    udp_source: int = 20001
    udp_destination: int = 20001
    ttl: int = 64
    dscp: int = 0


@dataclass(frozen=True)
class Burst:
    """Bursts of ``frames`` at minimum inter-frame gap; the mean rate is the stream's rate."""

    frames: int


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
    pattern: PatternKind
    tx_ports: tuple[int, ...]
    rx_ports: tuple[int, ...]
    template: FrameTemplate = field(default_factory=FrameTemplate)
    burst: Burst | None = None
    start_offset_ns: tuple[int, ...] = ()
    """Start offset of each transmit port, empty = all 0."""
    priority: int = 0
