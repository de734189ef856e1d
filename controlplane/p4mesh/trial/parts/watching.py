"""Lets somebody look at a trial while its streams run, and end it."""

from __future__ import annotations

from p4mesh.measurement.latency_stats import latency_stats
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.onlooker import EndedEarlyError, Look, Onlooker
from p4mesh.trial.parts.base import Part, Sending, Trial


class Watching(Part):
    """The looks of an onlooker."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.onlooker is not None

    def look(self, sending: Sending) -> None:
        onlooker = self.trial.onlooker
        assert onlooker is not None
        at_ns = int(sending.now_ns) - sending.lead_ns
        if onlooker.wants_end():
            sent_s = max(0, at_ns) / NS_PER_S
            raise EndedEarlyError(
                f"ended by the user after {sent_s:.3f} s of {number_text(sending.duration_ns / NS_PER_S)} s; "
                "the counts are those until then"
            )
        if at_ns >= 0 and onlooker.wants_look():
            self._show(onlooker, sending, at_ns)

    def _show(self, onlooker: Onlooker, sending: Sending, at_ns: int) -> None:
        """Show the counters of the ports, which cost the loop nothing, with the latency that was read last."""
        counts = sending.tester.reason_counts()
        sent, received = (
            sum(count for (_, reason), count in counts.items() if reason == wanted)
            for wanted in ("transmitted", "expected")
        )
        found = latency_stats(sending.last_read, sending.tester.tick_ps) if sending.last_read is not None else None
        latency = (found.count, found.sum_ns, found.max_ns) if found else ()
        onlooker.take_look(Look(at_ns, sent, received, *latency))
