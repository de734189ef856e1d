"""RFC 3918 6.1, 6.2 and 8.2: the time that a device takes to forward a group that is joined, and to end one that is
left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.measurement.counts import FlowCounts
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, decimal, integer
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import frames_apart
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.methods.rfc3918.latency import BASELINE, BURDENED
from p4mesh.methods.rfc3918.setup import MULTICAST, Setup, burden_parameters, setup_parameters, trial_parameters
from p4mesh.quantities import most_text, typed_text
from p4mesh.traffic.line_rate import NS_PER_S, NS_PER_US, max_rate_fps, serialization_ns
from p4mesh.traffic.memberships import MembershipChange, report_bytes
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

METHOD_A, METHOD_B = "A", "B"
_OWN = ("duration_ms", "scaled_frames", "groups", "robustness")


@dataclass(frozen=True, kw_only=True)
class DelayRow(Record):
    """The delay of one egress port."""

    part: Annotated[str, retitled(fields.PART, "Trial")]
    method: Annotated[str, fields.METHOD]
    port: Annotated[int, retitled(fields.PORT, "Egress port")]
    delay_us: Annotated[float | None, fields.DELAY_US]
    """None where the device did not begin, or end, to forward the group."""
    resolution_us: Annotated[float, fields.RESOLUTION_US]
    """Distance of two frames of the group, or of so many as may be lost before one comes: the true delay is up to this
    much smaller (join) or larger (leave)."""
    rate_fps: Annotated[float, retitled(fields.RATE_FPS, "Group stream")]
    burden_pct: Annotated[float | None, fields.BURDEN_PCT]
    state: Annotated[Verdict, fields.STATE]
    """PASS where the delay was seen."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class DelayUnit(Record):
    """The delays of one frame size."""

    frame_size_bytes: int
    rows: tuple[DelayRow, ...]


def _delay_parameters(clause: str, limit_ms: str = "1000") -> tuple[Parameter, ...]:
    kept = (item for item in (*setup_parameters(clause), *trial_parameters(clause)) if item.name not in _OWN)
    return (
        *kept,
        decimal(
            "stream_fps",
            "10000",
            "frames/s",
            clause,
            "rate of the group; its inverse is the resolution",
            ("1", "1000000000"),
        ),
        decimal("traffic_first_ms", "10", "ms", clause, "traffic before the reports", ("0.001", "600000")),
        decimal("delay_limit_ms", limit_ms, "ms", clause, "traffic after the last report", ("0.001", "600000")),
    )


