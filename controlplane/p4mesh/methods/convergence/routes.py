"""How long the first and the last route take until traffic follows them, after a change of what BGP says.

Each network behind each receiver is a stream of its own; loss over rate is the time in which its frames do not arrive
(the loss-derived method of RFC 6413 4.3). RFC 4098 calls the change an event of the neighbour; RFC 7747 observes it in
the data plane, as here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.measurement.counts import FlowCounts
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, decimal, integer, with_defaults
from p4mesh.methods.port_patterns import MIN_PORTS
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import excluded_ratio, frames_apart
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.routing_event import RoutingChange, RoutingEvent
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

CONVERGENCE = "convergence"
_MOST_NETWORKS = 64
_LIMIT, _AUTO = "time_limit_ms", "auto"
_LIMIT_MS = "2000"
_OWN = (
    *("sustained", "sustained_ppm", "duration_ms", "scaled_frames", "burst_frames", "ppm_below", "start_stagger_us"),
    "vlan_id",
)
_WAITING = 2
"""Frames that may be forwarded between the withdrawal and the gap that it causes."""
_PLACE = (fields.FRAME_SIZE_BYTES, fields.TRIAL)


@dataclass(frozen=True, kw_only=True)
class RouteTime(Record):
    """One route in one trial."""

    tx_port: Annotated[int, fields.TX_PORT]
    rx_port: Annotated[int, fields.RX_PORT]
    network: Annotated[int, fields.NETWORK]
    tx_frames: Annotated[int, retitled(fields.TX_FRAMES, "Sent")]
    rx_frames: Annotated[int, retitled(fields.RX_FRAMES, "Received")]
    time_ms: Annotated[float | None, fields.TIME_MS]
    """None where traffic did not follow the change before the trial was over, or where there is no time to tell."""
    resolution_ms: Annotated[float, retitled(fields.RESOLUTION_MS, "Resolution", digits=3)]
    unready: bool | None = field(default=None, metadata=OMITTED)
    """True where the change cannot be seen: traffic came without it, or did not come before it."""


@dataclass(frozen=True, kw_only=True)
class ChangeTrial(Record):
    """All routes of one trial."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    trial: Annotated[int, fields.TRIAL]
    routes: Annotated[int, fields.ROUTES]
    converged_routes: Annotated[int, fields.CONVERGED_ROUTES]
    first_route_ms: Annotated[float | None, fields.FIRST_ROUTE_MS]
    last_route_ms: Annotated[float | None, fields.LAST_ROUTE_MS]
    average_ms: Annotated[float | None, fields.AVERAGE_MS]
    resolution_ms: Annotated[float, retitled(fields.RESOLUTION_MS, "Resolution", digits=3)]
    state: Annotated[Verdict, fields.STATE]
    """PASS where traffic followed the change on every route."""
    reason: str
    each: tuple[RouteTime, ...]


@dataclass(frozen=True, kw_only=True)
class ChangeUnit(Record):
    """The trials of one frame size."""

    frame_size_bytes: int
    trials: tuple[ChangeTrial, ...]


def _parameters(section: str, time_limit: Parameter | None = None) -> tuple[Parameter, ...]:
    kept = (item for item in shared.trial_parameters(section) if item.name not in _OWN)
    return (
        integer(
            "networks", 8, "networks", section, "networks behind each receiver, a stream each", (1, _MOST_NETWORKS)
        ),
        decimal(
            "stream_fps",
            "1000",
            "frames/s",
            section,
            "rate of a stream; its inverse is the resolution",
            ("1", "1000000"),
        ),
        decimal("traffic_first_ms", "100", "ms", section, "traffic before the change", ("1", "600000")),
        time_limit or decimal(_LIMIT, _LIMIT_MS, "ms", section, "traffic after the change", ("1", "600000")),
        integer("repetitions", 1, "trials", section, "trials of each frame size", (1, 1000)),
        choice("ip", "ipv4", section, "family of the routes", ("ipv4", "ipv6")),
        *(item for item in with_defaults(kept, learning_verify=False) if item.name not in ("frame_format", "headers")),
    )


def _check_times(test: str, parameters: ParameterSet) -> None:
    """Refuse times in which no frame shows the routes, and a flap that is not over in time."""
    rate_fps = parameters.number("stream_fps")
    for name in ("traffic_first_ms", _LIMIT, "flap_ms"):
        given = name in parameters.values and not parameters.is_word(name)
        if given and parameters.number(name) * rate_fps < 1000:
            raise ParameterError(
                f"{test}: {name}={typed_text(parameters.number(name))} is shorter than the distance of two frames, "
                f"{number_text(1000 / rate_fps)} ms",
                hint=f"raise {name} or stream_fps",
            )
    if "flap_ms" in parameters.values and parameters.number("flap_ms") >= parameters.number("time_limit_ms"):
        raise ParameterError(
            f"{test}: flap_ms={typed_text(parameters.number('flap_ms'))}: the trial ends "
            f"{number_text(parameters.number('time_limit_ms'))} ms after the withdrawal, before the announcement",
            hint="raise time_limit_ms, or give a shorter flap_ms",
        )


