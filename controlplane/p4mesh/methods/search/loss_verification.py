"""Binary search with loss verification: ETSI GS NFV-TST 009 12.3.3, RFC 9004 section 6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.verdict import Verdict


@dataclass(frozen=True)
class LossVerification:
    """A lossy trial is repeated at the same load; one loss-free repetition is a PASS."""

    trials: int = 2
    """r: trials at one load in total, the first included."""
    overload_frames: int = 1000
    """z: with more lost frames than this the overload is clear and nothing is repeated."""

    def __post_init__(self) -> None:
        """Refuse fewer than one trial."""
        if self.trials < 1 or self.overload_frames < 0:
            raise ValueError(f"loss verification needs r >= 1 and z >= 0, not {self.trials} and {self.overload_frames}")


def verified(trial: Callable[[Fraction], tuple[Verdict, int]], rule: LossVerification) -> Callable[[Fraction], Verdict]:
    """A trial for any search that applies ``rule``; ``trial`` returns verdict and lost frames.

    A load that has passed is not tried again: one trial without loss decides, and a device that loses frames by chance
    would lose some in the next.
    """
    passed: set[Fraction] = set()

    def judge(load: Fraction) -> Verdict:
        if load in passed:
            return Verdict.PASS
        verdict = tried(load)
        if verdict is Verdict.PASS:
            passed.add(load)
        return verdict

    def tried(load: Fraction) -> Verdict:
        verdict, lost_frames = trial(load)
        for _ in range(rule.trials - 1):
            if verdict is not Verdict.FAIL or lost_frames > rule.overload_frames:
                break
            verdict, lost_frames = trial(load)
        return verdict

    return judge
