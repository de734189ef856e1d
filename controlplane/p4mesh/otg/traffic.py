"""The flows of a configuration on the tester: start, stop, pause and resume at any time, and their counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any

from p4mesh.errors import OtgError, UnsupportedError, UsageError
from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import FlowCounts
from p4mesh.otg.egress_tags import ranges_of
from p4mesh.otg.flows import Flow
from p4mesh.otg.interfaces import Interface
from p4mesh.quantities import number_text
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan
from p4mesh.tester.told_apart import with_numbers
from p4mesh.traffic.line_rate import PS_PER_S

_ARRIVAL_NS = 10_000_000
"""Time that frames get to arrive before flows are loaded anew."""
GatewayMac = Callable[[Interface], bytes | None]
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "rate": {"rate_fps": Fraction(1), "frame_count": 1, "burst": None},
    "size": {"frame_size_bytes": 512, "sizes_in_turn_bytes": ()},
    "packet": {"frame": UDP_OVER_IPV4, "modifiers": ()},
}
"""Properties of streams that any tester sends, by the parts of a flow: with those of the part that is at fault, it can
be sent."""


class Transmit(str, Enum):
    """State of the transmission of a flow, as the API names it."""

    STARTED = "started"
    STOPPED = "stopped"
    PAUSED = "paused"


@dataclass(frozen=True)
class Counted:
    """Counts of a flow from one loading to the next."""

    flow: Flow
    counts: tuple[FlowCounts, ...]
    before: tuple[FlowCounts, ...]
    """Counts of the time before it was started again."""


@dataclass
class FlowRun:
    """One flow while it is loaded."""

    flow: Flow
    transmit: Transmit = Transmit.STOPPED
    begun: bool = False
    """Whether it has been started since it was loaded."""
    due: Mapping[str, int] = field(default_factory=dict)
    """Frames that each stream will have sent when the flow has ended, by the names of the streams."""
    counts: tuple[FlowCounts, ...] = ()
    """One per stream, as they were read last."""
    before: tuple[FlowCounts, ...] = ()
    """Counts of the time before it was started again."""
    earlier: tuple[Counted, ...] = ()
    """Counts of the loadings since it was started; flows beside it were changed in between."""

    @property
    def counted(self) -> tuple[Counted, ...]:
        """All counts since it was started."""
        return (*self.earlier, Counted(self.flow, self.counts, self.before))

    @property
    def sent(self) -> Mapping[str, int]:
        """Frames that each stream has sent since it was loaded."""
        return dict.fromkeys(self.flow.stream_names, 0) | {found.stream: found.tx_frames for found in self.counts}

    @property
    def left(self) -> Mapping[str, int]:
        """Frames that each stream has still to send."""
        return {name: max(0, frames - self.sent[name]) for name, frames in self.due.items()}

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the streams that have frames to send."""
        return tuple(name for name, frames in self.due.items() if frames)

    def follow(self, old: FlowRun) -> None:
        """Keep the counts of a run of the flow before it was changed, and send what is left of that.

        What is left of a flow whose number of frames has changed, as its rate has, is the same part of it.
        """
        self.begun, self.earlier, self.transmit = True, old.counted, old.transmit
        counts = {stream.name: stream.frame_count for stream in self.flow.streams}
        if counts == {stream.name: stream.frame_count for stream in old.flow.streams}:
            self.due = old.left
        else:
            left = sum(old.left.values()) * sum(counts.values()) // sum(item.frame_count for item in old.flow.streams)
            whole, more = divmod(left, len(counts))
            self.due = {name: whole + (place < more) for place, name in enumerate(counts)}
        if not self.active:
            self.transmit = Transmit.STOPPED


