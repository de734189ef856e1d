"""The flows of a configuration on the tester: start, stop, pause and resume at any time, and their counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from p4mesh.errors import OtgError, UnsupportedError, UsageError
from p4mesh.measurement.counting import count
from p4mesh.measurement.counts import FlowCounts
from p4mesh.otg.flows import Flow
from p4mesh.otg.interfaces import Interface
from p4mesh.tester.instrument import Tester
from p4mesh.tester.plan import Plan

_PS_PER_S = 10**12
GatewayMac = Callable[[Interface], bytes | None]


class Transmit(str, Enum):
    """State of the transmission of a flow, as the API names it."""

    STARTED = "started"
    STOPPED = "stopped"
    PAUSED = "paused"


@dataclass
class FlowRun:
    """One flow while it is loaded."""

    flow: Flow
    transmit: Transmit = Transmit.STOPPED
    begun: bool = False
    """Whether it has been started since it was loaded."""
    ending: int = 0
    """Frames that it will have sent when it has ended."""
    counts: tuple[FlowCounts, ...] = ()
    """One per stream, as they were read last."""
    before: tuple[FlowCounts, ...] = ()
    """Counts of the time before it was started again."""

    @property
    def frames_tx(self) -> int:
        """Frames sent since it was loaded."""
        return sum({found.stream: found.tx_frames for found in self.counts}.values())


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
            item.stream.name: float(item.start_offset_error_ticks * self._tester.tick_ps) / _PS_PER_S
            for item in self._plan.streams
        }
        warnings = []
        for place, run in enumerate(self.runs.values()):
            error_s = max(late_s[name] for name in run.flow.stream_names)
            if error_s * sum(stream.rate_fps for stream in run.flow.streams) > 1:
                warnings.append(
                    f"flows[{place}] has frames that leave up to {error_s:.3g} s from their time, in another order"
                )
        return warnings

    def load(self) -> None:
        """Load the flows in place of those before; counts begin at 0."""
        if self._plan is not None:
            self._tester.load(self._plan)
        for run in self.runs.values():
            run.begun, run.counts, run.before = False, (), ()

    def start(self, names: Sequence[str]) -> None:
        """Start flows, by default all; those that run go on.

        Flows that have run before begin anew: their counts begin at 0, except for latencies where others have counts.
        """
        chosen = [run for run in self._chosen(names) if run.transmit is Transmit.STOPPED]
        self._address(chosen)
        again = [run for run in chosen if run.begun]
        if again and all(run in again for run in self.runs.values() if run.begun):
            self.load()
        else:
            for run in again:
                self._renew(run)
        for run in chosen:
            run.begun = True
            run.ending = run.frames_tx + sum(stream.frame_count for stream in run.flow.streams)
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
        counted = count(self._plan, reading, self._tester.tick_ps, per_flow=True).flows
        by_stream = {name: tuple(found) for name, found in groupby(counted, key=lambda item: item.stream)}
        for run in self.runs.values():
            run.counts = tuple(found for name in run.flow.stream_names for found in by_stream[name])
            if run.transmit is Transmit.STARTED and run.frames_tx >= run.ending:
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
        self.load()

    def _renew(self, run: FlowRun) -> None:
        run.before = run.counts
        self._tester.renew(*run.flow.stream_names)

    def _begin(self, runs: Sequence[FlowRun]) -> None:
        names = [name for run in runs for name in run.flow.stream_names]
        if names:
            self._tester.arm(*names)
            self._tester.wait(self._tester.start(*names))
        for run in runs:
            run.transmit = Transmit.STARTED

    def _end(self, runs: Sequence[FlowRun], state: Transmit) -> None:
        names = [name for run in runs if run.transmit is Transmit.STARTED for name in run.flow.stream_names]
        if names:
            self._tester.stop(*names)
        for run in runs:
            run.transmit = state

    def _chosen(self, names: Sequence[str]) -> list[FlowRun]:
        if unknown := [name for name in names if name not in self.runs]:
            raise OtgError(f"'{unknown[0]}' is no flow", hint=f"valid: {', '.join(self.runs) or 'none is configured'}")
        return [self.runs[name] for name in names] if names else list(self.runs.values())


def _plan(tester: Tester, flows: Sequence[Flow]) -> Plan:
    """Plan flows; raises OtgError that names the flow which the tester cannot send, where it is one alone."""
    try:
        return tester.plan([stream for flow in flows for stream in flow.streams])
    except (UsageError, UnsupportedError) as error:
        failure = error
    for place, flow in enumerate(flows):
        try:
            tester.plan(flow.streams)
        except (UsageError, UnsupportedError) as error:
            raise OtgError(f"flows[{place}] cannot be sent: {error.message}", hint=error.hint) from None
    raise OtgError(f"flows cannot be sent together: {failure.message}", hint=failure.hint)
