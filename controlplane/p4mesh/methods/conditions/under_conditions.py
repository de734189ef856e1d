"""Applies conditions to a test: a router as the device, the modifiers of RFC 2544 11 and 12, and IPv6 by RFC 5180.

A condition changes the trials of a test, not the test: it adds background traffic or changes addresses,
and hands back the counts of the test streams alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.layers import IPv4, IPv6, ethernet, ipv4, ipv6
from p4mesh.methods.base import Method, Session, TrialNote, Unit
from p4mesh.methods.composition import Assemble, Case, Extension, Results, Run
from p4mesh.methods.conditions import advertised_networks, protocols
from p4mesh.methods.conditions.background import renamed, without
from p4mesh.methods.conditions.filters import FILTER_1, FILTER_25, denied, filter_tables
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice
from p4mesh.methods.options.shared import frame_of
from p4mesh.methods.port_patterns import PATTERN
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.tester.histogram import FlowName
from p4mesh.tester.stations import station
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.control_frames import management_query, routing_update
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Broadcast, Pairs
from p4mesh.traffic.stream import FieldModifier, PseudoRandom, Stream, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

NONE, BROADCAST, MANAGEMENT, ROUTING = "none", "broadcast", "management", "routing_update"
NETWORKS = "networks"
MODIFIERS = (NONE, BROADCAST, MANAGEMENT, ROUTING, FILTER_1, FILTER_25, NETWORKS)
PARAMETERS: tuple[Parameter, ...] = (
    boolean("routed", False, "RFC 2544 C.2", "the device is a router: its addresses are found by ARP or ND"),
    choice(
        "modifier",
        NONE,
        "RFC 2544 11, 12",
        "1 % broadcast, a query each second, a routing update per trial, 1 or 25 filters, random destinations",
        MODIFIERS,
    ),
    *protocols.PARAMETERS,
)
_BACKGROUND_SHARE = Fraction(1, 100)
_BEFORE_NS = 1_000
"""Time before the first departure at which the controller sends its first frames."""
_UPDATED_NETWORKS = 6
_REACHABLE, _UNREACHABLE = 1, 16
_RANDOM_NETWORKS_IPV4 = ValueList(((0x0A000000 - 0xC6120000) % (1 << 32),))
"""From 198.18.N.2 to 10.0.N.2; the second octet is random then."""
_RANDOM_MAC_MASK = 0xFFFFFF


@dataclass(frozen=True, kw_only=True)
class Queries(Record):
    """Management queries over all trials of a frame size."""

    frame_size_bytes: Annotated[FrameSize, fields.FRAME_SIZE_BYTES]
    asked: Annotated[int, fields.ASKED]
    answered: Annotated[int, fields.ANSWERED]


@dataclass(frozen=True, kw_only=True)
class Conditioned(Record):
    """The result of a unit, and the observations on its background."""

    result: Record = field(metadata=INLINE)
    findings: tuple[str, ...]
    management_queries: tuple[Queries, ...]


class UnderConditions(Extension):
    """Lets a test run on a router, beside other traffic, and under the conditions for IPv6."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        """The parameters of this module that the method does not declare for itself."""
        own = {parameter.name for parameter in method.parameters}
        return tuple(parameter for parameter in PARAMETERS if parameter.name not in own)

    def check(self, case: Case) -> None:
        """Refuse conditions that contradict each other, or that the target or the bed do not allow."""
        protocols.check(case.method.name, case.bed, case.parameters)
        _check(case.method.name, case.parameters)

    def run_unit(self, run: Run, unit: Unit, case: Case, session: Session) -> Record:
        """Measure the unit under the conditions, and keep the observations on the background beside its result."""
        offered = Conditions(session, case.parameters, case.bed.port_numbers)
        result, size = run(offered), unit.frame_size
        return Conditioned(result=result, findings=offered.findings(size), management_queries=offered.queries(size))

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome with the conditions in its tables, findings and deviations."""
        conditioned = {unit: _conditioned(result) for unit, result in results.items()}
        outcome = assemble({unit: each.result for unit, each in conditioned.items()})
        found = [text for each in conditioned.values() for text in each.findings]
        queries = [row for each in conditioned.values() for row in each.management_queries]
        parameters = case.parameters
        tables = (
            *protocols.with_columns(outcome.tables, parameters),
            *_query_tables(queries),
            *filter_tables(case.bed, parameters.text("modifier"), protocols.frame_formats(parameters)),
            *advertised_networks.route_tables(case.bed, parameters),
        )
        headers = protocols.deviations(frame_of(parameters))
        noted = (*_deviations(parameters), *headers, *advertised_networks.deviations(case.bed, parameters))
        return replace(
            outcome,
            tables=tables,
            findings=(*outcome.findings, *found),
            deviations=(*outcome.deviations, *noted),
        )