class Traffic:
    """Flows that are loaded side by side."""

    def __init__(self, tester: Tester, flows: Sequence[Flow], gateway_mac: GatewayMac) -> None:
        """Plan the flows; raises the error of one that the tester cannot send. Nothing is loaded yet.

        ``gateway_mac`` tells the MAC address of a gateway, once that is known.
        """
        self.runs = {flow.name: FlowRun(flow) for flow in flows}
        self._tester = tester
        self._gateway_mac = gateway_mac
        self._plan = _plan(tester, flows) if flows else None
        self._is_shortened = False
        """Whether flows are loaded with the frames that were left of them."""

    @property
    def is_running(self) -> bool:
        """Whether any flow transmits."""
        return any(run.transmit is Transmit.STARTED for run in self.runs.values())

    @property
    def warnings(self) -> list[str]:
        """Facts that a client is to know of the flows: which have frames that leave out of their turn."""
        if self._plan is None:
            return []
        late_s = {
            item.stream.name: float(item.start_offset_error_ticks * self._tester.tick_ps) / PS_PER_S
            for item in self._plan.streams
        }
        warnings = []
        for place, run in enumerate(self.runs.values()):
            error_s = max(late_s[name] for name in run.flow.stream_names)
            if error_s * sum(stream.rate_fps for stream in run.flow.streams) > 1:
                warnings.append(
                    f"flows[{place}] has frames that leave up to {number_text(error_s, 3)} s from their time, in "
                    "another order"
                )
        return warnings

    def load(self) -> None:
        """Load the flows in place of those before; counts begin at 0."""
        if self._plan is not None:
            self._tester.load(self._plan)
        for run in self.runs.values():
            run.begun, run.counts, run.before, run.earlier = False, (), (), ()

    def take_over(self, other: Traffic) -> None:
        """Load the flows in place of another traffic's, of whose flows those of the same names go on.

        They are interrupted for a moment, until their frames have arrived, and keep their counts.
        """
        other.read()
        going = [run for run in other.runs.values() if run.transmit is Transmit.STARTED]
        other.stop([run.flow.name for run in going])
        self._tester.wait(_ARRIVAL_NS)
        self._tester.drain()
        other.read()
        for old in going:
            old.transmit = Transmit.STARTED
        for name, run in self.runs.items():
            old_run = other.runs.get(name)
            if old_run is not None and old_run.begun:
                run.flow = run.flow.addressed(self._gateway_mac)
                run.follow(old_run)
        shortened = [_shortened(run) if run.begun else run.flow for run in self.runs.values()]
        self._is_shortened = True
        if self._plan is not None:
            self._plan = _plan(self._tester, shortened)
            self._tester.load(self._plan)
        self._begin([run for run in self.runs.values() if run.transmit is Transmit.STARTED])

    def start(self, names: Sequence[str]) -> None:
        """Start flows, by default all; those that run go on.

        Flows that have run before begin anew: their counts begin at 0, except for latencies where others have counts.
        """
        chosen = [run for run in self._chosen(names) if run.transmit is Transmit.STOPPED]
        self._address(chosen)
        again = [run for run in chosen if run.begun]
        if again and self._is_shortened:
            self._load_anew(again)
            chosen = [self.runs[run.flow.name] for run in chosen]
        elif again and all(run in again for run in self.runs.values() if run.begun):
            self.load()
        else:
            for run in again:
                self._renew(run)
        for run in chosen:
            run.begun = True
            run.due = {stream.name: run.sent[stream.name] + stream.frame_count for stream in run.flow.streams}
        self._begin([*chosen, *(run for run in self._chosen(names) if run.transmit is Transmit.PAUSED)])

    def resume(self, names: Sequence[str]) -> None:
        """Let flows go on that are paused."""
        self._begin([run for run in self._chosen(names) if run.transmit is Transmit.PAUSED])

    def stop(self, names: Sequence[str]) -> None:
        """End flows, by default all."""
        self._end(self._chosen(names), Transmit.STOPPED)

    def pause(self, names: Sequence[str]) -> None:
        """Interrupt flows that run, by default all."""
        self._end([run for run in self._chosen(names) if run.transmit is Transmit.STARTED], Transmit.PAUSED)

    def read(self) -> None:
        """Read the counts of all flows; flows that have sent all their frames have ended."""
        if self._plan is None:
            return
        reading = self._tester.read()
        by_stream: dict[str, list[FlowCounts]] = {}
        for found in count(with_numbers(self._plan, reading), reading, self._tester.tick_ps, per_flow=True).flows:
            by_stream.setdefault(found.stream, []).append(found)
        for run in self.runs.values():
            run.counts = tuple(found for name in run.flow.stream_names for found in by_stream[name])
            if run.transmit is Transmit.STARTED and not any(run.left.values()):
                self._end([run], Transmit.STOPPED)

    def _address(self, runs: Sequence[FlowRun]) -> None:
        """Send flows to the gateways of their devices; raises OtgError where one is not known."""
        addressed = {run.flow.name: run.flow.addressed(self._gateway_mac) for run in runs}
        if all(run.flow == addressed[run.flow.name] for run in runs):
            return
        if self.is_running:
            raise OtgError("the gateways of flows are known since others run", hint="stop them, and start all together")
        for run in runs:
            run.flow = addressed[run.flow.name]
        self._plan = _plan(self._tester, [run.flow for run in self.runs.values()])
        self._is_shortened = False
        self.load()

    def _load_anew(self, again: Sequence[FlowRun]) -> None:
        """Load these flows with all their frames, and the others with what is left of them."""
        before = Traffic(self._tester, (), self._gateway_mac)
        before.runs, before._plan = self.runs, self._plan
        self.runs = {name: FlowRun(run.flow) for name, run in self.runs.items()}
        for run in again:
            run.begun = False
        self.take_over(before)

    def _renew(self, run: FlowRun) -> None:
        run.before = run.counts
        self._tester.renew(*run.flow.stream_names)

    def _begin(self, runs: Sequence[FlowRun]) -> None:
        names = [name for run in runs for name in run.active]
        if names:
            self._tester.arm(*names)
            self._tester.wait(self._tester.start(*names))
        for run in runs:
            run.transmit = Transmit.STARTED

    def _end(self, runs: Sequence[FlowRun], state: Transmit) -> None:
        running = [run for run in runs if run.transmit is Transmit.STARTED]
        names = [name for run in running for name in run.active]
        if names:
            self._tester.stop(*names)
        for run in runs:
            run.transmit = state

    def _chosen(self, names: Sequence[str]) -> list[FlowRun]:
        if unknown := [name for name in names if name not in self.runs]:
            raise OtgError(f"'{unknown[0]}' is no flow", hint=f"valid: {', '.join(self.runs) or 'none is configured'}")
        return [self.runs[name] for name in names] if names else list(self.runs.values())


