"""The loop that seeds circulate in, as a target declares it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.traffic.line_rate import PREAMBLE_BYTES, PS_PER_S, STANDARD_OVERHEAD_BYTES


@dataclass(frozen=True)
class LoopModel:
    """Model of the loop: a recirculation port with a line rate, and the latency of a round."""

    rate_bps: int
    latency_ps: int
    passes_per_s: int | None = None
    """Passes per second that the target can execute at all; None = no limit but the port."""
    headroom: Fraction = Fraction(0)
    """Share of the port's time that streams do not use: on a chip a loop that is full to the last pass is unproved."""

    def pass_ps(self, frame_size_bytes: int) -> Fraction:
        """Time that one pass occupies the recirculation port."""
        wire = Fraction(8 * (frame_size_bytes + STANDARD_OVERHEAD_BYTES) * PS_PER_S, self.rate_bps)
        if self.passes_per_s is None:
            return wire
        return max(wire, Fraction(PS_PER_S, self.passes_per_s))

    def round_ps(self, frame_size_bytes: int) -> Fraction:
        """Time of one round of a lone seed: the gap behind a frame passes while it is on its way."""
        on_wire = Fraction(8 * (frame_size_bytes + PREAMBLE_BYTES) * PS_PER_S, self.rate_bps)
        if self.passes_per_s is not None:
            on_wire = max(on_wire, Fraction(PS_PER_S, self.passes_per_s))
        return self.latency_ps + on_wire
