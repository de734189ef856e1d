"""RFC 3918 4.4: throughput of devices that put multicast frames into tunnels, take them out, or do both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from ipaddress import AddressValueError, IPv4Address

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.layers.frame import TUNNEL_BYTES
from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, boolean, integer, text
from p4mesh.methods.options.shared import HEADERS
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.rfc3918.searching import COPIES, CopiesThroughput, CopiesUnit, search_of_copies
from p4mesh.methods.rfc3918.setup import MULTICAST, Setup, setup_parameters, trial_parameters, verify_parameter
from p4mesh.traffic.addresses import station_ipv4
from p4mesh.traffic.line_rate import NS_PER_S, max_rate_fps, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec

_CLAUSE = "RFC 3918 4.4"
_MAX_TUNNELS = 32
_ENDS = ("tunnel_source", "tunnel_destination")
_ADDRESSED_PORTS = 255
"""RFC 2544 C.2.2 has a network for each of them."""


@dataclass(frozen=True, kw_only=True)
class TunnelUnit(CopiesUnit):
    """The throughput of one original frame size."""

    offered_size_bytes: int
    forwarded_size_bytes: int
    method: str
    tunnels: int
    groups: int
    members: int
    theoretical_pct: float
    """Load at which an output is full."""


class TunnelThroughput(CopiesThroughput[TunnelUnit]):
    """Share of the three tests; frame sizes are those without a tunnel."""

    part = table = "tunnels"
    clause = _CLAUSE
    method: str
    sends_tunnels: bool
    """The source sends frames in tunnels that end at the device."""
    receives_tunnels: bool
    """The device sends each copy in a tunnel that ends at the egress port."""
    parameters = (
        *setup_parameters(_CLAUSE),
        boolean("joins", False, _CLAUSE, "hosts join the groups; false: the device has fixed routes of them"),
        verify_parameter(),
        integer("tunnels", 1, "tunnels", _CLAUSE, "tunnels of the source, each with its groups", (1, _MAX_TUNNELS)),
        text(
            "tunnel_source",
            _CLAUSE,
            "address of the source's end of its first tunnel, the others follow; empty = the port's own address",
        ),
        text(
            "tunnel_destination",
            _CLAUSE,
            "address of the device's end of these tunnels; empty = the router of the port's network",
        ),
        # The frames are in tunnels of their own.
        *(item for item in trial_parameters(_CLAUSE) if item.name != HEADERS),
        *shared.search_parameters(_CLAUSE),
    )
    columns = (
        retitled(fields.FRAME_SIZE_BYTES, "Original frame size"),
        fields.OFFERED_SIZE_BYTES,
        fields.FORWARDED_SIZE_BYTES,
        fields.METHOD,
        fields.TUNNELS,
        fields.GROUPS,
        fields.MEMBERS,
        fields.LOAD_PCT,
        retitled(fields.OFFERED_FPS, "Throughput"),
        fields.THEORETICAL_PCT,
        *COPIES,
    )
    note = (
        f"GRE over IPv4 adds {TUNNEL_BYTES} bytes. Loads are of the frames that the source offers. At the line rate of "
        "an output the frames that it forwards fill its line."
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse targets without tunnels, beds with too few ports, groups and tunnels that do not fit together."""
        if not bed.tunnels:
            raise UnsupportedError(
                f"{self.name} is not supported on {bed.target}: its program does not know frames in GRE tunnels",
                hint="use --target sim, live or bmv2",
            )
        if not bed.ends_tunnels:
            raise TopologyError(
                f"{self.name} needs a device with GRE tunnels, topology '{bed.topology}' has none",
                hint="use a node of device p4, as in topology p4-tunnels-4ports",
            )
        super().check(bed, parameters)
        if parameters.flag("joins") and self.receives_tunnels:
            raise ParameterError(
                f"joins=true: {self.name} has no hosts, its egress ports are ends of tunnels",
                hint="use joins=false, and fixed routes of the groups in the device",
            )
        self._check_tunnels(bed, parameters)

    def _check_tunnels(self, bed: Bed, parameters: ParameterSet) -> None:
        given = [name for name in _ENDS if parameters.text(name)]
        if not self.sends_tunnels:
            if given or parameters.integer("tunnels") != 1:
                raise ParameterError(
                    f"{given[0] if given else 'tunnels'}: the source of {self.name} sends no tunnels",
                    hint="leave tunnels, tunnel_source and tunnel_destination out",
                )
            return
        for name in given:
            try:
                valid = not IPv4Address(parameters.text(name)).is_multicast
            except AddressValueError:
                valid = False
            if not valid:
                raise ParameterError(
                    f"--set {name}={parameters.text(name)}: not valid", hint=f"{name} is the IPv4 address of an end"
                )
        if parameters.integer("source_port") > _ADDRESSED_PORTS and len(given) < len(_ENDS):
            raise ParameterError(
                f"source_port={parameters.integer('source_port')}: ports above {_ADDRESSED_PORTS} have no network",
                hint=f"set {' and '.join(_ENDS)}",
            )
        if parameters.integer("groups") % parameters.integer("tunnels"):
            raise ParameterError(
                f"groups={parameters.integer('groups')} do not fill tunnels={parameters.integer('tunnels')} alike",
                hint="use a multiple of the tunnels",
            )

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> TunnelUnit:
        """Search the throughput of one frame size; 100 % is the line rate of the frames that are offered."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        offered, forwarded = self.offered_size_bytes(size), size + TUNNEL_BYTES * self.receives_tunnels
        return TunnelUnit(
            frame_size_bytes=size,
            offered_size_bytes=offered,
            forwarded_size_bytes=forwarded,
            method=self.method,
            tunnels=parameters.integer("tunnels") if self.sends_tunnels else 0,
            groups=parameters.integer("groups"),
            members=len(setup.receivers),
            theoretical_pct=_output_limit_pct(offered, forwarded, setup.line_rate_bps),
            search=search_of_copies(setup, offered, session, partial(self._trial, setup, offered)),
        )

    def about(self, bed: Bed, parameters: ParameterSet) -> str:
        return f"port {parameters.integer('source_port')} to {len(Setup(bed, parameters).receivers)} ports"

    def offered_size_bytes(self, size: int) -> int:
        return size + TUNNEL_BYTES * self.sends_tunnels

    def _trial(self, setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
        streams = self._streams(setup, size, rate_at_pct(load, size, setup.line_rate_bps), duration_ns)
        label = f"{self.method} {size} B {float(load):.4f} %"
        spec = shared.trial_of(setup.parameters, label, streams, duration_ns, watch_queues=True)
        if not setup.parameters.flag("joins"):
            return spec
        verify = setup.parameters.flag("joins_verify")
        return replace(spec, memberships=setup.memberships(setup.groups(), verify=verify))

    def _streams(self, setup: Setup, size: int, rate_fps: Fraction, duration_ns: int) -> tuple[Stream, ...]:
        """A stream for each tunnel of the source, whose frames alternate; one where it sends none."""
        tunnels = self._tunnels(setup)
        rate = rate_fps / len(tunnels)
        count = max(1, tx_frames(duration_ns, rate))
        each = setup.parameters.integer("groups") // len(tunnels)
        groups = GroupRange(setup.first_group, each * len(tunnels)).groups
        return tuple(
            Stream(
                f"{MULTICAST} {place + 1}" if len(tunnels) > 1 else MULTICAST,
                size,
                rate,
                count,
                Multicast((GroupRange(str(groups[place * each]), each, setup.receivers),)),
                (setup.source,),
                setup.receivers,
                setup.frame.in_tunnel(*tunnel) if tunnel else setup.frame,
                start_offset_ns=(round(place * NS_PER_S / rate_fps),) if place else (),
                routed=tunnel is not None,
                received_in_tunnel=self.receives_tunnels,
            )
            for place, tunnel in enumerate(tunnels)
        )

    def _tunnels(self, setup: Setup) -> list[tuple[IPv4Address, IPv4Address] | None]:
        if not self.sends_tunnels:
            return [None]
        given = setup.parameters
        first = IPv4Address(given.text("tunnel_source") or station_ipv4(setup.source))
        # Host 1 of the network is the device (RFC 2544 C.2.2).
        end = IPv4Address(given.text("tunnel_destination") or station_ipv4(setup.source, 1))
        return [(first + place, end) for place in range(given.integer("tunnels"))]


class Encapsulation(TunnelThroughput):
    """Multicast encapsulation throughput."""

    name = "rfc3918.encapsulation"
    title = "Multicast encapsulation throughput"
    section = "RFC 3918 4.4.1"
    method, sends_tunnels, receives_tunnels = "encapsulation", False, True


class Decapsulation(TunnelThroughput):
    """Multicast decapsulation throughput."""

    name = "rfc3918.decapsulation"
    title = "Multicast decapsulation throughput"
    section = "RFC 3918 4.4.2"
    method, sends_tunnels, receives_tunnels = "decapsulation", True, False


class Reencapsulation(TunnelThroughput):
    """Multicast re-encapsulation throughput."""

    name = "rfc3918.reencapsulation"
    title = "Multicast re-encapsulation throughput"
    section = "RFC 3918 4.4.3"
    method, sends_tunnels, receives_tunnels = "re-encapsulation", True, True


def _output_limit_pct(offered: int, forwarded: int, rate_bps: int) -> float:
    share: Fraction = max_rate_fps(forwarded, rate_bps) / max_rate_fps(offered, rate_bps)
    return float(min(100 * share, Fraction(100)))