class Conditions:
    """A session that changes each trial on its way out, and shows the test streams of its result."""

    def __init__(self, session: Session, parameters: ParameterSet, ports: Sequence[int]) -> None:
        self._session = session
        self._parameters = parameters
        self._ports = tuple(ports)
        self._kind = parameters.text("modifier")
        self._trials = 0
        self._asked = self._answered = self._denied = self._passed = 0

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Run one trial under the conditions."""
        offered = self.offered(spec, self._trials)
        self._trials += 1
        background = {stream.name for stream in offered.streams if stream.name.endswith(_suffix(self._kind))}
        judge = note.judge
        if background and judge:
            note = replace(note, judge=lambda found: judge(without(found, background)))
        result = self._session.measure(offered, note)
        self._asked += len(offered.controller_frames)
        self._answered += result.answered_frames
        denied = [flow for flow in result.flows if flow.stream in background]
        self._denied += sum(flow.tx_frames for flow in denied)
        self._passed += sum(flow.rx_frames for flow in denied)
        result = without(result, background) if background else result
        return renamed(result, {part: name for name, parts in self._parts(spec).items() for part in parts})

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Announce the trials as they will be offered."""
        self._session.announce([self.offered(spec, self._trials + n) for n, spec in enumerate(specs)])

    def offered(self, spec: TrialSpec, number: int = 0) -> TrialSpec:
        """The trial that is sent instead of ``spec``, which is trial ``number`` of its unit, counted from 0."""
        streams = tuple(part for parts in self._parts(spec).values() for part in parts.values())
        learning, frames = spec.learning, spec.controller_frames
        if self._kind in (BROADCAST, FILTER_1, FILTER_25):
            streams = tuple(part for stream in streams for part in self._with_background(stream))
        elif self._kind == MANAGEMENT:
            frames = self._queries(spec)
        elif self._kind == ROUTING:
            frames = self._update(spec, number)
        elif self._kind == NETWORKS and not self._parameters.flag("routed"):
            # A bridge cannot have learned 2^24 addresses.
            learning = replace(learning, verify=False)
        return replace(
            spec,
            streams=streams,
            learning=learning,
            controller_frames=frames,
            histogram_flows=self._histogram_flows(spec),
            per_flow=spec.per_flow or len(streams) > len(spec.streams),
        )

    def _parts(self, spec: TrialSpec) -> dict[str, dict[str, Stream]]:
        """The test streams that are sent instead of each stream of ``spec``, by their names."""
        return {stream.name: {part.name: part for part in self._parts_of(stream)} for stream in spec.streams}

    def _parts_of(self, stream: Stream) -> tuple[Stream, ...]:
        if self._parameters.flag("routed"):
            behind = advertised_networks.prefix_bits(self._parameters)
            networks = advertised_networks.count(self._parameters)
            stream = replace(stream, routed=True, advertised_prefix_bits=behind, advertised_networks=networks)
        parts = protocols.mixed(stream, self._parameters.text("ip_mix"))
        if self._kind != NETWORKS:
            return parts
        return tuple(random for part in parts for random in _to_random_networks(part))

    def _histogram_flows(self, spec: TrialSpec) -> tuple[FlowName, ...]:
        """The flows with a histogram, called as they are sent."""
        parts = self._parts(spec)
        return tuple(
            (part.name, tx, rx)
            for name, tx, rx in spec.histogram_flows
            for part in parts[name].values()
            if tx in part.tx_ports
        )

    def findings(self, size: FrameSize) -> tuple[str, ...]:
        if self._kind == MANAGEMENT and self._answered < self._asked:
            return (f"{size} B: the device answered {self._answered} of {self._asked} management queries",)
        if self._kind in (FILTER_1, FILTER_25) and self._passed:
            passed = f"{self._passed} of {self._denied}"
            return (f"{size} B: the device forwarded {passed} frames that its filters should drop",)
        return ()

    def queries(self, size: FrameSize) -> tuple[Queries, ...]:
        """How many management queries were asked and answered, if that was the condition."""
        if self._kind != MANAGEMENT:
            return ()
        return (Queries(frame_size_bytes=size, asked=self._asked, answered=self._answered),)

    def _with_background(self, stream: Stream) -> tuple[Stream, ...]:
        """The stream with every hundredth frame replaced: to all, or from an address that is filtered."""
        count = int(stream.frame_count * _BACKGROUND_SHARE)
        if not count:
            return (stream,)
        rest = replace(
            stream, rate_fps=stream.rate_fps * (1 - _BACKGROUND_SHARE), frame_count=stream.frame_count - count
        )
        other = replace(
            stream,
            name=stream.name + _suffix(self._kind),
            rate_fps=stream.rate_fps * _BACKGROUND_SHARE,
            frame_count=count,
            burst=None,
            may_be_filtered=True,
        )
        if self._kind == BROADCAST:
            to_all = replace(other, pattern=Broadcast(), rx_ports=self._ports)
            return rest, replace(to_all, routed=False, advertised_prefix_bits=0, advertised_networks=0)
        match stream.frame.network:
            case IPv4():
                field = ipv4.SOURCE
            case IPv6():
                field = ipv6.SOURCE
            case _:
                field = ethernet.SOURCE
        return rest, replace(other, modifiers=(FieldModifier(field, ValueList(tuple(denied(self._kind)))),))

    def _queries(self, spec: TrialSpec) -> tuple[ControllerFrame, ...]:
        """One query at the beginning of each second, from the first station."""
        first = spec.streams[0]
        sender = station(first.tx_ports[0])
        if isinstance(first.frame.network, IPv6):
            query = management_query(sender.mac, sender.ipv6, sender.router_ipv6)
        else:
            query = management_query(sender.mac, sender.ipv4, sender.router_ipv4)
        seconds = range(0, spec.duration_ns, NS_PER_S)
        return tuple(ControllerFrame(sender.port, at_ns - _BEFORE_NS, query, to_device=True) for at_ns in seconds)

    def _update(self, spec: TrialSpec, number: int) -> tuple[ControllerFrame, ...]:
        """The update that opens the trial: state A in odd trials, B in even ones."""
        first = spec.streams[0]
        sender = station(first.tx_ports[0])
        metric = _UNREACHABLE if number % 2 else _REACHABLE
        if isinstance(first.frame.network, IPv6):
            networks = [IPv6Network(f"2001:2:ffff:{n}::/64") for n in range(_UPDATED_NETWORKS)]
            update = routing_update(sender.mac, sender.ipv6, networks, metric)
        else:
            nets = [IPv4Network(f"198.19.{200 + n}.0/24") for n in range(_UPDATED_NETWORKS)]
            update = routing_update(sender.mac, sender.ipv4, nets, metric)
        return (ControllerFrame(sender.port, -_BEFORE_NS, update),)