class GroupJoinDelay(MethodOf[DelayUnit]):
    """Group join delay."""

    name = "rfc3918.join_delay"
    title = "Group join delay"
    terms = "IGMP, MLD"
    section = "RFC 3918 6.1"
    part = "delay"
    joins = True
    parts: tuple[str, ...] = (BASELINE,)
    parameters: tuple[Parameter, ...] = (
        *_delay_parameters("RFC 3918 6.1"),
        choice(
            "join_method",
            METHOD_A,
            "RFC 3918 6.1",
            "A: no port has joined, one egress port per trial; B: the last egress port has joined before",
            (METHOD_A, METHOD_B),
        ),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of each trial."""
        return (
            "the traffic of a group begins after its join"
            if self.joins
            else "the traffic of a group ends after its leave"
        )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse targets that keep no time of reports, beds with too few ports, and rates beyond the line."""
        if not bed.stamps_controller_frames:
            raise UnsupportedError(
                f"{self.name} is not supported on {bed.target}: its program does not keep when a report leaves",
                hint="use --target sim, live or bmv2, or a Tofino with BF Runtime and without a profile",
            )
        setup = self._setup(bed, parameters)
        setup.check(self.name, 2 if self._method(parameters) == METHOD_B else 1)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(self.parts)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> DelayUnit:
        """Measure the delay of every egress port: without, then with burden."""
        setup, size = self._setup(bed, parameters), unit.frame_size_bytes
        limit = max_rate_fps(size, setup.line_rate_bps)
        if parameters.number("stream_fps") > limit:
            raise ParameterError(
                f"stream_fps={typed_text(parameters.number('stream_fps'))} is above the line rate",
                hint=f"a port sends at most {most_text(limit)} frames/s of {size} bytes",
            )
        rows: list[DelayRow] = []
        plan = [(part, *ports) for part in self.parts for ports in self._trials(setup)]
        for place, (part, egress, before) in enumerate(plan, start=1):
            spec = self._spec(setup, size, part, egress, before)
            load = 100 * parameters.number("stream_fps") / limit
            result = session.measure(spec, TrialNote(load, len(plan) - place))
            rows += self._rows(setup, size, part, egress, result)
        return DelayUnit(frame_size_bytes=size, rows=tuple(rows))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, DelayUnit]) -> Outcome:
        """The delays; PASS iff every one was seen."""
        units = list(results.values())
        state = Verdict.worst(row.state for unit in units for row in unit.rows)
        event = "first bit of the first frame" if self.joins else "last bit of the last frame"
        note = (
            f"From the last bit of the report, by its time stamp in the data plane, to the {event} of the group. "
            "The resolution is the distance of two frames of the group, or of more where some are lost by chance."
        )
        rows = [(unit, row) for unit in units for row in unit.rows]
        columns = (fields.FRAME_SIZE_BYTES, *DelayRow.columns())
        keys = (fields.FRAME_SIZE_BYTES, fields.PART, fields.PORT)
        headline = (fields.DELAY_US, fields.STATE)
        table = DelayRow.table("delay", self.title, rows, note, columns=columns, keys=keys, headline=headline)
        return Outcome(
            state,
            f"{self.title} with {parameters.text('protocol')}, {state.value}",
            (table,),
            (),
            tuple(text for unit in units for text in self._findings(unit)),
            ("Each membership is reported once, so that one report is measured.",),
        )

    def _setup(self, bed: Bed, parameters: ParameterSet) -> Setup:
        return Setup(bed, parameters, BURDENED in self.parts)

    def _method(self, parameters: ParameterSet) -> str:
        return parameters.text("join_method")

    def _trials(self, setup: Setup) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The egress ports of each trial, and those that have joined before."""
        if self._method(setup.parameters) == METHOD_A:
            return [((port,), ()) for port in setup.receivers]
        return [(setup.receivers[:-1], setup.receivers[-1:])]

    def _spec(self, setup: Setup, size: int, part: str, egress: tuple[int, ...], before: tuple[int, ...]) -> TrialSpec:
        given = setup.parameters
        rate = given.number("stream_fps")
        first_ns, limit_ns = (shared.nanoseconds(given, name) for name in ("traffic_first_ms", "delay_limit_ms"))
        pacing_ns = len(egress) * NS_PER_S // given.integer("joins_per_s")
        duration_ns = first_ns + pacing_ns + limit_ns
        groups = setup.groups(1, (*egress, *before))
        stream = setup.stream(size, rate, max(2, int(duration_ns * rate / NS_PER_S)), groups)
        change = MembershipChange(first_ns, egress, joins=self.joins)
        memberships = setup.memberships(groups, verify=True, change=change, robustness=1)
        burden = setup.burden(size, duration_ns) if part == BURDENED else ()
        label = f"{self.title.lower()} {size} B ports {', '.join(map(str, egress))} {part}"
        return setup.trial(label, (stream, *burden), duration_ns, memberships, per_flow=True)

    def _rows(
        self, setup: Setup, size: int, part: str, egress: tuple[int, ...], result: TrialResult
    ) -> Iterator[DelayRow]:
        flows = {flow.rx_port: flow for flow in result.flows if flow.stream == MULTICAST}
        stamps = {port.port: port.controller_tx_ns for port in result.ports}
        rate = setup.parameters.number("stream_fps")
        for port in egress:
            status, reason, delay_ns = result.status, result.reason, None
            stamp_ns, flow = stamps.get(port), flows.get(port)
            if status.trusted:
                if stamp_ns is None or flow is None:
                    status, reason = Verdict.INVALID, f"when port {port} sent its report was not kept"
                else:
                    told_ns = stamp_ns + serialization_ns(report_bytes(setup.version), setup.bed.rate_bps(port))
                    delay_ns, reason = self._delay_ns(setup, size, flow, told_ns)
                    seen = Verdict.FAIL if delay_ns is None else Verdict.PASS
                    status = Verdict.INVALID if reason else seen
            yield DelayRow(
                part=part,
                method=self._method(setup.parameters),
                port=port,
                delay_us=None if delay_ns is None else float(delay_ns / NS_PER_US),
                resolution_us=float(self._frames_apart(flow, rate) * NS_PER_S / rate / NS_PER_US),
                rate_fps=float(rate),
                burden_pct=float(setup.parameters.number("burden_load_pct")) if part == BURDENED else None,
                state=status,
                reason=reason,
            )

    def _delay_ns(self, setup: Setup, size: int, flow: FlowCounts, told_ns: Fraction) -> tuple[Fraction | None, str]:
        """B - A, None where no frame came; and the reason where the trial cannot be trusted."""
        if not flow.rx_frames:
            return None, ""
        if flow.first_rx_ns < told_ns:
            return None, (
                f"port {flow.rx_port} received the group before it had joined: the device floods groups without "
                "members, or has missed a leave"
            )
        return flow.first_rx_ns - told_ns, ""

    def _frames_apart(self, flow: FlowCounts | None, rate: Fraction) -> int:
        """Frames of the group one of which shows the device's answer (95 %), where some are lost by chance."""
        if flow is None or not flow.rx_frames:
            return 1
        sent = self._answered(flow, rate)
        lost = min(1 - 1 / sent, max(0.0, 1 - (flow.rx_frames - flow.duplicate_frames) / sent))
        return frames_apart(lost)

    def _answered(self, flow: FlowCounts, rate: Fraction) -> int:
        """Frames sent while the device forwarded the group: those behind the first one that came."""
        way_ns = flow.latency.min_ns if flow.latency else 0.0
        before = round((flow.first_rx_ns - way_ns - flow.first_tx_ns) * float(rate) / NS_PER_S)
        return max(1, flow.tx_frames - before)

    def _findings(self, unit: DelayUnit) -> Iterator[str]:
        for row in unit.rows:
            where = f"{unit.frame_size_bytes} B, port {row.port}, {row.part}"
            if not row.state.trusted:
                yield f"{row.state.value} trial, {where}: {row.reason}"
            elif row.delay_us is None:
                done = "did not begin" if self.joins else "did not end"
                yield f"{where}: the device {done} to forward the group"