class RouteChange(MethodOf[ChangeUnit]):
    """The times of one kind of change."""

    part = CONVERGENCE
    change: RoutingChange
    note: str
    unready = "no traffic came on {} before the change"
    """Finding on routes on which the change cannot be seen."""
    frame_sizes_bytes = (128,)

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of each trial."""
        return "traffic follows the change on every route"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds whose stations do not speak BGP, odd numbers of ports, and rates beyond the line."""
        bed.require_ports(self.name, MIN_PORTS)
        if not bed.announces_routes:
            raise TopologyError(
                f"{self.name} needs stations that speak BGP, topology '{bed.topology}' has none",
                hint="add tester.bgp; topologies/router-4x1g-bgp.yaml is an example",
            )
        if len(bed.ports) % 2:
            raise TopologyError(
                f"{self.name} needs an even number of tester ports, topology '{bed.topology}' has {len(bed.ports)}",
                hint="the first half sends, the second half receives",
            )
        if self.change is RoutingChange.LOSS_OF_LINK and not bed.resets_devices:
            raise UnsupportedError(
                f"{self.name} is not supported on {bed.target}: its links cannot be switched off one by one",
                hint="use --target sim, or convergence.silence",
            )
        _check_times(self.name, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return parameters.integer("repetitions")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> ChangeUnit:
        """Measure the trials of one frame size."""
        repetitions = parameters.integer("repetitions")
        trials = []
        for number in range(1, repetitions + 1):
            spec = self.trial(bed, unit.frame_size_bytes, parameters, number)
            result = session.measure(spec, TrialNote(self._load_pct(bed, spec), repetitions - number))
            trials.append(self._row(spec, result, number))
        return ChangeUnit(frame_size_bytes=unit.frame_size_bytes, trials=tuple(trials))

    def trial(self, bed: Bed, size: int, parameters: ParameterSet, number: int) -> TrialSpec:
        """The trial in which the change happens: every network of every receiver is a stream."""
        after_ns, rest_ns = shared.nanoseconds(parameters, "traffic_first_ms"), self._rest_ns(bed, parameters)
        half = len(bed.ports) // 2
        rate_fps, count = parameters.number("stream_fps"), parameters.integer("networks")
        duration_ns = after_ns + rest_ns
        frame = shared.FRAME_FORMATS[parameters.text("ip")]
        streams = tuple(
            Stream(
                name=f"network{network}",
                frame_size_bytes=size,
                rate_fps=rate_fps,
                frame_count=int(rate_fps * duration_ns / NS_PER_S),
                pattern=Pairs(),
                tx_ports=bed.port_numbers[:half],
                rx_ports=bed.port_numbers[half:],
                frame=frame,
                routed=True,
                advertised_networks=count,
                network=network,
            )
            for network in range(count)
        )
        hold_ns = shared.nanoseconds(parameters, "flap_ms") if "flap_ms" in parameters.values else 0
        label = f"{self.change.value} {size} B, {number}"
        return replace(
            shared.trial_of(parameters, label, streams, duration_ns, per_flow=True),
            stop_on_los=self.change is not RoutingChange.LOSS_OF_LINK,
            routing_event=RoutingEvent(self.change, after_ns, hold_ns),
        )

    def _rest_ns(self, bed: Bed, parameters: ParameterSet) -> int:
        """How long traffic runs after the change."""
        return shared.nanoseconds(parameters, _LIMIT)

    def _load_pct(self, bed: Bed, spec: TrialSpec) -> Fraction:
        total = sum((stream.rate_fps for stream in spec.streams), Fraction(0))
        return 100 * total / max_rate_fps(spec.streams[0].frame_size_bytes, bed.slowest_rate_bps)

    def _row(self, spec: TrialSpec, result: TrialResult, number: int) -> ChangeTrial:
        event = spec.routing_event
        assert event is not None
        rates = {stream.name: stream.rate_fps for stream in spec.streams}
        networks = {stream.name: stream.network for stream in spec.streams}
        routes = tuple(self._route(flow, networks[flow.stream], rates[flow.stream], event) for flow in result.flows)
        times = [route.time_ms for route in routes if route.time_ms is not None]
        reached = Verdict.PASS if len(times) == len(routes) else Verdict.FAIL
        return ChangeTrial(
            frame_size_bytes=spec.streams[0].frame_size_bytes,
            trial=number,
            routes=len(routes),
            converged_routes=len(times),
            first_route_ms=min(times, default=None),
            last_route_ms=max(times, default=None),
            average_ms=sum(times) / len(times) if times else None,
            resolution_ms=max((route.resolution_ms for route in routes), default=float(1000 / min(rates.values()))),
            state=reached if result.status.trusted else result.status,
            reason=result.reason,
            each=routes,
        )

    def _route(self, flow: FlowCounts, network: int, rate_fps: Fraction, event: RoutingEvent) -> RouteTime:
        unready = self._is_unready(flow, event)
        time_ms = None if unready else self._time_ms(flow, rate_fps, event)
        apart = 1 if time_ms is None else self._frames_unsure(flow, rate_fps, event)
        # A frame meets the change anywhere on its way, which may take longer than the distance of two frames.
        way_ms = 0.0 if time_ms is None or flow.latency is None else flow.latency.max_ns / NS_PER_MS
        way_ms = way_ms if way_ms * rate_fps > 1000 else 0.0
        return RouteTime(
            tx_port=flow.tx_port,
            rx_port=flow.rx_port,
            network=network,
            tx_frames=flow.tx_frames,
            rx_frames=flow.rx_frames,
            time_ms=None if time_ms is None else float(time_ms),
            resolution_ms=float(apart * 1000 / rate_fps) + way_ms,
            unready=unready or None,
        )

    def _is_unready(self, flow: FlowCounts, event: RoutingEvent) -> bool:
        """Whether no traffic came before the change, which ends or interrupts it."""
        return not flow.rx_frames or flow.first_rx_ns - flow.first_tx_ns > event.after_ns

    @abstractmethod
    def _time_ms(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction | None:
        """The time from the change until traffic follows it; None where it does not."""

    @abstractmethod
    def _frames_unsure(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction:
        """Frames by which that time may be wrong: one, or more where some are lost by chance."""

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, ChangeUnit]) -> Outcome:
        """The first and the last route of each trial, and every route."""
        trials = [trial for unit in results.values() for trial in unit.trials]
        table = ChangeTrial.table(
            CONVERGENCE,
            self.title,
            trials,
            f"{self.note} Resolution: the distance of two frames of a stream, or of more where chance may take some; "
            "and a latency that is longer, as a frame meets the change anywhere on its way.",
            keys=_PLACE,
            headline=(fields.FIRST_ROUTE_MS, fields.LAST_ROUTE_MS),
        )
        every = RouteTime.table(
            "routes_in_detail",
            "Every route",
            [(trial, route) for trial in trials for route in trial.each],
            columns=(*_PLACE, *RouteTime.columns()),
            keys=(*_PLACE, fields.TX_PORT, fields.RX_PORT, fields.NETWORK),
            detail=True,
        )
        half = len(bed.ports) // 2
        return self.outcome(
            (trial.state for trial in trials),
            f"{half} senders, {half} receivers",
            (table, every),
            findings=self._findings(trials),
            deviations=("Times are loss-derived: frames that did not arrive, over the rate of their stream.",),
        )

    def _findings(self, trials: Sequence[ChangeTrial]) -> Iterator[str]:
        for trial in trials:
            place = f"{trial.frame_size_bytes} B, trial {trial.trial}"
            if trial.reason:
                yield f"{place}: {trial.reason}"
            if not trial.state.trusted:
                continue
            if unready := sum(route.unready is True for route in trial.each):
                yield f"{place}: {self.unready.format(f'{unready} of {trial.routes} routes')}"
            if late := sum(route.time_ms is None and not route.unready for route in trial.each):
                yield f"{place}: traffic did not follow the change on {late} of {trial.routes} routes"


class Announcement(RouteChange):
    """Networks are announced while traffic to them already runs."""

    name = "convergence.announcement"
    title = "Convergence after an announcement"
    section = "RFC 4098 4.1, RFC 7747 5.1"
    change = RoutingChange.ANNOUNCEMENT
    note = "From the announcement to the first frame forwarded."
    parameters = _parameters("RFC 7747 5.1")

    unready = "traffic came on {} without the announcement: the device has other routes"

    def _is_unready(self, flow: FlowCounts, event: RoutingEvent) -> bool:
        return flow.rx_frames == flow.tx_frames

    def _time_ms(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction | None:
        if not flow.rx_frames:
            return None
        return flow.lost_frames * 1000 / rate_fps - Fraction(event.after_ns, NS_PER_MS)

    def _frames_unsure(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction:
        """Those lost behind the first frame that came, and as many before it as chance may have taken."""
        way_ns = flow.latency.max_ns if flow.latency else 0.0
        before = round((flow.first_rx_ns - way_ns - flow.first_tx_ns) * float(rate_fps) / NS_PER_S)
        behind = max(0, flow.lost_frames - before)
        return Fraction(behind + frames_apart(behind / max(1, flow.tx_frames - before)))


class _Ending(RouteChange):
    """Traffic ends with the routes."""

    def _time_ms(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction | None:
        if not flow.tail_lost_frames:
            return None
        until_last = flow.tx_frames - flow.tail_lost_frames
        return until_last * 1000 / rate_fps - Fraction(event.after_ns, NS_PER_MS)

    def _frames_unsure(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction:
        """Those that chance may have taken before the end, if it takes as many as until the last one that came."""
        until_last = flow.tx_frames - flow.tail_lost_frames
        return Fraction(frames_apart((flow.lost_frames - flow.tail_lost_frames) / until_last))


class Withdrawal(_Ending):
    """Networks are withdrawn."""

    name = "convergence.withdrawal"
    title = "Convergence after a withdrawal"
    section = "RFC 7747 5.4"
    change = RoutingChange.WITHDRAWAL
    note = "From the withdrawal to the last frame forwarded."
    parameters = _parameters("RFC 7747 5.4")


class LossOfLink(_Ending):
    """The links of the receivers go down."""

    name = "convergence.loss_of_link"
    title = "Convergence after a loss of link"
    section = "RFC 7747 5.2"
    change = RoutingChange.LOSS_OF_LINK
    note = "From the loss of link to the last frame that arrived."
    parameters = _parameters("RFC 7747 5.2")


class Silence(_Ending):
    """The receivers fall silent: BFD, or the hold time without it, has to notice."""

    name = "convergence.silence"
    title = "Detection of a silent neighbour"
    section = "RFC 5880 6.8.4, RFC 7747 5.3"
    change = RoutingChange.SILENCE
    note = "From the last packet of the neighbour to the last frame forwarded: detection by BFD, or by the hold time."
    parameters = _parameters(
        "RFC 5880 6.8.4",
        decimal(
            _LIMIT,
            _AUTO,
            "ms",
            "RFC 5880 6.8.4",
            f"traffic after the change; auto = the detection time by BFD, else the hold time, and 1 s, at least "
            f"{_LIMIT_MS} ms",
            ("1", "600000"),
            (_AUTO,),
        ),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse what every test of this suite refuses, and sessions that nothing ends."""
        super().check(bed, parameters)
        self._rest_ns(bed, parameters)

    def _rest_ns(self, bed: Bed, parameters: ParameterSet) -> int:
        if not parameters.is_word(_LIMIT):
            return super()._rest_ns(bed, parameters)
        if bed.silence_noticed_s is None:
            raise ParameterError(
                f"{self.name}: without BFD and with hold_time_s 0, nobody notices that a station is silent",
                hint=f"give tester.bgp of the topology bfd or a hold time, or give {_LIMIT}",
            )
        return max(int(_LIMIT_MS) * NS_PER_MS, int((bed.silence_noticed_s + 1) * NS_PER_S))


class Flap(RouteChange):
    """Networks are withdrawn and announced again."""

    name = "convergence.flap"
    title = "Convergence after a flap"
    section = "RFC 7747 5.5"
    change = RoutingChange.FLAP
    note = "How much longer traffic was interrupted than the networks were withdrawn."
    parameters = (
        *_parameters("RFC 7747 5.5"),
        decimal("flap_ms", "500", "ms", "RFC 7747 5.5", "from the withdrawal to the announcement", ("1", "600000")),
    )

    def _time_ms(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction | None:
        if flow.rx_frames == flow.tx_frames or flow.tail_lost_frames:
            return None
        return flow.lost_frames * 1000 / rate_fps - Fraction(event.hold_ns, NS_PER_MS)

    def _frames_unsure(self, flow: FlowCounts, rate_fps: Fraction, event: RoutingEvent) -> Fraction:
        """Where frames came between the withdrawal and the last gap, that may be of chance: so may be as many of the
        others as one behind which all came allows.
        """
        if flow.last_gap_tx_ns is None:
            return Fraction(1)
        until_gap = (flow.last_gap_tx_ns - flow.first_tx_ns) * rate_fps / NS_PER_S
        between = until_gap - event.after_ns * rate_fps / NS_PER_S - flow.lost_frames
        if between <= _WAITING:
            return Fraction(1)
        behind = max(Fraction(1), flow.tx_frames - until_gap)
        by_chance = Fraction(excluded_ratio(0, float(behind))) * (flow.tx_frames - flow.lost_frames)
        return 1 + min(by_chance, Fraction(flow.lost_frames))