def _conditioned(result: Record) -> Conditioned:
    assert isinstance(result, Conditioned), type(result)
    return result


def _suffix(kind: str) -> str:
    return f"-{kind}"


def _to_random_networks(stream: Stream) -> tuple[Stream, ...]:
    """The stream with destinations over 256 networks per receiver, or over 2^24 MAC addresses each."""
    if stream.routed and isinstance(stream.frame.network, IPv6):
        low = FieldModifier(ipv6.DESTINATION, PseudoRandom(1, 0xFF00))
        return (replace(stream, modifiers=(low,)),)
    if stream.routed:
        base = FieldModifier(ipv4.DESTINATION, _RANDOM_NETWORKS_IPV4)
        network = FieldModifier(ipv4.DESTINATION, PseudoRandom(1, 0x00FF0000))
        return (replace(stream, modifiers=(base, network)),)
    mac = FieldModifier(ethernet.DESTINATION, PseudoRandom(1, _RANDOM_MAC_MASK))
    pairs = zip(stream.tx_ports, stream.rx_ports * (len(stream.tx_ports) // len(stream.rx_ports)), strict=True)
    offsets = stream.start_offset_ns or (0,) * len(stream.tx_ports)
    return tuple(
        replace(
            stream,
            name=f"{stream.name}-{tx}",
            pattern=Pairs(),
            tx_ports=(tx,),
            rx_ports=(rx,),
            start_offset_ns=(offset,) if offset else (),
            modifiers=(mac,),
            destination_mac=station_mac(rx)[:3] + bytes(3),
        )
        for (tx, rx), offset in zip(pairs, offsets, strict=True)
    )


def _check(test: str, parameters: ParameterSet) -> None:
    routed, kind = parameters.flag("routed"), parameters.text("modifier")
    if routed and parameters.text("frame_format") == "ethernet":
        raise ParameterError(f"{test}: routed=true with frame_format=ethernet", hint="use frame_format=ipv4 or ipv6")
    if kind == BROADCAST and parameters.text("frame_format") == "ipv6":
        raise ParameterError(
            f"{test}: modifier=broadcast with frame_format=ipv6, which has no broadcasts (RFC 5180 6)",
            hint="use frame_format=ipv4 or another modifier",
        )
    pattern = parameters.values.get(PATTERN, Pairs.kind)
    if kind == NETWORKS and not routed and pattern != Pairs.kind:
        raise ParameterError(
            f"{test}: modifier=networks with {PATTERN}={pattern} needs a router",
            hint=f"use {PATTERN}={Pairs.kind} or routed=true",
        )


def _deviations(parameters: ParameterSet) -> tuple[str, ...]:
    sentences = {
        NONE: "",
        BROADCAST: "One frame in 100 is a broadcast, in a stream of its own: evenly spaced, its place among the others "
        "not fixed. Counts and rates are those of the test frames, 99 % of the load.",
        MANAGEMENT: "An SNMP query for sysUpTime opens each second, to the router's address, or to the broadcast "
        "address of a bridge.",
        ROUTING: "A RIP or RIPng update opens each trial, in turn state A (reachable) and B (unreachable). Whether the "
        "device has processed it is not verified.",
        FILTER_1: "One frame in 100 comes from an address that the filter must drop. The filter is the user's to "
        "configure; counts and rates are those of the permitted frames, 99 % of the load.",
        FILTER_25: "One frame in 100 comes from one of 24 addresses that the filters must drop. The filters are the "
        "user's to configure; counts and rates are those of the permitted frames, 99 % of the load.",
        NETWORKS: "Random destinations: 256 networks behind each output of a router (10.R.N.0/24, or "
        "2001:2:0:N::R00/120), 2^24 MAC addresses behind each port of a bridge, which floods them.",
    }
    text, mix = sentences[parameters.text("modifier")], parameters.text("ip_mix")
    mixed = f"IPv4 and IPv6 frames {mix}: two streams per direction, each evenly spaced (RFC 5180 7)."
    return (
        *((f"Modifier of RFC 2544 11: {text}",) if text else ()),
        *((mixed,) if mix != protocols.NO_MIX else ()),
    )


def _query_tables(queries: Sequence[Queries]) -> tuple[Table, ...]:
    note = "Over all trials of a frame size: one SNMP query as the first frame of each second (RFC 2544 11.2)."
    return (Queries.table("management_queries", "Management queries", queries, note),) if queries else ()