class GroupLeaveDelay(GroupJoinDelay):
    """Group leave delay."""

    name = "rfc3918.leave_delay"
    title = "Group leave delay"
    terms = "IGMP, MLD"
    section = "RFC 3918 6.2"
    joins = False
    parameters = (
        # Hosts that stay have 2 s to answer (RFC 3376 8.8, 8.9).
        *_delay_parameters("RFC 3918 6.2", "3000"),
        integer("ports_together", 1, "ports", "RFC 3918 6.2", "egress ports that leave in one trial", (1, 511)),
    )

    def _method(self, parameters: ParameterSet) -> str:
        return "-"

    def _trials(self, setup: Setup) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        ports, together = setup.receivers, setup.parameters.integer("ports_together")
        return [(ports[place : place + together], ()) for place in range(0, len(ports), together)]

    def _delay_ns(self, setup: Setup, size: int, flow: FlowCounts, told_ns: Fraction) -> tuple[Fraction | None, str]:
        """B - A, None where frames came to the end; negative where the last frame was on its way before."""
        if not flow.rx_frames:
            return None, f"port {flow.rx_port} has received nothing of the group that it had joined"
        if not flow.tail_lost_frames:
            return None, ""
        last_bit_ns = flow.last_rx_ns + serialization_ns(size, setup.bed.rate_bps(flow.rx_port))
        return last_bit_ns - told_ns, ""

    def _answered(self, flow: FlowCounts, rate: Fraction) -> int:
        """Those up to the last one that came."""
        return max(1, flow.tx_frames - flow.tail_lost_frames)


class BurdenedJoinDelay(GroupJoinDelay):
    """Group join delay while other ports send unicast."""

    name = "rfc3918.burdened_join_delay"
    title = "Forwarding burdened group join delay"
    section = "RFC 3918 8.2"
    parts = (BASELINE, BURDENED)
    parameters = (*GroupJoinDelay.parameters, *burden_parameters("RFC 3918 8.2"))