def _shortened(run: FlowRun) -> Flow:
    """The flow with what is left of its frames; a stream of which nothing is left is not started."""
    first_ns = min(max(stream.start_offset_ns, default=0) for stream in run.flow.streams)
    return replace(
        run.flow,
        streams=tuple(
            replace(
                stream,
                frame_count=max(1, run.due[stream.name]),
                start_offset_ns=tuple(offset_ns - first_ns for offset_ns in stream.start_offset_ns),
            )
            for stream in run.flow.streams
        ),
    )


def _plan(tester: Tester, flows: Sequence[Flow]) -> Plan:
    """Plan flows; raises OtgError that names the flow which the tester cannot send, where it is one alone."""
    try:
        return _planned(tester, flows)
    except (UsageError, UnsupportedError) as error:
        failure = error
    for place, flow in enumerate(flows):
        if refused := _failure(tester, flow, {}):
            part = next((f".{key}" for key, usual in _USUAL.items() if not _failure(tester, flow, usual)), "")
            raise OtgError(f"flows[{place}]{part} cannot be sent: {refused.message}", hint=refused.hint)
    raise OtgError(f"flows cannot be sent together: {failure.message}", hint=failure.hint)


def _failure(tester: Tester, flow: Flow, changes: Mapping[str, Any]) -> UsageError | UnsupportedError | None:
    """Why a flow cannot be sent alone with changed streams; None where it can."""
    try:
        _planned(tester, [replace(flow, streams=tuple(replace(stream, **changes) for stream in flow.streams))])
    except (UsageError, UnsupportedError) as error:
        return error
    return None


def _planned(tester: Tester, flows: Sequence[Flow]) -> Plan:
    told_apart = {name: ranges_of(flow.egress_tags) for flow in flows for name in flow.stream_names}
    return tester.plan([stream for flow in flows for stream in flow.streams], told_apart=told_apart)
