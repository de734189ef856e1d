"""Lets the streams of a plan run: load, start, wait with what features do meanwhile, end, last reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from p4mesh.target.base import Pauses
from p4mesh.tester.reading import Reading
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.onlooker import EndedEarlyError
from p4mesh.trial.parts.base import Part, Sending

_CATCH_UP_ATTEMPTS = 50
_LINK_LOOK_NS = 100_000_000
"""Distance of the looks at the links while streams run."""


@dataclass(frozen=True)
class Observed:
    """The last reading of streams, and what happened while they ran."""

    reading: Reading
    link_losses: Mapping[int, int]
    """Number of times that the link of each port went down."""
    pauses: Pauses
    """Pauses of the departures."""


class Transmission:
    """One transmission of the streams of a plan, from their start to the last reading."""

    def __init__(self, sending: Sending, settle_ns: int, parts: Sequence[Part]) -> None:
        self.plan = sending.plan
        self._sending = sending
        self._tester = sending.tester
        self._links = sending.links
        self._settle_ns = settle_ns
        self._parts = parts
        self._ended_early = False
        self._pauses = Pauses()
        self._observed: Observed | None = None

    def run(self) -> None:
        """Start the streams and let their time pass; raises LinkLostError where they must not go on."""
        tester, sending = self._tester, self._sending
        for part in self._parts:
            part.begin(sending)
        tester.load(self.plan)
        for part in self._parts:
            part.loaded(sending)
        tester.arm()
        sending.lead_ns = tester.start()
        sending.began_ns = tester.elapsed_ns
        sending.end_ns = sending.lead_ns + self._longest_ns() + 2 * self.plan.round_ns
        for part in self._parts:
            part.started(sending)
        try:
            self._wait()
        except EndedEarlyError:
            self._ended_early = True
            raise
        finally:
            tester.packets.cancel()
        self._await_last_departure()
        self._pauses = tester.target.take_pauses()

    def end(self) -> Observed:
        """Stop the streams, wait for frames on their way, and return what was observed; the same when asked again."""
        if self._observed is not None:
            return self._observed
        tester = self._tester
        settle_ns = max(self._settle_ns, tester.target.capabilities.drops_shown_after_ns)
        if self._ended_early:
            tester.stop()
        tester.drain()
        tester.stop()
        tester.drain()
        tester.wait(settle_ns)
        tester.packets.serve()
        reading = tester.read()
        # Where frames in flight are not known, silence must be at least twice the largest latency seen.
        wanted_ns = 2 * int(reading.records["latency_max"].max()) * tester.tick_ps // 1000
        if tester.target.capabilities.real_time and wanted_ns > settle_ns:
            tester.wait(wanted_ns - settle_ns)
            reading = tester.read()
        for part in self._parts:
            part.ended(self._sending, reading)
        self._observed = Observed(reading, self._links.losses(), self._pauses)
        return self._observed

    def _longest_ns(self) -> int:
        """Nanoseconds from the start to the last departure: those of the trial, and of a burst that it cuts into.

        A stream of more frames than fit does not make the trial longer: it did not send what was asked for.
        """
        streams = [planned.stream for planned in self.plan.streams]
        offsets_ns = [max((0, *stream.start_offset_ns)) for stream in streams]
        whole_ns = self._sending.duration_ns + max(offsets_ns, default=0)
        ends_ns = [
            min(
                offset_ns + ceil((stream.frame_count - 1) * NS_PER_S / stream.rate_fps),
                whole_ns + ceil((stream.burst_frames - 1) * NS_PER_S / stream.rate_fps),
            )
            for stream, offset_ns in zip(streams, offsets_ns, strict=True)
        ]
        scheduled_ns = [
            ceil((clock.first_ticks + clock.span_ticks(planned.stream.frame_count)) * self._tester.tick_ps / 1000)
            for planned in self.plan.streams
            if (clock := planned.clock).longer_by_ticks
        ]
        return max((whole_ns, *ends_ns, *scheduled_ns))

    def _wait(self) -> None:
        """Wait to the end, with looks and what is due meanwhile; time that this takes counts."""
        sending = self._sending
        while (left_ns := sending.end_ns - sending.now_ns) > 0:
            self._links.require_links()
            for part in self._parts:
                part.look(sending)
            due = [(part.due_ns, part) for part in self._parts if part.due_ns is not None]
            late = [part for due_ns, part in due if due_ns <= sending.now_ns]
            if late:
                late[0].act(sending)
                continue
            self._tester.wait(min(left_ns, _LINK_LOOK_NS, *(due_ns - sending.now_ns for due_ns, _ in due)))
        self._links.require_links()

    def _await_last_departure(self) -> None:
        """Give a target on the wall clock, which may run late, time to catch up."""
        capabilities = self._tester.target.capabilities
        if not capabilities.real_time:
            return
        intended = sum(t.frames for stream in self.plan.streams for t in stream.transmitters)
        for _ in range(_CATCH_UP_ATTEMPTS):
            if self._tester.frames("transmitted") >= intended:
                return
            self._tester.wait(capabilities.scheduling_jitter_ns)
